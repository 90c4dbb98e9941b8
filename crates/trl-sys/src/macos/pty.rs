//! Opening a pseudo-terminal.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::OpenptFlags;

/// Both sides, the daemon's first. Neither becomes anybody's controlling terminal, and no program inherits one.
pub(crate) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let fd = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    rustix::pty::grantpt(&fd)?;
    rustix::pty::unlockpt(&fd)?;
    rustix::io::ioctl_fionbio(&fd, true)?;
    let name = rustix::pty::ptsname(&fd, Vec::new())?;
    let peer = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((fd, peer))
}
