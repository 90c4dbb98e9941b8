//! A connection that is given up when its client takes nothing for too long.
//!
//! Reading has its time limits elsewhere. Without one on writing, a client that asks and never reads would keep its
//! answer in our memory, and its place among the connections, for as long as it likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::listener::Stream;

pub(super) struct Impatient {
    inner: Stream,
    patience: Duration,
    /// Until when; only looked at while something waits to be taken.
    until: Pin<Box<Sleep>>,
    waiting: bool,
}

impl Impatient {
    /// Must be called within a runtime.
    pub(super) fn new(inner: Stream, patience: Duration) -> Self {
        Self { inner, patience, until: Box::pin(sleep(patience)), waiting: false }
    }

    /// Lets `poll` wait no longer than the patience lasts; anything taken renews it.
    fn patiently<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut Stream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let polled = poll(Pin::new(&mut self.inner), cx);
        if polled.is_ready() {
            self.waiting = false;
            return polled;
        }
        if !std::mem::replace(&mut self.waiting, true) {
            self.until.as_mut().reset(Instant::now() + self.patience);
        }
        match self.until.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.patiently(cx, |inner, cx| inner.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.patiently(cx, |inner, cx| inner.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.patiently(cx, |inner, cx| inner.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
