//! Proves which process another one descends from, although processes may die while the chain of parents is climbed.
//!
//! The proof rests on two facts of the kernel:
//! - An orphan goes to the nearest subreaper above it. So whether a process is below a living subreaper never changes during
//!   its life, whatever happens to the processes between them.
//! - Every new parent of a process is older than that process. So a parent pid that reads the same before and after its
//!   process was opened is a pid that this process had all the while: the handle holds the parent and no later owner of the pid.
//!
//! 1. [`Held`] is a handle on one process, never on a later owner of its pid.
//! 2. [`nearest`] opens the parent of the process it holds, checks the link again, and goes on with the parent.
//! 3. A process that ends before its own parent was read starts the climb anew from the first process.
//! 4. A climb without a proven end is [`Unproven`]: it says nothing about where the process belongs.

pub use crate::os::held::Held;
use crate::os::procs;

/// Why nothing is known about the descent of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    #[error("it ended while it was being checked")]
    Ended,
    #[error("one of its parent processes cannot be seen")]
    Hidden,
    #[error("its chain of parent processes is too long, or changes too fast, to be followed")]
    Endless,
}

/// Links that one proof may take, repeated ones included. Honest processes have a few dozen processes above them. A chain of
/// this many costs the caller some milliseconds, and the caller may be the only thread of a daemon.
const MOST_LINKS: usize = 1024;

/// The process itself or the nearest one above it that `is_one`; None is the proof that there is none.
pub fn nearest(process: &Held, is_one: impl Fn(i32) -> bool) -> Result<Option<i32>, Unproven> {
    let mut left = MOST_LINKS;
    loop {
        match climb(process, &is_one, &mut left)? {
            Climb::Found(pid) => return Ok(Some(pid)),
            Climb::AtRoot => return Ok(None),
            Climb::Changed => {}
        }
    }
}

/// Whether `pid` is proven to be `ancestor` or below it.
pub fn is_within(pid: i32, ancestor: i32) -> bool {
    Held::of(pid).is_some_and(|held| nearest(&held, |p| p == ancestor).is_ok_and(|found| found.is_some()))
}

/// What tells who is above a process on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// The handle of the process itself: nothing hides it.
    Kernel,
    /// The table of processes, in which each can be seen.
    Table,
    /// The same, but processes of other users are hidden from us.
    PartOfTable,
}

/// What this process has to go by.
pub fn witness() -> Witness {
    match Held::of(std::process::id().cast_signed()) {
        Some(me) if me.names_its_parent() => Witness::Kernel,
        _ if procs::stat(1).is_some() => Witness::Table,
        _ => Witness::PartOfTable,
    }
}

enum Climb {
    Found(i32),
    AtRoot,
    /// A process on the way has ended: its children have another parent now.
    Changed,
}

fn climb(start: &Held, is_one: impl Fn(i32) -> bool, left: &mut usize) -> Result<Climb, Unproven> {
    if is_one(start.pid()) {
        return Ok(Climb::Found(start.pid()));
    }
    let mut above: Option<Held> = None;
    loop {
        *left = left.checked_sub(1).ok_or(Unproven::Endless)?;
        let at = above.as_ref().unwrap_or(start);
        let parent = match at.parent() {
            Err(Unproven::Ended) if above.is_some() => return Ok(Climb::Changed),
            Err(why) => return Err(why),
            Ok(0) if at.is_of_the_kernel() => return Err(Unproven::Hidden),
            Ok(0) => return Ok(Climb::AtRoot),
            Ok(parent) => parent,
        };
        // A pid is enough where one is looked for: the process may be hidden from us, and it is alive while it has children.
        if is_one(parent) {
            return Ok(Climb::Found(parent));
        }
        let Some(next) = Held::of(parent) else { return Ok(Climb::Changed) };
        if at.parent() != Ok(parent) {
            return Ok(Climb::Changed);
        }
        above = Some(next);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn own_pid() -> i32 {
        std::process::id().cast_signed()
    }

    #[test]
    fn a_child_is_found_below_its_parents() {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let held = Held::of(child.id().cast_signed()).unwrap();
        assert!(is_within(held.pid(), own_pid()) && !is_within(own_pid(), held.pid()));
        assert_eq!(nearest(&held, |pid| pid == own_pid()), Ok(Some(own_pid())));
        assert_eq!(nearest(&held, |_| true), Ok(Some(held.pid())));
        assert_eq!(nearest(&held, |_| false), Ok(None));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!held.is_alive());
        assert_eq!(nearest(&held, |_| false), Err(Unproven::Ended));
    }

    #[test]
    fn a_cut_climb_proves_nothing() {
        let held = Held::of(own_pid()).unwrap();
        let mut left = 1;
        assert!(matches!(climb(&held, |_| false, &mut left), Err(Unproven::Endless)));
    }
}
