//! The handle to the store.
//!
//! 1. [`Store::open`] takes the directory and starts the writer, which opens the file in its own time: opening costs the
//!    caller well under a millisecond. [`Store::ready`] says how that went.
//! 2. Every write goes through one queue to the writer ([`crate::queue`], [`crate::writer`]).
//! 3. Reads go to a connection and a thread of their own, which is started by the first of them ([`crate::reader`]).
//! 4. [`Store::close`] commits what is queued and leaves the mark of an orderly end.
//!
//! What can be written and read is in the modules of the records: each adds its methods to [`Store`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::error::{Result, StoreError};
use crate::history::NewExecution;
use crate::place::Place;
use crate::queue::{Haste, Label, Order, Queue, Ticket};
use crate::reader::Readers;
use crate::redact::Clean;
use crate::rescue::Rescued;
use crate::schema::{self, Migrated, STEPS, Step};
use crate::shared::{Phase, Shared};
use crate::slate::{Mark, Slate};
use crate::writer::Writer;

#[derive(Debug, Clone)]
pub struct Options {
    /// How long a write that is not urgent may wait for others.
    pub batch: Duration,
    /// Bytes of writes that may wait; more wait with their callers.
    pub queue_bytes: usize,
    /// Most bytes of the file; 0 is no bound. Reaching it is as if the disk were full.
    pub max_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { batch: Duration::from_millis(50), queue_bytes: 8 << 20, max_bytes: 0 }
    }
}

/// The options, and what only tests change.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) options: Options,
    pub(crate) steps: &'static [Step],
    /// The check of the file waits here.
    #[cfg(test)]
    pub(crate) before_check: Option<Arc<std::sync::Barrier>>,
}

impl From<Options> for Setup {
    fn from(options: Options) -> Self {
        Self {
            options,
            steps: STEPS,
            #[cfg(test)]
            before_check: None,
        }
    }
}

/// How the file was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opened {
    /// The last process to use it did not close it.
    pub unclean: bool,
    pub migrated: Option<Migrated>,
    /// It was damaged, and another was begun.
    pub rescued: Option<Rescued>,
    /// Executions that ran when the last process ended: nobody knows how they ended.
    pub unknown_executions: u64,
    /// The same of approved commands.
    pub unknown_runs: u64,
}

/// A write of nothing, which is answered when all before it are.
pub(crate) const FLUSH: &str = "flush";

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    queue: Queue,
    readers: Arc<Readers>,
    shared: Arc<Shared>,
    phase: watch::Receiver<Phase>,
}

impl Store {
    /// Takes `dir`, which is made if it is not there. Everything slow happens on the writer's thread.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_with(dir.as_ref(), options.into())
    }

    pub(crate) fn open_with(dir: &Path, setup: Setup) -> Result<Self> {
        let place = Place::take(dir)?;
        let known = schema::latest(setup.steps);
        if let Some(found) = place.peek()?.filter(|found| *found > known) {
            return Err(StoreError::Newer { path: place.file(), found, known });
        }
        let (queue, orders) = Queue::new(setup.options.queue_bytes);
        let slate = Slate::open(place.slate()?)?;
        let (shared, phase) = Shared::new(place, slate);
        let shared = Arc::new(shared);
        let writer = Writer::new(orders, Arc::clone(&shared), setup);
        std::thread::Builder::new().name("trl-store".into()).spawn(move || writer.run())?;
        let readers = Arc::new(Readers::new(Arc::clone(&shared), queue.clone()));
        Ok(Self { queue, readers, shared, phase })
    }

    /// Waits until the file is open and checked.
    pub async fn ready(&self) -> Result<Arc<Opened>> {
        let mut phase = self.phase.clone();
        let settled = |phase: &Phase| matches!(phase, Phase::Ready(_) | Phase::Failed(_));
        match phase.wait_for(settled).await.as_deref() {
            Ok(Phase::Ready(opened)) => Ok(Arc::clone(opened)),
            Ok(Phase::Failed(error)) => Err(error.clone()),
            _ => Err(StoreError::Closed),
        }
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.shared.place.file()
    }

    /// Has it known that this is about to run, at the price of one write to memory: a process that is killed leaves no
    /// command without a trace. The mark goes to [`Store::begin_marked`]; dropping it takes the word back. None when
    /// there is no room for it.
    pub fn mark_begun(&self, new: &Clean<NewExecution>) -> Option<Mark> {
        self.shared.slate.put(new)
    }

    /// Commits what is queued, whatever its haste.
    pub fn flush(&self) -> Ticket<()> {
        self.queue.write(Label { name: FLUSH, haste: Haste::Now, bytes: 0 }, |_| Ok(()))
    }

    /// Writes that came to nothing because of the file or its disk, whoever asked for them.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }

    /// Bytes of writes that wait, of how many may.
    pub fn queued(&self) -> (usize, usize) {
        (self.queue.most() - self.queue.free().min(self.queue.most()), self.queue.most())
    }

    /// Commits what is queued, marks the file as closed in order and lets go of the directory. Other handles get
    /// [`StoreError::Closed`] from then on.
    pub async fn close(&self) {
        self.readers.stop().await;
        let (done, ended) = oneshot::channel();
        self.queue.order(Order::Stop(done));
        let _ = ended.await;
    }

    pub(crate) fn write<T, F>(&self, label: Label, work: F) -> Ticket<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T> + Send + 'static,
    {
        self.queue.write(label, work)
    }

    /// Reads what was committed before.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.wait_until_readable().await?;
        self.readers.read(work).await
    }

    /// Reads what was queued before, too.
    pub(crate) async fn read_latest<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.wait_until_readable().await?;
        // While the file is checked nothing is committed, and a read does not wait for that.
        if self.queue.is_batching() && matches!(*self.phase.borrow(), Phase::Ready(_)) {
            let _ = self.flush().await;
        }
        self.readers.read(work).await
    }

    async fn wait_until_readable(&self) -> Result<()> {
        let mut phase = self.phase.clone();
        let opened = |phase: &Phase| !matches!(phase, Phase::Opening);
        let failed = match phase.wait_for(opened).await.as_deref() {
            Ok(Phase::Failed(_)) => true,
            Ok(_) => false,
            Err(_) => return Err(StoreError::Closed),
        };
        // There may be room again by now: any order makes the writer try.
        if failed { self.flush().await } else { Ok(()) }
    }
}
