//! Signals as a keeper waits for them, and as its programs find them.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Every number there is.
pub(crate) const ALL: RangeInclusive<c_int> = 1..=31;

/// Waits for any of these descriptors, or for a signal: none is blocked meanwhile. As `poll` answers.
pub(crate) fn poll_unblocked(polls: &mut [libc::pollfd]) -> c_int {
    let fits = |fd: c_int| usize::try_from(fd).is_ok_and(|fd| fd < libc::FD_SETSIZE);
    let mut highest = -1;
    // SAFETY: the set is emptied before use, only numbers that fit are put in, and a null timeout waits for ever.
    unsafe {
        let mut readable = MaybeUninit::<libc::fd_set>::zeroed().assume_init();
        libc::FD_ZERO(&mut readable);
        for poll in polls.iter().filter(|poll| fits(poll.fd)) {
            libc::FD_SET(poll.fd, &mut readable);
            highest = highest.max(poll.fd);
        }
        let ready = wait(highest + 1, &mut readable, std::ptr::null());
        for poll in polls.iter_mut() {
            let has = ready > 0 && fits(poll.fd) && libc::FD_ISSET(poll.fd, &readable);
            poll.revents = if has { libc::POLLIN } else { 0 };
        }
        ready
    }
}

/// Waits for a child to change state, less than a second. The caller looks afterwards, whatever it was.
pub(crate) fn wait_for_child(limit: Duration) {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
    // SAFETY: no descriptors, and a live timeout.
    unsafe { wait(0, std::ptr::null_mut(), &raw const limit) };
}

/// # Safety
/// The set is null or live and has no number of `count` or more; the limit is null or live.
unsafe fn wait(count: c_int, readable: *mut libc::fd_set, limit: *const libc::timespec) -> c_int {
    let null = std::ptr::null_mut();
    // SAFETY: by contract; the mask is initialised by sigemptyset.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pselect(count, readable, null, null, limit, &none)
    }
}

/// Default dispositions.
pub(crate) fn set_to_default(numbers: impl IntoIterator<Item = c_int>) {
    for number in numbers {
        // SAFETY: no handler is installed; those that cannot be changed are refused.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}
