//! A set of descriptors watched as one.
//!
//! The async runtime knows only the set's own descriptor; when that is ready, the set says which members are.
//! Members are edge-triggered: a FIFO whose last writer left says so once, and can be written to again later.

use std::io;
use std::os::fd::AsFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::os::poller::Poller;

/// A watched set, inside an async runtime.
#[derive(Debug)]
pub struct Watch {
    poller: AsyncFd<Poller>,
}

impl Watch {
    /// Must be called within a runtime.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the poller owns its descriptor, never gives it away, and always shows the same one.
        let poller = unsafe { AsyncFd::register_with_interest(Poller::new()?, Interest::READABLE) };
        Ok(Self { poller: poller.map_err(io::Error::from)? })
    }

    /// Watches `fd` for input under `token`. Closing it ends the watch.
    pub fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        self.poller.get_ref().add(fd, token)
    }

    /// For a descriptor that lives on elsewhere.
    pub fn remove(&self, fd: impl AsFd) {
        self.poller.get_ref().remove(fd);
    }

    /// Waits until at least one member is ready. Cancel-safe: nothing is taken before it returns.
    pub async fn ready(&self) -> Vec<u64> {
        let mut tokens = Vec::new();
        loop {
            // An error here means the runtime is shutting down; waiting for ever is right then.
            let Ok(mut guard) = self.poller.readable().await else { return std::future::pending().await };
            self.poller.get_ref().ready::<MOST>(&mut tokens);
            // Fewer than fit means all: what comes later is a new event.
            if tokens.len() < MOST {
                guard.clear_ready();
            }
            if !tokens.is_empty() {
                return tokens;
            }
        }
    }
}

/// More members than any session has.
const MOST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo;

    #[test]
    fn a_writer_that_leaves_is_seen_once_and_a_new_one_is_seen_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fifo::make(&path).unwrap();
        let reader = fifo::open_read(&path).unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&reader, 7).unwrap();
        let seen = || {
            let mut tokens = Vec::new();
            poller.ready::<MOST>(&mut tokens);
            tokens
        };
        drop(fifo::open_write(&path).unwrap());
        assert_eq!(seen(), [7]);
        assert_eq!(seen(), [0u64; 0]);
        let writer = fifo::open_write(&path).unwrap();
        fifo::write_all(&writer, b"x").unwrap();
        assert_eq!(seen(), [7]);
    }
}
