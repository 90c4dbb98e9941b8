//! The keeper's side of a filter: each refused call arrives here, is answered with its errno, and is told.
//!
//! A filter that refused by itself would be as tight, but nobody would know: that a command failed because of the
//! sandbox would be a guess.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::RecvFlags;

use super::seccomp;
use crate::rights;
use crate::sandbox::{Op, Refused};

/// The kernel's `seccomp_notif`.
#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    pid: u32,
    flags: u32,
    call: i32,
    arch: u32,
    at: u64,
    args: [u64; 6],
}

/// The kernel's `seccomp_notif_resp`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;

/// Takes one refused call, tells of it, and answers it: whoever hears of the program's end has heard of this before.
pub(crate) fn answer(ear: &OwnedFd, tell: impl FnOnce(Refused)) {
    let mut heard = Notification::default();
    // SAFETY: the kernel writes one struct of exactly this form, zero before as it demands.
    if unsafe { libc::ioctl(ear.as_raw_fd(), RECEIVE as _, &raw mut heard) } != 0 {
        // Its process is gone.
        return;
    }
    let op = seccomp::classify(heard.call, &heard.args);
    if let Some(op) = op {
        tell(Refused { pid: heard.pid.cast_signed(), op });
    }
    let errno = op.map_or(libc::EPERM, errno_of);
    let answer = Answer { id: heard.id, value: 0, error: -errno, flags: 0 };
    // SAFETY: the kernel reads one struct of exactly this form.
    unsafe { libc::ioctl(ear.as_raw_fd(), SEND as _, &raw const answer) };
}

/// What the program is told.
fn errno_of(op: Op) -> i32 {
    match op {
        Op::UnixSocket | Op::Network | Op::OtherSocket => libc::EACCES,
        Op::IoUring => libc::ENOSYS,
        _ => libc::EPERM,
    }
}

/// Hands the ear over to the keeper.
pub(super) fn hand_over(ear: &OwnedFd, keeper: &UnixStream) -> std::io::Result<()> {
    Ok(rights::send(keeper, b'e', &[ear.as_fd()])?)
}

/// The ear, if one was handed over.
pub(super) fn take_over(program: &UnixStream) -> Option<OwnedFd> {
    rights::receive(program, RecvFlags::DONTWAIT).ok()?.fds.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_are_the_kernels() {
        assert_eq!((size_of::<Notification>(), size_of::<Answer>()), (80, 24));
    }
}
