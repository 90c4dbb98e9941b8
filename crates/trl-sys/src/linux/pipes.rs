//! Pipes and FIFOs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode};
use rustix::pipe::PipeFlags;

/// A pipe that no program inherits: its read end, then its write end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

pub(crate) fn make_fifo(path: &Path, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, mode, 0)?)
}

pub(crate) fn resize(fd: impl AsFd, bytes: usize) -> bool {
    rustix::pipe::fcntl_setpipe_size(fd, bytes).is_ok()
}
