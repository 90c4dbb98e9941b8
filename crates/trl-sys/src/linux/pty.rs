//! Opening a pseudo-terminal.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::OpenptFlags;

/// Both sides, the daemon's first. Neither becomes anybody's controlling terminal, and no program inherits one.
pub(crate) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let fd = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&fd)?;
    rustix::pty::unlockpt(&fd)?;
    rustix::io::ioctl_fionbio(&fd, true)?;
    let peer = rustix::pty::ioctl_tiocgptpeer(&fd, flags)?;
    Ok((fd, peer))
}
