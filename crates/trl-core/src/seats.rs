//! Counted things of which there may be so many: sessions, running commands, descriptors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Clone)]
pub struct Seats {
    count: Arc<Count>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Count {
    taken: AtomicUsize,
    /// The last that was taken is free again.
    emptied: Notify,
}

/// One of them; given back when dropped.
#[derive(Debug)]
pub struct Seat(Arc<Count>);

impl Seats {
    pub fn new(limit: usize) -> Self {
        Self { count: Arc::default(), limit }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn taken(&self) -> usize {
        self.count.taken.load(Ordering::Relaxed)
    }

    pub fn take(&self) -> Option<Seat> {
        self.take_below(self.limit)
    }

    /// For whoever may not have all of them.
    pub fn take_below(&self, limit: usize) -> Option<Seat> {
        let more = |n: usize| (n < limit.min(self.limit)).then_some(n + 1);
        self.count.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Seat(Arc::clone(&self.count)))
    }

    /// Resolves when none is taken.
    pub async fn all_free(&self) {
        loop {
            // Hears of everything from here on.
            let emptied = self.count.emptied.notified();
            if self.taken() == 0 {
                return;
            }
            emptied.await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.0.taken.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.emptied.notify_waiters();
        }
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

    #[tokio::test]
    async fn whoever_waits_for_the_last_hears_of_it() {
        let seats = Seats::new(2);
        seats.all_free().await;
        let (one, two) = (seats.take(), seats.take());
        let waiting = tokio::spawn({
            let seats = seats.clone();
            async move { seats.all_free().await }
        });
        tokio::task::yield_now().await;
        drop(one);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(two);
        waiting.await.unwrap();
    }
}
