//! What is kept of sessions and executions, written beside the daemon's one thread.
//!
//! 1. What happened is noted ([`note`]): a few copies, and whoever noted it goes on. Only what is about to run leaves a mark
//!    in the store at once, which costs a write to memory.
//! 2. The [`scribe`], a thread of its own, takes the secrets out and hands records to the store, in the order of the notes.
//! 3. When it falls behind, further executions are not noted, and counted. Sessions are: there are few of those.
//! 4. A write that fails is counted, and the log says so once. No command waits for any of this.
//!
//! Reading records is for others: [`crate::manager`] asks the store itself, after [`Recorder::caught_up`].

mod note;
mod scribe;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use tokio::sync::oneshot;
use trl_proto::SessionId;
use trl_proto::exec::Outcome;
use trl_store::{Durability, Store};

pub use self::note::Beginning;
use self::note::Note;
pub(crate) use self::note::{APART, CASE, KIND, LIMITS, ROOT};
use crate::engine::Counters;
use crate::session::handle::Session;
use crate::session::messages::Order;

/// Executions whose beginnings and ends may wait for the scribe.
const MOST_WAITING: usize = 4096;

/// The noting end. One without a store notes nothing.
#[derive(Debug)]
pub struct Recorder {
    store: Option<Store>,
    notes: Option<mpsc::Sender<Note>>,
    tally: Arc<Tally>,
}

/// How it goes.
#[derive(Debug, Default)]
pub struct Tally {
    /// Notes of executions on their way to the scribe.
    waiting: AtomicUsize,
    /// Executions that were not noted.
    pub dropped: AtomicU64,
    /// Writes that are in the store.
    pub written: AtomicU64,
    /// Of each session, how many of its writes the store refused.
    failed_of: Mutex<HashMap<SessionId, u64>>,
}

impl Tally {
    /// How many writes about this session the store has refused.
    pub fn failed_of(&self, session: &SessionId) -> u64 {
        self.failures().get(session).copied().unwrap_or(0)
    }

    /// Forgets the failures of all others.
    pub fn retain(&self, wanted: impl Fn(&SessionId) -> bool) {
        self.failures().retain(|session, _| wanted(session));
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<SessionId, u64>> {
        self.failed_of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    pub fn start(store: Option<&Store>) -> io::Result<Self> {
        let tally = Arc::new(Tally::default());
        let notes = store.map(|store| scribe::start(store.clone(), Arc::clone(&tally))).transpose()?;
        Ok(Self { store: store.cloned(), notes, tally })
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    fn note(&self, note: Note) {
        if let Some(notes) = &self.notes {
            // The scribe is there as long as we are.
            let _ = notes.send(note);
        }
    }

    /// The whole session: it is new, or it was opened again.
    pub fn session(&self, session: &Session) {
        if self.notes.is_some() && session.is_recorded() {
            self.note(note::session(session));
        }
    }

    /// What changes in the life of a session.
    pub fn session_changed(&self, session: &Session, durability: Durability) {
        if self.notes.is_some() && session.is_recorded() {
            self.note(Note::Changed(note::update(session), durability, session.redactor()));
        }
    }

    /// A command is about to run: should the daemon be killed, the next one knows that it was.
    pub fn about_to_begin(&self, session: &Session, order: &mut Order) {
        let Some(store) = &self.store else { return };
        if session.spec.is_agent() || order.execution.is_noted() || order.beginning.is_some() {
            return;
        }
        if self.tally.waiting.load(Ordering::Relaxed) >= MOST_WAITING {
            return Counters::add(&self.tally.dropped);
        }
        order.beginning = Some(Box::new(Beginning::of(session, order).mark(store)));
    }

    /// It runs. What does not get a note here gets none at its end.
    pub fn began(&self, order: &mut Order) {
        if let Some(beginning) = order.beginning.take() {
            order.execution.set_noted();
            self.tally.waiting.fetch_add(1, Ordering::Relaxed);
            self.note(Note::Began(beginning));
        }
    }

    /// It is over.
    pub fn ended(&self, session: &Session, order: &Order, outcome: &Outcome) {
        if self.notes.is_some() && order.execution.is_noted() {
            self.tally.waiting.fetch_add(1, Ordering::Relaxed);
            self.note(note::ended(session, order, outcome));
        }
    }

    /// Resolves when everything that was noted before is with the store, and so will be there before any later write.
    pub async fn handed_on(&self) {
        if self.notes.is_some() {
            let (done, handed_on) = oneshot::channel();
            self.note(Note::Pass(done));
            let _ = handed_on.await;
        }
    }

    /// Resolves when everything that was noted before is committed, or failed.
    pub async fn caught_up(&self) {
        if self.notes.is_some() {
            let (done, caught_up) = oneshot::channel();
            self.note(Note::Sync(done));
            let _ = caught_up.await;
        }
    }
}
