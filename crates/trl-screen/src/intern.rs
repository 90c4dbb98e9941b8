//! What is too long for a cell: clusters of code points, links, and underlines with a style or colour.
//!
//! 1. The grid asks for an index and stores it; equal things have equal indices.
//! 2. When a table has doubled since the last time, the owner marks what is still shown and the rest is forgotten
//!    ([`Interned::sweep`]). Tables are thus bounded by what screen and history hold.
//! 3. Links are bounded by bytes as well: a stream of long addresses cannot grow the daemon.

use std::collections::HashMap;
use std::hash::Hash;

/// Below this, a table is not worth sweeping.
const SMALL: usize = 1024;

/// Bytes of link addresses kept at a time; beyond it, text is written without its link.
const LINK_BYTES: usize = 256 * 1024;

/// Code points in a cell. Real scripts need far fewer; a pile of marks is cut here.
pub(crate) const CLUSTER_CODES: usize = 32;

/// An OSC 8 link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    /// The parameters between `8;` and the address, as they came.
    pub(crate) params: Box<str>,
    pub(crate) uri: Box<str>,
}

/// The rarer attributes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ext {
    /// Three bits of underline style above the underline colour.
    pub(crate) underline: u32,
    /// Index of the link, 0 for none.
    pub(crate) link: u32,
}

/// Values by index and back. Index 0 is never given out.
#[derive(Debug)]
struct Table<T> {
    values: Vec<Option<T>>,
    index: HashMap<T, u32>,
    free: Vec<u32>,
    limit: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { values: Vec::new(), index: HashMap::new(), free: Vec::new(), limit: SMALL }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn put(&mut self, value: T) -> u32 {
        if let Some(&found) = self.index.get(&value) {
            return found;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() as u32
        });
        self.values[at as usize - 1] = Some(value.clone());
        self.index.insert(value, at);
        at
    }

    fn get(&self, at: u32) -> Option<&T> {
        self.values.get((at as usize).checked_sub(1)?)?.as_ref()
    }

    fn is_due(&self) -> bool {
        self.index.len() >= self.limit
    }

    fn sweep(&mut self, marks: &[bool]) {
        for (i, value) in self.values.iter_mut().enumerate() {
            if !marks.get(i + 1).copied().unwrap_or(false)
                && let Some(gone) = value.take()
            {
                self.index.remove(&gone);
                self.free.push(i as u32 + 1);
            }
        }
        self.limit = SMALL.max(self.index.len() * 2);
    }
}

/// The three tables.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    clusters: Table<Box<str>>,
    exts: Table<Ext>,
    links: Table<Link>,
    link_bytes: usize,
    /// Set when the last sweep found too many links alive; cleared by the next one that does not.
    links_full: bool,
    /// Links turned away since then; some of the old ones may be gone by now.
    refused: usize,
}

/// What is still in use.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    clusters: Vec<bool>,
    exts: Vec<bool>,
    links: Vec<bool>,
}

impl Marks {
    fn set(list: &mut Vec<bool>, at: u32) {
        let at = at as usize;
        if list.len() <= at {
            list.resize(at + 1, false);
        }
        list[at] = true;
    }

    pub(crate) fn cluster(&mut self, at: u32) {
        Self::set(&mut self.clusters, at);
    }

    pub(crate) fn ext(&mut self, at: u32) {
        Self::set(&mut self.exts, at);
    }

    pub(crate) fn link(&mut self, at: u32) {
        Self::set(&mut self.links, at);
    }
}

impl Interned {
    pub(crate) fn cluster(&mut self, text: &str) -> u32 {
        self.clusters.put(text.into())
    }

    pub(crate) fn cluster_text(&self, at: u32) -> &str {
        self.clusters.get(at).map_or("", |text| text)
    }

    pub(crate) fn ext(&mut self, ext: Ext) -> u32 {
        self.exts.put(ext)
    }

    pub(crate) fn ext_value(&self, at: u32) -> Ext {
        self.exts.get(at).copied().unwrap_or(Ext { underline: 0, link: 0 })
    }

    /// 0 when there is no room for it.
    pub(crate) fn link(&mut self, link: Link) -> u32 {
        if self.links.index.contains_key(&link) {
            return self.links.put(link);
        }
        if self.links_full {
            self.refused += 1;
            return 0;
        }
        self.link_bytes += link.params.len() + link.uri.len();
        self.links.put(link)
    }

    pub(crate) fn link_value(&self, at: u32) -> Option<&Link> {
        self.links.get(at)
    }

    /// Whether the owner should mark and sweep.
    pub(crate) fn is_due(&self) -> bool {
        self.clusters.is_due()
            || self.exts.is_due()
            || self.links.is_due()
            || (self.link_bytes > LINK_BYTES && !self.links_full)
            || self.refused >= SMALL
    }

    pub(crate) fn sweep(&mut self, mut marks: Marks) {
        for (i, used) in marks.exts.iter().enumerate() {
            if *used && let Some(ext) = self.exts.get(i as u32) {
                Marks::set(&mut marks.links, ext.link);
            }
        }
        self.clusters.sweep(&marks.clusters);
        self.exts.sweep(&marks.exts);
        self.links.sweep(&marks.links);
        self.link_bytes = self.links.index.keys().map(|l| l.params.len() + l.uri.len()).sum();
        self.links_full = self.link_bytes > LINK_BYTES / 2;
        self.refused = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_share_an_index_and_the_unmarked_go() {
        let mut all = Interned::default();
        let (a, b) = (all.cluster("e\u{301}"), all.cluster("o\u{308}"));
        assert_eq!(all.cluster("e\u{301}"), a);
        let mut marks = Marks::default();
        marks.cluster(b);
        all.sweep(marks);
        assert_eq!((all.cluster_text(a), all.cluster_text(b)), ("", "o\u{308}"));
        assert_eq!(all.cluster("new"), a, "a freed place is used again");
    }

    #[test]
    fn links_are_bounded_by_bytes() {
        let mut all = Interned::default();
        let link = |n: usize| Link { params: "".into(), uri: format!("{n}{}", "x".repeat(1000)).into() };
        let mut kept = Marks::default();
        for n in 0..10_000 {
            let at = all.link(link(n));
            kept.link(at);
            if all.is_due() {
                all.sweep(std::mem::take(&mut kept));
            }
        }
        assert!(all.link_bytes < 2 * LINK_BYTES, "{}", all.link_bytes);
    }
}
