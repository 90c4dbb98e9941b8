//! What git cannot say about a snapshot: which places were passed over, and permission bits that are not the usual ones.
//!
//! A text beside the files, a line each. Names are percent-encoded, as they may be any bytes.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const HEAD: &str = "trl-snapshot 1";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct About {
    /// With all that is below them.
    passed: HashSet<PathBuf>,
    modes: HashMap<PathBuf, u32>,
}

impl About {
    pub(super) fn pass(&mut self, place: &Path) {
        self.passed.insert(place.into());
    }

    /// Notes the permission bits, where they are not what a new file would get anyway.
    pub(super) fn note_mode(&mut self, place: &Path, mode: u32) {
        let mode = mode & 0o777;
        if !matches!(mode, 0o644 | 0o755) {
            self.modes.insert(place.into(), mode);
        }
    }

    pub(super) fn mode(&self, place: &Path) -> Option<u32> {
        self.modes.get(place).copied()
    }

    /// Whether nothing is known of this place.
    pub(super) fn passed_over(&self, place: &Path) -> bool {
        place.ancestors().any(|above| self.passed.contains(above))
    }

    pub(super) fn to_text(&self) -> String {
        let mut lines: Vec<String> =
            self.passed.iter().map(|place| format!("passed {}", encoded(place))).collect();
        lines.extend(self.modes.iter().map(|(place, mode)| format!("mode {mode:o} {}", encoded(place))));
        lines.sort_unstable();
        lines.insert(0, HEAD.into());
        lines.join("\n") + "\n"
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next()? == HEAD).then_some(())?;
        let mut about = Self::default();
        for line in lines {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["passed", place] => about.pass(&decoded(place)?),
                ["mode", mode, place] => {
                    about.modes.insert(decoded(place)?, u32::from_str_radix(mode, 8).ok()? & 0o777);
                }
                _ => return None,
            }
        }
        Some(about)
    }
}

fn encoded(place: &Path) -> String {
    let mut text = String::new();
    for byte in place.as_os_str().as_bytes() {
        match byte {
            b'%' | 0..=b' ' | 127.. => {
                // Writing to a string does not fail.
                let _ = write!(text, "%{byte:02x}");
            }
            plain => text.push(char::from(*plain)),
        }
    }
    text
}

fn decoded(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, more) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = more;
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place() -> impl Strategy<Value = PathBuf> {
        proptest::collection::vec(1..=255u8, 1..12).prop_map(|bytes| OsString::from_vec(bytes).into())
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            passed in proptest::collection::hash_set(place(), 0..5),
            modes in proptest::collection::hash_map(place(), 0..0o777u32, 0..5),
        ) {
            let about = About { passed, modes };
            prop_assert_eq!(About::parse(&about.to_text()), Some(about));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            About::parse(&text);
            About::parse(&format!("{HEAD}\n{text}"));
        }
    }

    #[test]
    fn a_place_is_passed_over_with_what_is_below() {
        let mut about = About::default();
        about.pass(Path::new("a/b"));
        for (place, passed) in [("a/b", true), ("a/b/c/d", true), ("a/bc", false), ("a", false)] {
            assert_eq!(about.passed_over(Path::new(place)), passed, "{place}");
        }
    }
}
