//! Keeping the daemon's memory and secrets to itself.

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

/// A file that may not grow any more is an error to whoever writes it, and not the end of the process.
pub fn outlive_full_files() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// When the machine is out of memory, this process and those it will start are ended before others of their size.
pub fn go_before_the_daemon() {
    const FILE: &str = "/proc/self/oom_score_adj";
    /// In thousandths of all memory: enough to be first, not enough to be ended for nothing.
    const LIKELIER: i32 = 200;
    let now = std::fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if let Some(now) = now {
        let _ = std::fs::write(FILE, (now + LIKELIER).min(1000).to_string());
    }
}

/// The name shown by `ps`.
pub fn set_process_name(name: &std::ffi::CStr) {
    let _ = rustix::thread::set_name(name);
}

/// Overwrites and removes an environment variable, so that /proc/PID/environ no longer shows it.
///
/// Must be called while the process has one thread.
pub fn wipe_env(name: &str) {
    let Ok(c_name) = std::ffi::CString::new(name) else { return };
    // SAFETY: single-threaded by contract; getenv returns a NUL-terminated string inside the environment block,
    // which is ours to write, and nothing else holds a pointer to it.
    unsafe {
        let value = libc::getenv(c_name.as_ptr());
        if !value.is_null() {
            std::ptr::write_bytes(value, 0, libc::strlen(value));
        }
        std::env::remove_var(name);
    }
}

/// Fixed thresholds make glibc return large buffers to the system instead of learning to keep them.
pub fn tame_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt only sets numbers inside the allocator, before any thread but this one exists.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 * 1024);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 * 1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wiped_variable_is_gone_from_the_environment() {
        // nextest runs each test in a process of its own, and the harness reads no environment meanwhile
        // SAFETY: see above.
        unsafe { std::env::set_var("TRL_TEST_WIPE", "secret") };
        wipe_env("TRL_TEST_WIPE");
        assert!(std::env::var_os("TRL_TEST_WIPE").is_none());
        wipe_env("TRL_TEST_NEVER_SET");
    }
}
