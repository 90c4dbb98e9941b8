//! Everything below a process: finding it, signalling it, ending it.
//!
//! A pid alone names nobody: it may be recycled between looking and acting. A [`Proc`] is a pid with its start
//! time, and a signal goes through a pidfd that was opened first and checked against that start time after.
//!
//! 1. [`below`] walks the children lists of /proc (of every thread: a child belongs to the thread that forked it).
//! 2. [`signal`] sends to one process, [`freeze_and_kill`] ends a set that may still be forking.
//!
//! A walk is not atomic, so callers that must reach everything repeat it until it comes back empty.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process, told apart from any later holder of its pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Proc {
    pub pid: i32,
    /// Clock ticks after boot.
    pub start: u64,
}

/// The part of /proc/PID/stat that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub state: u8,
    pub ppid: i32,
    pub group: i32,
    pub start: u64,
}

impl Stat {
    /// Neither a zombie nor on its way out.
    pub fn alive(self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// None when there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&read_small(&format!("/proc/{pid}/stat"))?)
}

/// The command name may hold anything, parentheses too: fields count from the last one.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let rest = &text[text.iter().rposition(|b| *b == b')')? + 1..];
    let mut fields = rest.split(|b| *b == b' ').filter(|f| !f.is_empty());
    let state = *fields.next()?.first()?;
    let ppid = number(fields.next()?)?;
    let group = number(fields.next()?)?;
    // state is field 3, ppid 4, pgrp 5, starttime 22
    let start = number(fields.nth(16)?)?;
    Some(Stat { state, ppid, group, start })
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.trim_ascii().parse().ok()
}

/// The process `pid` is now, if it lives.
pub fn identify(pid: i32) -> Option<Proc> {
    stat(pid).filter(|s| s.alive()).map(|s| Proc { pid, start: s.start })
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

/// Everything alive below `root`, parents first, without `spared` processes and what is below them. Below "no process"
/// (0, which the kernel shows as the parent of process 1) there is nothing.
pub fn below(root: i32, spared: &[Proc]) -> Vec<Proc> {
    let mut found = Vec::new();
    if root <= 0 {
        return found;
    }
    let mut queue = children(root);
    let mut seen = HashSet::new();
    while let Some(pid) = queue.pop() {
        let Some(stat) = stat(pid) else { continue };
        let proc = Proc { pid, start: stat.start };
        if spared.contains(&proc) || !seen.insert(proc) {
            continue;
        }
        queue.extend(children(pid));
        if stat.alive() {
            found.push(proc);
        }
    }
    found
}

/// Like [`below`], but by asking every process for its parent: slower, and sees all of them. The children lists may
/// skip an entry while a sibling is being reaped.
pub fn below_for_sure(root: i32, spared: &[Proc]) -> Vec<Proc> {
    let mut by_parent: HashMap<i32, Vec<(Proc, Stat)>> = HashMap::new();
    let Ok(processes) = fs::read_dir("/proc") else { return below(root, spared) };
    for pid in processes.flatten().filter_map(|p| p.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(stat) = stat(pid) {
            by_parent.entry(stat.ppid).or_default().push((Proc { pid, start: stat.start }, stat));
        }
    }
    let mut found = Vec::new();
    let mut queue = if root > 0 { vec![root] } else { Vec::new() };
    while let Some(parent) = queue.pop() {
        for (proc, stat) in by_parent.remove(&parent).unwrap_or_default() {
            if !spared.contains(&proc) {
                queue.push(proc.pid);
                found.extend(stat.alive().then_some(proc));
            }
        }
    }
    found
}

/// Children of `pid`, without the chance to miss one.
pub fn children_for_sure(pid: i32) -> Vec<i32> {
    let all = below_for_sure(pid, &[]);
    all.into_iter().map(|p| p.pid).filter(|p| stat(*p).is_some_and(|s| s.ppid == pid)).collect()
}

/// Everything below `root`, a subreaper, confirmed when it seems to be nothing.
pub fn all_below(root: i32, spared: &[Proc]) -> Vec<Proc> {
    let found = below(root, spared);
    if found.is_empty() && !is_surely_bare(root, spared) { below_for_sure(root, spared) } else { found }
}

/// Whether nothing but `spared` lives below `root`, which orphans come to. It asks only `root`, however many processes the
/// machine has: what has died has handed on its children before it is seen to be dead, and a list that reads the same
/// twice has lost nobody while it was read. False says nothing.
fn is_surely_bare(root: i32, spared: &[Proc]) -> bool {
    let Some(first) = children_if_told(root) else { return false };
    let harmless = |pid: &i32| match stat(*pid) {
        Some(stat) => !stat.alive() || spared.contains(&Proc { pid: *pid, start: stat.start }),
        None => false,
    };
    first.iter().all(harmless) && (0..2).all(|_| children_if_told(root).as_ref() == Some(&first))
}

/// None where the kernel keeps no such lists, and for a process that is gone or has several of them: one for each thread.
fn children_if_told(pid: i32) -> Option<Vec<i32>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.count();
    let text = read_small(&format!("/proc/{pid}/task/{pid}/children"))?;
    (threads == 1).then(|| pids(&text))
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

/// Processes looked at in one round of holding a storm still: what is not seen is stopped with the groups that are.
const STORM_GLANCE: usize = 512;

/// Ends everything below `root` that `spare` does not want, however fast it forks. A process group is stopped as a whole:
/// no fork gets away from that. What is spared may be stopped with it, and is woken at the end.
pub fn end_storm(root: i32, spare: impl Fn(&Proc) -> bool) {
    let mut stopped = HashSet::new();
    for _ in 0..FREEZE_ROUNDS {
        let found = glance_below(root, STORM_GLANCE);
        let groups: HashSet<i32> = found.iter().filter_map(|p| stat(p.pid)).map(|s| s.group).collect();
        let fresh: Vec<i32> = groups.into_iter().filter(|group| stopped.insert(*group)).collect();
        if fresh.is_empty() {
            break;
        }
        // A number that names a group is given to nobody else while somebody is in it.
        for group in fresh.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::STOP);
        }
    }
    freeze_and_kill(|| all_below(root, &[]).into_iter().filter(|p| !spare(p)).collect());
    for spared in below(root, &[]).into_iter().filter(&spare) {
        signal(spared, Signal::CONT);
    }
}

