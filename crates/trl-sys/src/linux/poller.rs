//! The set behind [`crate::poller`]: an epoll.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::event::{Timespec, epoll};

#[derive(Debug)]
pub(crate) struct Poller {
    set: OwnedFd,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { set: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    pub(crate) fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.set, fd, epoll::EventData::new_u64(token), flags)?;
        Ok(())
    }

    pub(crate) fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.set, fd);
    }

    /// The tokens that became ready since the last call, `MOST` of them at most, without waiting.
    pub(crate) fn ready<const MOST: usize>(&self, tokens: &mut Vec<u64>) {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); MOST];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if let Ok((found, _)) = epoll::wait(&self.set, &mut events, Some(&now)) {
            tokens.extend(found.iter().map(|e| e.data.u64()));
        }
    }
}

impl AsRawFd for Poller {
    fn as_raw_fd(&self) -> RawFd {
        self.set.as_raw_fd()
    }
}
