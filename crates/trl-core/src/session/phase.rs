//! Where a session's task stands, and what each place carries: exactly what is true there.

use std::time::Instant;

use tokio::sync::oneshot;
use trl_proto::Error;
use trl_proto::checkpoint::Origin;
use zeroize::Zeroizing;

use super::body::Standby;
use super::messages::Ending;
use super::run::Run;
use super::stop::Stop;
use crate::random::Nonce;
use crate::seats::Seat;

#[derive(Debug)]
pub(super) enum Phase {
    Absent,
    /// `reported` when the shell was faster than its keeper's word of it.
    Starting {
        nonce: Nonce,
        until: Instant,
        then: Then,
        reported: bool,
    },
    Restoring {
        nonce: Nonce,
        until: Instant,
        then: Then,
    },
    Idle,
    Running(Box<Run>),
    /// The shell is dead, its clone on the way.
    Awaiting {
        then: Then,
    },
    Dumping {
        nonce: Nonce,
        until: Instant,
        text: Zeroizing<Vec<u8>>,
        purpose: Dump,
    },
    Promoting {
        nonce: Nonce,
        until: Instant,
        standby: Standby,
        then: Then,
    },
    Ending(Stop),
    LettingGo {
        until: Instant,
        run: Option<Box<Run>>,
    },
    Over,
}

/// A clone that the shell was told to fork.
#[derive(Debug)]
pub(super) struct Renewing {
    pub(super) slot: usize,
    pub(super) nonce: Nonce,
    pub(super) until: Instant,
    /// The shell's children before, to tell the new one apart.
    pub(super) before: Vec<i32>,
    pub(super) cwd: String,
    /// Commands that had run since the previous point.
    pub(super) commands: u64,
    /// The next command waits for it, so it counts as work.
    pub(super) _busy: Option<Seat>,
}

/// What a shell that comes up was needed for.
#[derive(Debug)]
pub(super) enum Then {
    /// The session is new, reset, or opened again.
    Open,
    /// It replaces one that died while idle.
    Replace,
    /// It replaces one that a command ended; the command's result waits for it.
    Publish(Box<Done>),
}

/// An execution that is over but for the news of what became of the shell.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) run: Run,
    pub(super) at: Instant,
}

/// What a state is printed for.
#[derive(Debug)]
pub(super) enum Dump {
    /// The rollback point of a shell that cannot be cloned.
    Point,
    /// The shell is nested too deep and is built anew.
    Rebase,
    /// Somebody asked for it.
    Capture,
    /// A checkpoint that nobody asked for.
    Keep(Origin),
    /// It is a fresh shell's, before it takes on another.
    Fresh(Then),
    /// It is what a shell has made of the state it took on.
    Result(Then),
}

impl Phase {
    /// What the shell that is on its way is needed for.
    pub(super) fn then(&self) -> Option<&Then> {
        match self {
            Self::Starting { then, .. }
            | Self::Restoring { then, .. }
            | Self::Awaiting { then }
            | Self::Promoting { then, .. }
            | Self::Dumping { purpose: Dump::Fresh(then) | Dump::Result(then), .. } => Some(then),
            _ => None,
        }
    }

    /// The same, taken; the phase itself if there is no such thing.
    pub(super) fn into_then(self) -> Result<Then, Self> {
        match self {
            Self::Starting { then, .. }
            | Self::Restoring { then, .. }
            | Self::Awaiting { then }
            | Self::Promoting { then, .. }
            | Self::Dumping { purpose: Dump::Fresh(then) | Dump::Result(then), .. } => Ok(then),
            other => Err(other),
        }
    }
}

#[derive(Debug)]
pub(super) struct EndPlan {
    pub(super) into: Ending,
    pub(super) reason: String,
    /// Its shell's state is to be kept.
    pub(super) keeps_state: bool,
    pub(super) replies: Vec<oneshot::Sender<()>>,
    /// The last execution, if it was the session's end: its result comes when nothing is left,
    pub(super) last: Option<Box<Done>>,
    /// or then.
    pub(super) tell_by: Option<Instant>,
    /// Why it never came up.
    pub(super) failure: Option<Error>,
}
