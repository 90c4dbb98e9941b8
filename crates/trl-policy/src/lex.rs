//! The strict lexer of the plain grammar: what dash, bash, zsh and busybox ash read in one and the same way.
//!
//! Everything is refused that is not listed here. A word is
//!
//! ```text
//!  letters, digits and  _ . / : , @ % + - =    themselves
//!  '...'                                       itself; no two quoted pieces side by side (zsh's RC_QUOTES)
//!  "..."                                       itself, with \$ \` \" \\ ; $NAME and ${NAME} leave only its beginning known
//!  \c                                          c, for a printable c
//!  * ? [ { } ~ ^ # and = first or after = :    leave only its beginning known: shells and their options disagree on them,
//!                                              but none of them runs anything for it
//!  $NAME ${NAME} $? $1 ...                     leave nothing known
//! ```
//!
//! What would run something, or moves the end of the word in one shell and not in another, makes the text opaque: `` ` ``,
//! `$(`, `${x...}`, `$'`, `(`, `)`, control characters, `!` where history could be meant, letters beyond ASCII outside quotes
//! (what is blank among them is the locale's business).

use crate::plain::{Known, Opaque, Word};

/// A place in a text.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
}

/// A word and what the grammar needs to know about its spelling.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub(crate) word: Word,
    /// The length of `NAME` when it is spelled as an assignment.
    pub(crate) name_len: Option<usize>,
    /// Some of it is quoted or escaped.
    pub(crate) quoted: bool,
    /// It goes over a line's end, within quotes.
    pub(crate) has_newline: bool,
}

/// A word in the making.
#[derive(Debug, Default)]
struct Draft {
    text: Vec<u8>,
    known: Option<Known>,
    name_len: Option<usize>,
    quoted: bool,
    has_newline: bool,
    /// Braces that are open.
    braces: usize,
}

impl Draft {
    fn push(&mut self, byte: u8) {
        if self.known.is_none() {
            self.text.push(byte);
        }
        self.has_newline |= byte == b'\n';
    }

