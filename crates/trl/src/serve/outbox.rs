//! What is on its way to one client. Bounded: a client that does not read is cut off, and streams wait their turn
//! instead of piling up. How a line becomes bytes is the business of a [`Sink`].

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// One client's end of a transport, for whole lines.
pub(crate) trait Sink: Send {
    /// Takes a line, which ends with its newline. Dropped before its end only when nothing but `close` follows.
    fn write(&mut self, line: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Nothing waits any more.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// While nothing is to be written: keeps the connection alive, or says that it is dead. Dropped at any time.
    fn idle(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        std::future::pending()
    }

    /// The last words.
    fn close(&mut self, why: Parting) -> impl Future<Output = ()> + Send;
}

impl<S: Sink> Sink for &mut S {
    async fn write(&mut self, line: Vec<u8>) -> io::Result<()> {
        (**self).write(line).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        (**self).flush().await
    }

    async fn idle(&mut self) -> io::Result<()> {
        (**self).idle().await
    }

    async fn close(&mut self, why: Parting) {
        (**self).close(why).await;
    }
}

/// A byte stream: the socket and stdio.
pub(crate) struct ByteSink<W>(pub(crate) W);

impl<W: AsyncWrite + Unpin + Send> Sink for ByteSink<W> {
    async fn write(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.0.write_all(&line).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }

    async fn close(&mut self, _why: Parting) {
        let _ = self.0.shutdown().await;
    }
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parting {
    /// All was said.
    Done,
    /// The client does not read.
    TooSlow,
    /// The client sent more at once than is read.
    TooLarge,
    /// The client sent what the transport does not know.
    Protocol,
    /// The token it came with is not valid any more.
    TokenEnded,
    /// Writing to it failed.
    Gone,
}

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
    Closed(Parting),
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
            self.shut(&mut inner, Parting::TooSlow);
        } else {
            inner.bytes += line.len();
            inner.lines.push_back(line);
        }
        drop(inner);
        self.more.notify_one();
    }

    /// Nobody hears anything more but why.
    pub(crate) fn cut(&self, why: Parting) {
        let mut inner = self.lock();
        if !matches!(inner.state, State::Closed(_)) {
            self.shut(&mut inner, why);
        }
        drop(inner);
        self.more.notify_one();
    }

    fn shut(&self, inner: &mut Inner, why: Parting) {
        inner.state = State::Closed(why);
        inner.lines.clear();
        inner.bytes = 0;
        self.room.notify_waiters();
    }

    /// Resolves when a stream may send more; false when there is nobody to send to.
    pub(crate) async fn room(&self) -> bool {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            {
                let inner = self.lock();
                if matches!(inner.state, State::Closed(_)) {
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
        matches!(self.lock().state, State::Closed(_))
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
    pub(crate) async fn write_to(&self, mut sink: impl Sink) {
        let why = loop {
            let (line, state) = {
                let mut inner = self.lock();
                (inner.lines.pop_front(), inner.state)
            };
            match (line, state) {
                (_, State::Closed(why)) => break why,
                (None, State::Finishing) => break Parting::Done,
                (None, State::Open) => tokio::select! {
                    () = self.more.notified() => {}
                    alive = sink.idle() => if alive.is_err() { break Parting::Gone },
                },
                (Some(line), _) => {
                    if let Err(why) = self.write(&mut sink, line).await {
                        break why;
                    }
                }
            }
        };
        self.cut(why);
        sink.close(why).await;
    }

    async fn write(&self, sink: &mut impl Sink, line: Vec<u8>) -> Result<(), Parting> {
        let len = line.len();
        let written = tokio::select! {
            written = sink.write(line) => written.is_ok(),
            why = self.parted() => return Err(why),
        };
        if !written {
            return Err(Parting::Gone);
        }
        if self.written(len) == 0 {
            let _ = sink.flush().await;
        }
        self.room.notify_waiters();
        Ok(())
    }

    async fn parted(&self) -> Parting {
        self.closed().await;
        match self.lock().state {
            State::Closed(why) => why,
            State::Open | State::Finishing => Parting::Gone,
        }
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
        outbox.write_to(ByteSink(&mut out)).await;
        assert_eq!(out, b"a\nb\n");
    }
}
