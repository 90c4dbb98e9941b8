//! Replaces what no two runs share: names of this machine, ids and times. There is no other tolerance.
//!
//! 1. [`Names`] exchanges the home, the runtime directory and the port of a run for those that the pages show.
//! 2. [`MASKS`] blanks ids and times out, in the shown and in the actual text.

use crate::machine::Machine;

/// The home and the port that pages show.
const HOME: &str = "/home/me";
const RUNTIME_DIR: &str = "/run/user/1000";
const PORT: &str = ":7870";

/// A text that differs from run to run, between two that do not.
struct Mask {
    before: &'static str,
    kind: Kind,
    after: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    /// So many characters of the alphabet of ids.
    Id(usize),
    Digits,
    /// `1.0`.
    Decimal,
    /// `12s` with the blanks that follow it in a table.
    Age,
}

const fn id(before: &'static str, length: usize) -> Mask {
    Mask { before, kind: Kind::Id(length), after: "" }
}

const fn number(before: &'static str, kind: Kind, after: &'static str) -> Mask {
    Mask { before, kind, after }
}

const MASKS: &[Mask] = &[
    id("s-", 8),
    id("e-", 10),
    id("t-", 8),
    id("r-", 10),
    // The process of a job in the background.
    number("[1] ", Kind::Digits, ""),
    number("timed out after ", Kind::Decimal, " s"),
    number("  ", Kind::Age, ""),
    number("\"duration_ms\": ", Kind::Digits, ""),
    number("\"waited_ms\": ", Kind::Digits, ""),
];

/// Names of the machine that a page runs on, each with the name in the page.
pub(crate) struct Names(Vec<(String, &'static str)>);

impl Names {
    pub(crate) fn of(machine: &Machine) -> Self {
        let runtime_dir = machine.runtime_dir().display().to_string();
        Self(vec![(machine.home(), HOME), (runtime_dir, RUNTIME_DIR), (format!(":{}", machine.port()), PORT)])
    }

    /// A command of the page as it is typed on this machine.
    pub(crate) fn typed(&self, command: &str) -> String {
        let (port, shown) = &self.0[2];
        command.replace(shown, port)
    }

    /// Output of this machine as a page shows it.
    pub(crate) fn shown(&self, output: &str) -> String {
        let plain = without_colours(output).replace("\r\n", "\n");
        self.0.iter().fold(plain, |text, (actual, shown)| text.replace(actual, shown))
    }
}

/// The text without what [`MASKS`] blank out.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    'text: while let Some(first) = rest.chars().next() {
        for mask in MASKS {
            if let Some(length) = mask.length(rest).filter(|_| mask.may_follow(&out)) {
                out.push_str(mask.before);
                out.push('*');
                rest = &rest[mask.before.len() + length..];
                continue 'text;
            }
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

impl Mask {
    /// A mask that begins with a letter does not begin inside a word.
    fn may_follow(&self, text: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !(self.before.starts_with(is_word) && text.ends_with(is_word))
    }

    /// The length of what differs, when the text begins with this.
    fn length(&self, text: &str) -> Option<usize> {
        let text = text.strip_prefix(self.before)?;
        let span = |text: &str, is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
        let digits = span(text, |c| c.is_ascii_digit());
        let length = match self.kind {
            Kind::Id(length) => {
                (span(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit()) == length).then_some(length)?
            }
            Kind::Digits => digits,
            Kind::Decimal => span(text, |c| c.is_ascii_digit() || c == '.'),
            Kind::Age => {
                let unit = text[digits..].strip_prefix(['s', 'm', 'h'])?;
                (digits > 0).then(|| digits + 1 + span(unit, |c| c == ' '))?
            }
        };
        (length > 0 && text[length..].starts_with(self.after)).then_some(length)
    }
}

/// A terminal shows colours, not the sequences that set them.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.split_once('m') {
            Some((code, rest)) if code.chars().all(|c| c.is_ascii_digit() || c == ';') => out.push_str(rest),
            _ => {
                out.push_str("\u{1b}[");
                out.push_str(part);
            }
        }
    }
    out
}

/// The list is as narrow as it should be.
pub(crate) fn check() {
    let alike = [
        ("s-n5326k7n", "s-k8hpy7p5"),
        ("trl: e-ekrhhieyma runs on", "trl: e-tyd8c4mkq2 runs on"),
        ("[1] 4711", "[1] 12"),
        ("work  9s    idle", "work  10s   idle"),
        ("timed out after 1.0 s (limit", "timed out after 1.1 s (limit"),
    ];
    alike.iter().for_each(|(a, b)| assert_eq!(masked(a), masked(b)));
    let differing = [
        ("s-n5326k7n", "e-n5326k7n"),
        ("s-n5326k7n", "s-n5326k7n2"),
        ("as-n5326k7n", "as-k8hpy7p5"),
        ("code 7", "code 8"),
        ("limit 1 s", "limit 2 s"),
    ];
    differing.iter().for_each(|(a, b)| assert_ne!(masked(a), masked(b)));
}
