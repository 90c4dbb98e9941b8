//! What a keeper hears of refused calls, and how much of it is told.

use std::time::{Duration, Instant};

use super::Op;

/// A call that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) pid: i32,
    pub(crate) op: Op,
}

/// How much is told: a program that is refused again and again must not keep the daemon busy.
#[derive(Debug)]
pub(crate) struct Patience {
    since: Instant,
    told: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { since: Instant::now(), told: 0 }
    }
}

impl Patience {
    const WINDOW: Duration = Duration::from_millis(100);
    const MOST: u32 = 32;

    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= Self::WINDOW {
            *self = Self { since: now, told: 0 };
        }
        self.told += 1;
        self.told <= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_comes_back() {
        let mut patience = Patience::default();
        let start = patience.since;
        assert_eq!((0..100).filter(|_| patience.allows(start)).count(), Patience::MOST as usize);
        assert!(patience.allows(start + Patience::WINDOW));
    }
}
