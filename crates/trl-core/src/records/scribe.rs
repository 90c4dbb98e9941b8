//! The thread that writes things down.
//!
//! 1. It takes a note, takes the secrets out of it, and hands the record to the store.
//! 2. What the store says comes later; meanwhile it goes on, up to [`MOST_ON_THE_WAY`] writes ahead.
//! 3. Where the store has no room in its queue it waits: notes pile up then, and [`super`] stops taking more.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use trl_proto::SessionId;
use trl_store::history::{EXCERPT_BYTES, EndedExecution, Ending};
use trl_store::redact::{Excerpt, Kept, Redactor};
use trl_store::{Durability, Store, StoreError, Ticket};

use super::Tally;
use super::note::{Beginning, Ended, Note, whole};
use crate::engine::Counters;
use crate::output::Ends;

/// Writes whose answers are waited for.
const MOST_ON_THE_WAY: usize = 256;
/// How often it looks for answers while there is nothing to write.
const LOOK: Duration = Duration::from_millis(100);
/// After so long without a failure the disk has room again.
const QUIET: Duration = Duration::from_secs(1);

/// A write on its way.
struct Write {
    /// The session it is about, if it is about one.
    session: Option<SessionId>,
    answer: Answer,
}

type Answer = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

struct Scribe {
    store: Store,
    notes: Receiver<Note>,
    tally: Arc<Tally>,
    on_the_way: VecDeque<Write>,
    /// When the last write failed, until they succeed again: that is said once.
    failing: Option<Instant>,
}

pub(super) fn start(store: Store, tally: Arc<Tally>) -> io::Result<Sender<Note>> {
    let (sender, notes) = mpsc::channel();
    let scribe = Scribe { store, notes, tally, on_the_way: VecDeque::new(), failing: None };
    thread::Builder::new().name("trl-records".into()).spawn(move || scribe.run())?;
    Ok(sender)
}

impl Scribe {
    fn run(mut self) {
        loop {
            let note = match self.on_the_way.is_empty() {
                true => self.notes.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => self.notes.recv_timeout(LOOK),
            };
            match note {
                Ok(note) => self.take(note),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.hear();
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Session(record, redactor) => {
                let session = record.id.clone();
                let ticket = self.store.put_session(redactor.clean(*record));
                self.follow(Some(session), ticket);
            }
            Note::Changed(update, durability, redactor) => {
                let session = update.id.clone();
                let ticket = self.store.update_session(redactor.clean(update), durability);
                self.follow(Some(session), ticket);
            }
            Note::Began(began) => {
                self.tally.waiting.fetch_sub(1, Ordering::Relaxed);
                let Beginning { new, cut, redactor, mark } = *began;
                let session = new.session_id.clone();
                let ticket = self.store.begin_marked(redactor.clean(whole(new, cut, &redactor)), mark);
                self.follow(Some(session), ticket);
            }
            Note::Ended(ended) => {
                self.tally.waiting.fetch_sub(1, Ordering::Relaxed);
                self.ended(*ended);
            }
            Note::Pass(done) => drop(done.send(())),
            Note::Sync(done) => {
                let ticket = self.store.flush();
                self.follow(None, ticket);
                while let Some(Write { session, answer }) = self.on_the_way.pop_front() {
                    self.heard(session, wait_for(answer));
                }
                let _ = done.send(());
            }
        }
    }

    fn ended(&mut self, ended: Ended) {
        let Ended { of, outcome, stdout, stderr, redactor, session } = ended;
        let record = EndedExecution {
            id: outcome.execution_id,
            exit_code: outcome.exit_code,
            duration_ms: outcome.duration_ms,
            ending: Ending {
                signal: outcome.signal,
                timed_out: outcome.timed_out,
                cancelled: outcome.cancelled,
                stdout: excerpt(&redactor, &stdout),
                stderr: excerpt(&redactor, &stderr),
            },
        };
        let ticket = self.store.finish_execution(redactor.clean(record), Durability::Soon);
        self.follow(Some(of.clone()), ticket);
        if let Some(update) = session {
            let ticket = self.store.update_session(redactor.clean(update), Durability::Soon);
            self.follow(Some(of), ticket);
        }
    }

    fn follow<T: Send + 'static>(&mut self, session: Option<SessionId>, ticket: Ticket<T>) {
        let crowded = ticket.is_waiting();
        let answer = Box::pin(async move { ticket.await.map(drop) });
        self.on_the_way.push_back(Write { session, answer });
        // One that waits for room must get it before the next does: notes keep their order.
        let least = if crowded { 0 } else { MOST_ON_THE_WAY };
        while self.on_the_way.len() > least
            && let Some(Write { session, answer }) = self.on_the_way.pop_front()
        {
            self.heard(session, wait_for(answer));
        }
    }

    /// Answers that have come.
    fn hear(&mut self) {
        let mut nobody = Context::from_waker(Waker::noop());
        while let Some(write) = self.on_the_way.front_mut()
            && let Poll::Ready(said) = write.answer.as_mut().poll(&mut nobody)
        {
            let session = write.session.take();
            self.on_the_way.pop_front();
            self.heard(session, said);
        }
    }

    fn heard(&mut self, session: Option<SessionId>, said: Result<(), StoreError>) {
        match said {
            Ok(()) => {
                Counters::add(&self.tally.written);
                // A full disk still takes a small write now and then.
                if self.failing.take_if(|last| last.elapsed() >= QUIET).is_some() {
                    tracing::info!("records are kept again");
                }
            }
            // At the very end the store may be closed before the last note.
            Err(StoreError::Closed) => {}
            Err(error) => {
                if let Some(session) = session {
                    *self.tally.failures().entry(session).or_default() += 1;
                }
                if self.failing.replace(Instant::now()).is_none() {
                    tracing::error!(code = error.code(), %error, "what happens is not kept: the store refuses it");
                }
            }
        }
    }
}

fn excerpt(redactor: &Redactor, ends: &Ends) -> Excerpt {
    redactor.excerpt(Kept { head: &ends.head, tail: &ends.tail, total: ends.total }, EXCERPT_BYTES)
}

/// On a thread that may wait.
fn wait_for(mut answer: Answer) -> Result<(), StoreError> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(said) => return said,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_for_their_session() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("data"), trl_store::Options::default()).unwrap();
        let (tally, notes) = (Arc::<Tally>::default(), mpsc::channel().1);
        let mut scribe =
            Scribe { store, notes, tally: Arc::clone(&tally), on_the_way: VecDeque::new(), failing: None };
        let [one, other] = [SessionId::random(), SessionId::random()];
        scribe.heard(Some(one.clone()), Err(StoreError::Full));
        scribe.heard(Some(other.clone()), Ok(()));
        scribe.heard(None, Err(StoreError::Full));
        assert_eq!((tally.failed_of(&one), tally.failed_of(&other)), (1, 0));
        tally.retain(|session| *session == other);
        assert_eq!(tally.failed_of(&one), 0);
    }
}
