//! How a write gets to the writer, and its answer back.
//!
//! 1. A write is a [`Job`]: a piece of work on the connection, how soon it must be on the disk, and whom to answer.
//! 2. It is queued at once when there is room for it, so that a caller may drop the [`Ticket`] and go on.
//! 3. When there is none, the ticket waits for room as it is polled: that is the back-pressure. One that is dropped while it
//!    waits takes its write along. Tickets that wait are queued in the order they are polled: whoever has two that depend on
//!    each other awaits the first one first (`tokio::join!` polls in any order).
//! 4. The ticket resolves when the write is committed, or failed.
//!
//! The queue is bounded by the bytes that wait in it, not by their number alone.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::{Result, StoreError};

/// How soon a write must be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Before anyone is told: it survives the loss of power.
    Durable,
    /// Within a moment, together with others: it survives a crash of the program from then on.
    Soon,
}

/// When the writer commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Haste {
    Durable,
    Soon,
    /// At once, without waiting for the disk.
    Now,
}

impl From<Durability> for Haste {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Durable => Self::Durable,
            Durability::Soon => Self::Soon,
        }
    }
}

/// The least a write counts for: what the queue itself needs for it.
const LEAST: usize = 512;

/// What the writer does for somebody. It may be done more than once, when a commit it was part of came to nothing.
trait Work: Send {
    fn run(&mut self, conn: &Connection) -> Result<()>;
    fn fail(&mut self, error: StoreError);
    fn answer(self: Box<Self>);
}

struct Task<T, F> {
    work: F,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&Connection) -> Result<T> + Send> Work for Task<T, F> {
    fn run(&mut self, conn: &Connection) -> Result<()> {
        let outcome = (self.work)(conn);
        let said = outcome.as_ref().map(drop).map_err(Clone::clone);
        self.outcome = Some(outcome);
        said
    }

    fn fail(&mut self, error: StoreError) {
        self.outcome = Some(Err(error));
    }

    fn answer(self: Box<Self>) {
        // Nobody may be waiting any more; the write stands all the same.
        let _ = self.reply.send(self.outcome.unwrap_or(Err(StoreError::Closed)));
    }
}

pub(crate) struct Job {
    /// Names its failpoints.
    pub(crate) name: &'static str,
    pub(crate) haste: Haste,
    work: Box<dyn Work>,
    /// Given back when it is answered.
    _room: OwnedSemaphorePermit,
    _unhurried: Option<Counted>,
}

/// One of a number that somebody keeps an eye on.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Job {
    pub(crate) fn run(&mut self, conn: &Connection) -> Result<()> {
        self.work.run(conn)
    }

    pub(crate) fn fail(&mut self, error: StoreError) {
        self.work.fail(error);
    }

    pub(crate) fn answer(self) {
        let Self { work, _room, _unhurried, .. } = self;
        // Whoever is answered must not find it waiting.
        drop((_room, _unhurried));
        work.answer();
    }
}

pub(crate) enum Order {
    Write(Job),
    /// A reader met damage: look at the whole file.
    Examine,
    Stop(oneshot::Sender<()>),
}

/// The sending end.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    orders: mpsc::Sender<Order>,
    room: Arc<Semaphore>,
    most: usize,
    /// Writes that wait for their batch.
    unhurried: Arc<AtomicUsize>,
    /// Tickets that wait for room: while there are any, no later write overtakes them.
    waiting: Arc<AtomicUsize>,
}

/// What a write is, beside its work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    pub(crate) name: &'static str,
    pub(crate) haste: Haste,
    /// About what it holds in memory while it waits.
    pub(crate) bytes: usize,
}

impl Label {
    pub(crate) fn durable(name: &'static str, bytes: usize) -> Self {
        Self { name, haste: Haste::Durable, bytes }
    }
}

impl Queue {
    pub(crate) fn new(most: usize) -> (Self, mpsc::Receiver<Order>) {
        let most = most.clamp(LEAST, Semaphore::MAX_PERMITS);
        let (orders, taken) = mpsc::channel();
        let room = Arc::new(Semaphore::new(most));
        (Self { orders, room, most, unhurried: Arc::default(), waiting: Arc::default() }, taken)
    }

    pub(crate) fn write<T, F>(&self, label: Label, work: F) -> Ticket<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T> + Send + 'static,
    {
        // A write larger than the whole queue goes through it alone.
        let size = label.bytes.saturating_add(LEAST).min(self.most);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let (reply, answer) = oneshot::channel();
        let work: Box<dyn Work> = Box::new(Task { work, outcome: None, reply });
        if self.waiting.load(Ordering::SeqCst) == 0
            && let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(size)
        {
            self.send(label, work, room);
            return Ticket(State::Sent(answer));
        }
        let (queue, waits) = (self.clone(), Counted::new(&self.waiting));
        let later = async move {
            if let Ok(room) = Arc::clone(&queue.room).acquire_many_owned(size).await {
                queue.send(label, work, room);
            }
            drop((waits, queue));
            answer.await.unwrap_or(Err(StoreError::Closed))
        };
        Ticket(State::Waiting(Box::pin(later)))
    }

    /// When the writer is gone the order is dropped, and its ticket says so.
    fn send(&self, label: Label, work: Box<dyn Work>, room: OwnedSemaphorePermit) {
        let unhurried = (label.haste == Haste::Soon).then(|| Counted::new(&self.unhurried));
        let Label { name, haste, .. } = label;
        self.order(Order::Write(Job { name, haste, work, _room: room, _unhurried: unhurried }));
    }

    pub(crate) fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Whether a write waits for its batch.
    pub(crate) fn is_batching(&self) -> bool {
        self.unhurried.load(Ordering::SeqCst) > 0
    }

    /// Bytes that could be queued at once.
    pub(crate) fn free(&self) -> usize {
        self.room.available_permits()
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

/// A write under way; resolves when it is committed, or failed. See the head of `queue.rs` for what dropping one means.
pub struct Ticket<T>(State<T>);

enum State<T> {
    Sent(oneshot::Receiver<Result<T>>),
    Waiting(Pin<Box<dyn Future<Output = Result<T>> + Send>>),
    Failed(Option<StoreError>),
}

impl<T> Ticket<T> {
    pub(crate) fn failed(error: StoreError) -> Self {
        Self(State::Failed(Some(error)))
    }

    /// Whether it waits for room in the queue.
    pub fn is_waiting(&self) -> bool {
        matches!(self.0, State::Waiting(_))
    }
}

impl<T> std::fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("waiting", &self.is_waiting()).finish()
    }
}

impl<T> Future for Ticket<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Sent(answer) => {
                Pin::new(answer).poll(cx).map(|said| said.unwrap_or(Err(StoreError::Closed)))
            }
            State::Waiting(later) => later.as_mut().poll(cx),
            State::Failed(error) => Poll::Ready(Err(error.take().unwrap_or(StoreError::Closed))),
        }
    }
}
