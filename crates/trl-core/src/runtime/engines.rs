//! The engines of a runtime: one for all, or one for each session.
//!
//! ```text
//!  asked for ─▶ there ── somebody takes a place ─▶ held ── the place is given back ─▶ let go, with all that was made for it
//!                 └── nobody does for a while ─────────────────────────────────────────▶ let go
//! ```
//!
//! An engine for all is there until the runtime ends. One for a session is made before the session is, which asks it what
//! it would be there; so it is held only once the session takes its place.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::task::JoinSet;
use trl_proto::Error;

use super::Runtime;
use super::far::{Far, Patience};
use super::transport::{self, Transport};
use crate::seats::Seat;

/// Between being asked what a session would be and the session itself lies no more than a check or two.
const UNCLAIMED: Duration = Duration::from_secs(30);

/// All engines of one runtime.
#[derive(Debug)]
pub(super) struct Engines {
    pub(super) transport: Transport,
    patience: Patience,
    /// Connections that were made again, of all of them.
    reconnects: Arc<AtomicU64>,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    /// By whose they are.
    known: HashMap<String, Known>,
    /// Those that are being ended.
    leaving: Vec<Arc<Far>>,
}

#[derive(Debug, Default)]
struct Known {
    far: Option<Arc<Far>>,
    /// Somebody has a place there.
    held: bool,
}

impl Engines {
    pub(super) fn new(transport: Transport, patience: Patience) -> Self {
        Self { transport, patience, reconnects: Arc::default(), books: Mutex::default() }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn are_shared(&self) -> bool {
        self.transport.engines() == transport::Engines::Shared
    }

    /// Under which name the engine of somebody is known.
    fn name<'a>(&self, whose: &'a str) -> &'a str {
        if self.are_shared() { "" } else { whose }
    }

    pub(super) fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }

    /// All there are, also those that are over.
    pub(super) fn all(&self) -> Vec<Arc<Far>> {
        self.books().known.values().filter_map(|known| known.far.clone()).collect()
    }

    pub(super) fn knows(&self, whose: &str) -> bool {
        self.books().known.contains_key(self.name(whose))
    }

    /// The engine of somebody, reached for if there is none.
    pub(super) fn reach(&self, runtime: &Arc<Runtime>, whose: &str) -> Result<Arc<Far>, Error> {
        let mut books = self.books();
        let known = books.known.entry(self.name(whose).into()).or_default();
        if let Some(far) = known.far.as_ref().filter(|far| !far.is_over()) {
            return Ok(Arc::clone(far));
        }
        let reconnects = Arc::clone(&self.reconnects);
        let far = Far::reach(&runtime.name, &self.transport, whose, self.patience, reconnects)?;
        known.far = Some(Arc::clone(&far));
        if !known.held && !self.are_shared() {
            tokio::spawn(let_go_unclaimed(Arc::downgrade(runtime), whose.into(), Arc::clone(&far)));
        }
        Ok(far)
    }

    pub(super) fn hold(&self, whose: &str) {
        self.books().known.entry(self.name(whose).into()).or_default().held = true;
    }

    /// Nobody has a place in it any more: it is ended, and all that was made for it.
    fn let_go(&self, runtime: &Arc<Runtime>, whose: &str) {
        if self.are_shared() {
            return;
        }
        let mut books = self.books();
        let Some(far) = books.known.remove(whose).and_then(|known| known.far) else { return };
        books.leaving.push(Arc::clone(&far));
        drop(books);
        let runtime = Arc::clone(runtime);
        tokio::spawn(async move {
            far.end().await;
            runtime.engines.books().leaving.retain(|leaving| !Arc::ptr_eq(leaving, &far));
        });
    }

    /// Whatever they still have is lost with them.
    pub(super) async fn end(&self) {
        let all = {
            let mut books = self.books();
            let known: Vec<Arc<Far>> = books.known.drain().filter_map(|(_, known)| known.far).collect();
            books.leaving.extend(known);
            books.leaving.clone()
        };
        let mut ends = JoinSet::new();
        for far in all {
            ends.spawn(async move { far.end().await });
        }
        ends.join_all().await;
    }
}

/// An engine that nobody came for.
async fn let_go_unclaimed(runtime: Weak<Runtime>, whose: String, far: Arc<Far>) {
    let _ = far.up(UNCLAIMED).await;
    tokio::time::sleep(UNCLAIMED).await;
    let Some(runtime) = runtime.upgrade() else { return };
    let is_it =
        |known: &Known| !known.held && known.far.as_ref().is_some_and(|there| Arc::ptr_eq(there, &far));
    let unclaimed = runtime.engines.books().known.get(&whose).is_some_and(is_it);
    if unclaimed {
        runtime.engines.let_go(&runtime, &whose);
    }
}

/// Somebody's place in a runtime; given back when dropped.
#[derive(Debug)]
pub struct Place {
    runtime: Arc<Runtime>,
    whose: String,
    _seat: Seat,
}

impl Place {
    pub(super) fn take(runtime: &Arc<Runtime>, whose: &str, seat: Seat) -> Self {
        runtime.engines.hold(whose);
        Self { runtime: Arc::clone(runtime), whose: whose.into(), _seat: seat }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.runtime.engines.let_go(&self.runtime, &self.whose);
    }
}
