//! Text that somebody else chose: an agent, a program, a file. The one place that decides what of it a person would not see.
//!
//! 1. [`INVISIBLE`] is the table: characters that act on a terminal, change the order or look of others, or leave no mark.
//!    `web/src/ui/invisible.ts` is generated from it, and a test compares the two.
//! 2. [`Untrusted`] is such a text. It can be printed in one way only: on one line, with every character of the table as its
//!    number, `⟨U+202E⟩`. [`Untrusted::most`] bounds it.
//! 3. [`passage`] is for text of many lines that is read and not decided on: line breaks, tabs and emoji stay.
//!
//! What is escaped once may be escaped again: the second time changes nothing.

use std::fmt::{self, Write as _};

/// The version of Unicode that [`INVISIBLE`] was made from.
pub const UNICODE: &str = "17.0";

/// Ranges of characters that are not seen as what they are, in order: general categories Cc, Cf, Zl, Zp and Zs (but for the
/// space itself), Default_Ignorable_Code_Point, and those that are drawn as nothing or as a blank: U+2800, U+2D7F, U+FFFC,
/// U+13441, U+13442, U+16FE4, U+1D159.
pub const INVISIBLE: [(u32, u32); 34] = [
    (0x0, 0x1f),
    (0x7f, 0xa0),
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x115f, 0x1160),
    (0x1680, 0x1680),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x2000, 0x200f),
    (0x2028, 0x202f),
    (0x205f, 0x206f),
    (0x2800, 0x2800),
    (0x2d7f, 0x2d7f),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffc),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x13441, 0x13442),
    (0x16fe4, 0x16fe4),
    (0x1bca0, 0x1bca3),
    (0x1d159, 0x1d159),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// Blocks of symbols that have emoji among them. In a passage, what follows one may say how it is drawn.
pub const SYMBOLS: [(u32, u32); 9] = [
    (0xa9, 0xa9),
    (0xae, 0xae),
    (0x203c, 0x203c),
    (0x2049, 0x2049),
    (0x2100, 0x27ff),
    (0x2900, 0x2bff),
    (0x3030, 0x303d),
    (0x3297, 0x3299),
    (0x1f000, 0x1faff),
];

/// Whether a person would not see this character, or not as what it is.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    // Nearly all text is this.
    !(' '..='~').contains(&c) && is_in(&INVISIBLE, c)
}

fn is_in(ranges: &[(u32, u32)], c: char) -> bool {
    let c = u32::from(c);
    let at = ranges.partition_point(|(_, last)| *last < c);
    ranges.get(at).is_some_and(|(first, _)| *first <= c)
}

/// Text that somebody else chose. Printed, it is on one line and has nothing in it that is not seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Untrusted<'a> {
    text: &'a str,
    most: usize,
}

impl<'a> Untrusted<'a> {
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, most: usize::MAX }
    }

    /// Prints at most this many characters, and `...` where there were more.
    #[must_use]
    pub fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Returns the lines of the text, split at `\n`. A `\r` before a line break stays in its line and is printed escaped.
    pub fn lines(self) -> impl Iterator<Item = Self> + 'a {
        self.text.split('\n').map(move |text| Self { text, ..self })
    }
}

impl fmt::Display for Untrusted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.most;
        for c in self.text.chars() {
            let length = if is_invisible(c) { escape_length(c) } else { 1 };
            let Some(rest) = left.checked_sub(length) else { return f.write_str("...") };
            left = rest;
            if length == 1 { f.write_char(c)? } else { escape(c, f)? }
        }
        Ok(())
    }
}

/// Logs and assertions print texts, too.
impl fmt::Debug for Untrusted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The number of a character, in brackets no shell and no language knows.
fn escape(c: char, out: &mut impl fmt::Write) -> fmt::Result {
    write!(out, "⟨U+{:04X}⟩", u32::from(c))
}

fn escape_length(c: char) -> usize {
    "⟨U+⟩".chars().count() + if u32::from(c) > 0xffff { 5 } else { 4 }
}

/// Text of any content for one line of a message: at most 60 characters of it.
#[must_use]
pub fn one_line(text: &str) -> String {
    Untrusted::new(text).most(60).to_string()
}

