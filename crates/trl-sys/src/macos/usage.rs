//! What one process uses, as the kernel says.

use std::mem::MaybeUninit;
use std::time::Duration;

use super::procs;

/// Processes of the whole machine, as far as the number goes: one short look that shows a storm coming.
pub fn machine_tasks() -> u16 {
    // SAFETY: without a buffer the kernel only says how many there are.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    (count.max(0) & i32::from(u16::MAX)).try_into().unwrap_or(u16::MAX)
}

/// Processes and threads of our user, as far as they are seen.
pub fn tasks_of_user() -> u64 {
    let me = crate::machine::effective_uid();
    let mine = procs::everybody()
        .into_iter()
        .flatten()
        .filter(|pid| procs::bsd(*pid).is_some_and(|p| p.pbi_uid == me));
    mine.filter_map(Line::read).map(|line| line.threads).sum()
}

/// What the kernel counts in: turns of its clock, and bytes.
pub(crate) struct Units {
    /// Nanoseconds: so many in so many turns.
    nanos: u64,
    turns: u64,
    pub(crate) page: u64,
}

/// The kernel's `mach_timebase_info`.
#[repr(C)]
struct Timebase {
    nanos: u32,
    turns: u32,
}

unsafe extern "C" {
    fn mach_timebase_info(info: *mut Timebase) -> libc::c_int;
}

impl Units {
    pub(crate) fn here() -> Self {
        let mut base = Timebase { nanos: 1, turns: 1 };
        // SAFETY: the kernel writes one struct of exactly this form.
        unsafe { mach_timebase_info(&mut base) };
        Self { nanos: base.nanos.into(), turns: u64::from(base.turns).max(1), page: 1 }
    }

    pub(crate) fn time(&self, ticks: u64) -> Duration {
        Duration::from_nanos(ticks.saturating_mul(self.nanos) / self.turns)
    }
}

fn rusage(pid: i32) -> Option<libc::rusage_info_v1> {
    let mut found = MaybeUninit::<libc::rusage_info_v1>::zeroed();
    // SAFETY: the kernel writes one struct of this version; all its fields are plain numbers.
    unsafe {
        let got = libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V1, found.as_mut_ptr().cast());
        (got == 0).then(|| found.assume_init())
    }
}

/// Bytes of memory that would be free without it.
pub(crate) fn memory_alone(pid: i32) -> Option<u64> {
    Some(rusage(pid)?.ri_phys_footprint)
}

/// What matters here of one process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) alive: bool,
    /// Its own and its dead children's, in the kernel and outside.
    pub(crate) ticks: u64,
    pub(crate) threads: u64,
    /// Here: bytes.
    pub(crate) pages: u64,
}

impl Line {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let alive = procs::stat(pid)?.alive();
        // SAFETY: all fields are plain numbers.
        let task = unsafe { procs::info::<libc::proc_taskinfo>(pid, libc::PROC_PIDTASKINFO, 0) };
        let used = rusage(pid);
        let ticks = used
            .map_or(0, |u| u.ri_user_time + u.ri_system_time + u.ri_child_user_time + u.ri_child_system_time);
        let threads = task.map_or(1, |task| u64::try_from(task.pti_threadnum).unwrap_or(1));
        Some(Self { alive, ticks, threads, pages: task.map_or(0, |task| task.pti_resident_size) })
    }
}
