//! What comes of one message: updates by number, then the end. In memory for those who follow, and in the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use trl_core::session::handle::Session;
use trl_proto::agent::{DonePush, Numbered, StopReason, Update};
use trl_proto::exec::Refusal;
use trl_proto::{MessageId, SessionId};
use trl_store::message::{MessageEnd, NewMessage, NewUpdate};
use trl_store::redact::Redactor;
use trl_store::{Moment, Store, StoreError, Ticket};

/// What is kept of a message at most.
const MOST_UPDATES: usize = 50_000;
const MOST_BYTES: usize = 16 << 20;

pub(crate) struct Record {
    pub(super) id: MessageId,
    pub(super) session: SessionId,
    pub(super) text: String,
    pub(super) created: Moment,
    inner: Mutex<Inner>,
    news: Notify,
    store: Option<Store>,
    redactor: Arc<Redactor>,
}

#[derive(Default)]
struct Inner {
    updates: Vec<Arc<Numbered>>,
    bytes: usize,
    omitted: u64,
    done: Option<Arc<DonePush>>,
}

/// What a follower has before it.
pub(super) enum Next {
    Updates(Vec<Arc<Numbered>>),
    Done(Arc<DonePush>),
    Nothing,
}

impl Record {
    pub(super) fn new(session: &Session, text: String, store: Option<&Store>) -> Arc<Self> {
        Arc::new(Self {
            id: MessageId::random(),
            session: session.spec.id.clone(),
            text,
            created: Moment::now(),
            inner: Mutex::default(),
            news: Notify::new(),
            store: store.cloned(),
            redactor: match session.agent().and_then(|agent| agent.env.as_ref()) {
                Some(env) => session.redactor_for(env),
                None => session.redactor(),
            },
        })
    }

    /// On record when it resolves.
    pub(super) async fn begin(&self, session: &Session) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let new = NewMessage {
            id: self.id.clone(),
            session_id: self.session.clone(),
            owner: session.spec.owner.to_string(),
            text: self.text.clone(),
            created_at: self.created,
        };
        store.put_message(self.redactor.clean(new)).await
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an update. A ticket is to be awaited: the store has no room for more right now.
    pub(super) fn add(&self, update: Update) -> Option<Ticket<()>> {
        let what = serde_json::to_value(&update).ok()?;
        let size = what.to_string().len();
        let at = Moment::now();
        let seq = {
            let mut inner = self.inner();
            let last = matches!(update, Update::Omitted { .. });
            if !last && (inner.updates.len() >= MOST_UPDATES || inner.bytes + size > MOST_BYTES) {
                inner.omitted += 1;
                return None;
            }
            inner.bytes += size;
            let seq = inner.updates.len() as u64 + 1;
            inner.updates.push(Arc::new(Numbered { seq, time: at.rfc3339(), update }));
            seq
        };
        self.news.notify_waiters();
        let store = self.store.as_ref()?;
        let new = NewUpdate { message_id: self.id.clone(), seq, at, what };
        Some(store.add_update(self.redactor.clean(new))).filter(Ticket::is_waiting)
    }

    /// Writes the end down; nobody hears of it yet.
    pub(super) async fn end(&self, stop_reason: StopReason, error: Option<&Refusal>) {
        let omitted = std::mem::take(&mut self.inner().omitted);
        if omitted > 0
            && let Some(ticket) = self.add(Update::Omitted { updates: omitted })
        {
            let _ = ticket.await;
        }
        let Some(store) = &self.store else { return };
        let error = error.and_then(|error| serde_json::to_value(error).ok());
        let end = MessageEnd { id: self.id.clone(), at: Moment::now(), stop_reason, error };
        if let Err(error) = store.end_message(self.redactor.clean(end)).await {
            tracing::warn!(code = error.code(), %error, "the end of a message could not be kept");
        }
    }

    /// Tells everybody who follows.
    pub(super) fn publish(&self, stop_reason: StopReason, error: Option<Refusal>) {
        let mut inner = self.inner();
        let done = DonePush {
            stream_id: None,
            session_id: self.session.clone(),
            message_id: self.id.clone(),
            seq: inner.updates.len() as u64 + 1,
            time: Moment::now().rfc3339(),
            stop_reason,
            error,
        };
        inner.done = Some(Arc::new(done));
        drop(inner);
        self.news.notify_waiters();
    }

    pub(super) fn done(&self) -> Option<Arc<DonePush>> {
        self.inner().done.clone()
    }

    /// Everything there is.
    pub(super) fn all(&self) -> Vec<Numbered> {
        self.inner().updates.iter().map(|update| Numbered::clone(update)).collect()
    }

    /// What comes after `since`, at most so many.
    pub(super) fn after(&self, since: u64, most: usize) -> Next {
        let inner = self.inner();
        let from = usize::try_from(since).unwrap_or(usize::MAX).min(inner.updates.len());
        let fresh = &inner.updates[from..];
        match (&inner.done, fresh.is_empty()) {
            (_, false) => Next::Updates(fresh.iter().take(most).cloned().collect()),
            (Some(done), true) => Next::Done(Arc::clone(done)),
            (None, true) => Next::Nothing,
        }
    }

    /// Resolves when there is something after `since`.
    pub(super) async fn news(&self, since: u64) {
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            if !matches!(self.after(since, 1), Next::Nothing) {
                return;
            }
            news.await;
        }
    }

    /// Resolves when it is over.
    pub(super) async fn over(&self) {
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            if self.done().is_some() {
                return;
            }
            news.await;
        }
    }
}
