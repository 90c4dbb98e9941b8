//! Reads, beside the writer: a search may take a while and must hold up no approval.
//!
//! One thread with one connection, both made when they are first needed. Reads see what is committed, and never wait for the
//! check of the file.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::{Result, StoreError};
use crate::queue::{Order, Queue};
use crate::shared::{Reading, Shared};

/// Reads that may wait; more wait with their callers.
const MOST: usize = 256;

/// Of the file, in KiB: a page of history and the index it needs.
const CACHE_KIB: i64 = 2048;

type Job = Box<dyn FnOnce(Lent<'_>) + Send>;

/// The connection, or why there is none.
type Lent<'a> = std::result::Result<&'a Connection, StoreError>;

#[derive(Debug)]
pub(crate) struct Readers {
    shared: Arc<Shared>,
    /// To tell the writer of damage.
    writer: Queue,
    room: Arc<Semaphore>,
    thread: Mutex<Thread>,
}

#[derive(Debug)]
enum Thread {
    None,
    Running { jobs: Sender<Job>, ended: oneshot::Receiver<()> },
    Stopped,
}

impl Readers {
    pub(crate) fn new(shared: Arc<Shared>, writer: Queue) -> Self {
        Self { shared, writer, room: Arc::new(Semaphore::new(MOST)), thread: Mutex::new(Thread::None) }
    }

    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(move |conn| run(conn, work, reply, room)))?;
        let said = answer.await.unwrap_or(Err(StoreError::Closed));
        if let Err(StoreError::Corrupt(_)) = &said {
            self.writer.order(Order::Examine);
        }
        said
    }

    fn send(&self, job: Job) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Thread::None = *thread {
            *thread = self.start()?;
        }
        match &*thread {
            Thread::Running { jobs, .. } => jobs.send(job).map_err(|_| StoreError::Closed),
            _ => Err(StoreError::Closed),
        }
    }

    fn start(&self) -> Result<Thread> {
        let (jobs, taken) = mpsc::channel();
        let (done, ended) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new().name("trl-store-read".into()).spawn(move || {
            serve(&taken, &shared);
            let _ = done.send(());
        })?;
        Ok(Thread::Running { jobs, ended })
    }

    /// After the reads that wait.
    pub(crate) async fn stop(&self) {
        let before = {
            let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *thread, Thread::Stopped)
        };
        if let Thread::Running { jobs, ended } = before {
            drop(jobs);
            let _ = ended.await;
        }
    }
}

fn serve(jobs: &Receiver<Job>, shared: &Shared) {
    while let Ok(job) = jobs.recv() {
        let mut reading = shared.reading();
        if let Reading::Idle = *reading {
            match open(shared) {
                Ok(conn) => *reading = Reading::Open(conn),
                Err(error) => {
                    job(Err(error));
                    continue;
                }
            }
        }
        match &*reading {
            Reading::Open(conn) => job(Ok(conn)),
            _ => job(Err(StoreError::Closed)),
        }
    }
    *shared.reading() = Reading::Over;
}

fn run<T, F>(conn: Lent<'_>, work: F, reply: oneshot::Sender<Result<T>>, room: OwnedSemaphorePermit)
where
    F: FnOnce(&Connection) -> Result<T>,
{
    // A caller that gave up while it waited wants nothing read.
    if !reply.is_closed() {
        let _ = reply.send(conn.and_then(work));
    }
    drop(room);
}

fn open(shared: &Shared) -> Result<Connection> {
    // Without CREATE: the writer makes the file.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(shared.place.file(), flags)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(conn)
}