/// The first processes below `root` that are found, and no more than `most`.
fn glance_below(root: i32, most: usize) -> Vec<Proc> {
    let mut found = Vec::new();
    let mut queue = if root > 0 { children(root) } else { Vec::new() };
    while let Some(pid) = queue.pop().filter(|_| found.len() < most) {
        found.extend(identify(pid));
        queue.extend(children(pid));
    }
    found
}

/// TERM, and CONT so that a stopped process can act on it.
pub fn terminate(targets: &[Proc], first: Signal) {
    for target in targets {
        signal(*target, first);
        signal(*target, Signal::CONT);
    }
}

/// How often a set that keeps growing is stopped anew before it is killed as it stands.
const FREEZE_ROUNDS: usize = 16;

/// Stops everything `find` sees until two looks agree (so nothing forks any more), then kills it.
/// Returns how many processes were hit; the caller repeats until none is left.
pub fn freeze_and_kill(find: impl Fn() -> Vec<Proc>) -> usize {
    let mut seen = find();
    for _ in 0..FREEZE_ROUNDS {
        for target in &seen {
            signal(*target, Signal::STOP);
        }
        let again = find();
        let settled = again.iter().all(|p| seen.contains(p));
        seen = again;
        if settled {
            break;
        }
    }
    for target in &seen {
        signal(*target, Signal::KILL);
    }
    seen.len()
}

/// Kills what `find` sees until it sees nothing: a process that was forking when it was killed leaves a child behind.
/// Bounded, since a process in the kernel's hands may take its time; true when all are gone.
pub fn kill_all(find: impl Fn() -> Vec<Proc>) -> bool {
    const ROUNDS: usize = 200;
    (0..ROUNDS).any(|_| {
        std::thread::yield_now();
        freeze_and_kill(&find) == 0
    })
}

/// `pid`, its parent, and so on up. Bounded, since a pid read twice may have moved.
pub fn ancestors(pid: i32) -> Vec<i32> {
    const DEEPEST: usize = 4096;
    let mut chain = vec![pid];
    let mut at = pid;
    while let Some(parent) = stat(at).map(|s| s.ppid).filter(|p| *p > 0 && chain.len() < DEEPEST) {
        chain.push(parent);
        at = parent;
    }
    chain
}

