//! Pipes and FIFOs.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::Mode;
use rustix::io::{FdFlags, fcntl_setfd};

/// A pipe that no program inherits: its read end, then its write end. Between the two calls one could; only processes
/// with one thread use it.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe()?;
    fcntl_setfd(&reader, FdFlags::CLOEXEC)?;
    fcntl_setfd(&writer, FdFlags::CLOEXEC)?;
    Ok((reader, writer))
}

pub(crate) fn make_fifo(path: &Path, mode: Mode) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a terminated path.
    let made = unsafe { libc::mkfifo(path.as_ptr(), mode.as_raw_mode()) };
    if made == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A pipe is as large as the kernel makes it.
pub(crate) fn resize(_: impl AsFd, _: usize) -> bool {
    false
}
