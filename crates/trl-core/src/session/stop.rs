//! Ending a command: the first signal to everything it started, a grace, then KILL until nothing is left.
//!
//! ```text
//!  asked ──▶ first signal to all ──▶ look again every few ms ──▶ nothing left: over
//!                                         │ newcomers get the signal too
//!                                         │ grace is over
//!                                         ▼
//!                                    stop all, kill all, until nothing is left
//! ```

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trl_proto::limits::Limit;
use trl_sys::tree::{self, Proc};

/// Why a command is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Timeout,
    Cancel,
    /// It met a limit that is ours to enforce.
    Limit(Limit),
}

#[derive(Debug)]
pub struct Stop {
    why: Why,
    first: Signal,
    kill_at: Instant,
    /// When to look again.
    pub look_at: Instant,
    pause: Duration,
    signalled: HashSet<Proc>,
    /// Something was signalled: from here on nobody can say that the command ended by itself.
    acted: bool,
    /// Until when unkillable processes are waited for.
    give_up_at: Instant,
}

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// A process the kernel does not let go does not hold the session up for longer than this.
const UNKILLABLE: Duration = Duration::from_secs(3);

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Something is still alive.
    Waiting,
    /// All gone, or beyond reach.
    Over,
}

impl Stop {
    pub fn new(why: Why, first: Signal, grace: Duration) -> Self {
        let now = Instant::now();
        let kill_at = now.checked_add(grace).unwrap_or(now);
        Self {
            why,
            first,
            kill_at,
            look_at: now,
            pause: FIRST_PAUSE,
            signalled: HashSet::new(),
            acted: false,
            give_up_at: kill_at + UNKILLABLE,
        }
    }

    /// The same when what it is for was begun already: some of it was killed.
    pub fn under_way(why: Why, first: Signal, grace: Duration) -> Self {
        Self { acted: true, ..Self::new(why, first, grace) }
    }

    pub fn is_timeout(&self) -> bool {
        matches!(self.why, Why::Timeout | Why::Limit(Limit::WallS))
    }

    pub fn is_cancel(&self) -> bool {
        self.why == Why::Cancel
    }

    /// The limit it is ended for.
    pub fn limit(&self) -> Option<Limit> {
        match self.why {
            Why::Limit(limit) => Some(limit),
            Why::Timeout | Why::Cancel => None,
        }
    }

    /// Whether anything was signalled yet.
    pub fn has_acted(&self) -> bool {
        self.acted
    }

    pub fn look_again_soon(&mut self) {
        self.look_at = Instant::now() + FIRST_PAUSE;
    }

    /// A second, harder wish: another signal, an earlier end. Never a later one.
    pub fn harden(&mut self, first: Signal, grace: Duration) {
        let now = Instant::now();
        self.kill_at = self.kill_at.min(now.checked_add(grace).unwrap_or(now));
        self.give_up_at = self.kill_at + UNKILLABLE;
        if first != self.first {
            self.first = first;
            self.signalled.clear();
        }
        self.look_at = now;
        self.pause = FIRST_PAUSE;
    }

    /// Signals what `find` sees.
    pub fn look(&mut self, find: impl Fn() -> Vec<Proc>) -> Look {
        let now = Instant::now();
        if now >= self.kill_at {
            if tree::freeze_and_kill(&find) == 0 {
                self.look_at = now + LONGEST_PAUSE;
                return Look::Over;
            }
            self.acted = true;
        } else {
            let found = find();
            if found.is_empty() {
                self.look_at = now + LONGEST_PAUSE;
                return Look::Over;
            }
            let fresh: Vec<Proc> = found.into_iter().filter(|p| self.signalled.insert(*p)).collect();
            self.acted |= !fresh.is_empty();
            tree::terminate(&fresh, self.first);
        }
        if now >= self.give_up_at {
            return Look::Over;
        }
        self.look_at = (now + self.pause).min(self.kill_at.max(now + FIRST_PAUSE));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Look::Waiting
    }

    /// Even what cannot be killed has been waited for long enough.
    pub fn is_overdue(&self) -> bool {
        Instant::now() >= self.give_up_at
    }

    /// Something changed: look at once.
    pub fn hurry(&mut self) {
        self.look_at = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_acted_once_it_saw_somebody() {
        // a pid nobody can have: the signal goes nowhere, but it was meant for somebody
        let nobody = Proc { pid: i32::MAX, start: 1 };
        for grace in [Duration::from_secs(60), Duration::ZERO] {
            let mut stop = Stop::new(Why::Timeout, Signal::TERM, grace);
            assert_eq!(stop.look(Vec::new), Look::Over);
            assert!(!stop.has_acted());
            stop.look(|| vec![nobody]);
            assert!(stop.has_acted());
            stop.harden(Signal::KILL, Duration::ZERO);
            assert!(stop.has_acted());
        }
    }

    #[test]
    fn one_that_was_under_way_has_acted_whoever_it_sees() {
        let why = Why::Limit(Limit::Pids);
        let mut stop = Stop::under_way(why, Signal::KILL, Duration::ZERO);
        assert!(stop.has_acted());
        assert_eq!((stop.look(Vec::new), stop.limit()), (Look::Over, Some(Limit::Pids)));
        assert!(stop.has_acted());
    }
}