/// Whether `pid` is `ancestor` or below it.
pub fn is_within(pid: i32, ancestor: i32) -> bool {
    ancestors(pid).contains(&ancestor)
}

/// Whether a process calls itself a keeper.
pub fn is_keeper(pid: i32) -> bool {
    let name = read_small(&format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_ascii_end() == crate::keeper::PROCESS_NAME.to_bytes()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_hostile_command_name_does_not_confuse_the_parser() {
        let text = b"42 (a) b) (c) S 7 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        assert_eq!(parse_stat(text), Some(Stat { state: b'S', ppid: 7, group: 1, start: 12345 }));
        assert_eq!(parse_stat(b"garbage"), None);
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

    /// What a keeper sees of its children as they come, die and leave children of their own behind.
    #[test]
    fn a_process_is_bare_only_without_a_living_child() {
        let mut shell = Command::new("sh")
            .args(["-c", "while read line; do eval \"$line\"; echo done; done"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let root = i32::try_from(shell.id()).unwrap();
        let mut answers = std::io::BufReader::new(shell.stdout.take().unwrap());
        let mut tell = |line: &str| {
            use std::io::{BufRead, Write};
            writeln!(shell.stdin.as_ref().unwrap(), "{line}").unwrap();
            answers.read_line(&mut String::new()).unwrap();
        };
        tell(":");
        assert!(is_surely_bare(root, &[]));
        tell("sleep 1000 & sleep 1000 &");
        let both = below(root, &[]);
        assert_eq!(both.len(), 2);
        assert!(
            !is_surely_bare(root, &[]) && !is_surely_bare(root, &both[..1]) && is_surely_bare(root, &both)
        );
        both.iter().for_each(|p| assert!(signal(*p, Signal::KILL)));
        while !below(root, &[]).is_empty() {
            std::thread::yield_now();
        }
        // as zombies or collected
        assert_eq!(all_below(root, &[]), []);
        tell("wait");
        assert!(is_surely_bare(root, &[]));
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(!is_surely_bare(root, &[]), "of one that is gone nothing is known");
    }

    #[test]
    fn nothing_is_below_no_process() {
        for root in [0, -1] {
            assert_eq!(below(root, &[]), []);
            assert_eq!(below_for_sure(root, &[]), []);
            assert_eq!(all_below(root, &[]), []);
        }
    }

    #[test]
    fn a_storm_ends_and_the_spared_go_on() {
        use std::os::unix::process::CommandExt;
        crate::harden::adopt_orphans().unwrap();
        let tree =
            "b() { [ $1 = 0 ] && exec sleep 1000; b $(($1 - 1)) & b $(($1 - 1)) & wait; }; b 5 & read x";
        let mut parent = Command::new("sh");
        parent.args(["-c", tree]).stdin(Stdio::piped()).process_group(0);
        let mut parent = parent.spawn().unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let main = identify(i32::try_from(parent.id()).unwrap()).unwrap();
        while below(main.pid, &[]).len() < 20 {
            std::thread::yield_now();
        }
        end_storm(me, |p| *p == main);
        // those that were killed need their turn to die, and the one that was woken to be awake
        while below(me, &[]) != [main] || stat(main.pid).unwrap().state == b'T' {
            std::thread::yield_now();
        }
        parent.kill().unwrap();
        parent.wait().unwrap();
    }

    #[test]
    fn children_are_found_signalled_once_and_never_by_a_wrong_identity() {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let proc = identify(pid).unwrap();
        assert!(below(me, &[]).contains(&proc));
        assert!(!below(me, &[proc]).contains(&proc));
        assert!(below_for_sure(me, &[]).contains(&proc));
        assert!(!below_for_sure(me, &[proc]).contains(&proc));
        assert!(is_within(pid, me));
        assert!(!signal(Proc { pid, start: proc.start + 1 }, Signal::KILL));
        assert!(signal(proc, Signal::KILL));
        child.wait().unwrap();
        assert!(!signal(proc, Signal::KILL));
    }
}
