//! Refusing new sessions before the machine dies of them.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use trl_proto::{Error, ErrorCode};
use trl_sys::machine;

#[derive(Debug)]
pub(super) struct Pressure {
    min_free: u64,
    /// Asking the kernel is not free, and memory does not vanish in a tenth of a second.
    last: Mutex<Option<(Instant, u64)>>,
}

const FRESH: Duration = Duration::from_millis(100);

impl Pressure {
    pub(super) fn new(min_free: u64) -> Self {
        Self { min_free, last: Mutex::new(None) }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let available = self.available();
        if available >= self.min_free {
            return Ok(());
        }
        Err(Error::new(ErrorCode::ResourcePressure, "the machine is short of memory")
            .hint("end sessions or other programs, then try again")
            .detail("available_memory_bytes", available)
            .detail("min_free_memory_bytes", self.min_free))
    }

    fn available(&self) -> u64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match *last {
            Some((at, bytes)) if at.elapsed() < FRESH => bytes,
            _ => {
                let bytes = machine::available_memory_bytes().unwrap_or(u64::MAX);
                *last = Some((Instant::now(), bytes));
                bytes
            }
        }
    }
}
