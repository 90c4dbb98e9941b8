//! Sockets: what Linux can be told with each call, and whom it names.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

/// A peer that is gone is an error, not a signal.
pub(crate) const WITHOUT_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// No program inherits the descriptors that come with a message.
pub(crate) const FOR_US_ALONE: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// The kernel has seen to it, by [`FOR_US_ALONE`].
pub(crate) fn keep_for_us(_: &OwnedFd) -> Result<(), Errno> {
    Ok(())
}

pub(crate) fn is_listening(socket: impl AsFd) -> bool {
    sockopt::socket_acceptconn(socket).is_ok_and(|listens| listens)
}

pub(crate) fn peer_pid(socket: impl AsFd) -> Option<u32> {
    let peer = sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

pub(crate) fn without_path(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}
