//! What keeps secrets out of everything that is durable.
//!
//! 1. A [`Redactor`] knows the secret values of a session ([`forms`]: also as base64, hex, in URLs, in JSON, quoted) and what
//!    secrets look like in general ([`patterns`]).
//! 2. [`Redactor::text`] is the one function every text goes through. It looks at a whole text: what it replaces may be as long
//!    as a key file. [`stream`] is for bytes that come in pieces; it knows the values only.
//! 3. [`Redactor::clean`] makes a [`Clean`] record, and the store takes no other.
//! 4. [`excerpt`] cuts output down to its beginning and end, after it was cleaned: half a secret is one too.
//!
//! Values of fewer than [`SHORTEST`] bytes are not looked for: they would be found everywhere.

mod clean;
mod excerpt;
mod forms;
mod patterns;
mod stream;

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

pub use clean::{Clean, Redact};
pub use excerpt::{Excerpt, Kept};
pub use stream::RedactStream;

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";
/// For those whose secret is a part of the other.
const OTHER_MARK: &str = "[***]";

/// The shortest value that is looked for.
pub const SHORTEST: usize = 4;

/// Made once per session: building one takes longer than using it.
#[derive(Debug, Clone)]
pub struct Redactor {
    known: Option<AhoCorasick>,
    /// What `known` looks for.
    needles: Vec<Vec<u8>>,
    longest: usize,
    mark: &'static str,
}

impl Default for Redactor {
    /// Knows no values, only what secrets look like.
    fn default() -> Self {
        Self { known: None, needles: Vec::new(), longest: 0, mark: MARK }
    }
}

impl Redactor {
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut needles: Vec<Vec<u8>> = Vec::new();
        let mut mark = MARK;
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < SHORTEST {
                continue;
            }
            if MARK.contains(secret) {
                mark = OTHER_MARK;
            }
            needles.extend(forms::of(secret));
        }
        needles.sort_unstable();
        needles.dedup();
        let known = (!needles.is_empty())
            .then(|| AhoCorasick::builder().match_kind(MatchKind::Standard).build(&needles).ok())
            .flatten();
        let longest = needles.iter().map(Vec::len).max().unwrap_or(0);
        Self { known, needles, longest, mark }
    }

    /// The text without its secrets; borrowed when there were none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = self.values_in(text.as_bytes());
        patterns::find(text, &mut found);
        // Overlapping finds are one; so are neighbours.
        let found = merged(found);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for range in found {
            clean.push_str(text.get(at..range.start).unwrap_or_default());
            clean.push_str(self.mark);
            at = range.end;
        }
        clean.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// In place; says whether anything was replaced.
    pub fn string(&self, text: &mut String) -> bool {
        match self.text(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(clean) => {
                *text = clean;
                true
            }
        }
    }

    /// The same for many.
    pub fn strings<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) -> bool {
        texts.into_iter().fold(false, |changed, text| self.string(text) | changed)
    }

    /// Every string of a value, and every value under a name that promises a secret; says whether anything was replaced.
    pub fn json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().fold(false, |changed, item| self.json(item) | changed),
            Value::Object(fields) => fields.iter_mut().fold(false, |changed, (name, item)| {
                let hide = item.is_string() && is_secret_name(name);
                if hide {
                    *item = Value::String(self.mark.into());
                }
                self.json(item) | hide | changed
            }),
            _ => false,
        }
    }

    /// The only way into the store.
    pub fn clean<T: Redact>(&self, mut record: T) -> Clean<T> {
        record.redact(self);
        Clean::new(record)
    }

    fn values_in(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(known) = &self.known else { return Vec::new() };
        known.find_overlapping_iter(text).map(|found| found.range()).collect()
    }
}

/// Whether a variable of this name holds a secret, as far as a name can say.
pub fn is_secret_name(name: &str) -> bool {
    patterns::is_secret_name(name)
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
