//! New processes, in the ways that only Linux has, for the single-threaded keeper.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};

/// Opens a file for neither reading nor writing.
pub(crate) const ONLY_LOOK: c_int = libc::O_PATH;

/// What a new process runs; it never returns.
pub(crate) type Entry = extern "C" fn(*mut c_void) -> c_int;

/// A child that runs `enter` in this very memory while we wait for its exec or its end; its pid, or -1.
///
/// # Safety
/// Only in a process with one thread. `enter` never returns, and writes to nothing but its own stack and errno.
pub(crate) unsafe fn start_in_our_memory(enter: Entry, with: *mut c_void) -> i32 {
    /// Far more than the few calls before the exec need.
    const STACK: usize = 32 * 1024;
    let mut stack: Vec<u128> = Vec::with_capacity(STACK / size_of::<u128>());
    // SAFETY: the child runs `enter` on a stack of its own while this thread, the only one, waits (CLONE_VFORK), so both
    // the stack and `with` outlive it. No handler of the keeper can run in it: every signal is blocked until it has reset
    // them all.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        let top = stack.as_mut_ptr().add(stack.capacity());
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let pid = libc::clone(enter, top.cast(), flags, with);
        libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        pid
    }
}

/// A fork whose parent is our own: 0 in the new process, its pid in this one, or why there is none.
///
/// # Safety
/// Only in a process with one thread.
pub(crate) unsafe fn fork_sibling() -> Result<i32, i32> {
    // SAFETY: a fork by its raw call; integers only.
    match unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_PARENT | libc::SIGCHLD, 0, 0, 0, 0) as i32 } {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        pid => Ok(pid),
    }
}

/// A fork that runs nothing of the C library's, so that it works in somebody else's memory too.
///
/// # Safety
/// Only in a process with one thread; the child ends at once.
pub(crate) unsafe fn fork_bare() -> i32 {
    // SAFETY: a fork by its raw call; integers only.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }
}

/// Nothing above stdio reaches the next program; all of it stays open until then.
pub(crate) fn close_above_stdio_on_exec() {
    // SAFETY: integers only.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

/// Becomes this very file, whatever its path leads to by now. Returns when that failed.
///
/// Both lists end with null.
pub(crate) fn exec_open(program: &OwnedFd, argv: &[*const c_char], env: &[*const c_char]) {
    debug_assert!(
        argv.last().is_some_and(|last| last.is_null()) && env.last().is_some_and(|last| last.is_null())
    );
    // SAFETY: the callers' lists end with null, and their strings live until the exec or its failure.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            env.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
}
