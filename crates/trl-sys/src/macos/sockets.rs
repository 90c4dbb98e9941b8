//! Sockets: what is not said with each call is said before or after it.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::SocketAddr;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{RecvFlags, SendFlags};

/// A peer that is gone is an error, not a signal: every process of ours ignores that signal from its start.
pub(crate) const WITHOUT_SIGNAL: SendFlags = SendFlags::empty();
/// Descriptors that come with a message are to be kept from programs afterwards.
pub(crate) const FOR_US_ALONE: RecvFlags = RecvFlags::empty();

pub(crate) fn keep_for_us(descriptor: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfd(descriptor, FdFlags::CLOEXEC)
}

pub(crate) fn is_listening(socket: impl AsFd) -> bool {
    option(socket, libc::SOL_SOCKET, libc::SO_ACCEPTCONN).is_some_and(|listens| listens != 0)
}

pub(crate) fn peer_pid(socket: impl AsFd) -> Option<u32> {
    option(socket, libc::SOL_LOCAL, libc::LOCAL_PEERPID).and_then(|pid| u32::try_from(pid).ok())
}

/// An option that is a number.
fn option(socket: impl AsFd, level: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut len = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to a live number of that size.
    let got = unsafe {
        let fd = socket.as_fd().as_raw_fd();
        libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut len)
    };
    (got == 0).then_some(value)
}

/// Every name is in a directory.
pub(crate) fn without_path(_: &str) -> io::Result<SocketAddr> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "not available on this system"))
}
