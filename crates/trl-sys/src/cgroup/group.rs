//! One control group: who is in it, what it may use, what it has used.
//!
//! In v1 it is one directory in each hierarchy, in v2 one in all; the files have other names, the meaning is the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{Layout, Version};

/// A group's directory in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) controllers: Vec<String>,
    pub(super) dir: PathBuf,
}

#[derive(Debug)]
pub struct Group {
    pub version: Version,
    seats: Vec<Seat>,
    /// Whether the kernel counts what disks are used for: some of version 1 never do.
    counts_io: OnceLock<bool>,
}

/// What a group has used so far. What the kernel does not count here is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    pub cpu: Duration,
    pub memory_peak: u64,
    /// Processes the kernel ended because the group had no more memory.
    pub oom_kills: u64,
    /// Forks the kernel refused because there were enough processes.
    pub forks_refused: u64,
    /// Bytes read and written, of disks.
    pub io: Option<(u64, u64)>,
}

/// v1's file for what disks were used for.
const SERVICE_BYTES: &str = "blkio.throttle.io_service_bytes";
/// Of processor time, a share is given out this often.
const PERIOD_US: u64 = 100_000;

impl Group {
    /// Makes it; a failure leaves nothing.
    pub(super) fn create(version: Version, seats: Vec<Seat>) -> io::Result<Self> {
        let group = Self { version, seats, counts_io: OnceLock::new() };
        for seat in &group.seats {
            if let Err(error) = fs::create_dir(&seat.dir) {
                let _ = group.remove();
                return Err(error);
            }
        }
        Ok(group)
    }

    fn dir(&self, controller: &str) -> Option<&Path> {
        let seat = self.seats.iter().find(|seat| seat.controllers.iter().any(|c| c == controller))?;
        Some(&seat.dir)
    }

    fn write(&self, controller: &str, file: &str, value: &str) -> io::Result<()> {
        let dir = self.dir(controller).ok_or(io::ErrorKind::Unsupported)?;
        fs::write(dir.join(file), value)
    }

    fn read(&self, controller: &str, file: &str) -> Option<String> {
        fs::read_to_string(self.dir(controller)?.join(file)).ok()
    }

    /// Whoever writes `0` to each of these is in.
    pub fn entrances(&self) -> Vec<PathBuf> {
        self.seats.iter().map(|seat| seat.dir.join("cgroup.procs")).collect()
    }

