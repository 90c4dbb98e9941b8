//! What a process and everything below it uses, counted from /proc: for machines without control groups for us.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crate::tree;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Of the living, and of the dead that somebody has waited for.
    pub cpu: Duration,
    /// Processes and threads below the first one.
    pub tasks: u64,
    /// Memory of each, added up: what they share is counted more than once.
    pub resident: u64,
}

/// Processes and threads of the whole machine, as far as the number goes: one short look that shows a storm coming.
pub fn machine_tasks() -> u16 {
    rustix::system::sysinfo().procs
}

/// Processes and threads of our user, as far as they are seen.
pub fn tasks_of_user() -> u64 {
    let me = crate::machine::effective_uid();
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let pids = entries.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
        (entry.metadata().ok()?.uid() == me).then_some(pid)
    });
    pids.filter_map(Line::read).map(|line| line.threads).sum()
}

/// Of `root` and everything below it. With more than `most` tasks no more are looked for.
pub fn of(root: i32, most: u64) -> Tally {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let page = rustix::param::page_size() as u64;
    let mut tally = Tally::default();
    let mut total = 0;
    let mut queue = if root > 0 { vec![root] } else { Vec::new() };
    let mut seen = HashSet::new();
    while let Some(pid) = queue.pop().filter(|_| tally.tasks <= most) {
        // A pid that moved while we looked is counted where it was found first.
        let Some(line) = Line::read(pid).filter(|_| seen.insert(pid)) else { continue };
        total += line.ticks;
        if pid != root && line.alive {
            tally.tasks += line.threads;
            tally.resident += line.pages * page;
        }
        queue.extend(tree::children(pid));
    }
    tally.cpu = Duration::from_millis(total * 1000 / ticks);
    tally
}

/// Memory below `root` with what is shared counted once: exact, and slow.
pub fn memory_below(root: i32) -> u64 {
    let pss = |pid: i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix("Pss:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    tree::below(root, &[]).into_iter().filter_map(|p| pss(p.pid)).sum::<u64>() * 1024
}

/// What matters here of /proc/PID/stat.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    alive: bool,
    /// Its own and its dead children's, in the kernel and outside.
    ticks: u64,
    threads: u64,
    pages: u64,
}

impl Line {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Fields count from the last bracket, as the name before it may hold anything; the state is the third.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |nth: usize| fields.get(nth - 3)?.parse::<u64>().ok();
        let ticks = (14..=17).map(number).sum::<Option<u64>>()?;
        Some(Self {
            alive: !matches!(*fields.first()?, "Z" | "X" | "x"),
            ticks,
            threads: number(20)?,
            pages: number(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_behind_any_name() {
        let text = "42 (a) b) S 7 1 1 0 -1 4 1 0 0 0 10 20 3 4 20 0 5 0 12345 1000 77 1";
        assert_eq!(Line::parse(text), Some(Line { alive: true, ticks: 37, threads: 5, pages: 77 }));
        assert_eq!(Line::parse("42 (a"), None);
    }

    #[test]
    fn children_are_counted() {
        let me = i32::try_from(std::process::id()).unwrap();
        let before = of(me, u64::MAX);
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        // The kernel counts pages in batches, so the first are seen a little later.
        let with = loop {
            let with = of(me, u64::MAX);
            if with.resident > before.resident && memory_below(me) > 0 {
                break with;
            }
            std::thread::yield_now();
        };
        assert!(with.tasks > before.tasks);
        assert!(of(me, 0).tasks <= with.tasks);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
