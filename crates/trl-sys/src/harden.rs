//! Keeping the daemon's memory and secrets to itself.

pub use crate::os::harden::{
    adopt_orphans, go_before_the_daemon, make_undumpable, put_before_us, set_process_name, tame_allocator,
};

/// A file that may not grow any more is an error to whoever writes it, and not the end of the process.
pub fn outlive_full_files() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// What is made for the user can be used by the user, whatever the umask of whoever started this.
///
/// Must be called while the process has one thread.
pub fn spare_the_owner() {
    use rustix::fs::Mode;
    let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(mask & !Mode::RWXU);
}

/// Overwrites and removes an environment variable, so that the system no longer shows it.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The mask is the whole process's; each test is one.
    #[test]
    fn the_owner_is_spared_and_others_are_not() {
        use rustix::fs::Mode;
        let before = rustix::process::umask(Mode::from_raw_mode(0o377));
        spare_the_owner();
        assert_eq!(rustix::process::umask(before), Mode::from_raw_mode(0o077));
    }

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
