//! Bytes for a FIFO a shell is about to read: a command's open stdin, or its text where files would reach a disk.
//!
//! The daemon holds both ends until the input is closed: the shell may open its end late, and bytes written before
//! that wait in the pipe. Before the last end is let go, the shell must have opened its own, or the bytes are lost.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::sync::{mpsc, oneshot};
use trl_sys::fifo;

/// What a feeder is asked to do; answered when done.
#[derive(Debug)]
enum Order {
    Write(Vec<u8>, oneshot::Sender<io::Result<()>>),
    Close,
}

/// The handle; dropping it ends the feeding at once, whatever is still unread.
#[derive(Debug)]
pub struct Feeder {
    orders: mpsc::UnboundedSender<Order>,
    task: tokio::task::AbortHandle,
    closed: bool,
    /// Bytes not yet in the pipe.
    waiting: Arc<AtomicUsize>,
}

impl Feeder {
    /// Makes nothing: the FIFO must exist and have no other user yet.
    pub fn open(path: &Path) -> io::Result<Self> {
        let reader = fifo::open_read(path)?;
        let writer = Sender::from_owned_fd(fifo::open_write(path)?)?;
        let (orders, inbox) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(feed((reader, writer), inbox, Arc::clone(&waiting))).abort_handle();
        Ok(Self { orders, task, closed: false, waiting })
    }

    /// Resolves when the bytes are in the pipe.
    pub fn write(&self, bytes: Vec<u8>) -> oneshot::Receiver<io::Result<()>> {
        let (done, answer) = oneshot::channel();
        self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        let _ = self.orders.send(Order::Write(bytes, done));
        answer
    }

    pub fn close(&mut self) {
        self.closed = true;
        let _ = self.orders.send(Order::Close);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Inbox = mpsc::UnboundedReceiver<Order>;

async fn feed((reader, mut writer): (OwnedFd, Sender), mut inbox: Inbox, waiting: Arc<AtomicUsize>) {
    while let Some(order) = inbox.recv().await {
        match order {
            Order::Write(bytes, done) => {
                let written = writer.write_all(&bytes).await;
                waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
                let _ = done.send(written);
            }
            Order::Close => break,
        }
    }
    drop(reader);
    // No event tells that the other side has opened the FIFO; it does so within microseconds of being told.
    let mut pause = Duration::from_micros(200);
    while !fifo::has_reader(&writer) {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
