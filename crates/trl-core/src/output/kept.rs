//! The bytes of one stream: its head, its tail, and the count of what fell out between. Pure, but for the spill.

use std::sync::Arc;

use super::budget::Budget;
use super::spill::Spill;

/// How much of a stream stays in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    pub head: usize,
    pub tail: usize,
}

impl Capacity {
    /// Both ends: how a command begins and how it ends are what matters of it.
    pub fn head_and_tail(bytes: usize) -> Self {
        Self { head: bytes / 2, tail: bytes - bytes / 2 }
    }

    /// Only the newest bytes.
    pub fn tail(bytes: usize) -> Self {
        Self { head: 0, tail: bytes }
    }
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Where `bytes` begins.
    pub offset: u64,
    pub bytes: Vec<u8>,
    /// What was asked for but is gone, just before `bytes`.
    pub gap: Option<(u64, u64)>,
}

impl Slice {
    pub fn next(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// The same piece of a stream that has `by` bytes before this one.
    pub fn shifted(self, by: u64) -> Self {
        let gap = self.gap.map(|(from, to)| (from + by, to + by));
        Self { offset: self.offset + by, gap, ..self }
    }
}

#[derive(Debug)]
pub struct Kept {
    capacity: Capacity,
    head: Vec<u8>,
    /// A ring once it has reached its capacity; `start` is its oldest byte.
    tail: Vec<u8>,
    start: usize,
    total: u64,
    /// No longer allowed to grow: the tail has become a ring at the size it had.
    full: bool,
    charged: usize,
    /// May be kept without asking the budget.
    free: usize,
    budget: Arc<Budget>,
    spill: Option<Spill>,
}

impl Kept {
    pub fn new(capacity: Capacity, budget: Arc<Budget>, spill: Option<Spill>) -> Self {
        let (head, tail) = (Vec::new(), Vec::new());
        Self { capacity, head, tail, start: 0, total: 0, full: false, charged: 0, free: 0, budget, spill }
    }

    /// The newest `bytes` are kept whatever others take.
    pub fn granted(mut self, bytes: usize) -> Self {
        self.free = bytes.min(self.capacity.tail);
        self
    }

    /// How many of the newest bytes are kept from here on, whatever others take.
    pub fn assured(&self) -> usize {
        self.tail.len().max(self.free)
    }

    /// As empty as this one was, for what comes after it.
    pub fn continued(&self) -> Self {
        let spill = self.spill.as_ref().map(Spill::rest);
        Self::new(self.capacity, Arc::clone(&self.budget), spill)
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn memory(&self) -> usize {
        self.charged
    }

    /// The range that is in memory no more.
    pub fn omitted(&self) -> Option<(u64, u64)> {
        let (from, to) = (self.head.len() as u64, self.tail_from());
        (from < to).then_some((from, to))
    }

    fn tail_from(&self) -> u64 {
        self.total - self.tail.len() as u64
    }

    pub fn append(&mut self, bytes: &[u8]) {
        self.budget.count(bytes.len());
        self.append_again(bytes);
    }

    /// Bytes that were counted when they came elsewhere.
    pub fn append_again(&mut self, mut bytes: &[u8]) {
        if self.total == self.head.len() as u64 && self.head.len() < self.capacity.head {
            let fits = bytes.len().min(self.capacity.head - self.head.len());
            let fits = if self.grow_to(fits) { fits } else { 0 };
            self.head.extend_from_slice(&bytes[..fits]);
            self.total += fits as u64;
            bytes = &bytes[fits..];
        }
        if !bytes.is_empty() {
            self.append_tail(bytes);
        }
    }

    /// May `more` bytes be kept in addition? Charged in steps so that a drip of small writes costs nothing.
    fn grow_to(&mut self, more: usize) -> bool {
        const STEP: usize = 4096;
        let used = self.head.len() + self.tail.len();
        let allowed = self.free + self.charged;
        if used + more <= allowed {
            return true;
        }
        let step = (used + more - allowed).next_multiple_of(STEP);
        let allowed = self.budget.take(step);
        self.charged += if allowed { step } else { 0 };
        allowed
    }

    fn append_tail(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = if self.full { 0 } else { self.capacity.tail - self.tail.len() };
        let mut grow = bytes.len().min(room);
        if grow > 0 && !self.grow_to(grow) {
            grow = grow.min(self.free.saturating_sub(self.tail.len()));
        }
        self.tail.extend_from_slice(&bytes[..grow]);
        let rest = &bytes[grow..];
        if !rest.is_empty() {
            self.full = true;
            self.wrap(rest);
        }
    }

    /// Writes into the ring, pushing the oldest bytes out.
    fn wrap(&mut self, bytes: &[u8]) {
        let ring = self.tail.len();
        if bytes.len() >= ring {
            let (passing, kept) = bytes.split_at(bytes.len() - ring);
            self.push_out(ring);
            if let Some(spill) = &mut self.spill {
                spill.append(passing);
            }
            self.tail.copy_from_slice(kept);
            self.start = 0;
            return;
        }
        self.push_out(bytes.len());
        let first = bytes.len().min(ring - self.start);
        self.tail[self.start..self.start + first].copy_from_slice(&bytes[..first]);
        self.tail[..bytes.len() - first].copy_from_slice(&bytes[first..]);
        self.start = (self.start + bytes.len()) % ring;
    }

    /// The `count` oldest bytes of the ring are about to be overwritten.
    fn push_out(&mut self, count: usize) {
        let Some(spill) = &mut self.spill else { return };
        let first = count.min(self.tail.len() - self.start);
        spill.append(&self.tail[self.start..self.start + first]);
        spill.append(&self.tail[..count - first]);
    }

    /// Up to `limit` bytes from `since` on, or from where there are some again.
    pub fn read(&self, since: u64, limit: usize) -> Slice {
        let since = since.min(self.total);
        let head_end = self.head.len() as u64;
        if since < head_end {
            let at = since as usize;
            let end = self.head.len().min(at.saturating_add(limit));
            return Slice { offset: since, bytes: self.head[at..end].to_vec(), gap: None };
        }
        let tail_from = self.tail_from();
        if since < tail_from {
            let spilled_to = head_end + self.spill.as_ref().map_or(0, Spill::len);
            if since < spilled_to
                && let Some(spill) = &self.spill
            {
                let bytes = spill.read(since - head_end, limit);
                if !bytes.is_empty() {
                    return Slice { offset: since, bytes, gap: None };
                }
            }
            let bytes = self.read_tail(0, limit);
            return Slice { offset: tail_from, bytes, gap: Some((since, tail_from)) };
        }
        Slice { offset: since, bytes: self.read_tail((since - tail_from) as usize, limit), gap: None }
    }

    /// All of a range that is in memory.
    pub fn range(&self, from: u64, to: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(to.saturating_sub(from)).unwrap_or(0));
        let mut at = from;
        while at < to {
            let more = self.read(at, usize::try_from(to - at).unwrap_or(usize::MAX));
            if more.bytes.is_empty() {
                break;
            }
            at = more.next();
            bytes.extend(more.bytes);
        }
        bytes
    }

