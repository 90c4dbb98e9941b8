//! `limits`: what programs may use, and `usage`: what they did.

use serde::{Deserialize, Serialize};

/// What the programs of a session, a terminal or an execution may use. Absent is as the settings say, 0 is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Memory of all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processors' worth of time they get in any moment: 0.5 is half of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Processor time of one command, or of a terminal's life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time_s: Option<f64>,
    /// Processes and threads of all of them together; a session's shell and its rollback point do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Descriptors of each process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// How large a file each process may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size_bytes: Option<u64>,
    /// Disk space of the workspace. No daemon can hold anybody to it yet: anything but 0 is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// What one command may print, or a terminal in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// How long one command may take, or a terminal live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
}

/// One of them, by its name in [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    MemoryBytes,
    Cpu,
    CpuTimeS,
    Pids,
    OpenFiles,
    FileSizeBytes,
    DiskBytes,
    OutputBytes,
    WallS,
}

impl Limit {
    pub const ALL: [Self; 9] = [
        Self::MemoryBytes,
        Self::Cpu,
        Self::CpuTimeS,
        Self::Pids,
        Self::OpenFiles,
        Self::FileSizeBytes,
        Self::DiskBytes,
        Self::OutputBytes,
        Self::WallS,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryBytes => "memory_bytes",
            Self::Cpu => "cpu",
            Self::CpuTimeS => "cpu_time_s",
            Self::Pids => "pids",
            Self::OpenFiles => "open_files",
            Self::FileSizeBytes => "file_size_bytes",
            Self::DiskBytes => "disk_bytes",
            Self::OutputBytes => "output_bytes",
            Self::WallS => "wall_s",
        }
    }
}

impl Limits {
    /// Its value, as a number of its unit.
    pub fn get(&self, limit: Limit) -> Option<f64> {
        let whole = |value: Option<u64>| value.map(|n| n as f64);
        match limit {
            Limit::MemoryBytes => whole(self.memory_bytes),
            Limit::Cpu => self.cpu,
            Limit::CpuTimeS => self.cpu_time_s,
            Limit::Pids => whole(self.pids),
            Limit::OpenFiles => whole(self.open_files),
            Limit::FileSizeBytes => whole(self.file_size_bytes),
            Limit::DiskBytes => whole(self.disk_bytes),
            Limit::OutputBytes => whole(self.output_bytes),
            Limit::WallS => self.wall_s,
        }
    }

    /// Those that are set, to something else than "none".
    pub fn set(&self) -> impl Iterator<Item = Limit> + '_ {
        Limit::ALL.into_iter().filter(|limit| self.get(*limit).is_some_and(|value| value != 0.0))
    }

    pub fn is_empty(&self) -> bool {
        self.set().next().is_none()
    }

    /// These where they say something, `base` elsewhere.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.or(base.memory_bytes),
            cpu: self.cpu.or(base.cpu),
            cpu_time_s: self.cpu_time_s.or(base.cpu_time_s),
            pids: self.pids.or(base.pids),
            open_files: self.open_files.or(base.open_files),
            file_size_bytes: self.file_size_bytes.or(base.file_size_bytes),
            disk_bytes: self.disk_bytes.or(base.disk_bytes),
            output_bytes: self.output_bytes.or(base.output_bytes),
            wall_s: self.wall_s.or(base.wall_s),
        }
    }

    /// Without those that say "none".
    #[must_use]
    pub fn without_zeros(&self) -> Self {
        let whole = |value: Option<u64>| value.filter(|n| *n != 0);
        let real = |value: Option<f64>| value.filter(|n| *n != 0.0);
        Self {
            memory_bytes: whole(self.memory_bytes),
            cpu: real(self.cpu),
            cpu_time_s: real(self.cpu_time_s),
            pids: whole(self.pids),
            open_files: whole(self.open_files),
            file_size_bytes: whole(self.file_size_bytes),
            disk_bytes: whole(self.disk_bytes),
            output_bytes: whole(self.output_bytes),
            wall_s: real(self.wall_s),
        }
    }

    /// The first that allows more than `ceiling` does.
    pub fn wider_than(&self, ceiling: &Self) -> Option<Limit> {
        let most = |value: Option<f64>| value.filter(|v| *v != 0.0).unwrap_or(f64::INFINITY);
        Limit::ALL.into_iter().find(|limit| most(self.get(*limit)) > most(ceiling.get(*limit)))
    }
}

/// What holds programs to their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LimitsBackend {
    /// A control group of version 2.
    Cgroup2,
    /// Control groups of version 1.
    Cgroup1,
    /// Limits of each process, and the daemon, which looks at them now and then.
    Rlimits,
}

/// Limits as they were asked for, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitsInfo {
    #[serde(flatten)]
    pub asked: Limits,
    pub backend: LimitsBackend,
    pub enforced: Vec<Limit>,
    pub not_enforced: Vec<Limit>,
}

/// Whose usage it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum UsageScope {
    /// Everything of the session, what earlier commands left running too.
    Session,
    /// The execution's own.
    Execution,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoUsage {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// What was used: time and disk since the command began, memory at its most since the session did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    pub scope: UsageScope,
    /// What held it to its limits.
    pub backend: LimitsBackend,
    /// Limits it was not held to.
    pub not_enforced: Vec<Limit>,
    pub cpu_ms: u64,
    pub memory_peak_bytes: u64,
    /// Of disks, where the kernel counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoUsage>,
    /// The kernel ended a process for want of memory.
    pub oom_killed: bool,
    /// The limit that was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hit: Option<Limit>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_wire() {
        for limit in Limit::ALL {
            assert_eq!(serde_json::to_value(limit).unwrap(), limit.name());
        }
        let all = r#"{"memory_bytes":1,"cpu":0.5,"cpu_time_s":1,"pids":1,"open_files":1,"file_size_bytes":1,"disk_bytes":1,"output_bytes":1,"wall_s":1}"#;
        let all: Limits = serde_json::from_str(all).unwrap();
        assert_eq!(all.set().collect::<Vec<_>>(), Limit::ALL);
    }

    #[test]
    fn an_info_is_read_back() {
        let info = LimitsInfo {
            asked: Limits { pids: Some(3), cpu: Some(0.5), ..Limits::default() },
            backend: LimitsBackend::Cgroup2,
            enforced: vec![Limit::Pids],
            not_enforced: vec![Limit::Cpu],
        };
        let text = serde_json::to_string(&info).unwrap();
        assert_eq!(
            text,
            r#"{"cpu":0.5,"pids":3,"backend":"cgroup2","enforced":["pids"],"not_enforced":["cpu"]}"#
        );
        assert_eq!(serde_json::from_str::<LimitsInfo>(&text).unwrap(), info);
    }

    #[test]
    fn none_is_wider_than_any() {
        let ceiling = Limits { pids: Some(10), ..Limits::default() };
        let with = |pids| Limits { pids, ..Limits::default() };
        assert_eq!(with(Some(10)).wider_than(&ceiling), None);
        assert_eq!(with(Some(11)).wider_than(&ceiling), Some(Limit::Pids));
        assert_eq!(with(Some(0)).wider_than(&ceiling), Some(Limit::Pids));
        assert_eq!(with(None).over(&ceiling).wider_than(&ceiling), None);
        assert_eq!(Limits { cpu: Some(1.0), ..ceiling }.wider_than(&ceiling), None);
        assert!(with(Some(0)).is_empty() && with(Some(0)).without_zeros() == Limits::default());
    }
}
