//! What a plain command is made of.

use std::ops::Range;

/// How much is known of a word before the shell has expanded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// It reaches the command exactly so.
    Exactly,
    /// It becomes any number of words, each beginning with the text: `src/*.rs`, `"$HOME"`.
    Beginning,
    /// It becomes any number of any words: `$x`.
    Nothing,
}

/// A word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// All of it, or what it begins with; see [`Known`].
    pub text: String,
    pub known: Known,
    /// Its bytes in the source; empty for words that do not stand there.
    pub at: Range<usize>,
}

impl Word {
    #[must_use]
    pub fn exact(text: impl Into<String>) -> Self {
        Self { text: text.into(), known: Known::Exactly, at: 0..0 }
    }

    /// A word nobody knows.
    #[must_use]
    pub fn unknown() -> Self {
        Self { text: String::new(), known: Known::Nothing, at: 0..0 }
    }

    /// The text, when that is all of it.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (self.known == Known::Exactly).then_some(self.text.as_str())
    }

    /// Whether one of the words it becomes may be `text`.
    #[must_use]
    pub fn may_be(&self, text: &str) -> bool {
        match self.known {
            Known::Exactly => self.text == text,
            Known::Beginning => text.starts_with(&self.text),
            Known::Nothing => true,
        }
    }

    /// Whether one of the words it becomes may be an option.
    #[must_use]
    pub fn may_be_option(&self) -> bool {
        match self.known {
            Known::Nothing => true,
            Known::Beginning => self.text.is_empty() || self.text.starts_with('-'),
            Known::Exactly => self.text.starts_with('-'),
        }
    }
}

/// `NAME=value` in front of a command, or alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `< file`
    Read,
    /// `> file`
    Write,
    /// `>> file`
    Append,
    /// `>&2`, `2>&-`
    Duplicate,
    /// `<<'EOF'`; the word is the body.
    Here,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The digit in front.
    pub fd: Option<u8>,
    pub direction: Direction,
    pub target: Word,
    pub at: Range<usize>,
}

/// What stands between a command and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Joint {
    /// `;`, a newline, the end.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The name, which is known exactly, and what follows it. Empty when there are only assignments.
    pub words: Vec<Word>,
    pub assignments: Vec<Assignment>,
    pub redirections: Vec<Redirection>,
    /// From its first byte to its last, without a body of `<<`.
    pub at: Range<usize>,
    pub joint: Joint,
}

/// What a text is to the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// Every shell that shares the grammar runs these commands with these words, and nothing else.
    Plain(Vec<Command>),
    /// It may do anything.
    Opaque(Opaque),
}

/// Why a text is not plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct Opaque {
    pub why: &'static str,
    pub at: usize,
}
