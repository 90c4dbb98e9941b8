//! One cage: what holds the programs of a session, a terminal or a direct execution to their limits.
//!
//! - Memory, processes and shares of processors are the kernel's business where there is a control group; without one
//!   the daemon looks at the tree of processes now and then ([`Cage::look`]).
//! - Processor time is always looked at, as rarely as can be: what is left of it cannot be used up faster than all
//!   processors together run.
//! - Files and descriptors are limits of each process, set when the program starts ([`Cage::rlimits`]).
//! - Output and wall time are counted by whoever reads and waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trl_proto::limits::{IoUsage, Limit, Limits, LimitsInfo, Usage, UsageScope};
use trl_sys::cgroup::{Group, Reading};
use trl_sys::link::Resource;
use trl_sys::tally::{self, Tally};

use super::caging::{Caging, Leavings};

/// Between two looks at a tree that no kernel counts for us.
const PAUSE: Duration = Duration::from_millis(50);
/// When more than half of what is allowed is used, and to see a storm of processes coming.
const SHORT_PAUSE: Duration = Duration::from_millis(10);
/// Processes the user may have beside a session when the kernel counts them all together.
const ROOM_FOR_OTHERS: u64 = 512;
/// New tasks on the machine that may be one.
const STORM: u64 = 20;

/// A limit that was met, and was not the kernel's to enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Within,
    Exceeded(Limit),
}

#[derive(Debug)]
pub struct Cage {
    pub limits: Limits,
    pub info: LimitsInfo,
    scope: UsageScope,
    group: Option<Group>,
    /// Where there is none: the one we are all in, as far as the kernel ends somebody there.
    around: Option<Arc<Group>>,
    leavings: Arc<Leavings>,
    /// Tasks of ours in there, which do not count.
    own_tasks: u64,
    /// Memory and processes are the kernel's business.
    guarded: Guarded,
    /// More processes are let in than that, for a moment.
    roomier: bool,
    /// As it stood when the command began.
    before: Reading,
    /// The most that was seen, where nobody else counts it.
    peak: u64,
    next: Option<Instant>,
    /// The machine's tasks when the tree was looked at last, and when that was.
    looked: (u16, Instant),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Guarded {
    memory: bool,
    pids: bool,
}

/// Who lives in a cage beside the programs: the keeper, and what a session's shell needs to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tenant {
    /// A shell, its clone, and a clone that is being replaced.
    Shell,
    Program,
}

impl Cage {
    /// Sets the limits; what the kernel does not take is looked after here.
    pub fn new(caging: &Caging, limits: &Limits, group: Option<Group>, tenant: Tenant) -> Self {
        let (scope, own_tasks) = match tenant {
            Tenant::Shell => (UsageScope::Session, 4),
            Tenant::Program => (UsageScope::Execution, 1),
        };
        let mut info = caging.info(limits);
        let mut guarded = Guarded::default();
        if let Some(group) = &group {
            guarded.memory = limits.memory_bytes.is_some_and(|bytes| group.limit_memory(bytes).is_ok());
            guarded.pids =
                limits.pids.is_some_and(|most| group.limit_pids(most.saturating_add(own_tasks)).is_ok());
            if limits.cpu.is_some_and(|cores| group.limit_cpu(cores).is_err()) {
                info.enforced.retain(|l| *l != Limit::Cpu);
                info.not_enforced.push(Limit::Cpu);
            }
        }
        let mut cage = Self {
            limits: *limits,
            info,
            scope,
            group,
            around: caging.around(),
            leavings: caging.leavings(),
            own_tasks,
            guarded,
            roomier: false,
            before: Reading::default(),
            peak: 0,
            next: None,
            looked: (tally::machine_tasks(), Instant::now()),
        };
        cage.plan(Duration::ZERO, 0.0);
        cage
    }

    /// Limits of each process that a program is started with.
    pub fn rlimits(&self) -> Vec<(Resource, u64)> {
        let files = self.limits.file_size_bytes.map(|bytes| (Resource::FileSize, bytes));
        // Where nobody else stops a storm of processes: far above what is allowed, as the user has others that come and go.
        let storms = self.limits.pids.filter(|_| !self.guarded.pids);
        let tasks = storms.map(|most| {
            let bound = most.saturating_add(self.own_tasks).saturating_add(ROOM_FOR_OTHERS);
            (Resource::Tasks, tally::tasks_of_user().saturating_add(bound))
        });
        files.into_iter().chain(tasks).collect()
    }

    /// The descriptors a program may have, of the `usual` ones.
    pub fn open_files(limits: &Limits, usual: (u64, u64)) -> (u64, u64) {
        let most = limits.open_files.unwrap_or(u64::MAX);
        (usual.0.min(most), usual.1.min(most))
    }

    /// Before a shell or a clone is forked, between commands: what commands left running may fill the group, and the fork
    /// is not theirs. What they fork meanwhile has this little room too, until [`Self::close_room`].
    pub fn make_room(&mut self) {
        /// The clone, and for shells that do not know their pid the process between.
        const FORKS: u64 = 2;
        let (Some(group), Some(bound)) = (&self.group, self.pids_bound()) else { return };
        let needed = group.tasks().saturating_add(FORKS);
        if needed > bound {
            self.roomier = group.limit_pids(needed).is_ok();
        }
    }

    /// It is forked, or will not be.
    pub fn close_room(&mut self) {
        if let (true, Some(group), Some(bound)) = (self.roomier, &self.group, self.pids_bound()) {
            self.roomier = group.limit_pids(bound).is_err();
        }
    }

