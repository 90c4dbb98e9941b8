//! Bytes inside JSON strings.
//!
//! A program's output is bytes; JSON has only text. [`Text`] carries either valid UTF-8 as it is, or base64
//! when the bytes are not UTF-8 or JSON escaping would make them longer than base64 does. The encoding
//! stands beside the string, so no reader has to guess.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
    /// Only ever sent, to clients of the plain envelope, which know no base64: invalid bytes became U+FFFD.
    #[serde(rename = "utf-8-lossy")]
    Utf8Lossy,
}

/// A string and how it stands for bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a> {
    pub data: Cow<'a, str>,
    pub encoding: Encoding,
}

impl<'a> Text<'a> {
    /// The shorter exact form of `bytes`.
    pub fn exact(bytes: &'a [u8]) -> Self {
        match as_cheap_utf8(bytes) {
            Some(text) => Self { data: Cow::Borrowed(text), encoding: Encoding::Utf8 },
            None => Self { data: Cow::Owned(to_base64(bytes)), encoding: Encoding::Base64 },
        }
    }

    /// Readable text at any price, for the plain envelope.
    pub fn lossy(bytes: &'a [u8]) -> Self {
        Self { data: String::from_utf8_lossy(bytes), encoding: Encoding::Utf8Lossy }
    }
}

/// The bytes as text, if they are and if JSON would not make them longer than base64 does.
pub(crate) fn as_cheap_utf8(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|_| escape_cost(bytes) <= base64_growth(bytes.len()))
}

pub(crate) fn append_base64(line: &mut Vec<u8>, bytes: &[u8]) {
    base64_simd::STANDARD.encode_append(bytes, line);
}

fn base64_growth(len: usize) -> usize {
    len.div_ceil(3) * 4 - len
}

/// How many bytes JSON escaping adds: 1 for `\n` and its kind, 5 for other control characters.
///
/// Sums of comparisons, in pieces whose sums fit a byte: the compiler makes vector code of it.
fn escape_cost(bytes: &[u8]) -> usize {
    let one = |b: u8| -> u8 {
        let control = u8::from(b < 0x20);
        let short = u8::from(b == b'\n')
            | u8::from(b == b'\r')
            | u8::from(b == b'\t')
            | u8::from(b == 8)
            | u8::from(b == 12);
        let quoted = u8::from(b == b'"') | u8::from(b == b'\\');
        control * 5 - short * 4 + quoted
    };
    bytes.chunks(32).map(|piece| usize::from(piece.iter().fold(0u8, |sum, b| sum + one(*b)))).sum()
}

pub fn to_base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// The bytes a request's string stands for.
pub fn decode(data: String, encoding: Encoding) -> Result<Vec<u8>> {
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Lossy => Ok(data.into_bytes()),
        Encoding::Base64 => base64_simd::STANDARD.decode_to_vec(data.as_bytes()).map_err(|_| {
            Error::invalid("the string is not valid base64").hint("padded standard alphabet, RFC 4648")
        }),
    }
}

/// How many bytes at the end of `chunk` begin a UTF-8 character whose rest has not arrived yet (0 to 3).
///
/// A stream holds these back so that no push ends inside a character.
pub fn incomplete_tail(chunk: &[u8]) -> usize {
    for back in 1..=chunk.len().min(3) {
        let byte = chunk[chunk.len() - back];
        let wants = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if wants > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_cost_of_escaping_is_what_json_adds() {
        for byte in 0..128u8 {
            let text = String::from(char::from(byte)).repeat(100);
            let json = serde_json::to_string(&text).unwrap();
            // DEL is not escaped, and neither is anything from 0x80 on
            assert_eq!(escape_cost(text.as_bytes()), json.len() - 2 - text.len(), "{byte}");
        }
    }

    #[test]
    fn plain_text_stays_text_and_zeros_become_base64() {
        assert_eq!(Text::exact(b"hello\n").encoding, Encoding::Utf8);
        assert_eq!(Text::exact(&[0; 64]).encoding, Encoding::Base64);
        assert_eq!(Text::exact(&[0xff]).encoding, Encoding::Base64);
    }

    proptest! {
        #[test]
        fn exact_text_round_trips(bytes: Vec<u8>) {
            let text = Text::exact(&bytes);
            prop_assert_eq!(decode(text.data.into_owned(), text.encoding).unwrap(), bytes);
        }

        #[test]
        fn holding_back_the_tail_never_splits_a_character(s in "\\PC{1,40}", cut in 0usize..100) {
            let bytes = s.as_bytes();
            let cut = cut.min(bytes.len());
            let keep = cut - incomplete_tail(&bytes[..cut]);
            prop_assert!(std::str::from_utf8(&bytes[..keep]).is_ok());
        }
    }
}
