//! What one process uses, as /proc says.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

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

/// What the kernel counts in.
pub(crate) struct Units {
    ticks: u64,
    pub(crate) page: u64,
}

impl Units {
    pub(crate) fn here() -> Self {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        Self { ticks, page: rustix::param::page_size() as u64 }
    }

    pub(crate) fn time(&self, ticks: u64) -> Duration {
        Duration::from_millis(ticks * 1000 / self.ticks)
    }
}

/// Bytes of memory that would be free without it: what it shares, by its share.
pub(crate) fn memory_alone(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("Pss:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// What matters here of /proc/PID/stat.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) alive: bool,
    /// Its own and its dead children's, in the kernel and outside.
    pub(crate) ticks: u64,
    pub(crate) threads: u64,
    pub(crate) pages: u64,
}

impl Line {
    pub(crate) fn read(pid: i32) -> Option<Self> {
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
}
