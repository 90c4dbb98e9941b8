//! The one thread that writes.
//!
//! 1. It opens the file: [`crate::start`].
//! 2. It takes whatever is queued as one group. A group with nothing urgent waits for more, but not longer than
//!    [`crate::Options::batch`].
//! 3. The group is one transaction, each write a savepoint of its own: one that fails leaves the others alone. The disk is
//!    waited for when anyone in the group asked for that.
//! 4. After the commit all are answered. Then, when nobody waits, the log is moved into the file.
//! 5. A commit that fails is tried again write by write, so that one that is too large for the disk takes no other along.
//!    Damage is looked into ([`crate::rescue`]) and tried again on the new file.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::{Result, StoreError};
use crate::failpoint::failpoint_of;
use crate::queue::{Haste, Job, Order};
use crate::rescue;
use crate::shared::{Phase, Reading, Shared};
use crate::start;
use crate::store::{FLUSH, Opened, Setup};

/// Writes in one transaction: enough to share the wait for the disk, few enough to answer soon.
const LARGEST_GROUP: usize = 512;

/// Pages of the log that wait for a quiet moment, and that are moved in a busy one.
const LOG_PAGES: i64 = 1000;
const LOG_PAGES_BUSY: i64 = 4 * LOG_PAGES;

pub(crate) struct Writer {
    orders: Receiver<Order>,
    shared: Arc<Shared>,
    setup: Setup,
    file: Option<File>,
    /// Taken early, to see whether anyone waits.
    next: Option<Order>,
    stop: Option<oneshot::Sender<()>>,
}

/// The open file.
pub(crate) struct File {
    pub(crate) conn: Connection,
    /// The mark of an orderly end is in it.
    pub(crate) marked: bool,
    /// What the connection does at a commit.
    waits: bool,
}

impl File {
    pub(crate) fn new(conn: Connection) -> Self {
        Self { conn, marked: true, waits: true }
    }
}

impl Writer {
    pub(crate) fn new(orders: Receiver<Order>, shared: Arc<Shared>, setup: Setup) -> Self {
        Self { orders, shared, setup, file: None, next: None, stop: None }
    }

    pub(crate) fn run(mut self) {
        if let Err(error) = self.open() {
            tracing::error!(code = error.code(), %error, "the store could not be opened");
        }
        while let Some(group) = self.gather() {
            if !group.is_empty() {
                self.commit(group);
            }
            self.move_log();
        }
        self.end();
    }

