//! Which characters share a cell, and how many columns a cell takes.
//!
//! The web terminal decides both with xterm.js's add-on for grapheme clusters (Unicode 15). The rules here are the same ones,
//! or the cursor and the text of a restored terminal drift apart. [`TABLE`] is printed by `tests/judge/table.mjs` from that
//! add-on, and a test compares the two.

mod table;

use table::TABLE;

/// How a character joins its neighbours: the property Grapheme_Cluster_Break of Unicode (UAX #29).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    Other,
    Prepend,
    Extend,
    RegionalIndicator,
    SpacingMark,
    HangulL,
    HangulV,
    HangulT,
    HangulLV,
    HangulLVT,
    Joiner,
    Pictograph,
}

/// What is known of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    kind: Break,
    width: u8,
}

/// The character printed last, as far as the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Printed {
    kind: Break,
    /// Columns of the cell that the character is in: 1 or 2.
    pub(crate) width: u8,
}

impl Printed {
    /// A printable ASCII character in a cell of its own.
    pub(crate) const ASCII: Self = Self { kind: Break::Other, width: 1 };

    /// Whether an ASCII character that follows gets a cell of its own.
    pub(crate) fn ends_before_ascii(self) -> bool {
        self.kind != Break::Prepend
    }
}

/// What printing a character does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The character joins the cell of the one before, which has `Printed::width` columns now.
    pub(crate) joins: bool,
    pub(crate) printed: Printed,
}

/// Returns what printing `code` does after `before`, the character printed last. `before` is `None` after anything that is
/// not a character, such as a control sequence.
pub(crate) fn step(code: u32, before: Option<Printed>) -> Step {
    let Class { kind, width } = class(code);
    let Some(before) = before.filter(|before| joins(before.kind, kind)) else {
        return Step { joins: false, printed: Printed { kind, width } };
    };
    let is_flag = kind == Break::RegionalIndicator;
    let width = if is_flag { 2 } else { width.max(before.width) };
    // A third regional indicator begins another flag.
    let kind = if is_flag { Break::Other } else { kind };
    Step { joins: true, printed: Printed { kind, width } }
}

/// Returns the columns of a character that joins no other: 1 or 2.
pub(crate) fn width(code: u32) -> u8 {
    class(code).width
}

/// Returns what printing the characters of one cell leads to, and whether they all share that cell.
pub(crate) fn cell(text: &str) -> Option<Printed> {
    let mut chars = text.chars();
    let mut printed = step(chars.next()? as u32, None).printed;
    for char in chars {
        let next = step(char as u32, Some(printed));
        if !next.joins {
            return None;
        }
        printed = next.printed;
    }
    Some(printed)
}

/// The rules of UAX #29 that xterm.js applies.
fn joins(before: Break, after: Break) -> bool {
    use Break::*;
    let syllable = matches!(
        (before, after),
        (HangulL, HangulL | HangulV | HangulLV | HangulLVT)
            | (HangulLV | HangulV, HangulV | HangulT)
            | (HangulLVT | HangulT, HangulT)
    );
    let mark = before == Prepend || matches!(after, Extend | Joiner | SpacingMark);
    let emoji = (before, after) == (Joiner, Pictograph);
    let flag = (before, after) == (RegionalIndicator, RegionalIndicator);
    syllable || mark || emoji || flag
}

const HANGUL_SYLLABLES: std::ops::Range<u32> = 0xac00..0xd7a4;
const IDEOGRAPHS: std::ops::Range<u32> = 0x4e00..0xa000;

fn class(code: u32) -> Class {
    if code < 0xa0 {
        return Class { kind: Break::Other, width: 1 };
    }
    // The most frequent ones without a search.
    if IDEOGRAPHS.contains(&code) {
        return Class { kind: Break::Other, width: 2 };
    }
    if HANGUL_SYLLABLES.contains(&code) {
        // Each block of 28 syllables begins with the one without a final consonant.
        let open = (code - HANGUL_SYLLABLES.start).is_multiple_of(28);
        return Class { kind: if open { Break::HangulLV } else { Break::HangulLVT }, width: 2 };
    }
    let after = TABLE.partition_point(|entry| entry >> 8 <= code);
    let bits = after.checked_sub(1).and_then(|at| TABLE.get(at)).map_or(0, |entry| entry & 0xff);
    let kind = match bits & 0xf {
        1 => Break::Prepend,
        2 => Break::Extend,
        3 => Break::RegionalIndicator,
        4 => Break::SpacingMark,
        5 => Break::HangulL,
        6 => Break::HangulV,
        7 => Break::HangulT,
        8 => Break::HangulLV,
        9 => Break::HangulLVT,
        10 => Break::Joiner,
        11 => Break::Pictograph,
        _ => Break::Other,
    };
    Class { kind, width: if bits & WIDE == 0 { 1 } else { 2 } }
}

/// Beside the kind of a character in an entry of the table: it takes two columns.
const WIDE: u32 = 0x10;

#[cfg(test)]
mod tests {
    use super::*;

    fn width_of(text: &str) -> Option<u8> {
        cell(text).map(|printed| printed.width)
    }

    #[test]
    fn clusters_share_a_cell() {
        for (text, width) in [
            ("a", 1),
            ("é", 1),
            ("e\u{301}", 1),
            ("漢", 2),
            ("한", 2),
            ("\u{1112}\u{1161}\u{11ab}", 2),
            ("ｱ", 1),
            ("Ａ", 2),
            ("😀", 2),
            ("👍🏽", 2),
            ("❤", 1),
            ("❤\u{fe0f}", 2),
            ("1\u{fe0f}\u{20e3}", 2),
            ("👨\u{200d}👩\u{200d}👧", 2),
            ("🇩", 1),
            ("🇩🇪", 2),
            ("\u{301}", 1),
        ] {
            assert_eq!(width_of(text), Some(width), "{text:?}");
        }
    }

    #[test]
    fn others_do_not() {
        for text in ["ab", "漢字", "😀😀", "🇩🇪🇫", "한글", "a漢"] {
            assert_eq!(cell(text), None, "{text:?}");
        }
    }
}
