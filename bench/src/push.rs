//! `exec.output` pushes read at the speed of the socket.
//!
//! A push is found by its keys instead of being parsed: an unescaped quote cannot stand inside a JSON string, so
//! `"data":"` is the key wherever it stands. The first pushes of a stream are parsed in full as well, and must agree.

use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem::Finder;
use serde::Deserialize;
use trl_proto::exec::OutputPushed;
use trl_proto::{Encoding, text};

static DATA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"data\":\""));
static OFFSET: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"offset\":"));

/// One push, its text still as it stands in the line.
#[derive(Debug)]
pub(crate) struct Push<'a> {
    pub(crate) offset: u64,
    escaped: &'a [u8],
    encoding: Encoding,
}

impl<'a> Push<'a> {
    /// None when the line is no output push.
    pub(crate) fn find(line: &'a [u8]) -> Result<Option<Self>> {
        let Some(key) = DATA.find(line) else { return Ok(None) };
        let (head, text) = (&line[..key], &line[key + DATA.needle().len()..]);
        let end = end_of_string(text).context("the string has no end")?;
        let (escaped, tail) = (&text[..end], &text[end..]);
        let base64 = br#""encoding":"base64""#;
        let is_base64 = [tail, head].iter().any(|part| memchr::memmem::find(part, base64).is_some());
        let encoding = if is_base64 { Encoding::Base64 } else { Encoding::Utf8 };
        let offset = number_after_offset(head).or_else(|| number_after_offset(tail)).context("offset")?;
        Ok(Some(Self { offset, escaped, encoding }))
    }

    /// The bytes it stands for, in `scratch`, which only ever grows: clearing it would cost as much as decoding.
    pub(crate) fn decode<'s>(&self, scratch: &'s mut Vec<u8>) -> Result<&'s [u8]> {
        match self.encoding {
            Encoding::Base64 => {
                scratch.resize(scratch.len().max(self.escaped.len()), 0);
                let out = base64_simd::Out::from_slice(scratch.as_mut_slice());
                Ok(base64_simd::STANDARD.decode(self.escaped, out)?)
            }
            _ => {
                scratch.clear();
                unescape(self.escaped, scratch)?;
                Ok(scratch)
            }
        }
    }
}

/// The same line by the book.
pub(crate) fn by_the_book(line: &[u8]) -> Result<(u64, Vec<u8>)> {
    #[derive(Deserialize)]
    struct Notification {
        method: String,
        params: OutputPushed,
    }
    let push: Notification = serde_json::from_slice(line)?;
    ensure!(push.method == "exec.output", "{} is no output", push.method);
    ensure!(push.params.gap.is_none(), "a reader that reads was called too slow: {:?}", push.params.gap);
    Ok((push.params.offset, text::decode(push.params.data, push.params.encoding)?))
}

fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr::memchr2(b'"', b'\\', &text[at..])?;
        if text[found] == b'"' {
            return Some(found);
        }
        at = (found + 2).min(text.len());
    }
}

fn number_after_offset(text: &[u8]) -> Option<u64> {
    let rest = &text[OFFSET.find(text)? + OFFSET.needle().len()..];
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

fn unescape(mut text: &[u8], into: &mut Vec<u8>) -> Result<()> {
    while let Some(at) = memchr::memchr(b'\\', text) {
        into.extend_from_slice(&text[..at]);
        let escape = *text.get(at + 1).context("a backslash at the end")?;
        into.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'"' | b'\\' | b'/' => escape,
            b'u' => control(text.get(at + 2..at + 6).context("a short \\u")?)?,
            other => bail!("\\{} is no escape", char::from(other)),
        });
        text = &text[at + if escape == b'u' { 6 } else { 2 }..];
    }
    into.extend_from_slice(text);
    Ok(())
}

/// Only control characters need `\u`; everything else is sent as it is.
fn control(hex: &[u8]) -> Result<u8> {
    let code = u8::from_str_radix(std::str::from_utf8(hex)?.trim_start_matches("00"), 16)?;
    ensure!(code < 0x80, "\\u above ASCII is not expected");
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(data: &str, encoding: &str) -> String {
        let params = serde_json::json!({
            "stream_id": "st-aaaaaaaa", "execution_id": "e-aaaaaaaaaa", "stream": "stdout",
            "offset": 123, "data": data, "encoding": encoding,
        });
        serde_json::json!({"jsonrpc": "2.0", "method": "exec.output", "params": params}).to_string()
    }

    #[test]
    fn the_short_way_and_the_book_agree() {
        for (data, encoding) in [
            ("plain\nlines\n", "utf-8"),
            ("quotes \" \\ \\\" \u{1} \u{1f} \t é \"data\":\" \"encoding\":\"base64\"", "utf-8"),
            ("", "utf-8"),
            ("AP+AgAA=", "base64"),
        ] {
            let line = line(data, encoding);
            let push = Push::find(line.as_bytes()).unwrap().unwrap();
            let mut scratch = b"old".to_vec();
            let bytes = push.decode(&mut scratch).unwrap().to_vec();
            assert_eq!((push.offset, bytes), by_the_book(line.as_bytes()).unwrap());
        }
        assert!(Push::find(br#"{"method":"exec.exit","params":{}}"#).unwrap().is_none());
    }
}