    pub fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        let text = bytes.to_string();
        match self.version {
            Version::V2 => {
                self.write("memory", "memory.max", &text)?;
                // Memory that is swapped out is memory; without swap there is no such file.
                let _ = self.write("memory", "memory.swap.max", "0");
            }
            Version::V1 => {
                self.write("memory", "memory.limit_in_bytes", &text)?;
                let _ = self.write("memory", "memory.memsw.limit_in_bytes", &text);
            }
        }
        Ok(())
    }

    /// Processes and threads.
    pub fn limit_pids(&self, most: u64) -> io::Result<()> {
        self.write("pids", "pids.max", &most.to_string())
    }

    /// Processes and threads in it; 0 where nobody counts them.
    pub fn tasks(&self) -> u64 {
        self.read("pids", "pids.current").and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// In processors.
    pub fn limit_cpu(&self, cores: f64) -> io::Result<()> {
        // The kernel takes no less than a millisecond.
        let quota = ((cores * PERIOD_US as f64) as u64).max(1000);
        match self.version {
            Version::V2 => self.write("cpu", "cpu.max", &format!("{quota} {PERIOD_US}")),
            Version::V1 => {
                self.write("cpu", "cpu.cfs_period_us", &PERIOD_US.to_string())?;
                self.write("cpu", "cpu.cfs_quota_us", &quota.to_string())
            }
        }
    }

    pub fn reading(&self) -> Reading {
        Reading {
            cpu: self.cpu(),
            memory_peak: self.memory_peak(),
            oom_kills: self.oom_kills(),
            forks_refused: self.read("pids", "pids.events").and_then(|text| field(&text, "max")).unwrap_or(0),
            io: self.io(),
        }
    }

    pub fn cpu(&self) -> Duration {
        match self.version {
            // Counted in every group, with or without the controller.
            Version::V2 => {
                let text = self.seats.first().and_then(|s| fs::read_to_string(s.dir.join("cpu.stat")).ok());
                Duration::from_micros(text.and_then(|text| field(&text, "usage_usec")).unwrap_or(0))
            }
            Version::V1 => {
                let text = self.read("cpuacct", "cpuacct.usage");
                Duration::from_nanos(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0))
            }
        }
    }

    fn memory_peak(&self) -> u64 {
        let files = match self.version {
            // The first came with Linux 5.19.
            Version::V2 => ["memory.peak", "memory.current"],
            Version::V1 => ["memory.max_usage_in_bytes", "memory.usage_in_bytes"],
        };
        let number = |file: &&str| self.read("memory", file)?.trim().parse().ok();
        files.iter().find_map(number).unwrap_or(0)
    }

    pub fn oom_kills(&self) -> u64 {
        let file = match self.version {
            Version::V2 => "memory.events",
            Version::V1 => "memory.oom_control",
        };
        self.read("memory", file).and_then(|text| field(&text, "oom_kill")).unwrap_or(0)
    }

    fn io(&self) -> Option<(u64, u64)> {
        match self.version {
            Version::V2 => Some(sum_of_io_stat(&self.read("io", "io.stat")?)),
            Version::V1 => {
                let used = sum_of_service_bytes(&self.read("blkio", SERVICE_BYTES)?);
                let counted = || self.dir("blkio").is_some_and(is_io_counted);
                (used != (0, 0) || *self.counts_io.get_or_init(counted)).then_some(used)
            }
        }
    }

    /// Everybody in it, as far as this pid namespace sees them.
    pub fn pids(&self) -> Vec<i32> {
        let Some(seat) = self.seats.first() else { return Vec::new() };
        let text = fs::read_to_string(seat.dir.join("cgroup.procs")).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid > 0).collect()
    }

    /// Ends everybody in it but `spared`: held still first, so that nobody forks away.
    pub fn kill_all_but(&self, spared: &[i32]) {
        self.set_frozen(true);
        for pid in self.pids().into_iter().filter(|pid| !spared.contains(pid)) {
            // Held still, nobody in it can end, and no pid in it become another's.
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        self.set_frozen(false);
    }

    /// Ends everybody in it, at once where the kernel can do that.
    pub fn kill_all(&self) {
        let at_once = self.version == Version::V2
            && self.seats.first().is_some_and(|seat| fs::write(seat.dir.join("cgroup.kill"), "1").is_ok());
        if !at_once {
            self.kill_all_but(&[]);
        }
    }

    fn set_frozen(&self, frozen: bool) {
        let _ = match self.version {
            Version::V2 => {
                let Some(seat) = self.seats.first() else { return };
                fs::write(seat.dir.join("cgroup.freeze"), if frozen { "1" } else { "0" })
            }
            Version::V1 => self.write("freezer", "freezer.state", if frozen { "FROZEN" } else { "THAWED" }),
        };
        let still = || match self.version {
            Version::V2 => self.is_frozen_v2(),
            Version::V1 => self.read("freezer", "freezer.state").is_none_or(|state| state.trim() == "FROZEN"),
        };
        // What sleeps in the kernel for long is held when it wakes; whoever waits here has others to serve.
        let until = Instant::now() + Duration::from_millis(20);
        while frozen && !still() && Instant::now() < until {
            std::thread::yield_now();
        }
    }

    fn is_frozen_v2(&self) -> bool {
        let events = self.seats.first().and_then(|s| fs::read_to_string(s.dir.join("cgroup.events")).ok());
        events.and_then(|text| field(&text, "frozen")) != Some(0)
    }

    /// Only works when nobody is in it any more.
    pub fn remove(&self) -> io::Result<()> {
        let mut result = Ok(());
        for seat in &self.seats {
            match fs::remove_dir(&seat.dir) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => result = Err(e),
                _ => {}
            }
        }
        result
    }

    /// The group this process is in, to be read: where it is alone with what it has started, what is counted there is
    /// theirs.
    pub fn around() -> Option<Self> {
        let layout = Layout::here();
        let mut hierarchies = layout.hierarchies.iter();
        let found = hierarchies.find(|h| h.controllers.iter().any(|controller| controller == "memory"))?;
        Some(Self::found(found.version, &found.controllers, &found.own))
    }

    /// A group that is there already, for whoever cleans up.
    pub(super) fn found(version: Version, controllers: &[String], dir: &Path) -> Self {
        let seats = vec![Seat { controllers: controllers.to_vec(), dir: dir.into() }];
        Self { version, seats, counts_io: OnceLock::new() }
    }
}

