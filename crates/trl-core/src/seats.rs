//! Counted things of which there may be so many: sessions, running commands, descriptors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Clone)]
pub struct Seats {
    taken: Arc<AtomicUsize>,
    limit: usize,
}

/// One of them; given back when dropped.
#[derive(Debug)]
pub struct Seat(Arc<AtomicUsize>);

impl Seats {
    pub fn new(limit: usize) -> Self {
        Self { taken: Arc::default(), limit }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    pub fn take(&self) -> Option<Seat> {
        self.take_below(self.limit)
    }

    /// For whoever may not have all of them.
    pub fn take_below(&self, limit: usize) -> Option<Seat> {
        let more = |n: usize| (n < limit.min(self.limit)).then_some(n + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Seat(Arc::clone(&self.taken)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_taken_within_the_limit_and_given_back() {
        let seats = Seats::new(2);
        let first = seats.take().unwrap();
        assert!(seats.take_below(1).is_none());
        let second = seats.take();
        assert!(second.is_some() && seats.take().is_none());
        drop(first);
        assert_eq!(seats.taken(), 1);
        assert!(seats.take().is_some());
    }
}
