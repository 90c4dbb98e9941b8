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
use trl_sys::tree::{self, Proc};

/// Why a command is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Timeout,
    Cancel,
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
            give_up_at: kill_at + UNKILLABLE,
        }
    }

    pub fn is_timeout(&self) -> bool {
        self.why == Why::Timeout
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
        } else {
            let found = find();
            if found.is_empty() {
                self.look_at = now + LONGEST_PAUSE;
                return Look::Over;
            }
            let fresh: Vec<Proc> = found.into_iter().filter(|p| self.signalled.insert(*p)).collect();
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
