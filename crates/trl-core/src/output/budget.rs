//! The memory all logs share. A log that may not grow keeps what it has and counts the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    /// Bytes that came, whether there was room or not.
    came: AtomicU64,
    limit: usize,
}

impl Budget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), came: AtomicU64::new(0), limit })
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that came since the start, kept or not.
    pub fn came(&self) -> u64 {
        self.came.load(Ordering::Relaxed)
    }

    pub(super) fn count(&self, bytes: usize) {
        self.came.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Takes `bytes` if they are to be had.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