/// Text that is read and not decided on, such as an agent's answer: line breaks and tabs stay, and so does what says after a
/// symbol how it is drawn (U+FE0F, U+200D).
#[must_use]
pub fn passage(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut symbol = false;
    for c in text.chars() {
        let joins = matches!(c, '\u{fe0f}' | '\u{200d}');
        if matches!(c, '\n' | '\t') || !is_invisible(c) || (joins && symbol) {
            shown.push(c);
        } else {
            // Writing to a string never fails.
            let _ = escape(c, &mut shown);
        }
        symbol = is_in(&SYMBOLS, c) || (joins && symbol);
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        Untrusted::new(text).to_string()
    }

    fn all() -> impl Iterator<Item = char> {
        (0..=u32::from(char::MAX)).filter_map(char::from_u32)
    }

    #[test]
    fn every_kind_of_trick_is_seen() {
        for (text, expected) in [
            ("ls -la", "ls -la"),
            ("häß 漢字 ✅ 🎉", "häß 漢字 ✅ 🎉"),
            ("\x1b[2J\r\n\t\x7f\u{9b}", "⟨U+001B⟩[2J⟨U+000D⟩⟨U+000A⟩⟨U+0009⟩⟨U+007F⟩⟨U+009B⟩"),
            ("rm \u{202e}fdp.x\u{2066}", "rm ⟨U+202E⟩fdp.x⟨U+2066⟩"),
            ("a\u{200b}b\u{feff}c\u{2060}", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+2060⟩"),
            ("\u{3164}\u{2800}\u{a0}\u{fe0f}", "⟨U+3164⟩⟨U+2800⟩⟨U+00A0⟩⟨U+FE0F⟩"),
            ("\u{34f}\u{115f}\u{1160}\u{17b4}", "⟨U+034F⟩⟨U+115F⟩⟨U+1160⟩⟨U+17B4⟩"),
            ("\u{17b5}\u{ad}\u{ffa0}", "⟨U+17B5⟩⟨U+00AD⟩⟨U+FFA0⟩"),
            ("\u{e0041}\u{e0100}", "⟨U+E0041⟩⟨U+E0100⟩"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(INVISIBLE.iter().chain(&[(u32::MAX, u32::MAX)]).is_sorted_by(|a, b| a.1 + 1 < b.0));
        assert!(INVISIBLE.iter().chain(&SYMBOLS).all(|(first, last)| first <= last));
        assert!(SYMBOLS.is_sorted_by(|a, b| a.1 < b.0));
    }

    /// The standard library's tables are of another version of Unicode, which only adds characters.
    #[test]
    fn controls_and_blanks_are_all_in_it() {
        for c in all() {
            let blank = (c.is_control() || c.is_whitespace()) && c != ' ';
            assert!(!blank || is_invisible(c), "U+{:04X}", u32::from(c));
            assert!(!c.is_alphanumeric() || !is_invisible(c) || is_filler(c), "U+{:04X}", u32::from(c));
        }
    }

    /// Letters by their category, and yet nothing is seen of them.
    fn is_filler(c: char) -> bool {
        matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{13441}' | '\u{13442}')
    }

    #[test]
    fn a_bound_counts_what_is_printed() {
        let cut = |text, most| Untrusted::new(text).most(most).to_string();
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc...");
        assert_eq!(cut("\u{1b}x", 8), "⟨U+001B⟩...");
        assert_eq!(cut("\u{e0041}", 8), "...");
    }

    #[test]
    fn a_passage_keeps_its_lines_and_emoji() {
        let text = "⚠\u{fe0f} done:\n\t👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥";
        assert_eq!(passage(text), text);
        assert_eq!(passage("a\u{fe0f}\u{200d}\r"), "a⟨U+FE0F⟩⟨U+200D⟩⟨U+000D⟩");
    }

    #[test]
    fn lines_are_one_each() {
        let lines: Vec<String> = Untrusted::new("a\r\n\nb").lines().map(|line| line.to_string()).collect();
        assert_eq!(lines, ["a⟨U+000D⟩", "", "b"]);
    }

    proptest! {
        /// Whatever it is: one line, nothing unseen, within its bound, and done once for all.
        #[test]
        fn any_text_is_fit_to_print(text in "(\\PC|\\pC|[\u{0}-\u{3000}]){0,80}", most in 0usize..200) {
            let whole = shown(&text);
            prop_assert!(!whole.chars().any(is_invisible) && !whole.contains('\n'));
            prop_assert_eq!(shown(&whole), whole.clone());
            let cut = Untrusted::new(&text).most(most).to_string();
            prop_assert!(cut.chars().count() <= most + 3 && !cut.chars().any(is_invisible));
            prop_assert!(whole.starts_with(cut.strip_suffix("...").unwrap_or(&cut)));
            let seen = passage(&text);
            prop_assert!(!seen.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
