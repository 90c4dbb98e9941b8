//! The beginning and the end of a stream of output, without secrets.
//!
//! It is cleaned before it is cut, in a window somewhat larger than what is kept. At an edge where the stream went on, the word
//! that stands there is dropped, and so is what could be a part of a known value.

use serde::{Deserialize, Serialize};

use super::Redactor;

/// What is at hand of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kept<'a> {
    /// Its first bytes.
    pub head: &'a [u8],
    /// Its last bytes; none that are in `head` too.
    pub tail: &'a [u8],
    /// All it had.
    pub total: u64,
}

/// What is kept of a stream in the history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Excerpt {
    /// All of it, when `tail` is empty.
    pub head: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// Of the whole stream.
    pub bytes: u64,
}

/// More than what is kept, so that a secret at the cut is seen whole.
const MARGIN: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Whole,
    /// The stream went on there.
    Cut,
}

impl Redactor {
    /// At most `cap` bytes of the beginning and as many of the end.
    pub fn excerpt(&self, kept: Kept<'_>, cap: usize) -> Excerpt {
        let window = self.window_for(cap);
        let bytes = kept.total;
        if kept.total > (kept.head.len() + kept.tail.len()) as u64 {
            return self.ends(kept.head, kept.tail, cap, bytes);
        }
        let whole = [kept.head, kept.tail].concat();
        if whole.len() > 2 * window {
            return self.ends(&whole, &whole, cap, bytes);
        }
        let text = self.window(&whole, Edge::Whole, Edge::Whole);
        if text.len() <= 2 * cap {
            return Excerpt { head: text, tail: String::new(), bytes };
        }
        Excerpt { head: first(&text, cap).into(), tail: last(&text, cap).into(), bytes }
    }

    /// What is needed of each end for that.
    pub fn window_for(&self, cap: usize) -> usize {
        cap.saturating_add(MARGIN.max(self.longest))
    }

    fn ends(&self, head: &[u8], tail: &[u8], cap: usize, bytes: u64) -> Excerpt {
        let window = self.window_for(cap);
        let head = self.window(head.get(..window).unwrap_or(head), Edge::Whole, Edge::Cut);
        let tail_from = tail.len().saturating_sub(window);
        let tail = self.window(tail.get(tail_from..).unwrap_or(tail), Edge::Cut, Edge::Whole);
        Excerpt { head: first(&head, cap).into(), tail: last(&tail, cap).into(), bytes }
    }

    fn window(&self, bytes: &[u8], start: Edge, end: Edge) -> String {
        let mut bytes = bytes;
        if start == Edge::Cut {
            bytes = self.without_partial_start(bytes);
            let edge = bytes.get(..MARGIN).unwrap_or(bytes);
            let word = edge.iter().position(u8::is_ascii_whitespace).unwrap_or(0);
            bytes = bytes.get(word..).unwrap_or_default();
        }
        if end == Edge::Cut {
            bytes = self.without_partial_end(bytes);
            let edge = bytes.len().saturating_sub(MARGIN);
            let word = bytes.get(edge..).and_then(|edge| edge.iter().rposition(u8::is_ascii_whitespace));
            bytes = bytes.get(..word.map_or(bytes.len(), |word| edge + word)).unwrap_or_default();
        }
        self.text(&String::from_utf8_lossy(bytes)).into_owned()
    }

    /// Without what could be the end of a value.
    fn without_partial_start<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let part = |needle: &Vec<u8>| {
            (1..needle.len()).rev().find(|n| bytes.starts_with(&needle[needle.len() - n..]))
        };
        let longest = self.needles.iter().filter_map(part).max().unwrap_or(0);
        bytes.get(longest..).unwrap_or_default()
    }

    /// Without what could be the beginning of a value.
    fn without_partial_end<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let part = |needle: &Vec<u8>| (1..needle.len()).rev().find(|n| bytes.ends_with(&needle[..*n]));
        let longest = self.needles.iter().filter_map(part).max().unwrap_or(0);
        bytes.get(..bytes.len() - longest).unwrap_or_default()
    }
}

fn first(text: &str, cap: usize) -> &str {
    let end = (0..=cap.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn last(text: &str, cap: usize) -> &str {
    let from = text.len().saturating_sub(cap);
    let start = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(from);
    text.get(start..).unwrap_or_default()
}
