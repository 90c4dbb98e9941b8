//! A shell's state as parts: what it printed ([`super::dump`]), read.
//!
//! 1. [`State::read`] splits a dump into parts: one variable, one function, one option each. What always differs
//!    between two shells, or cannot be set, is no part of it ([`fleeting`]).
//! 2. [`restore::text`] says what brings a fresh shell from its own state to another.
//! 3. [`State::differences`] says what did not come about.
//!
//! Not here: which parts may be kept on a disk. That is [`crate::checkpoint`]'s.

mod fleeting;
pub mod restore;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::kind::Kind;
use super::quote::quote_bytes;
use super::words::{Statement, mended, statements};

/// What a part is. The order is the order they are listed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    Directory,
    Umask,
    Arguments,
    Variable,
    /// Where variables do not say so themselves.
    Export,
    Readonly,
    Function,
    FunctionMark,
    Alias,
    Trap,
    Option,
    Emulation,
}

impl What {
    const ALL: [(Self, u8, &'static str); 12] = [
        (Self::Directory, b'c', "directory"),
        (Self::Umask, b'u', "umask"),
        (Self::Arguments, b'p', "arguments"),
        (Self::Variable, b'v', "variable"),
        (Self::Export, b'x', "export"),
        (Self::Readonly, b'r', "readonly"),
        (Self::Function, b'f', "function"),
        (Self::FunctionMark, b'm', "function attribute"),
        (Self::Alias, b'a', "alias"),
        (Self::Trap, b't', "trap"),
        (Self::Option, b'o', "option"),
        (Self::Emulation, b'e', "emulation"),
    ];

    fn letter(self) -> u8 {
        Self::ALL.iter().find(|(what, ..)| *what == self).map_or(b'?', |(_, letter, _)| *letter)
    }

    fn of(letter: u8) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == letter).map(|(what, ..)| *what)
    }

    /// For people.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(what, ..)| *what == self).map_or("", |(.., name)| name)
    }
}

/// One part: what it is, its name where there can be several, and the text that makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub what: What,
    pub name: Vec<u8>,
    pub text: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub kind: Kind,
    pub parts: Vec<Part>,
}

impl State {
    /// None if the dump is not whole.
    pub fn read(kind: Kind, dump: &[u8]) -> Option<Self> {
        let mut parts = Vec::new();
        let mut arguments: Vec<Vec<u8>> = Vec::new();
        let mut fields = dump.split(|b| *b == 0);
        loop {
            let (tag, text) = (fields.next()?, fields.next()?);
            let (letter, name) = tag.split_first()?;
            let name = name.strip_prefix(b" ").unwrap_or(name);
            match letter {
                b'z' => break,
                b'q' => arguments.push(quote_bytes(kind, text)),
                _ => parts.extend(section(kind, What::of(*letter)?, name, text)),
            }
        }
        if !arguments.is_empty() {
            parts.push(Part { what: What::Arguments, name: Vec::new(), text: arguments.join(&b' ') });
        }
        Some(Self { kind, parts })
    }

    pub fn find(&self, what: What, name: &[u8]) -> Option<&Part> {
        self.parts.iter().find(|p| p.what == what && p.name == name)
    }

    /// By what they are and what they are called, to compare many.
    fn index(&self) -> BTreeMap<(What, &[u8]), &Part> {
        self.parts.iter().map(|p| ((p.what, p.name.as_slice()), p)).collect()
    }

    /// Parts of this one that `other` has differently or not at all, and what it has beyond them.
    pub fn differences(&self, other: &Self) -> Vec<(What, Vec<u8>)> {
        let (mine, others) = (self.index(), other.index());
        let changed =
            mine.iter().filter(|(key, part)| others.get(*key).is_none_or(|o| !is_same(self.kind, o, part)));
        let beyond = others.keys().filter(|key| !mine.contains_key(*key));
        let both = changed.map(|(key, _)| key).chain(beyond);
        both.map(|(what, name)| (*what, name.to_vec())).collect()
    }

