//! Streams of emoji and ideographs as they come from outside: the lines of Unicode's `emoji-test.txt`, and the Chinese texts of
//! the web UI. Some streams are the plain lines, as `cat` shows them; in others, programs place, colour, edit and erase them.

use crate::random::Random;
use crate::synthetic::{Kind, edit, erase, line, mixed, place, style, words};
use crate::{Stream, boundary};

/// Every emoji of Unicode 15.0, with its code points, status and name: the file as Unicode publishes it, under the terms that its
/// first lines name.
const EMOJI: &str = include_str!("emoji-test.txt");
const CHINESE: &str = include_str!("../../../../web/src/i18n/zh.ts");

const LENGTH: usize = 24 * 1024;

const KINDS: &[(&str, &[Kind])] = &[
    ("emoji", &[emoji, emoji, words]),
    ("emoji-styles", &[emoji, style, line, place, words]),
    ("emoji-edits", &[emoji, edit, erase, place, line, style]),
    ("ideographs", &[ideographs, line, style, place, words]),
    ("both", &[emoji, ideographs, line, style, place, edit, erase]),
];

pub(crate) fn streams(seed: u64) -> Vec<Stream> {
    let mut random = Random::seeded(seed);
    let mut streams: Vec<Stream> = [("cat-emoji", EMOJI), ("cat-chinese", CHINESE)]
        .into_iter()
        .map(|(name, text)| Stream {
            name: name.into(),
            bytes: excerpt(text, &mut random),
            ..Stream::default()
        })
        .collect();
    streams.extend(KINDS.iter().map(|(name, kinds)| {
        let bytes = mixed(kinds, &mut random);
        Stream { name: (*name).into(), bytes, ..Stream::default() }
    }));
    streams
}

/// Some of the lines of a text, from any of them on.
fn excerpt(text: &str, random: &mut Random) -> Vec<u8> {
    let from = boundary(text.as_bytes(), random.below(text.len().saturating_sub(LENGTH)));
    let to = boundary(text.as_bytes(), (from + LENGTH).min(text.len()));
    text[from..to].replace('\n', "\r\n").into_bytes()
}

fn any_line(text: &'static str, random: &mut Random) -> &'static str {
    let rest = &text[boundary(text.as_bytes(), random.below(text.len()))..];
    rest.lines().nth(1).unwrap_or(rest)
}

/// What stands behind `#` in a line: the emoji, the version it came with, and its name. Several follow each other, as in text.
fn emoji(random: &mut Random) -> String {
    let shown = |line: &'static str| line.split_once("# ").map_or(line, |(_, shown)| shown);
    (0..1 + random.below(4))
        .map(|_| {
            let text = shown(any_line(EMOJI, random));
            if random.one_in(2) { text } else { text.split(' ').next().unwrap_or(text) }
        })
        .collect()
}

fn ideographs(random: &mut Random) -> String {
    any_line(CHINESE, random).to_string()
}
