//! What secrets look like, whoever's they are.
//!
//! One automaton finds the anchors (`ghp_`, `password`, `-----BEGIN`, ...) in any case; at each a small function looks how far
//! the secret reaches, or that it is none. Too much replaced is a nuisance, too little a leak: in doubt it goes.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

enum Kind {
    /// A token with this prefix, exactly so, and at least so many letters behind it.
    Token {
        least: usize,
        letter: fn(u8) -> bool,
    },
    /// A word in the name of something: `API_TOKEN=...`, `"password": "..."`, `--secret ...`.
    Name,
    /// `Authorization: ...`, up to the end of the line or the quote it stands in.
    Header,
    Bearer,
    /// `://user:password@`.
    Url,
    Jwt,
    KeyBegin,
    KeyEnd,
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn dashed(byte: u8) -> bool {
    alnum(byte) || byte == b'_' || byte == b'-'
}

const ANCHORS: &[(&str, Kind)] = &[
    ("ghp_", Kind::Token { least: 20, letter: alnum }),
    ("gho_", Kind::Token { least: 20, letter: alnum }),
    ("ghu_", Kind::Token { least: 20, letter: alnum }),
    ("ghs_", Kind::Token { least: 20, letter: alnum }),
    ("ghr_", Kind::Token { least: 20, letter: alnum }),
    ("github_pat_", Kind::Token { least: 20, letter: dashed }),
    ("glpat-", Kind::Token { least: 16, letter: dashed }),
    ("sk-", Kind::Token { least: 20, letter: dashed }),
    ("sk_live_", Kind::Token { least: 16, letter: alnum }),
    ("rk_live_", Kind::Token { least: 16, letter: alnum }),
    ("xoxa-", Kind::Token { least: 10, letter: dashed }),
    ("xoxb-", Kind::Token { least: 10, letter: dashed }),
    ("xoxp-", Kind::Token { least: 10, letter: dashed }),
    ("xoxr-", Kind::Token { least: 10, letter: dashed }),
    ("xoxs-", Kind::Token { least: 10, letter: dashed }),
    ("npm_", Kind::Token { least: 30, letter: alnum }),
    ("hf_", Kind::Token { least: 30, letter: alnum }),
    ("AIza", Kind::Token { least: 30, letter: dashed }),
    ("AKIA", Kind::Token { least: 16, letter: upper }),
    ("ASIA", Kind::Token { least: 16, letter: upper }),
    ("trl_", Kind::Token { least: 20, letter: dashed }),
    ("token", Kind::Name),
    ("secret", Kind::Name),
    ("password", Kind::Name),
    ("passwd", Kind::Name),
    ("passphrase", Kind::Name),
    ("credential", Kind::Name),
    ("credentials", Kind::Name),
    ("apikey", Kind::Name),
    ("api_key", Kind::Name),
    ("api-key", Kind::Name),
    ("access_key", Kind::Name),
    ("access-key", Kind::Name),
    ("private_key", Kind::Name),
    ("private-key", Kind::Name),
    ("authorization", Kind::Header),
    ("cookie", Kind::Header),
    ("bearer ", Kind::Bearer),
    ("://", Kind::Url),
    ("eyJ", Kind::Jwt),
    ("-----BEGIN ", Kind::KeyBegin),
    ("-----END ", Kind::KeyEnd),
];

/// What a name may go on with after the word: `SECRET_KEY` is one, `token_count` is not.
const NAME_ENDS: &[&str] = &["", "_key", "-key", "_access_key", "_value", "_b64", "_base64", "_data"];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).build(ANCHORS.iter().map(|(text, _)| text)).ok()
});

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(finder) = &*FINDER else { return };
    let bytes = text.as_bytes();
    for hit in finder.find_overlapping_iter(bytes) {
        let Some((anchor, kind)) = ANCHORS.get(hit.pattern().as_usize()) else { continue };
        let exact = bytes.get(hit.range()) == Some(anchor.as_bytes());
        let secret = match kind {
            Kind::Token { least, letter } if exact => token(bytes, hit.range(), *least, *letter),
            Kind::Jwt if exact => jwt(bytes, hit.start()),
            Kind::Token { .. } | Kind::Jwt => None,
            Kind::Name => named(bytes, hit.range()),
            Kind::Header => header(bytes, hit.end()),
            Kind::Bearer => bearer(bytes, hit.end()),
            Kind::Url => userinfo(bytes, hit.end()),
            Kind::KeyBegin => key(text, hit.range()),
            Kind::KeyEnd => end_of_key(text, hit.range()),
        };
        found.extend(secret.filter(|range| !range.is_empty()));
    }
}

/// Whether a variable of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ANCHORS.iter().filter(|(_, kind)| matches!(kind, Kind::Name | Kind::Header));
    words.into_iter().any(|(word, _)| {
        name.rmatch_indices(word)
            .any(|(at, _)| NAME_ENDS.contains(&name.get(at + word.len()..).unwrap_or("?")))
    })
}

fn run(bytes: &[u8], from: usize, letter: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !letter(*byte)).unwrap_or(rest.len())
}

fn at(bytes: &[u8], index: usize) -> u8 {
    bytes.get(index).copied().unwrap_or(0)
}

fn token(bytes: &[u8], anchor: Range<usize>, least: usize, letter: fn(u8) -> bool) -> Option<Range<usize>> {
    // `task-` ends in `sk-`.
    if anchor.start > 0 && alnum(at(bytes, anchor.start - 1)) {
        return None;
    }
    let end = run(bytes, anchor.end, letter);
    (end - anchor.end >= least).then_some(anchor.start..end)
}