    /// As bytes for a file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for Part { what, name, text } in &self.parts {
            out.push(what.letter());
            out.extend([b" ", name.as_slice(), b"\0", text, b"\0"].concat());
        }
        out
    }

    pub fn decode(kind: Kind, bytes: &[u8]) -> Option<Self> {
        let mut parts = Vec::new();
        let mut fields = bytes.split(|b| *b == 0);
        loop {
            let tag = fields.next()?;
            let Some((letter, name)) = tag.split_first() else { break };
            let text = fields.next()?.to_vec();
            parts.push(Part { what: What::of(*letter)?, name: name.strip_prefix(b" ")?.to_vec(), text });
        }
        fields.next().is_none().then_some(Self { kind, parts })
    }
}

/// zsh prints a function that it read from its own print with other blanks.
fn is_same(kind: Kind, one: &Part, other: &Part) -> bool {
    let solid =
        |part: &Part| part.text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect::<Vec<_>>();
    one.text == other.text || (kind == Kind::Zsh && one.what == What::Function && solid(one) == solid(other))
}

/// The parts of one section of a dump.
fn section(kind: Kind, what: What, name: &[u8], text: &[u8]) -> Vec<Part> {
    let part = |name: &[u8], text: &[u8]| Part { what, name: name.to_vec(), text: text.to_vec() };
    match what {
        What::Directory => vec![part(b"", text)],
        // whatever a trap printed comes first
        What::Umask | What::Emulation => {
            let line = text.trim_ascii_end().rsplit(|b| *b == b'\n').next().unwrap_or_default();
            vec![part(b"", line)]
        }
        What::Arguments if text.is_empty() => Vec::new(),
        What::Arguments => vec![part(b"", text)],
        // ksh93 prints the newlines that stood after it, or none
        What::Function => vec![part(name, undated(kind, text).trim_ascii_end())],
        What::Variable if kind == Kind::Fish => vec![part(name, text.trim_ascii_end())],
        _ => {
            let read = |s: Statement| named(kind, what, s);
            let mended = if kind == Kind::Zsh { Cow::Owned(mended(text)) } else { Cow::Borrowed(text) };
            statements(kind, &mended).into_iter().filter_map(read).collect()
        }
    }
}

/// fish says first where a function comes from, which will be another place.
fn undated(kind: Kind, text: &[u8]) -> &[u8] {
    match text.iter().position(|b| *b == b'\n') {
        Some(at) if kind == Kind::Fish && text.starts_with(b"# Defined") => &text[at + 1..],
        _ => text,
    }
}

/// A statement with the name of what it makes; None for those that make nothing we keep.
fn named(kind: Kind, what: What, statement: Statement) -> Option<Part> {
    let Statement { mut text, words } = statement;
    let before_equals = |word: &[u8]| word.split(|b| *b == b'=').next().unwrap_or_default().to_vec();
    let first = words.first()?.as_slice();
    let operand = || words.iter().skip(1).find(|w| !w.starts_with(b"-")).map(Vec::as_slice);
    let name = match what {
        What::Variable => match (kind, first) {
            (Kind::Dash | Kind::Ash, word) => before_equals(word),
            (Kind::Bash | Kind::BashAsSh, b"declare") => before_equals(words.get(2)?),
            (Kind::Zsh, b"typeset" | b"export" | b"integer" | b"float" | b"readonly") => {
                zsh_name(&words).map(before_equals)?
            }
            (Kind::Ksh93, b"typeset") => before_equals(ksh_name(&words)?),
            (Kind::Ksh93, word) => before_equals(word),
            _ => return None,
        },
        What::Export | What::Readonly => {
            let name = before_equals(operand()?);
            text = [first, b" ", &name].concat();
            name
        }
        What::FunctionMark if words.get(1).is_some_and(|flags| flags != b"-f") => words.get(2)?.clone(),
        What::Alias if matches!(kind, Kind::Dash | Kind::Ash) => {
            text = [b"alias ", text.as_slice()].concat();
            before_equals(first)
        }
        What::Alias if first == b"alias" => {
            let at = words.iter().position(|w| w.contains(&b'='))?;
            // global and suffix aliases have names of their own
            let flags = words[1..at].iter().find(|w| matches!(w.as_slice(), b"-g" | b"-s"));
            let name = before_equals(&words[at]);
            flags.map_or(name.clone(), |flag| [flag.as_slice(), b" ", name.as_slice()].concat())
        }
        What::Trap if first == b"trap" => words.last()?.clone(),
        What::Option if first == b"set" || first == b"shopt" => words.last()?.clone(),
        _ => return None,
    };
    let fleeting = match what {
        What::Variable | What::Export | What::Readonly => fleeting::is_variable(kind, &name),
        What::Option => fleeting::is_option(&name),
        _ => false,
    };
    (!fleeting).then_some(Part { what, name, text })
}

