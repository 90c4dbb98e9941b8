//! What a shell says on its report FIFO.
//!
//! A message ends with NUL. Each carries the nonce of what it answers, which only the daemon and the loop know, so
//! a background process that writes to the FIFO is heard but not believed.

use crate::random::Nonce;

/// Words that come before anything else in a message, one letter each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// A clone waits in `slot`; it says its pid when the shell knows it.
    Standby { slot: usize, nonce: Nonce, pid: Option<i32> },
    /// A shell is now the session's.
    Promoted { nonce: Nonce },
    /// A command ended with `code`, in `cwd`.
    Ran { nonce: Nonce, code: i32, cwd: Vec<u8> },
    /// A text snapshot is complete.
    Dumped { nonce: Nonce },
}

impl Report {
    pub fn nonce(&self) -> Nonce {
        match self {
            Self::Standby { nonce, .. }
            | Self::Promoted { nonce }
            | Self::Ran { nonce, .. }
            | Self::Dumped { nonce } => *nonce,
        }
    }
}

/// One message without its NUL. None for anything that is not one.
pub fn parse(message: &[u8]) -> Option<Report> {
    let mut words = message.splitn(4, |b| *b == b' ');
    let tag = words.next()?;
    let first = words.next()?;
    match tag {
        b"S" => {
            let slot = number(first)?;
            let nonce = Nonce::parse(words.next()?)?;
            let pid = words.next().and_then(number);
            Some(Report::Standby { slot, nonce, pid })
        }
        b"P" if first == b"p" => Some(Report::Promoted { nonce: Nonce::parse(words.next()?)? }),
        b"D" if first == b"d" => Some(Report::Dumped { nonce: Nonce::parse(words.next()?)? }),
        b"R" => {
            let nonce = Nonce::parse(first)?;
            let code = number(words.next()?)?;
            Some(Report::Ran { nonce, code, cwd: words.next().unwrap_or_default().to_vec() })
        }
        _ => None,
    }
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Splits the byte stream into messages.
#[derive(Debug, Default)]
pub struct Splitter {
    partial: Vec<u8>,
}

/// A path may be 4096 bytes long; anything much longer is noise.
const LONGEST: usize = 16 * 1024;

impl Splitter {
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Report> {
        self.partial.extend_from_slice(bytes);
        let mut reports = Vec::new();
        while let Some(end) = self.partial.iter().position(|b| *b == 0) {
            reports.extend(parse(&self.partial[..end]));
            self.partial.drain(..=end);
        }
        if self.partial.len() > LONGEST {
            self.partial.clear();
        }
        reports
    }

    pub fn clear(&mut self) {
        self.partial.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_read() {
        let nonce = Nonce::parse(b"4aB6c8D").unwrap();
        let ran = |cwd: &[u8]| Some(Report::Ran { nonce, code: 3, cwd: cwd.to_vec() });
        assert_eq!(parse(b"R 4aB6c8D 3 /a b"), ran(b"/a b"));
        assert_eq!(parse(b"R 4aB6c8D 3 "), ran(b""));
        assert_eq!(parse(b"S 1 4aB6c8D"), Some(Report::Standby { slot: 1, nonce, pid: None }));
        assert_eq!(parse(b"S 1 4aB6c8D 77"), Some(Report::Standby { slot: 1, nonce, pid: Some(77) }));
        assert_eq!(parse(b"P p 4aB6c8D"), Some(Report::Promoted { nonce }));
        assert_eq!(parse(b"D d 4aB6c8D"), Some(Report::Dumped { nonce }));
        for bad in [&b""[..], b"R", b"R 4aB6c8Dx 1 /", b"R 4aB6c8D x /", b"X 1 2", b"S 1", b"P 4aB6c8D"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_split_of_the_stream_gives_the_same_messages(cuts in prop::collection::vec(1usize..9, 0..12)) {
            let stream = b"S 1 4aB6c8D\0junk\0R 4aB6c8D 0 /tmp\0P p 4aB6c8D\0".to_vec();
            let whole = Splitter::default().push(&stream);
            let mut splitter = Splitter::default();
            let mut rest = &stream[..];
            let mut parts = Vec::new();
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                parts.extend(splitter.push(head));
                rest = tail;
            }
            parts.extend(splitter.push(rest));
            prop_assert_eq!(parts, whole);
        }

        #[test]
        fn noise_is_survived(noise: Vec<u8>) {
            let mut splitter = Splitter::default();
            splitter.push(&noise);
            splitter.push(b"\0");
            prop_assert_eq!(splitter.push(b"P p 4aB6c8D\0"), vec![Report::Promoted { nonce: Nonce::parse(b"4aB6c8D").unwrap() }]);
        }
    }
}