fn jwt(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let head = run(bytes, start, dashed);
    if at(bytes, head) != b'.' || head - start < 10 {
        return None;
    }
    let body = run(bytes, head + 1, dashed);
    if body - head < 10 {
        return None;
    }
    let end = if at(bytes, body) == b'.' { run(bytes, body + 1, dashed) } else { body };
    Some(start..end)
}

fn bearer(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let end = run(bytes, from, |byte| dashed(byte) || b".~+/=".contains(&byte));
    (end - from >= 8).then_some(from..end)
}

fn named(bytes: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let name_end = run(bytes, word.end, dashed);
    let rest = bytes.get(word.end..name_end)?.to_ascii_lowercase();
    if !NAME_ENDS.iter().any(|end| end.as_bytes() == rest) {
        return None;
    }
    let name_start = bytes.get(..word.start)?.iter().rposition(|byte| !dashed(*byte)).map_or(0, |at| at + 1);
    let from = match separated(bytes, name_end) {
        Some(from) => from,
        None if bytes.get(name_start..)?.starts_with(b"--") && at(bytes, name_end) == b' ' => {
            run(bytes, name_end, blank)
        }
        None => return None,
    };
    value(bytes, from)
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Where the value begins after `name=`, `name: `, `"name":`, also where quotes are escaped.
fn separated(bytes: &[u8], name_end: usize) -> Option<usize> {
    let quote = run(bytes, name_end, |byte| byte == b'\\' || byte == b'"' || byte == b'\'');
    let sign = run(bytes, quote, blank);
    let from = run(bytes, sign + 1, blank);
    match at(bytes, sign) {
        b'=' => Some(from),
        // `secret:latest` names an image.
        b':' if from > sign + 1 || quote > name_end || b"\"'".contains(&at(bytes, from)) => Some(from),
        _ => None,
    }
}

fn value(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let inside = run(bytes, from, |byte| byte == b'\\');
    let quote = at(bytes, inside);
    let (start, end) = if quote == b'"' || quote == b'\'' {
        (inside + 1, closing(bytes, inside + 1, quote))
    } else {
        (from, run(bytes, from, |byte| byte > b' ' && !b"\"'&;|)}".contains(&byte)))
    };
    let text = bytes.get(start..end)?;
    let refers = text.first().is_none_or(|first| b"$`<([{-".contains(first));
    let word = [&b"true"[..], b"false", b"null", b"none", b"None"]
        .contains(&text.strip_suffix(b",").unwrap_or(text));
    (!refers && !word).then_some(start..end)
}

/// The end of a quoted text: its quote, or the line's end.
fn closing(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut index = from;
    while let Some(byte) = bytes.get(index) {
        match byte {
            // An escaped quote, unless the opening one was escaped as well.
            b'\\' if quote == b'"' && at(bytes, from.saturating_sub(2)) != b'\\' => index += 2,
            b'\\' | b'\n' => return index,
            byte if *byte == quote => return index,
            _ => index += 1,
        }
    }
    bytes.len()
}

fn header(bytes: &[u8], name_end: usize) -> Option<Range<usize>> {
    let from = separated(bytes, name_end)
        .or_else(|| (at(bytes, name_end) == b':').then(|| run(bytes, name_end + 1, blank)))?;
    let from = run(bytes, from, |byte| b"\"'\\".contains(&byte));
    let end = run(bytes, from, |byte| !b"\"'\r\n\\".contains(&byte));
    (!b"$<".contains(&at(bytes, from)) && !refers(bytes, from..end)).then_some(from..end)
}

/// `Bearer $TOKEN`, `Bearer ${TOKEN}`: one variable and nothing else is only the name of a secret.
fn refers(bytes: &[u8], value: Range<usize>) -> bool {
    let scheme = run(bytes, value.start, alnum);
    let word = bytes.get(run(bytes, scheme, blank)..value.end).unwrap_or_default();
    let Some(name) = word.strip_prefix(b"$") else { return false };
    let name = name.strip_prefix(b"{").and_then(|name| name.strip_suffix(b"}")).unwrap_or(name);
    let first = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    first && name.iter().all(|byte| alnum(*byte) || *byte == b'_')
}

fn userinfo(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let end = run(bytes, from, |byte| byte > b' ' && !b"/\"'`<>?#".contains(&byte));
    let host = bytes.get(from..end)?.iter().rposition(|byte| *byte == b'@')? + from;
    let start = match bytes.get(from..host)?.iter().position(|byte| *byte == b':') {
        Some(colon) => from + colon + 1,
        None if host - from >= 20 => from,
        None => return None,
    };
    (at(bytes, start) != b'$').then_some(start..host)
}

fn end_of_line(text: &str, from: usize) -> usize {
    text.get(from..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| from + at)
}

fn is_private(text: &str, from: usize) -> bool {
    text.get(from..end_of_line(text, from)).is_some_and(|line| line.contains("PRIVATE KEY"))
}

/// To the end of the block, or of the text when it is cut off.
fn key(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    if !is_private(text, anchor.end) {
        return None;
    }
    let rest = text.get(anchor.end..)?;
    let end = match rest.find("-----END ") {
        Some(at) => anchor.end + at,
        None => return Some(anchor.start..text.len()),
    };
    let dashes = text.get(end + 9..end_of_line(text, end)).and_then(|line| line.find("-----"));
    Some(anchor.start..dashes.map_or(end_of_line(text, end), |at| end + 9 + at + 5))
}

/// A block whose beginning was cut off.
fn end_of_key(text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let begun = text.get(..anchor.start)?.contains("-----BEGIN ");
    (!begun && is_private(text, anchor.end)).then(|| 0..end_of_line(text, anchor.end))
}