    /// From here on it is not known; the less that is known, the stronger.
    fn lose(&mut self, known: Known) {
        if self.known != Some(Known::Nothing) {
            self.known = Some(known);
        }
        if known == Known::Nothing {
            self.text.clear();
        }
    }
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), pos: 0 }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    pub(crate) fn ahead(&self, by: usize) -> Option<u8> {
        self.bytes.get(self.pos + by).copied()
    }

    pub(crate) fn opaque<T>(&self, why: &'static str) -> Result<T, Opaque> {
        Err(Opaque { why, at: self.pos })
    }

    /// Blanks, and lines continued at a blank. Says whether a line was continued.
    pub(crate) fn skip_blanks(&mut self) -> bool {
        let mut continued = false;
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.ahead(1) == Some(b'\n') && self.after_blank() => {
                    self.pos += 2;
                    continued = true;
                }
                _ => return continued,
            }
        }
    }

    /// Within a word or an operator a continued line would join what stands on both sides.
    fn after_blank(&self) -> bool {
        self.pos == 0 || matches!(self.bytes[self.pos - 1], b' ' | b'\t' | b'\n')
    }

    /// The word that begins here.
    pub(crate) fn word(&mut self) -> Result<Lexed, Opaque> {
        let from = self.pos;
        let mut draft = Draft::default();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.single_quoted(&mut draft)?,
                b'"' => self.double_quoted(&mut draft)?,
                b'\\' => self.escaped(&mut draft)?,
                b'$' => self.parameter(&mut draft, Known::Nothing)?,
                _ => self.bare(byte, from, &mut draft)?,
            }
        }
        self.whole_word_is_sound(from, &draft)?;
        let at = from..self.pos;
        let known = draft.known.unwrap_or(Known::Exactly);
        let text =
            String::from_utf8(draft.text).map_err(|_| Opaque { why: "a broken character", at: from })?;
        Ok(Lexed {
            word: Word { text, known, at },
            name_len: draft.name_len,
            quoted: draft.quoted,
            has_newline: draft.has_newline,
        })
    }

    fn bare(&mut self, byte: u8, from: usize, draft: &mut Draft) -> Result<(), Opaque> {
        let first = self.pos == from;
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => draft.push(byte),
            b'_' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+' | b'-' | b']' => draft.push(byte),
            // zsh's `=name` is the path of a program; in a value it begins anew.
            b'=' if matches!(draft.text.last(), None | Some(b'=' | b':')) => draft.lose(Known::Beginning),
            b'=' => {
                if draft.name_len.is_none() && is_name(&self.bytes[from..self.pos]) {
                    draft.name_len = Some(self.pos - from);
                }
                draft.push(byte);
            }
            b'#' if first => return self.opaque("a comment"),
            // zsh's EXTENDED_GLOB repeats what stands before it, or not.
            b'#' => {
                draft.text.clear();
                draft.lose(Known::Beginning);
            }
            b'{' if self.ahead(1) == Some(b'}') => {
                draft.push(b'{');
                draft.push(b'}');
                self.pos += 1;
            }
            // zsh takes any other for the end of a group, even within a word.
            b'}' if draft.braces == 0 => return self.opaque("a brace"),
            b'{' | b'}' => {
                draft.braces = if byte == b'{' { draft.braces + 1 } else { draft.braces - 1 };
                draft.lose(Known::Beginning);
            }
            // busybox ash reads `&&` and `<` as words behind it, wherever it stands.
            b'[' if !first && self.bytes[self.pos - 1] == b'[' => return self.opaque("`[[`"),
            b'*' | b'?' | b'[' | b'~' | b'^' => draft.lose(Known::Beginning),
            b'!' if self.history_is_not_meant() => draft.push(byte),
            b'!' => return self.opaque("`!`"),
            b'`' => return self.opaque("a command substitution"),
            b'(' | b')' => return self.opaque("a parenthesis"),
            0x80.. => return self.opaque("a character beyond ASCII outside quotes"),
            _ => return self.opaque("a control character"),
        }
        self.pos += 1;
        Ok(())
    }

    fn whole_word_is_sound(&self, from: usize, draft: &Draft) -> Result<(), Opaque> {
        let spelled = &self.bytes[from..self.pos];
        if draft.braces > 0 {
            return self.opaque("a brace");
        }
        if matches!(self.peek(), Some(b'<' | b'>')) {
            // `12>x`, `{fd}>x`: which file descriptor is meant, if any, is each shell's own idea.
            let digits = !spelled.is_empty() && spelled.iter().all(u8::is_ascii_digit);
            if digits || (!draft.quoted && spelled.ends_with(b"}")) {
                return self.opaque("a redirection right after a word");
            }
        }
        Ok(())
    }

    fn history_is_not_meant(&self) -> bool {
        matches!(self.ahead(1), None | Some(b' ' | b'\t' | b'\n' | b'=' | b'"'))
    }

    fn single_quoted(&mut self, draft: &mut Draft) -> Result<(), Opaque> {
        draft.quoted = true;
        self.pos += 1;
        loop {
            match self.peek() {
                None => return self.opaque("an open quote"),
                Some(b'\'') => break,
                Some(byte) => {
                    self.printable(byte)?;
                    draft.push(byte);
                    self.pos += 1;
                }
            }
        }
        self.pos += 1;
        if self.peek() == Some(b'\'') {
            return self.opaque("two quoted strings side by side");
        }
        Ok(())
    }

    fn double_quoted(&mut self, draft: &mut Draft) -> Result<(), Opaque> {
        draft.quoted = true;
        self.pos += 1;
        let (mut foreign, mut escapes) = (false, false);
        loop {
            match self.peek() {
                None => return self.opaque("an open quote"),
                Some(b'"') => break,
                Some(b'`') => return self.opaque("a command substitution"),
                Some(b'$') => {
                    self.parameter(draft, Known::Beginning)?;
                    continue;
                }
                Some(b'\\') => {
                    escapes = true;
                    match self.ahead(1) {
                        Some(byte @ (b'$' | b'`' | b'"' | b'\\')) => {
                            draft.push(byte);
                            self.pos += 1;
                        }
                        Some(b'\n') => return self.opaque("a line continued within quotes"),
                        Some(b'!') => return self.opaque("`!`"),
                        _ => draft.push(b'\\'),
                    }
                }
                Some(b'!') if !self.history_is_not_meant() => return self.opaque("`!`"),
                Some(byte) => {
                    self.printable(byte)?;
                    foreign |= byte >= 0x80;
                    draft.push(byte);
                }
            }
            self.pos += 1;
        }
        if foreign && escapes {
            // In some character sets a backslash is the second half of a character.
            return self.opaque("a backslash and characters beyond ASCII in one string");
        }
        self.pos += 1;
        Ok(())
    }

    fn escaped(&mut self, draft: &mut Draft) -> Result<(), Opaque> {
        draft.quoted = true;
        match self.ahead(1) {
            Some(byte @ 0x20..=0x7e) => {
                draft.push(byte);
                self.pos += 2;
                Ok(())
            }
            Some(b'\n') => self.opaque("a line continued within a word"),
            _ => self.opaque("a backslash"),
        }
    }

    /// `$NAME`, `${NAME}`, `$?` and the like. No shell runs anything for these.
    fn parameter(&mut self, draft: &mut Draft, left: Known) -> Result<(), Opaque> {
        let braced = self.ahead(1) == Some(b'{');
        let from = self.pos + if braced { 2 } else { 1 };
        let rest = self.bytes.get(from..).unwrap_or_default();
        let len = match rest.first() {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
            }
            Some(b'?' | b'$' | b'0'..=b'9') => 1,
            // However it is quoted, it may be any number of words.
            Some(b'@' | b'*') => {
                draft.lose(Known::Nothing);
                1
            }
            Some(b'(') => return self.opaque("a command substitution"),
            _ => return self.opaque("an expansion"),
        };
        let after = rest.get(len).copied();
        if braced && after != Some(b'}') {
            return self.opaque("an expansion");
        }
        // zsh reads a subscript there, and computes it; after `$1` dash and bash disagree on more digits.
        if !braced
            && (after == Some(b'[')
                || (rest[0].is_ascii_digit() && after.is_some_and(|b| b.is_ascii_digit())))
        {
            return self.opaque("an expansion");
        }
        draft.lose(left);
        self.pos = from + len + usize::from(braced);
        if braced && self.peek() == Some(b'[') {
            return self.opaque("an expansion");
        }
        Ok(())
    }

    fn printable(&self, byte: u8) -> Result<(), Opaque> {
        match byte {
            b'\n' | b'\t' | 0x20..=0x7e | 0x80.. => Ok(()),
            _ => self.opaque("a control character"),
        }
    }
}

pub(crate) fn is_name(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_'))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
