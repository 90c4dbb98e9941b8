//! What commands were given that is kept nowhere: their stdin, and secret variables of their own. A shell may have read it
//! into a variable, and from there it must not get into a checkpoint.
//!
//! Remembered are lines of the beginning of each command's stdin, the newest ones, for as long as the session lives.

use std::collections::VecDeque;

use zeroize::Zeroizing;

/// Of each command's stdin so much is looked at: what a shell reads into variables is small.
const MOST_PER_COMMAND: usize = 64 << 10;
/// Remembered in all.
const MOST_BYTES: usize = 256 << 10;
/// A longer line is no password.
const LONGEST: usize = 4 << 10;

type Line = Zeroizing<Vec<u8>>;

#[derive(Default)]
pub struct Heard {
    lines: VecDeque<Line>,
    bytes: usize,
    /// The line that is not over yet.
    open: Line,
    /// What of this command's stdin may still be looked at.
    left: usize,
}

impl Heard {
    /// Another command.
    pub fn begin(&mut self) {
        self.end_line();
        self.left = MOST_PER_COMMAND;
    }

    pub fn stdin(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.left)];
        self.left -= bytes.len();
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            self.open.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    pub fn secret(&mut self, value: &str) {
        self.remember(Zeroizing::new(value.as_bytes().to_vec()));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.open);
        self.remember(Zeroizing::new(line.trim_ascii().to_vec()));
    }

    fn remember(&mut self, line: Line) {
        if line.is_empty() || line.len() > LONGEST || self.lines.back() == Some(&line) {
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// All there is, also of a line that has only begun.
    pub fn lines(&self) -> Vec<Line> {
        let open = Zeroizing::new(self.open.trim_ascii().to_vec());
        self.lines.iter().cloned().chain([open].into_iter().filter(|line| !line.is_empty())).collect()
    }
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heard").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(heard: &Heard) -> Vec<String> {
        heard.lines().iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    #[test]
    fn lines_are_remembered_however_they_arrive() {
        let mut heard = Heard::default();
        heard.begin();
        heard.stdin(b"one\ntw");
        heard.stdin(b"o\r\n\nthr");
        assert_eq!(texts(&heard), ["one", "two", "thr"]);
        heard.begin();
        heard.stdin(b"four");
        assert_eq!(texts(&heard), ["one", "two", "thr", "four"]);
    }

    #[test]
    fn however_much_comes_little_is_remembered() {
        let mut heard = Heard::default();
        for n in 0..10 {
            heard.begin();
            let line = format!("{n:0100}\n");
            (0..1000).for_each(|_| heard.stdin(line.as_bytes()));
            heard.stdin(&vec![b'x'; 1 << 20]);
        }
        let all: usize = heard.lines().iter().map(|line| line.len()).sum();
        assert!(all <= MOST_BYTES + MOST_PER_COMMAND, "{all}");
        let mut heard = Heard::default();
        heard.begin();
        (0..MOST_PER_COMMAND).for_each(|n| heard.stdin(format!("{n}\n").as_bytes()));
        assert!(texts(&heard).len() < MOST_PER_COMMAND);
    }
}
