//! New processes: there is `fork`, and nothing that shares memory or chooses its parent.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::OwnedFd;

/// Opens a file without waiting for anybody.
pub(crate) const ONLY_LOOK: c_int = libc::O_RDONLY | libc::O_NONBLOCK;

/// What a new process runs; it never returns.
pub(crate) type Entry = extern "C" fn(*mut c_void) -> c_int;

/// A child that runs `enter`, here in a memory of its own; its pid, or -1.
///
/// # Safety
/// Only in a process with one thread. `enter` never returns.
pub(crate) unsafe fn start_in_our_memory(enter: Entry, with: *mut c_void) -> i32 {
    // SAFETY: with one thread the child may run any code; `with` is as valid in the copy as it is here.
    unsafe {
        match libc::fork() {
            0 => {
                enter(with);
                libc::_exit(127)
            }
            pid => pid,
        }
    }
}

/// No process can have a child that is its parent's.
///
/// # Safety
/// None is needed; it is the other systems that ask for it.
pub(crate) unsafe fn fork_sibling() -> Result<i32, i32> {
    Err(libc::ENOTSUP)
}

/// A fork.
///
/// # Safety
/// Only in a process with one thread; the child ends at once.
pub(crate) unsafe fn fork_bare() -> i32 {
    // SAFETY: see above.
    unsafe { libc::fork() }
}

/// Nothing above stdio reaches the next program; all of it stays open until then.
pub(crate) fn close_above_stdio_on_exec() {
    for fd in super::procs::open_numbers(std::process::id().cast_signed()).into_iter().filter(|fd| *fd > 2) {
        // SAFETY: integers only; it fails on what is not open.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// No file can be started by its descriptor: by its path, as soon after the look as can be. Returns when that failed.
///
/// Both lists end with null.
pub(crate) fn exec_open(_program: &OwnedFd, argv: &[*const c_char], env: &[*const c_char]) {
    // SAFETY: the callers' lists end with null, and their strings live until the exec or its failure.
    unsafe { libc::execve(argv[0], argv.as_ptr(), env.as_ptr()) };
}