    /// Tasks the kernel lets in, ours too.
    fn pids_bound(&self) -> Option<u64> {
        self.limits.pids.filter(|_| self.guarded.pids).map(|most| most.saturating_add(self.own_tasks))
    }

    /// A command begins: from here on its processor time counts.
    pub fn begin(&mut self, keeper: i32) {
        self.close_room();
        self.before = self.reading(keeper);
        self.plan(Duration::ZERO, 0.0);
    }

    fn reading(&mut self, keeper: i32) -> Reading {
        match &self.group {
            Some(group) => group.reading(),
            None => {
                let tally = tally::of(keeper, u64::MAX);
                self.peak = self.peak.max(tally.resident);
                let oom_kills = self.around.as_ref().map_or(0, |group| group.oom_kills());
                Reading { cpu: tally.cpu, memory_peak: self.peak, oom_kills, ..Reading::default() }
            }
        }
    }

    /// When to look next; None when there is nothing to look after.
    pub fn next_look(&self) -> Option<Instant> {
        self.next
    }

    /// Whether the programs below `keeper` use more than they may.
    pub fn look(&mut self, keeper: i32) -> Verdict {
        if !self.must_look() {
            self.next = Some(Instant::now() + SHORT_PAUSE);
            return Verdict::Within;
        }
        // The keeper is not below itself.
        let own = self.own_tasks - 1;
        let most_tasks = self.limits.pids.filter(|_| !self.guarded.pids).map(|most| most.saturating_add(own));
        let most_memory = self.limits.memory_bytes.filter(|_| !self.guarded.memory);
        let tally = match &self.group {
            Some(group) if !self.watches_tree() => Tally { cpu: group.cpu(), ..Tally::default() },
            _ => tally::of(keeper, most_tasks.unwrap_or(u64::MAX)),
        };
        self.peak = self.peak.max(tally.resident);
        self.looked = (tally::machine_tasks(), Instant::now());
        let used = tally.cpu.saturating_sub(self.before.cpu);
        let share = |used: u64, most: Option<u64>| most.map_or(0.0, |most| used as f64 / most as f64);
        self.plan(used, share(tally.resident, most_memory).max(share(tally.tasks, most_tasks)));
        let too_many = most_tasks.is_some_and(|most| tally.tasks > most);
        let too_large =
            most_memory.is_some_and(|most| tally.resident > most && tally::memory_below(keeper) > most);
        let too_long = self.limits.cpu_time_s.is_some_and(|most| used.as_secs_f64() >= most);
        let exceeded =
            [(too_many, Limit::Pids), (too_large, Limit::MemoryBytes), (too_long, Limit::CpuTimeS)];
        exceeded
            .into_iter()
            .find(|(met, _)| *met)
            .map_or(Verdict::Within, |(_, limit)| Verdict::Exceeded(limit))
    }

    /// To count processes is not free. While the machine has no more of them than before there is no storm.
    fn must_look(&self) -> bool {
        let (tasks, at) = self.looked;
        let more = tally::machine_tasks().wrapping_sub(tasks).cast_signed();
        !self.watches_storms() || at.elapsed() >= PAUSE || u64::try_from(more).is_ok_and(|n| n > STORM)
    }

    fn watches_storms(&self) -> bool {
        self.limits.pids.is_some() && !self.guarded.pids
    }

    fn watches_tree(&self) -> bool {
        (self.limits.memory_bytes.is_some() && !self.guarded.memory) || self.watches_storms()
    }

    fn plan(&mut self, used: Duration, share: f64) {
        let soon = share > 0.5 || self.watches_storms();
        let tree = self.watches_tree().then_some(if soon { SHORT_PAUSE } else { PAUSE });
        let time = self.limits.cpu_time_s.map(|most| {
            let left = Duration::from_secs_f64(most).saturating_sub(used);
            (left / processors()).max(SHORT_PAUSE)
        });
        let soonest = tree.into_iter().chain(time).min();
        self.next = soonest.and_then(|pause| Instant::now().checked_add(pause));
    }

    /// What was used since the command began. `hit` is what whoever ended it knows.
    pub fn usage(&mut self, keeper: i32, hit: Option<Limit>) -> Usage {
        let now = self.reading(keeper);
        let oom_killed = now.oom_kills > self.before.oom_kills;
        let refused = now.forks_refused > self.before.forks_refused;
        let seen = oom_killed.then_some(Limit::MemoryBytes).or(refused.then_some(Limit::Pids));
        let since = |after: u64, before: u64| after.saturating_sub(before);
        let io = now.io.map(|(read, written)| {
            let (read_before, written_before) = self.before.io.unwrap_or_default();
            IoUsage { read_bytes: since(read, read_before), written_bytes: since(written, written_before) }
        });
        Usage {
            scope: self.scope,
            backend: self.info.backend,
            not_enforced: self.info.not_enforced.clone(),
            cpu_ms: crate::execution::millis(now.cpu.saturating_sub(self.before.cpu)),
            memory_peak_bytes: now.memory_peak,
            io,
            oom_killed,
            limit_hit: hit.or(seen),
        }
    }

    /// Ends everything in it but the keeper, which has to tell of it.
    pub fn kill(&self, keeper: i32) {
        if let Some(group) = &self.group {
            group.kill_all_but(&[keeper]);
        }
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            self.leavings.take(group);
        }
    }
}

fn processors() -> u32 {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(count).unwrap_or(1)
}
