//! Processes as Linux shows them: /proc, and descriptors that hold one.
//!
//! A signal goes through a pidfd that was opened first and checked against the start time after. A child belongs to the
//! thread that forked it, so the children of a process are in as many lists as it has threads.

use std::ffi::c_int;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::tree::{Proc, Stat};

/// Of `waitid`: children of any kind.
pub(crate) const OF_ANY_KIND: c_int = libc::__WALL;

/// None when there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&read_small(&format!("/proc/{pid}/stat"))?)
}

/// The fields behind the command name, from the third on. That name may hold anything, parentheses too: the last one ends it.
fn fields(text: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let rest = &text[text.iter().rposition(|b| *b == b')')? + 1..];
    Some(rest.split(|b| *b == b' ').filter(|f| !f.is_empty()))
}

fn parse_stat(text: &[u8]) -> Option<Stat> {
    let mut fields = fields(text)?;
    let state = *fields.next()?.first()?;
    let ppid = number(fields.next()?)?;
    let group = number(fields.next()?)?;
    // state is field 3, ppid 4, pgrp 5, starttime 22
    let start = number(fields.nth(16)?)?;
    Some(Stat { state, ppid, group, start })
}

/// Whether this is a thread of the kernel's. True of a process that cannot be seen.
pub(crate) fn is_kernel_thread(pid: i32) -> bool {
    /// Of the kernel's `PF_` flags.
    const OF_THE_KERNEL: u32 = 0x0020_0000;
    // state is field 3, flags 9
    let flags = |text: Vec<u8>| number::<u32>(fields(&text)?.nth(6)?);
    read_small(&format!("/proc/{pid}/stat")).and_then(flags).is_none_or(|f| f & OF_THE_KERNEL != 0)
}

/// Whether the pids in /proc are those of our own pid namespace: a mount made in another one shows other processes.
pub(crate) fn shows_our_namespace() -> bool {
    let name = fs::read_link("/proc/self").ok();
    name.and_then(|name| name.to_str()?.parse().ok()) == Some(std::process::id())
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.trim_ascii().parse().ok()
}

fn read_small(path: &str) -> Option<Vec<u8>> {
    let mut file = fs::File::open(path).ok()?;
    let mut buf = vec![0u8; 1024];
    let mut len = 0;
    loop {
        match file.read(&mut buf[len..]) {
            Ok(0) => break,
            // A first read that is short is all there is; a later one may only have met the end of the kernel's page.
            Ok(n) if len == 0 && n < buf.len() => {
                len += n;
                break;
            }
            Ok(n) => {
                len += n;
                if len == buf.len() {
                    buf.resize(len * 2, 0);
                }
            }
            Err(_) => return None,
        }
    }
    buf.truncate(len);
    Some(buf)
}

/// Children forked by the process's first thread: all of them for a shell, in one read.
pub fn children_of_main_thread(pid: i32) -> Vec<i32> {
    children_of_thread(pid, pid)
}

fn children_of_thread(pid: i32, tid: i32) -> Vec<i32> {
    read_small(&format!("/proc/{pid}/task/{tid}/children")).map(|text| pids(&text)).unwrap_or_default()
}

fn pids(text: &[u8]) -> Vec<i32> {
    text.split(|b| *b == b' ').filter_map(number).collect()
}

/// The children list of one single-threaded process, kept open: looking again is one read.
#[derive(Debug)]
pub struct ChildrenOf {
    file: fs::File,
}

impl ChildrenOf {
    pub fn open(pid: i32) -> Option<Self> {
        Some(Self { file: fs::File::open(format!("/proc/{pid}/task/{pid}/children")).ok()? })
    }

    /// None when the process is gone or the list is longer than a glance.
    pub fn glance(&self) -> Option<Vec<i32>> {
        let mut buf = [0; 256];
        let len = self.file.read_at(&mut buf, 0).ok().filter(|n| *n < buf.len())?;
        Some(pids(&buf[..len]))
    }
}

/// Children forked by any of its threads.
pub fn children(pid: i32) -> Vec<i32> {
    let mut all = children_of_main_thread(pid);
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return all };
    for task in tasks.flatten() {
        if let Some(tid) = task.file_name().to_str().and_then(|t| t.parse::<i32>().ok())
            && tid != pid
        {
            all.extend(children_of_thread(pid, tid));
        }
    }
    all
}

/// None where the kernel keeps no such lists, and for a process that is gone or has several of them: one for each thread.
pub(crate) fn children_if_told(pid: i32) -> Option<Vec<i32>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.count();
    let text = read_small(&format!("/proc/{pid}/task/{pid}/children"))?;
    (threads == 1).then(|| pids(&text))
}

/// Every process that can be seen.
pub fn everybody() -> Option<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|p| p.file_name().to_str()?.parse::<i32>().ok()))
}

/// Sends `signal` to exactly this process. False when it is gone.
pub fn signal(target: Proc, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(target.pid) else { return false };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    // The descriptor holds whoever has the pid now; only then is it worth asking who that is.
    if stat(target.pid).is_none_or(|s| s.start != target.start) {
        return false;
    }
    pidfd_send_signal(&pidfd, signal).is_ok()
}

/// A handle that becomes readable when the process ends; None when it is gone already.
pub fn end_of(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// Whether a process calls itself a keeper.
pub fn is_keeper(pid: i32) -> bool {
    let name = read_small(&format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_ascii_end() == crate::keeper::PROCESS_NAME.to_bytes()
}

/// Its command line, a NUL behind each argument.
pub fn arguments(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// What it has open, by number and name.
pub fn descriptors(pid: i32) -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|e| Some((e.file_name().to_str()?.parse().ok()?, fs::read_link(e.path()).ok()?)))
}

/// Its limits, a line for each: name, soft, hard and unit.
pub fn limits(pid: i32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_hostile_command_name_does_not_confuse_the_parser() {
        let text = b"42 (a) b) (c) S 7 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        assert_eq!(parse_stat(text), Some(Stat { state: b'S', ppid: 7, group: 1, start: 12345 }));
        assert_eq!(parse_stat(b"garbage"), None);
        assert!(!is_kernel_thread(std::process::id().cast_signed()) && is_kernel_thread(-1));
    }

    #[test]
    fn a_kept_list_shows_what_came_and_went() {
        let me = i32::try_from(std::process::id()).unwrap();
        // the list is a thread's: this test's thread forks, so its own is looked at
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let list = ChildrenOf { file: fs::File::open(format!("/proc/{me}/task/{tid}/children")).unwrap() };
        assert_eq!(list.glance(), Some(vec![]));
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(list.glance(), Some(vec![i32::try_from(child.id()).unwrap()]));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(list.glance(), Some(vec![]));
    }
}
