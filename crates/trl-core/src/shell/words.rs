//! Reading back what shells print in their own quoting: `declare -p`, `typeset -p`, `set`, `alias`, `trap`.
//!
//! One statement a line, where a line ends at a newline that is neither quoted nor within parentheses. Each statement
//! is kept as it was printed, to be run again, and as words without their quotes, to be looked at.

use super::kind::Kind;

/// One printed statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// As printed, without the newline.
    pub text: Vec<u8>,
    /// Its words, unquoted; parentheses part words and are in none.
    pub words: Vec<Vec<u8>>,
}

/// The statements in `text`. What is cut off within a quote ends with the text.
pub fn statements(kind: Kind, text: &[u8]) -> Vec<Statement> {
    let mut reader = Reader { kind, text, at: 0, depth: 0, words: Vec::new(), word: None };
    let mut found = Vec::new();
    while reader.at < text.len() {
        let start = reader.at;
        let end = reader.line();
        if !reader.words.is_empty() {
            found.push(Statement {
                text: text[start..end].to_vec(),
                words: std::mem::take(&mut reader.words),
            });
        }
    }
    found
}

/// `text` without its quotes, all in one: to find a value in it however it is quoted.
pub fn unquoted(kind: Kind, text: &[u8]) -> Vec<u8> {
    let words = statements(kind, text).into_iter().flat_map(|s| s.words);
    words.collect::<Vec<_>>().join(&b'\n')
}

/// What zsh prints, in a form it reads back: control-backslash is `\C-\` there, and the backslash would count for what
/// comes after it.
pub fn mended(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut at, mut quote) = (0, None);
    while at < text.len() {
        let rest = &text[at..];
        let taken = match (quote, rest) {
            (Some(b'$'), [b'\\', b'C', b'-', key, ..]) => {
                out.extend(format!("\\x{:02x}", control(*key)).as_bytes());
                at += 4;
                continue;
            }
            (Some(b'$'), [b'\\', b'M', b'-', b'\\', b'C', b'-', key, ..]) => {
                out.extend(format!("\\x{:02x}", control(*key) | 0x80).as_bytes());
                at += 7;
                continue;
            }
            (Some(b'$') | None, [b'\\', _, ..]) => 2,
            (Some(_), [b'\'', ..]) => {
                quote = None;
                1
            }
            (None, [b'$', b'\'', ..]) => {
                quote = Some(b'$');
                2
            }
            (None, [b'\'', ..]) => {
                quote = Some(b'\'');
                1
            }
            _ => 1,
        };
        out.extend(&rest[..taken]);
        at += taken;
    }
    out
}

/// What zsh calls `C-x`.
fn control(key: u8) -> u8 {
    if key == b'?' { 127 } else { key & 0x1f }
}

