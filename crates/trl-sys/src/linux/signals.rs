//! Signals as a keeper waits for them, and as its programs find them.

use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Every number there is.
pub(crate) const ALL: RangeInclusive<c_int> = 1..=64;

/// Waits for any of these descriptors, or for a signal: none is blocked meanwhile. As `poll` answers.
pub(crate) fn poll_unblocked(polls: &mut [libc::pollfd]) -> c_int {
    // SAFETY: as many live pollfds as said; the mask is initialised by sigemptyset; a null timeout waits for ever.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::ppoll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, std::ptr::null(), &none)
    }
}

/// Waits for a child to change state, less than a second. The caller looks afterwards, whatever it was.
pub(crate) fn wait_for_child(limit: Duration) {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
    // SAFETY: the set is initialised by sigemptyset; nobody wants to know which child it was.
    unsafe {
        let mut chld: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut chld);
        libc::sigaddset(&mut chld, libc::SIGCHLD);
        libc::sigtimedwait(&chld, std::ptr::null_mut(), &limit);
    }
}

/// Default dispositions.
pub(crate) fn set_to_default(numbers: impl IntoIterator<Item = c_int>) {
    /// As large as the kernel's struct sigaction; all zero means SIG_DFL, no flags, no mask.
    const DEFAULT: [u64; 4] = [0; 4];
    for number in numbers {
        // SAFETY: the kernel reads one struct from DEFAULT and installs no handler. The raw call, because the C library
        // hides two signals it uses itself from its own.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                number,
                DEFAULT.as_ptr(),
                std::ptr::null_mut::<u64>(),
                8usize,
            );
        }
    }
}
