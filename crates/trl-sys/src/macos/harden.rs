//! What macOS lets a process decide about itself.

use std::io;

/// No debugger may attach.
pub fn make_undumpable() -> io::Result<()> {
    // SAFETY: with PT_DENY_ATTACH the kernel looks at no other argument.
    let done = unsafe { libc::ptrace(libc::PT_DENY_ATTACH, 0, std::ptr::null_mut(), 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Orphans go to process 1, and nobody can have them instead.
pub fn adopt_orphans() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "not available on this system"))
}

/// Who is ended when the machine is out of memory is not for a process to say.
pub fn go_before_the_daemon() {}

/// The same.
pub fn put_before_us(_: i32) {}

/// The name shown by `ps` is the file's.
pub fn set_process_name(_: &std::ffi::CStr) {}

/// There is nothing to be set.
pub fn tame_allocator() {}