struct Reader<'a> {
    kind: Kind,
    text: &'a [u8],
    at: usize,
    depth: u32,
    words: Vec<Vec<u8>>,
    word: Option<Vec<u8>>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn put(&mut self, byte: u8) {
        self.word.get_or_insert_default().push(byte);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Reads one statement; gives where it ends.
    fn line(&mut self) -> usize {
        self.depth = 0;
        while let Some(byte) = self.next() {
            match byte {
                b'\n' if self.depth == 0 => {
                    self.end_word();
                    return self.at - 1;
                }
                b' ' | b'\t' | b'\n' => self.end_word(),
                b';' if self.depth > 0 => self.end_word(),
                b'(' => {
                    self.end_word();
                    self.depth += 1;
                }
                b')' => {
                    self.end_word();
                    self.depth = self.depth.saturating_sub(1);
                }
                b'\'' => self.single(),
                b'"' if self.kind != Kind::Fish => self.double(),
                b'$' if self.text.get(self.at) == Some(&b'\'') => {
                    self.at += 1;
                    self.ansi();
                }
                b'\\' if self.kind == Kind::Fish => self.escape(),
                b'\\' => {
                    if let Some(byte) = self.next() {
                        self.put(byte);
                    }
                }
                other => self.put(other),
            }
        }
        self.end_word();
        self.at
    }

    fn single(&mut self) {
        self.word.get_or_insert_default();
        while let Some(byte) = self.next() {
            match byte {
                b'\'' => return,
                b'\\' if self.kind == Kind::Fish => {
                    if let Some(byte) = self.next() {
                        self.put(byte);
                    }
                }
                other => self.put(other),
            }
        }
    }

    fn double(&mut self) {
        self.word.get_or_insert_default();
        while let Some(byte) = self.next() {
            match byte {
                b'"' => return,
                b'\\' => match self.next() {
                    Some(b @ (b'$' | b'`' | b'"' | b'\\')) => self.put(b),
                    Some(b'\n') | None => {}
                    Some(other) => {
                        self.put(b'\\');
                        self.put(other);
                    }
                },
                other => self.put(other),
            }
        }
    }

    /// `$'...'`
    fn ansi(&mut self) {
        self.word.get_or_insert_default();
        while let Some(byte) = self.next() {
            match byte {
                b'\'' => return,
                b'\\' => self.escape(),
                other => self.put(other),
            }
        }
    }

    /// After a backslash: C's escapes, and those of zsh (`\C-x`, `\M-x`), bash (`\cx`) and fish (`\cx`, `\Xff`).
    fn escape(&mut self) {
        let Some(byte) = self.next() else { return };
        let byte = match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'v' => 11,
            b'c' => self.next().unwrap_or_default() & 0x1f,
            b'C' | b'M' => {
                self.at -= 1;
                self.zsh_key()
            }
            b'x' | b'X' => self.number(16, 2).unwrap_or_default() as u8,
            b'u' | b'U' => {
                let most = if byte == b'u' { 4 } else { 8 };
                let c = self.number(16, most).and_then(char::from_u32).unwrap_or_default();
                c.to_string().bytes().for_each(|b| self.put(b));
                return;
            }
            b'0'..=b'7' => {
                self.at -= 1;
                self.number(8, 3).unwrap_or_default() as u8
            }
            other => other,
        };
        self.put(byte);
    }

    /// `C-x`, `M-x`, `M-\C-x` after a backslash.
    fn zsh_key(&mut self) -> u8 {
        let rest = &self.text[self.at..];
        match rest {
            [b'C', b'-', key, ..] => {
                self.at += 3;
                control(*key)
            }
            [b'M', b'-', b'\\', b'C', b'-', ..] => {
                self.at += 3;
                self.zsh_key() | 0x80
            }
            [b'M', b'-', byte, ..] => {
                self.at += 3;
                byte | 0x80
            }
            _ => self.next().unwrap_or_default(),
        }
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let digit = self.text.get(self.at).and_then(|b| char::from(*b).to_digit(radix));
            let Some(digit) = digit else { break };
            value = Some(value.unwrap_or(0u32).wrapping_mul(radix) + digit);
            self.at += 1;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn words(kind: Kind, text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        statements(kind, text).into_iter().map(|s| s.words).collect()
    }

    #[test]
    fn statements_end_at_newlines_that_are_not_quoted() {
        let text = b"declare -A a=([\"x y\"]=\"1\" [$'\\n']=\"b\nc\" )\nexport B='it'\\''s\nmore'\n";
        assert_eq!(
            words(Kind::Bash, text),
            [
                vec![&b"declare"[..], b"-A", b"a=", b"[x y]=1", b"[\n]=b\nc"],
                vec![&b"export"[..], b"B=it's\nmore"],
            ]
        );
    }

    #[test]
    fn the_escapes_of_every_shell_are_read() {
        assert_eq!(unquoted(Kind::Zsh, b"$'a\\C-@\\C-A\\M-\\C-?\\M-a\\n'"), b"a\0\x01\xff\xe1\n");
        assert_eq!(
            unquoted(Kind::Bash, b"$'\\001\\377\\E\\x41\\u00e9'"),
            "\u{1}\u{fffd}"
                .replace('\u{fffd}', "")
                .into_bytes()
                .into_iter()
                .chain([0xff, 27, b'A', 0xc3, 0xa9])
                .collect::<Vec<_>>()
        );
        assert_eq!(unquoted(Kind::Fish, b"a\\nb\\Xff\\ca'it\\'s'"), b"a\nb\xff\x01it's");
    }

    #[test]
    fn control_characters_of_zsh_are_mended() {
        assert_eq!(mended(b"a=$'k\\C-\\' b='\\C-x' c=$'\\\\C-A'"), b"a=$'k\\x1c' b='\\C-x' c=$'\\\\C-A'");
        assert_eq!(mended(b"$'\\M-\\C-?\\M-\\C-A\\M-a'"), b"$'\\xff\\x81\\M-a'");
        assert_eq!(mended(b"$'\\C-?\\n\\'\\C-A'"), b"$'\\x7f\\n\\'\\x01'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn what_bash_prints_of_a_value_is_read_back(value in prop::collection::vec(1u8..=255, 0..40)) {
            let out = Command::new("bash")
                .args(["--norc", "-c", "v=$1; declare -p v; printf '%q\\n' \"$1\"", "bash"])
                .arg(std::ffi::OsStr::from_bytes(&value))
                .output()
                .unwrap();
            let found = statements(Kind::Bash, &out.stdout);
            prop_assert_eq!(found.len(), 2);
            prop_assert_eq!(&found[0].words[2][2..], &value[..]);
            prop_assert_eq!(&found[1].words[0], &value);
        }

        #[test]
        fn anything_is_survived(noise: Vec<u8>) {
            for kind in [Kind::Bash, Kind::Zsh, Kind::Fish] {
                statements(kind, &noise);
            }
        }
    }
}
