//! Everything below a process: finding it, signalling it, ending it.
//!
//! A pid alone names nobody: it may be recycled between looking and acting. A [`Proc`] is a pid with its start
//! time, and only who still has that start time is signalled.
//!
//! 1. [`below`] walks the children lists of the system.
//! 2. [`signal`] sends to one process, [`freeze_and_kill`] ends a set that may still be forking.
//!
//! A walk is not atomic, so callers that must reach everything repeat it until it comes back empty.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, Signal};

use crate::os::procs::children_if_told;
pub use crate::os::procs::{
    ChildrenOf, arguments, children, children_of_main_thread, descriptors, end_of, everybody, is_keeper,
    limits, signal, stat,
};

/// One process, told apart from any later holder of its pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Proc {
    pub pid: i32,
    /// As the system counts: only ever compared.
    pub start: u64,
}

/// What matters of one process.
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

/// The process `pid` is now, if it lives.
pub fn identify(pid: i32) -> Option<Proc> {
    stat(pid).filter(|s| s.alive()).map(|s| Proc { pid, start: s.start })
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
    let Some(processes) = everybody() else { return below(root, spared) };
    for pid in processes {
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

/// Stops everything `find` sees until two looks agree, so that nothing forks any more.
fn freeze(find: impl Fn() -> Vec<Proc>) -> Vec<Proc> {
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
    seen
}

/// Stops everything `find` sees, then kills it.
/// Returns how many processes were hit; the caller repeats until none is left.
pub fn freeze_and_kill(find: impl Fn() -> Vec<Proc>) -> usize {
    let seen = freeze(find);
    for target in &seen {
        signal(*target, Signal::KILL);
    }
    seen.len()
}

/// Sends a signal to everything `find` sees, once; how many got it. They are stopped meanwhile: what one of them is just
/// forking gets it too, and what one of them starts because of it does not.
pub fn signal_all(find: impl Fn() -> Vec<Proc>, sent: Signal) -> usize {
    match sent {
        Signal::STOP => freeze(find).len(),
        Signal::KILL => freeze_and_kill(find),
        // Going on takes a stop back that is still to come, and so cannot follow it.
        Signal::CONT | Signal::TSTP | Signal::TTIN | Signal::TTOU => send(&find(), sent),
        _ => {
            let resting: HashSet<Proc> = find().into_iter().filter(|p| is_stopped(p.pid)).collect();
            let seen = freeze(find);
            let hit = send(&seen, sent);
            // Children first: a shell with jobs would take note of one that stands still.
            for target in seen.iter().rev().filter(|p| !resting.contains(p)) {
                signal(*target, Signal::CONT);
            }
            hit
        }
    }
}

fn send(targets: &[Proc], sent: Signal) -> usize {
    targets.iter().filter(|target| signal(**target, sent)).count()
}

fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|s| matches!(s.state, b'T' | b't'))
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

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

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
    fn a_child_that_is_just_being_forked_gets_the_signal_too() {
        use std::io::Read;
        for round in 0..60u32 {
            let mut shell =
                Command::new("sh").args(["-c", "sleep 1000; :"]).stdout(Stdio::piped()).spawn().unwrap();
            // Somewhere about the fork.
            (0..round * 400).for_each(|_| std::hint::spin_loop());
            let root = identify(i32::try_from(shell.id()).unwrap()).unwrap();
            let all = || [root].into_iter().chain(below_for_sure(root.pid, &[])).collect();
            assert!(signal_all(all, Signal::TERM) >= 1);
            shell.wait().unwrap();
            // Whoever is left has the other end of it.
            assert_eq!(shell.stdout.take().unwrap().read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn what_stood_still_before_still_does() {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let one = identify(i32::try_from(child.id()).unwrap()).unwrap();
        let rests = || {
            while !is_stopped(one.pid) {
                std::thread::yield_now()
            }
        };
        assert_eq!(signal_all(|| vec![one], Signal::STOP), 1);
        rests();
        // It ignores this one by default, and so only the stop could be lost.
        assert_eq!(signal_all(|| vec![one], Signal::WINCH), 1);
        rests();
        assert_eq!(signal_all(|| vec![one], Signal::CONT), 1);
        while is_stopped(one.pid) {
            std::thread::yield_now();
        }
        assert_eq!(signal_all(|| vec![one], Signal::KILL), 1);
        child.wait().unwrap();
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
        assert!(crate::lineage::is_within(pid, me));
        assert!(!signal(Proc { pid, start: proc.start + 1 }, Signal::KILL));
        assert!(signal(proc, Signal::KILL));
        child.wait().unwrap();
        assert!(!signal(proc, Signal::KILL));
    }
}
