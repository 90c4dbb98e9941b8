//! Sockets that were open before this process began, as a service manager hands them over.
//!
//! `LISTEN_FDS` says how many there are from descriptor 3 on, `LISTEN_PID` for whom they are. Both are gone afterwards, and
//! no program inherits any of it.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;

use crate::harden::wipe_env;
use crate::os::sockets;

const FIRST: RawFd = 3;
/// More than anybody has a use for.
const MOST: RawFd = 16;
const VARIABLES: [&str; 3] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// The Unix sockets that somebody listens on for us; others are closed.
///
/// Must be called once, while the process has one thread and has opened nothing of its own.
pub fn take_listeners() -> Vec<UnixListener> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<RawFd>().ok());
    let ours = number("LISTEN_PID") == i32::try_from(std::process::id()).ok();
    let count = number("LISTEN_FDS").filter(|count| ours && (0..=MOST).contains(count)).unwrap_or(0);
    VARIABLES.into_iter().for_each(wipe_env);
    (FIRST..FIRST + count).filter_map(take).filter_map(listener).collect()
}

fn take(fd: RawFd) -> Option<OwnedFd> {
    // SAFETY: fcntl with F_SETFD takes two integers and touches no memory; it fails on what is not open.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return None;
    }
    // SAFETY: it is open, and ours by the word of whoever started us; by contract nothing here has it yet.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn listener(fd: OwnedFd) -> Option<UnixListener> {
    sockets::is_listening(&fd).then_some(())?;
    let listener = UnixListener::from(fd);
    // Fails for a socket of another kind.
    listener.local_addr().ok()?;
    Some(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listening_unix_socket_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let ours = UnixListener::bind(dir.path().join("s")).unwrap();
        assert!(listener(ours.into()).is_some());
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(listener(one.into()).is_none());
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(listener(tcp.into()).is_none());
        assert!(listener(std::fs::File::open("/dev/null").unwrap().into()).is_none());
    }

    #[test]
    fn what_is_not_open_is_nobodys() {
        assert!(take(1_000_000).is_none());
    }
}
