//! The set behind [`crate::poller`]: a kqueue.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::ptr::without_provenance_mut;
use std::time::Duration;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent, kqueue};
use rustix::io::{FdFlags, fcntl_setfd};

#[derive(Debug)]
pub(crate) struct Poller {
    set: OwnedFd,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let set = kqueue()?;
        fcntl_setfd(&set, FdFlags::CLOEXEC)?;
        Ok(Self { set })
    }

    pub(crate) fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let token = usize::try_from(token).map_err(io::Error::other)?;
        self.change(fd, EventFlags::ADD | EventFlags::CLEAR, token)
    }

    pub(crate) fn remove(&self, fd: impl AsFd) {
        let _ = self.change(fd, EventFlags::DELETE, 0);
    }

    fn change(&self, fd: impl AsFd, flags: EventFlags, token: usize) -> io::Result<()> {
        let filter = EventFilter::Read(fd.as_fd().as_raw_fd());
        let change = Event::new(filter, flags, without_provenance_mut(token));
        let mut none: [MaybeUninit<Event>; 0] = [];
        // SAFETY: the descriptor is open; the kernel forgets it when it is closed. The token is never used as a pointer.
        unsafe { kevent(&self.set, &[change], &mut none, Some(Duration::ZERO)) }?;
        Ok(())
    }

    /// The tokens that became ready since the last call, `MOST` of them at most, without waiting.
    pub(crate) fn ready<const MOST: usize>(&self, tokens: &mut Vec<u64>) {
        let mut events = [MaybeUninit::<Event>::uninit(); MOST];
        // SAFETY: nothing is changed, so no descriptor is named.
        if let Ok((found, _)) = unsafe { kevent(&self.set, &[], &mut events, Some(Duration::ZERO)) } {
            tokens.extend(found.iter().map(|event| event.udata().addr() as u64));
        }
    }
}

impl AsRawFd for Poller {
    fn as_raw_fd(&self) -> RawFd {
        self.set.as_raw_fd()
    }
}
