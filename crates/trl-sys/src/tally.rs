//! What a process and everything below it uses, counted one by one: for machines without control groups for us.

use std::collections::HashSet;
use std::time::Duration;

use crate::os::usage::{self, Line};
pub use crate::os::usage::{machine_tasks, tasks_of_user};
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

/// Of `root` and everything below it. With more than `most` tasks no more are looked for.
pub fn of(root: i32, most: u64) -> Tally {
    let units = usage::Units::here();
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
            tally.resident += line.pages * units.page;
        }
        queue.extend(tree::children(pid));
    }
    tally.cpu = units.time(total);
    tally
}

/// Memory below `root` with what is shared counted once: exact, and slow.
pub fn memory_below(root: i32) -> u64 {
    tree::below(root, &[]).into_iter().filter_map(|p| usage::memory_alone(p.pid)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

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
