//! Output of background processes after their execution ended: it still belongs to that execution.
//!
//! It is read for ever: a full pipe would block the job, a closed one would kill it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::net::unix::pipe::Receiver;

use super::log::Log;
use crate::seats::Seat;

/// Small: there may be many of these, and none is in a hurry.
const CHUNK: usize = 8192;

/// Reads until the last writer is gone, then closes the log.
pub fn collect(fd: OwnedFd, log: Arc<Log>, seat: Seat) {
    let Ok(pipe) = Receiver::from_owned_fd(fd) else { return log.close() };
    tokio::spawn(async move {
        while pipe.readable().await.is_ok() {
            tokio::task::consume_budget().await;
            let mut buf = [0; CHUNK];
            match pipe.try_read(&mut buf) {
                Ok(0) => break,
                Ok(n) => log.append(&buf[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        log.close();
        drop((pipe, seat));
    });
}