    fn read_tail(&self, skip: usize, limit: usize) -> Vec<u8> {
        let (older, newer) = (&self.tail[self.start..], &self.tail[..self.start]);
        let count = (self.tail.len() - skip).min(limit);
        let mut bytes = Vec::with_capacity(count);
        let from_older = older.get(skip..).unwrap_or_default();
        bytes.extend_from_slice(&from_older[..from_older.len().min(count)]);
        let from_newer = &newer[skip.saturating_sub(older.len())..];
        bytes.extend_from_slice(&from_newer[..count - bytes.len()]);
        bytes
    }

    /// Head and tail in one.
    pub fn everything(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.head.len() + self.tail.len());
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(&self.tail[self.start..]);
        bytes.extend_from_slice(&self.tail[..self.start]);
        bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.budget.give_back(self.charged);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seats::Seats;

    fn kept(capacity: Capacity, budget: usize) -> Kept {
        Kept::new(capacity, Budget::new(budget), None)
    }

    #[test]
    fn nothing_is_dropped_below_the_capacity() {
        let mut log = kept(Capacity::head_and_tail(8), usize::MAX);
        log.append(b"abcdefgh");
        assert_eq!((log.everything(), log.omitted()), (b"abcdefgh".to_vec(), None));
        log.append(b"i");
        assert_eq!((log.everything(), log.omitted()), (b"abcdfghi".to_vec(), Some((4, 5))));
        assert_eq!(log.read(4, 2), Slice { offset: 5, bytes: b"fg".to_vec(), gap: Some((4, 5)) });
    }

    #[test]
    fn without_budget_it_counts_and_keeps_the_newest_it_may() {
        let mut log = kept(Capacity::tail(100_000), 8192);
        log.append(&[1; 8000]);
        log.append(&[2; 8000]);
        assert_eq!(log.total(), 16000);
        assert!(log.memory() <= 8192);
        assert_eq!(log.everything(), vec![2; 8000]);
    }

    #[test]
    fn what_was_granted_is_kept_without_budget() {
        let mut log = kept(Capacity::tail(100), 0).granted(10);
        log.append(b"abcdefg");
        assert_eq!((log.everything(), log.assured()), (b"abcdefg".to_vec(), 10));
        log.append(b"hijklmno");
        assert_eq!((log.everything(), log.memory()), (b"fghijklmno".to_vec(), 0));
        log.append(b"p");
        assert_eq!(log.everything(), b"ghijklmnop");
    }

    #[test]
    fn a_spill_makes_the_middle_readable_up_to_its_cap() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path().into(), 5, Seats::new(1));
        let mut log = Kept::new(Capacity::head_and_tail(4), Budget::new(1 << 20), Some(spill));
        log.append(b"ab");
        for byte in b"cdefghijkl" {
            log.append(&[*byte]);
        }
        assert_eq!(log.read(2, 100).bytes, b"cdefg");
        assert_eq!(log.read(7, 100), Slice { offset: 10, bytes: b"kl".to_vec(), gap: Some((7, 10)) });
    }

    proptest! {
        /// Against the naive model: a vector of everything ever written.
        #[test]
        fn any_read_is_true_to_what_was_written(
            capacity in 2usize..64,
            tail_only: bool,
            writes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..30),
            since in 0u64..600,
            limit in 1usize..100,
        ) {
            let ends = if tail_only { Capacity::tail(capacity) } else { Capacity::head_and_tail(capacity) };
            let mut log = kept(ends, usize::MAX);
            let mut model = Vec::new();
            for write in &writes {
                log.append(write);
                model.extend_from_slice(write);
            }
            prop_assert_eq!(log.total(), model.len() as u64);
            let slice = log.read(since, limit);
            let at = slice.offset as usize;
            prop_assert_eq!(&model[at..at + slice.bytes.len()], &slice.bytes[..]);
            let asked = since.min(log.total());
            match slice.gap {
                None => prop_assert_eq!(slice.offset, asked),
                Some((from, to)) => prop_assert!(from == asked && to == slice.offset && from < to),
            }
            prop_assert!(!slice.bytes.is_empty() || asked == log.total());
            let mut expect = model.clone();
            if let Some((from, to)) = log.omitted() {
                expect.drain(from as usize..to as usize);
            }
            prop_assert_eq!(log.everything(), expect);
            prop_assert!(log.everything().len() >= model.len().min(capacity));
        }
    }
}
