//! The keeper's side of a filter: each refused call arrives here, is answered with its errno, and is told.
//!
//! A filter that refused by itself would be as tight, but nobody would know: that a command failed because of the
//! sandbox would be a guess.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::seccomp::{self, Op};

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

/// A call that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) pid: i32,
    pub(crate) op: Op,
}

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
    let errno = op.map_or(libc::EPERM, Op::errno);
    let answer = Answer { id: heard.id, value: 0, error: -errno, flags: 0 };
    // SAFETY: the kernel reads one struct of exactly this form.
    unsafe { libc::ioctl(ear.as_raw_fd(), SEND as _, &raw const answer) };
}

/// Hands the ear over to the keeper.
pub(crate) fn hand_over(ear: &OwnedFd, keeper: &UnixStream) -> std::io::Result<()> {
    let fds = [ear.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(keeper, &[IoSlice::new(b"e")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The ear, if one was handed over.
pub(crate) fn take_over(program: &UnixStream) -> Option<OwnedFd> {
    let mut byte = [0; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(program, &mut [IoSliceMut::new(&mut byte)], &mut control, flags).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    })
}

/// How much is told: a program that is refused again and again must not keep the daemon busy.
#[derive(Debug)]
pub(crate) struct Patience {
    since: Instant,
    told: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { since: Instant::now(), told: 0 }
    }
}

impl Patience {
    const WINDOW: Duration = Duration::from_millis(100);
    const MOST: u32 = 32;

    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= Self::WINDOW {
            *self = Self { since: now, told: 0 };
        }
        self.told += 1;
        self.told <= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_are_the_kernels() {
        assert_eq!((size_of::<Notification>(), size_of::<Answer>()), (80, 24));
    }

    #[test]
    fn patience_comes_back() {
        let mut patience = Patience::default();
        let start = patience.since;
        assert_eq!((0..100).filter(|_| patience.allows(start)).count(), Patience::MOST as usize);
        assert!(patience.allows(start + Patience::WINDOW));
    }
}
