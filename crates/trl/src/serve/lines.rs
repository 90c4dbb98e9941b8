//! Lines of a byte stream, none longer than the cap. An overlong one is skipped, not fatal.

use std::future::Future;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Where requests come from, one at a time.
pub(crate) trait Source: Send {
    /// The next that is not empty. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = io::Result<Line>> + Send;
}

impl<S: Source> Source for &mut S {
    async fn next(&mut self) -> io::Result<Line> {
        (**self).next().await
    }
}

pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Bytes at the start of `buffer` that were already handed out.
    used: usize,
    /// Bytes after `used` known to hold no newline.
    searched: usize,
    max: usize,
    /// In the middle of an overlong line.
    skipping: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Longer than the cap.
    TooLong,
    /// Not UTF-8, so not JSON.
    Garbage,
    End,
}

const CHUNK: usize = 16 * 1024;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, max: usize) -> Self {
        Self { reader, buffer: Vec::new(), used: 0, searched: 0, max, skipping: false }
    }

    /// A last line that its sender did not end is a line all the same.
    fn take_rest(&mut self) -> Line {
        let rest = std::mem::take(&mut self.buffer);
        let line = rest[self.used..].trim_ascii();
        self.used = 0;
        self.searched = 0;
        match std::mem::take(&mut self.skipping) || line.is_empty() {
            true => Line::End,
            false => std::str::from_utf8(line).map_or(Line::Garbage, |t| Line::Text(t.to_string())),
        }
    }

    fn take(&mut self) -> Option<Line> {
        loop {
            let rest = &self.buffer[self.used..];
            let Some(at) = rest[self.searched..].iter().position(|b| *b == b'\n') else {
                self.searched = rest.len();
                if rest.len() <= self.max {
                    return None;
                }
                self.used = self.buffer.len();
                self.searched = 0;
                let first = !std::mem::replace(&mut self.skipping, true);
                return first.then_some(Line::TooLong);
            };
            let end = self.searched + at;
            let line = rest[..end].trim_ascii();
            let line = match std::mem::take(&mut self.skipping) {
                true => None,
                false if line.is_empty() => None,
                false if end > self.max => Some(Line::TooLong),
                false => Some(std::str::from_utf8(line).map_or(Line::Garbage, |t| Line::Text(t.to_string()))),
            };
            self.used += end + 1;
            self.searched = 0;
            if line.is_some() {
                return line;
            }
        }
    }

    /// Drops what was handed out; a buffer that once held a large line shrinks again.
    fn make_room(&mut self) {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        if self.buffer.len() + CHUNK > self.buffer.capacity() || self.buffer.capacity() > 8 * CHUNK {
            self.buffer.shrink_to(CHUNK);
            self.buffer.reserve(CHUNK.max(self.buffer.len().min(1 << 20)));
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Source for Lines<R> {
    async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.take() {
                return Ok(line);
            }
            self.make_room();
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.take_rest());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    async fn all(input: &[u8], max: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, max);
        let mut out = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                Line::End => return out,
                line => out.push(line),
            }
        }
    }

    #[tokio::test]
    async fn an_overlong_line_is_reported_once_and_the_next_one_read() {
        let text = format!("{}\nok\n\n{}\n{{}}", "x".repeat(50_000), "y".repeat(11));
        let ok = Line::Text("ok".into());
        let last = Line::Text("{}".into());
        assert_eq!(all(text.as_bytes(), 10).await, [Line::TooLong, ok, Line::TooLong, last]);
        assert_eq!(all(b"\xff\n", 10).await, [Line::Garbage]);
    }

    proptest! {
        #[test]
        fn framing_round_trips(lines in prop::collection::vec("[a-z{}\":]{1,30}", 0..20)) {
            let input = lines.join("\n") + "\n";
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let got = runtime.block_on(all(input.as_bytes(), 30));
            prop_assert_eq!(got, lines.into_iter().map(Line::Text).collect::<Vec<_>>());
        }
    }
}
