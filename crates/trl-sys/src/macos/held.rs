//! One process, told apart by its start time: there is no handle on a process.

use std::os::fd::AsFd;

use super::procs;
use crate::lineage::Unproven;

/// A process that is never mistaken for a later owner of its pid.
#[derive(Debug)]
pub struct Held {
    pid: i32,
    start: u64,
}

impl Held {
    /// Whoever has this pid now.
    pub fn of(pid: i32) -> Option<Self> {
        procs::stat(pid).map(|stat| Self { pid, start: stat.start })
    }

    /// The process that connected to this socket, or whoever has its pid now.
    pub fn peer(_: impl AsFd, pid: i32) -> Option<Self> {
        Self::of(pid)
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the pid is still this process's.
    pub fn is_alive(&self) -> bool {
        self.parent().is_ok()
    }

    /// The pid of its parent at this moment; 0 where there is none.
    pub(crate) fn parent(&self) -> Result<i32, Unproven> {
        let stat = procs::stat(self.pid).filter(|stat| stat.start == self.start);
        stat.map(|stat| stat.ppid).ok_or(Unproven::Ended)
    }

    pub(crate) fn names_its_parent(&self) -> bool {
        true
    }

    /// The kernel lends no process a thread of its own.
    pub(crate) fn is_of_the_kernel(&self) -> bool {
        false
    }
}
