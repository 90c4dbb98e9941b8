//! What the handle, the writer and the reader have in common.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::watch;

use crate::error::StoreError;
use crate::place::Place;
use crate::slate::Slate;
use crate::store::Opened;

/// How far the writer has come with the file.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    Opening,
    /// It is looked through after an unclean end; it can be read meanwhile.
    Checking,
    Ready(Arc<Opened>),
    /// It could not be opened; the next write tries again.
    Failed(StoreError),
}

/// The reader's connection.
#[derive(Debug)]
pub(crate) enum Reading {
    Idle,
    Open(Connection),
    /// For good.
    Over,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) place: Place,
    pub(crate) slate: Slate,
    phase: watch::Sender<Phase>,
    /// Writes that came to nothing because of the file or its disk.
    pub(crate) refused: AtomicU64,
    /// The reader's connection, lent to it read by read: the writer closes it before it moves the file.
    reading: Mutex<Reading>,
}

impl Shared {
    pub(crate) fn new(place: Place, slate: Slate) -> (Self, watch::Receiver<Phase>) {
        let (phase, seen) = watch::channel(Phase::Opening);
        (Self { place, slate, phase, refused: AtomicU64::new(0), reading: Mutex::new(Reading::Idle) }, seen)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    pub(crate) fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
