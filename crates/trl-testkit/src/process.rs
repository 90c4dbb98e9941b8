//! Eyes on `/proc`: which processes did a test cause, and are they gone?
//!
//! 1. [`adopt_orphans`] makes the test process the reaper of last resort of everything below it, so a process that
//!    escapes its daemon becomes a child of the test instead of vanishing from sight.
//! 2. "Below" is then exact: [`descendants`] and [`procs_matching`] never see another test's processes.
//! 3. [`wait_gone`] waits on a pidfd, so an end is an event and never a guess. Zombies count as gone.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use crate::{PATIENCE, shared};

/// One row of the process table.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// `R`, `S`, `Z`, ... as in `/proc/PID/stat`.
    pub state: char,
    /// Arguments joined by blanks; empty for a zombie.
    pub cmdline: String,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut rest = stat[stat.rfind(')')? + 2..].split(' ');
        let state = rest.next()?.chars().next()?;
        let parent = rest.next()?.parse().ok()?;
        let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let cmdline = String::from_utf8_lossy(&raw).replace('\0', " ").trim_end().to_string();
        Some(Self { pid, parent, state, cmdline })
    }

    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

fn table() -> BTreeMap<i32, Process> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let pids = entries.filter_map(|e| e.file_name().to_string_lossy().parse().ok());
    pids.filter_map(|pid| Some((pid, Process::read(pid)?))).collect()
}

pub(crate) fn all() -> Vec<Process> {
    table().into_values().collect()
}

/// Ended, whether or not anybody has taken note.
pub fn is_gone(pid: i32) -> bool {
    Process::read(pid).is_none_or(|process| process.is_zombie())
}

pub fn parent(raw: i32) -> Option<i32> {
    Process::read(raw).map(|process| process.parent)
}

/// Everything below `root`, zombies included.
pub fn below(root: i32) -> Vec<Process> {
    let table = table();
    table.values().filter(|p| is_below(&table, p, root)).cloned().collect()
}

/// `/proc` is not read in one instant: a process whose parent ended meanwhile has a new one, which is looked up then.
fn is_below(table: &BTreeMap<i32, Process>, process: &Process, root: i32) -> bool {
    let mut at = process.clone();
    loop {
        match at.parent {
            parent if parent == root => return true,
            0 => return false,
            parent => match table.get(&parent).cloned().or_else(|| Process::read(parent)) {
                Some(above) => at = above,
                // The parent is gone: ask the child again. If that is gone too, so is the whole question.
                None => match Process::read(at.pid) {
                    Some(again) => at = again,
                    None => return false,
                },
            },
        }
    }
}

/// Live processes below `root`.
pub fn descendants(root: i32) -> Vec<i32> {
    below(root).into_iter().filter(|p| !p.is_zombie()).map(|p| p.pid).collect()
}

/// Everything this test caused: what is below it, and what is in the containers that are its own for now.
pub fn caused() -> Vec<Process> {
    let table = table();
    let places = shared::places();
    let is_ours =
        |p: &&Process| is_below(&table, p, own_pid()) || places.iter().any(|place| place.has(p.pid));
    table.values().filter(is_ours).cloned().collect()
}

/// Live processes that this test caused and whose command line contains `pattern`.
pub fn procs_matching(pattern: &str) -> Vec<i32> {
    caused().into_iter().filter(|p| !p.is_zombie() && p.cmdline.contains(pattern)).map(|p| p.pid).collect()
}

/// A `sleep` that outlasts every test and that no other test has, to be looked for by [`procs_matching`].
pub fn sleeper() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("sleep 97{:05}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn zombies_below(root: i32) -> Vec<Process> {
    below(root).into_iter().filter(Process::is_zombie).collect()
}

pub fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

/// Orphans of our descendants become our children, and stay in sight.
pub fn adopt_orphans() {
    trl_sys::harden::adopt_orphans().expect("Linux has child subreapers");
}

fn pid(raw: i32) -> Pid {
    Pid::from_raw(raw).expect("a pid is positive")
}

/// A handle that becomes readable when the process ends; None when it is gone already.
pub fn pidfd(raw: i32) -> Option<OwnedFd> {
    trl_sys::tree::end_of(raw)
}

/// Waits until the process of this pid has ended (a zombie has). Panics when it does not.
pub fn wait_gone(raw: i32) {
    if let Some(fd) = pidfd(raw) {
        let what = Process::read(raw).map(|p| p.cmdline).unwrap_or_default();
        assert!(ends(&fd), "process {raw} does not end: {what}");
    }
}

/// Whether the process behind `fd` ends within [`PATIENCE`].
pub fn ends(fd: &OwnedFd) -> bool {
    readable(fd, PATIENCE)
}

/// Whether `fd` becomes readable (or hangs up) within `limit`.
pub fn readable(fd: &impl std::os::fd::AsFd, limit: std::time::Duration) -> bool {
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    poll(&mut fds, Some(&limit)).expect("poll") > 0
}

pub fn is_alive(raw: i32) -> bool {
    Process::read(raw).is_some_and(|p| !p.is_zombie())
}

/// Sends a signal; a process that is gone already is fine.
pub fn signal(raw: i32, signal: Signal) {
    let _ = rustix::process::kill_process(pid(raw), signal);
}

pub fn rss_bytes(raw: i32) -> u64 {
    memory(raw, "VmRSS:")
}

/// What of that is not a file's: the heap and the stacks.
pub fn anonymous_bytes(raw: i32) -> u64 {
    memory(raw, "RssAnon:")
}

fn memory(raw: i32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{raw}/status")).expect("the process lives");
    let line = status.lines().find(|l| l.starts_with(name)).expect("a line of that name");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number of kB");
    kib * 1024
}

pub fn fd_count(raw: i32) -> usize {
    fs::read_dir(format!("/proc/{raw}/fd")).expect("the process lives").count()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_orphan_stays_in_sight_until_it_is_gone() {
        adopt_orphans();
        let nap = sleeper();
        let script = format!("setsid {nap} >/dev/null 2>&1 &");
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        crate::eventually("it is seen", || procs_matching(&nap).len() == 1);
        let orphan = procs_matching(&nap)[0];
        assert!(descendants(own_pid()).contains(&orphan) && is_alive(orphan));
        signal(orphan, Signal::KILL);
        wait_gone(orphan);
        assert!(procs_matching(&nap).is_empty());
        assert!(zombies_below(own_pid()).iter().any(|p| p.pid == orphan), "an unreaped child is a zombie");
    }
}