/// Of `typeset -aT PATH path=(...)` the array is meant.
fn zsh_name(words: &[Vec<u8>]) -> Option<&[u8]> {
    let array = words.get(1).is_some_and(|w| w.starts_with(b"-") && w.contains(&b'a') && w.contains(&b'T'));
    let mut operands = words.iter().skip(1).skip_while(|w| w.starts_with(b"-"));
    operands.nth(usize::from(array)).map(Vec::as_slice)
}

/// Its flags may have numbers after them: `typeset -x -F 3 x=1.000`.
fn ksh_name(words: &[Vec<u8>]) -> Option<&[u8]> {
    let flag = |w: &[u8]| w.starts_with(b"-") || w.iter().all(u8::is_ascii_digit);
    words.iter().skip(1).find(|w| !flag(w)).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_is_not_whole_is_none() {
        let whole = b"c\0/tmp\0u\x000022\n\0v\0declare -x A=\"1\"\n\0z\0\0";
        assert!(State::read(Kind::Bash, whole).is_some());
        for end in 0..whole.len() - 1 {
            assert_eq!(State::read(Kind::Bash, &whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn parts_have_the_names_of_what_they_make() {
        let names = |kind, dump: &[u8]| -> Vec<String> {
            let state = State::read(kind, dump).unwrap();
            state.parts.iter().map(|p| String::from_utf8_lossy(&p.name).into_owned()).collect()
        };
        let bash = b"v\0declare -ax a=([0]=\"x=y\")\ndeclare -- b\ndeclare -i RANDOM\n\0a\0alias -- -='cd -'\n\0t\0trap -- 'x' SIGINT\n\0o\0shopt -u autocd\nset +o errexit\n\0m\0declare -f f\ndeclare -fx g\n\0z\0\0";
        assert_eq!(names(Kind::Bash, bash), ["a", "b", "-", "SIGINT", "autocd", "errexit", "g"]);
        let zsh = b"v\0typeset -T TT tt=( x ) ,\ntypeset -aT TT tt=( x ) ,\nexport -i10 n=1\n\0a\0alias -g G='| x'\nalias -s txt=cat\n\0z\0\0";
        assert_eq!(names(Kind::Zsh, zsh), ["TT", "tt", "n", "-g G", "-s txt"]);
        let dash = b"v\0x='a\nb'\nPPID='1'\n\0x\0export x='a\nb'\nexport U\n\0r\0readonly x='a\nb'\n\0z\0\0";
        assert_eq!(names(Kind::Dash, dash), ["x", "x", "U", "x"]);
        let ksh = b"v\0typeset -x -F 3 f=1.000\ny='q r'\n\0z\0\0";
        assert_eq!(names(Kind::Ksh93, ksh), ["f", "y"]);
    }

    #[test]
    fn a_state_is_read_back_from_its_bytes() {
        let dump = b"c\0/tmp\xff\0u\x000022\n\0q\0a'b\0q\0\0v\0declare -x A=\"1\"\n\0f f\0f () \n{ \n    :\n}\n\0z\0\0";
        let state = State::read(Kind::Bash, dump).unwrap();
        assert_eq!(State::decode(Kind::Bash, &state.encode()), Some(state.clone()));
        assert_eq!(state.find(What::Arguments, b"").unwrap().text, b"'a'\\''b' ''");
        assert_eq!(State::decode(Kind::Bash, b"q x\0y"), None);
        let mut other = state.clone();
        other.parts.retain(|p| p.what != What::Variable);
        assert_eq!(state.differences(&other), [(What::Variable, b"A".to_vec())]);
        assert_eq!(other.differences(&state), [(What::Variable, b"A".to_vec())]);
    }
}
