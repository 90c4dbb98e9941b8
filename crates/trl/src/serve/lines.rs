//! Lines of a byte stream, none longer than the cap. An overlong one is skipped, not fatal.

use std::future::Future;
use std::io;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::request_id::IdSearch;

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
    /// In the middle of an overlong line: the search for its id.
    skipping: Option<IdSearch>,
}

#[derive(Debug)]
pub(crate) enum Line {
    Text(String),
    /// Longer than the cap. If it was a request with an id, that id.
    TooLong(Option<Box<RawValue>>),
    /// Not UTF-8, so not JSON.
    Garbage,
    End,
}

const CHUNK: usize = 16 * 1024;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, max: usize) -> Self {
        Self { reader, buffer: Vec::new(), used: 0, searched: 0, max, skipping: None }
    }

    /// A last line that its sender did not end is a line all the same.
    fn take_rest(&mut self) -> Line {
        let rest = std::mem::take(&mut self.buffer);
        let used = std::mem::take(&mut self.used);
        self.searched = 0;
        self.whole(&rest[used..]).unwrap_or(Line::End)
    }

    fn take(&mut self) -> Option<Line> {
        loop {
            let rest = &self.buffer[self.used..];
            let Some(at) = rest[self.searched..].iter().position(|b| *b == b'\n') else {
                self.searched = rest.len();
                if rest.len() > self.max || self.skipping.is_some() {
                    self.skipping.get_or_insert_default().feed(rest);
                    self.used = self.buffer.len();
                    self.searched = 0;
                }
                return None;
            };
            let (start, end) = (self.used, self.used + self.searched + at);
            self.used = end + 1;
            self.searched = 0;
            let buffer = std::mem::take(&mut self.buffer);
            let line = self.whole(&buffer[start..end]);
            self.buffer = buffer;
            if line.is_some() {
                return line;
            }
        }
    }

    /// A line from its last bytes: all of them, unless it is being skipped. None for an empty one.
    fn whole(&mut self, bytes: &[u8]) -> Option<Line> {
        if bytes.len() > self.max || self.skipping.is_some() {
            let mut search = self.skipping.take().unwrap_or_default();
            search.feed(bytes);
            return Some(Line::TooLong(search.finish()));
        }
        let line = bytes.trim_ascii();
        let text = || std::str::from_utf8(line).map_or(Line::Garbage, |text| Line::Text(text.to_string()));
        (!line.is_empty()).then(text)
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

    async fn told(input: &[u8], max: usize) -> Vec<String> {
        let mut lines = Lines::new(input, max);
        let mut out = Vec::new();
        loop {
            out.push(match lines.next().await.unwrap() {
                Line::End => return out,
                Line::Text(text) => text,
                Line::TooLong(id) => format!("too long: {}", id.map_or("no id".into(), |id| id.to_string())),
                Line::Garbage => "garbage".into(),
            });
        }
    }

    #[tokio::test]
    async fn an_overlong_line_is_reported_once_and_the_next_one_read() {
        let text = format!("{}\nok\n\n{}\n{{}}", "x".repeat(50_000), "y".repeat(11));
        assert_eq!(told(text.as_bytes(), 10).await, ["too long: no id", "ok", "too long: no id", "{}"]);
        assert_eq!(told(b"\xff\n", 10).await, ["garbage"]);
    }

    #[tokio::test]
    async fn an_overlong_request_keeps_its_id() {
        let x = "x".repeat(50_000);
        let text =
            format!("{{\"id\":1,\"p\":\"{x}\"}}\nok\n{{\"p\":\"{x}\",\"id\":\"b\"}}\n{{\"id\":3,\"p\":\"{x}");
        assert_eq!(told(text.as_bytes(), 10).await, ["too long: 1", "ok", "too long: \"b\"", "too long: 3"]);
    }

    proptest! {
        #[test]
        fn framing_round_trips(lines in prop::collection::vec("[a-z{}\":]{1,30}", 0..20)) {
            let input = lines.join("\n") + "\n";
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            prop_assert_eq!(runtime.block_on(told(input.as_bytes(), 30)), lines);
        }
    }
}