    /// Opens the file unless it is; what was found is told to everyone.
    fn open(&mut self) -> Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        match start::open(&self.shared, &self.setup) {
            Ok((file, opened)) => {
                self.file = Some(file);
                self.shared.enter(Phase::Ready(Arc::new(opened)));
                Ok(())
            }
            Err(error) => {
                self.shared.enter(Phase::Failed(error.clone()));
                Err(error)
            }
        }
    }

    /// The next writes to be committed together; none at the end.
    fn gather(&mut self) -> Option<Vec<Job>> {
        if self.stop.is_some() {
            return None;
        }
        let mut group = Vec::new();
        let first = self.next.take().or_else(|| self.orders.recv().ok())?;
        let due = Instant::now() + self.setup.options.batch;
        let mut hurry = self.take(first, &mut group);
        while group.len() < LARGEST_GROUP && self.stop.is_none() {
            let next = match hurry {
                true => self.orders.try_recv().map_err(|error| error == TryRecvError::Disconnected),
                false => {
                    let wait = due.saturating_duration_since(Instant::now());
                    self.orders.recv_timeout(wait).map_err(|error| error == RecvTimeoutError::Disconnected)
                }
            };
            match next {
                Ok(order) => hurry |= self.take(order, &mut group),
                Err(_) => break,
            }
        }
        Some(group)
    }

    /// Whether the group can wait no longer.
    fn take(&mut self, order: Order, group: &mut Vec<Job>) -> bool {
        match order {
            Order::Write(job) => {
                let hurry = job.haste != Haste::Soon;
                group.push(job);
                hurry
            }
            Order::Examine => {
                self.examine();
                true
            }
            Order::Stop(done) => {
                self.stop = Some(done);
                true
            }
        }
    }

    fn commit(&mut self, mut group: Vec<Job>) {
        if let Err(error) = self.attempt(&mut group) {
            let damaged = matches!(error, StoreError::Corrupt(_)) && self.examine();
            if group.len() > 1 || damaged {
                for job in &mut group {
                    if let Err(error) = self.attempt(std::slice::from_mut(job)) {
                        self.refuse(job, error);
                    }
                }
            } else {
                group.iter_mut().for_each(|job| self.refuse(job, error.clone()));
            }
        }
        group.into_iter().for_each(Job::answer);
    }

    fn refuse(&self, job: &mut Job, error: StoreError) {
        if job.name != FLUSH {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
        }
        job.fail(error);
    }

    /// One transaction; on error nothing of it is there.
    fn attempt(&mut self, jobs: &mut [Job]) -> Result<()> {
        self.open()?;
        let Some(file) = &mut self.file else { return Err(StoreError::Closed) };
        file.wait_for_disk(jobs.iter().any(|job| job.haste == Haste::Durable))?;
        let done = file.transaction(jobs);
        match &done {
            Ok(()) => jobs.iter().for_each(|job| failpoint_of(&["store", job.name, "committed"])),
            Err(error) => {
                tracing::warn!(code = error.code(), %error, "a write to the store failed");
                file.roll_back();
            }
        }
        done
    }

    /// Checks the whole file; one that is damaged is set aside, and true says that another has taken its place.
    fn examine(&mut self) -> bool {
        let Some(file) = &self.file else { return false };
        let Err(StoreError::Corrupt(damage)) = rescue::check(&file.conn) else { return false };
        self.file = None;
        match rescue::replace(&self.shared, &self.setup, &damage) {
            Ok((file, rescued)) => {
                self.file = Some(file);
                self.shared
                    .enter(Phase::Ready(Arc::new(Opened { rescued: Some(rescued), ..Opened::default() })));
                true
            }
            Err(error) => {
                self.shared.enter(Phase::Failed(error));
                false
            }
        }
    }

    /// Moves the log into the file when it has grown and nobody waits, or has grown too much.
    fn move_log(&mut self) {
        let Some(file) = &self.file else { return };
        let pages = file.log_pages();
        if pages <= LOG_PAGES {
            return;
        }
        self.next = self.next.take().or_else(|| self.orders.try_recv().ok());
        if self.next.is_none() || pages > LOG_PAGES_BUSY {
            let moved = file.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            if let Err(error) = moved {
                tracing::warn!(%error, "the store's log could not be moved into its file");
            }
        }
    }

    fn end(mut self) {
        if let Some(mut file) = self.file.take() {
            *self.shared.reading() = Reading::Over;
            if let Err(error) = file.mark_clean() {
                tracing::warn!(%error, "the store could not be marked as closed");
            }
        }
        // A read or write that comes later must not find the file half closed.
        self.shared.enter(Phase::Failed(StoreError::Closed));
        let Self { shared, orders, stop, .. } = self;
        drop(orders);
        shared.place.release();
        if let Some(done) = stop {
            let _ = done.send(());
        }
    }
}

impl File {
    fn wait_for_disk(&mut self, wait: bool) -> Result<()> {
        if self.waits != wait {
            self.conn.pragma_update(None, "synchronous", if wait { "FULL" } else { "NORMAL" })?;
            self.waits = wait;
        }
        Ok(())
    }

    fn transaction(&mut self, jobs: &mut [Job]) -> Result<()> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        if self.marked {
            self.conn.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", [])?;
        }
        for job in jobs {
            self.savepoint(job)?;
            failpoint_of(&["store", job.name, "written"]);
        }
        self.conn.execute_batch("COMMIT")?;
        self.marked = false;
        Ok(())
    }

    /// A write that fails for itself is undone and keeps its answer; a failure of the file ends the transaction.
    fn savepoint(&self, job: &mut Job) -> Result<()> {
        self.conn.execute_batch("SAVEPOINT one")?;
        match job.run(&self.conn) {
            Ok(()) => {}
            Err(error) if error.ends_transaction() || self.conn.is_autocommit() => return Err(error),
            Err(_) => self.conn.execute_batch("ROLLBACK TO one")?,
        }
        self.conn.execute_batch("RELEASE one")?;
        Ok(())
    }

    /// SQLite may have done so itself.
    fn roll_back(&self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "a failed write to the store could not be undone");
        }
    }

    /// Pages of the log that are not in the file yet. `NOOP` looks and moves nothing.
    fn log_pages(&self) -> i64 {
        let counts = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let counts = self.conn.query_row("PRAGMA wal_checkpoint(NOOP)", [], counts);
        counts.map_or(0, |(written, moved)| written - moved)
    }

    fn mark_clean(&mut self) -> Result<()> {
        self.wait_for_disk(true)?;
        if !self.marked {
            self.conn.execute("UPDATE meta SET value = 1 WHERE name = 'clean'", [])?;
        }
        self.conn.busy_timeout(Duration::from_secs(1))?;
        self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}
