//! How long to wait before a lost connection is tried again, and when to stop. Pure.

use std::time::Duration;

/// The first pause; each next one is twice as long.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Backoff {
    most: Duration,
    tries: u32,
    /// How long the connection has been missing by its own pauses.
    waited: Duration,
}

impl Backoff {
    /// For this long, all pauses together.
    pub(super) fn new(most: Duration) -> Self {
        Self { most, tries: 0, waited: Duration::ZERO }
    }

    /// It worked.
    pub(super) fn reset(&mut self) {
        (self.tries, self.waited) = (0, Duration::ZERO);
    }

    /// Tries since it last worked.
    pub(super) fn tries(&self) -> u32 {
        self.tries
    }

    /// The next pause; none when it was tried for long enough.
    pub(super) fn pause(&mut self) -> Option<Duration> {
        if self.waited >= self.most {
            return None;
        }
        let pause = FIRST.saturating_mul(1 << self.tries.min(16)).min(LONGEST).min(self.most - self.waited);
        self.tries += 1;
        self.waited += pause;
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_end_and_begin_anew() {
        let mut backoff = Backoff::new(Duration::from_secs(20));
        let pauses: Vec<u128> = std::iter::from_fn(|| backoff.pause()).map(|p| p.as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 3650]);
        assert_eq!(pauses.iter().sum::<u128>(), 20_000);
        assert_eq!(backoff.pause(), None);
        backoff.reset();
        assert_eq!((backoff.tries(), backoff.pause()), (0, Some(FIRST)));
        assert_eq!(Backoff::new(Duration::ZERO).pause(), None);
    }
}
