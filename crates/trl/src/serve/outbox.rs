//! What is on its way to one client. Bounded: a client that does not read is cut off, and streams wait their turn
//! instead of piling up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// The most bytes that may wait.
    max: usize,
    more: Notify,
    room: Notify,
}

struct Inner {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing new is taken; what waits is still written.
    Finishing,
    /// The client is gone, or was cut off.
    Closed,
}

/// Streams pause while more than this waits: a few pushes, so that the client always has something to read.
const ENOUGH: usize = 512 * 1024;

impl Outbox {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        let inner = Inner { lines: VecDeque::new(), bytes: 0, state: State::Open };
        Arc::new(Self { inner: Mutex::new(inner), max, more: Notify::new(), room: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues one line. When too much waits already the client is cut off.
    pub(crate) fn send(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut inner = self.lock();
        if inner.state != State::Open {
            return;
        }
        // One large reply is fine; a second one on top of it is a client that does not read.
        if inner.bytes > self.max {
            tracing::warn!(waiting_bytes = inner.bytes, "a client does not read its replies and is cut off");
            inner.state = State::Closed;
            inner.lines.clear();
            inner.bytes = 0;
            self.room.notify_waiters();
        } else {
            inner.bytes += line.len();
            inner.lines.push_back(line);
        }
        drop(inner);
        self.more.notify_one();
    }

    /// Resolves when a stream may send more; false when there is nobody to send to.
    pub(crate) async fn room(&self) -> bool {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            {
                let inner = self.lock();
                if inner.state == State::Closed {
                    return false;
                }
                if inner.bytes < ENOUGH {
                    return true;
                }
            }
            room.await;
        }
    }

    /// Resolves when there is nobody to send to any more.
    pub(crate) async fn closed(&self) {
        loop {
            let mut change = std::pin::pin!(self.room.notified());
            change.as_mut().enable();
            if self.is_closed() {
                return;
            }
            change.await;
        }
    }

    fn is_closed(&self) -> bool {
        self.lock().state == State::Closed
    }

    /// Nothing more will be sent.
    pub(crate) fn finish(&self) {
        let mut inner = self.lock();
        if inner.state == State::Open {
            inner.state = State::Finishing;
        }
        drop(inner);
        self.more.notify_one();
    }

    /// Returns how many bytes still wait.
    fn written(&self, bytes: usize) -> usize {
        let mut inner = self.lock();
        inner.bytes = inner.bytes.saturating_sub(bytes);
        inner.bytes
    }

    /// Writes until it is finished or the client is gone.
    pub(crate) async fn write_to(&self, mut writer: impl AsyncWrite + Unpin) {
        loop {
            let (line, state) = {
                let mut inner = self.lock();
                (inner.lines.pop_front(), inner.state)
            };
            match (line, state) {
                (_, State::Closed) | (None, State::Finishing) => break,
                (None, State::Open) => self.more.notified().await,
                (Some(line), _) => {
                    let written = tokio::select! {
                        written = writer.write_all(&line) => written.is_ok(),
                        () = self.closed() => false,
                    };
                    if !written {
                        break;
                    }
                    if self.written(line.len()) == 0 {
                        let _ = writer.flush().await;
                    }
                    self.room.notify_waiters();
                }
            }
        }
        self.lock().state = State::Closed;
        self.room.notify_waiters();
        let _ = writer.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_read_is_cut_off() {
        let outbox = Outbox::new(1000);
        outbox.send(vec![b'x'; 5000]);
        assert!(!outbox.is_closed(), "one large reply is allowed");
        outbox.send(vec![b'x'; 10]);
        assert!(outbox.is_closed());
        assert!(!outbox.room().await);
    }

    #[tokio::test]
    async fn lines_arrive_in_order_and_finish_ends_the_writer() {
        let outbox = Outbox::new(1000);
        outbox.send(b"a".to_vec());
        outbox.send(b"b".to_vec());
        outbox.finish();
        let mut out = Vec::new();
        outbox.write_to(&mut out).await;
        assert_eq!(out, b"a\nb\n");
    }
}
