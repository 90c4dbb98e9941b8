//! How the daemon shares the processor with what it runs.
//!
//! It works in short bursts that somebody always waits for, beside commands that may use all they can get. With the
//! usual turn of some milliseconds each wake-up between it and a shell waits for a busy neighbour's turn to end.

use std::time::Duration;

/// The shortest turn Linux grants.
const TURN: Duration = Duration::from_micros(100);

/// Short turns: the kernel then gives the processor to the calling thread soon after it wakes up, and takes it away
/// soon when others wait. Its share stays the same. Processes it starts have the usual turns.
///
/// Kernels before 6.12 refuse or ignore it, and nothing is lost then.
pub fn take_short_turns() {
    const RESET_ON_FORK: u64 = 1;
    let Ok(nice) = rustix::process::getpriority_process(None) else { return };
    // SAFETY: all fields are plain numbers; zero is "not given".
    let mut attr: libc::sched_attr = unsafe { std::mem::zeroed() };
    attr.size = size_of::<libc::sched_attr>() as u32;
    attr.sched_policy = libc::SCHED_OTHER as u32;
    attr.sched_flags = RESET_ON_FORK;
    attr.sched_nice = nice;
    attr.sched_runtime = TURN.as_nanos() as u64;
    // SAFETY: the kernel reads `size` bytes of `attr`, which outlives the call, and writes nothing.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}