/// Where nobody above a group, up to the first, has ever used a disk, nobody counts.
fn is_io_counted(dir: &Path) -> bool {
    let files = dir.ancestors().map(|above| above.join(SERVICE_BYTES));
    let texts = files.map_while(|file| fs::read_to_string(file).ok());
    texts.into_iter().any(|text| sum_of_service_bytes(&text) != (0, 0))
}

/// `name 17` on a line of its own.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok()).flatten()
    })
}

/// v2: `8:0 rbytes=1 wbytes=2 rios=...` for each disk.
fn sum_of_io_stat(text: &str) -> (u64, u64) {
    let sum = |key: &str| {
        let words = text.split_whitespace().filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        words.filter_map(|n| n.parse::<u64>().ok()).sum()
    };
    (sum("rbytes"), sum("wbytes"))
}

/// v1: `8:0 Read 1`, `8:0 Write 2`, ... for each disk.
fn sum_of_service_bytes(text: &str) -> (u64, u64) {
    let sum = |kind: &str| {
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mine = lines.filter(|words| words.len() == 3 && words[1] == kind);
        mine.filter_map(|words| words[2].parse::<u64>().ok()).sum()
    };
    (sum("Read"), sum("Write"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_nobody_counts_are_not_said_to_be_unused() {
        let top = std::env::temp_dir().join(format!("trl-io-counted-{}", std::process::id()));
        let own = top.join("daemon/session");
        fs::create_dir_all(&own).expect("a directory");
        let say = |dir: &Path, text: &str| fs::write(dir.join(SERVICE_BYTES), text).expect("a file");
        [own.as_path(), own.parent().expect("a parent"), &top].iter().for_each(|dir| say(dir, "Total 0\n"));
        assert!(!is_io_counted(&own));
        let seats = vec![Seat { controllers: vec!["blkio".into()], dir: own.clone() }];
        let group = |seats: Vec<Seat>| Group { version: Version::V1, seats, counts_io: OnceLock::new() };
        assert_eq!(group(seats.clone()).reading().io, None);
        say(&top, "8:0 Read 512\n8:0 Write 0\nTotal 512\n");
        assert_eq!(group(seats).reading().io, Some((0, 0)), "this one just has not used any");
        fs::remove_dir_all(top).expect("removed");
    }

    #[test]
    fn the_kernels_words_are_read() {
        assert_eq!(field("low 0\noom 3\noom_kill 2\n", "oom_kill"), Some(2));
        assert_eq!(field("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", "oom_kill"), Some(7));
        assert_eq!(field("max 5", "max"), Some(5));
        assert_eq!(field("", "max"), None);
        assert_eq!(sum_of_io_stat("8:0 rbytes=10 wbytes=5 rios=1\n8:16 rbytes=1 wbytes=2"), (11, 7));
        assert_eq!(sum_of_service_bytes("8:0 Read 10\n8:0 Write 5\n8:16 Read 1\nTotal 16"), (11, 5));
    }
}
