//! Bytes to code points, one at a time, across any cut.
//!
//! Ill-formed input disappears without a mark, as the client does it: a stray or wrong byte drops the character it broke
//! and is looked at again as the start of the next.

/// From bytes to characters; holds one that is not complete yet.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    code: u32,
    /// Bytes still to come.
    missing: u8,
    /// Bytes the character has in all.
    length: u8,
}

impl Decoder {
    /// The characters these bytes complete.
    pub fn decode(&mut self, bytes: &[u8]) -> String {
        bytes.iter().filter_map(|byte| self.push(*byte)).filter_map(char::from_u32).collect()
    }

    /// Bytes of an unfinished character.
    pub(crate) fn pending(&self) -> u8 {
        if self.missing == 0 { 0 } else { self.length - self.missing }
    }

    /// The code point that this byte completes.
    pub(crate) fn push(&mut self, byte: u8) -> Option<u32> {
        if self.missing > 0 {
            if byte & 0xc0 == 0x80 {
                self.code = self.code << 6 | u32::from(byte & 0x3f);
                self.missing -= 1;
                return if self.missing == 0 { self.checked() } else { None };
            }
            self.missing = 0;
        }
        let (length, bits) = match byte {
            0..0x80 => return Some(u32::from(byte)),
            0xc0..0xe0 => (2, byte & 0x1f),
            0xe0..0xf0 => (3, byte & 0x0f),
            0xf0..0xf8 => (4, byte & 0x07),
            _ => return None,
        };
        (self.code, self.length, self.missing) = (u32::from(bits), length, length - 1);
        None
    }

    /// No overlong forms, no surrogates, nothing beyond Unicode, no byte order marks.
    fn checked(&self) -> Option<u32> {
        let lowest = [0x80, 0x800, 0x1_0000][usize::from(self.length) - 2];
        (self.code >= lowest && self.code != 0xfeff && char::from_u32(self.code).is_some())
            .then_some(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8]) -> String {
        Decoder::default().decode(bytes)
    }

    #[test]
    fn ill_formed_input_disappears() {
        assert_eq!(decode(b"a\xffb\xc0\x80c\xe2\x82d\xed\xa0\x80e\xef\xbb\xbff\xf4\x90\x80\x80g"), "abcdefg");
    }

    proptest! {
        #[test]
        fn text_comes_through(text: String) {
            prop_assert_eq!(decode(text.as_bytes()), text.replace('\u{feff}', ""));
        }
    }
}
