//! Repetition in two tiers: the same number of rounds in every run, or as many as fit into a time.
//!
//! `TRL_TEST_SECONDS=60` asks for the long tier: each loop goes on for 60 seconds, and random seeds come from the clock.

use std::time::{Duration, Instant};

const VARIABLE: &str = "TRL_TEST_SECONDS";

/// How often a test repeats what it does: `for round in Rounds::new(20) { ... }`.
///
/// Prints how many rounds it reached, and in which time, when it is dropped.
#[derive(Debug)]
pub struct Rounds {
    short: usize,
    /// How long the long tier goes on. None in the short tier.
    long: Option<Duration>,
    start: Instant,
    begun: usize,
}

impl Rounds {
    /// Returns exactly `short` rounds in the short tier. In the long tier `short` rounds are the least, and more follow until
    /// the time is over.
    pub fn new(short: usize) -> Self {
        Self::within(short, long_tier())
    }

    fn within(short: usize, long: Option<Duration>) -> Self {
        Self { short, long, start: Instant::now(), begun: 0 }
    }

    fn has_another(&self) -> bool {
        self.begun < self.short || self.long.is_some_and(|long| self.start.elapsed() < long)
    }
}

impl Iterator for Rounds {
    /// The number of the round, from 0.
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let round = self.begun;
        let another = self.has_another();
        self.begun += usize::from(another);
        another.then_some(round)
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        eprintln!("{} rounds in {:.1?}", self.begun, self.start.elapsed());
    }
}

/// How long each loop of the long tier goes on. None in the short tier.
pub fn long_tier() -> Option<Duration> {
    let seconds = std::env::var(VARIABLE).ok()?;
    Some(Duration::from_secs(seconds.parse().unwrap_or_else(|_| panic!("{VARIABLE}={seconds} is no number"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tier_has_exact_count() {
        assert_eq!(Rounds::within(3, None).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn long_tier_reaches_count_and_time() {
        assert_eq!(Rounds::within(3, Some(Duration::ZERO)).count(), 3);
        let (start, long) = (Instant::now(), Duration::from_millis(20));
        assert!(Rounds::within(1, Some(long)).count() > 1);
        assert!(start.elapsed() >= long);
    }
}
