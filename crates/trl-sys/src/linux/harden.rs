//! What Linux lets a process decide about itself.

use std::io;

/// No core dumps, no ptrace or /proc/PID/mem by other processes of the same user.
pub fn make_undumpable() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Orphans of this process's descendants come to it instead of to init.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer and touches no memory of ours.
    let r = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if r == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// When memory is short, this process and those it will start are ended before others of their size: enough to be first, not
/// enough to be ended for nothing.
pub fn go_before_the_daemon() {
    score_above_ours("self", 200);
}

/// With a keeper a session loses its shell and the shell's clone, and with one of its programs only that one.
///
/// A program cannot do it for itself: until it has called exec it is hidden, as its keeper is, and what is hidden is root's.
pub fn put_before_us(pid: i32) {
    score_above_ours(&pid.to_string(), 100);
}

/// In thousandths of all memory.
fn score_above_ours(process: &str, more: i32) {
    let ours = std::fs::read_to_string("/proc/self/oom_score_adj").ok();
    if let Some(ours) = ours.and_then(|text| text.trim().parse::<i32>().ok()) {
        let _ = std::fs::write(format!("/proc/{process}/oom_score_adj"), (ours + more).min(1000).to_string());
    }
}

/// The name shown by `ps`.
pub fn set_process_name(name: &std::ffi::CStr) {
    let _ = rustix::thread::set_name(name);
}

/// Fixed thresholds make glibc return large buffers to the system instead of learning to keep them.
pub fn tame_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets numbers inside the allocator, before any thread but this one exists.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 * 1024);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 * 1024);
    }
}
