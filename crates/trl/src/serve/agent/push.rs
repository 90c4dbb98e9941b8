//! What came of a message, pushed from any update on: as it comes while the message runs, else from the store.

use std::sync::Arc;

use trl_proto::agent::{DonePush, Numbered, StopReason, Update, UpdatePush};
use trl_proto::{Dialect, MessageId, SessionId, StreamId, envelope};
use trl_store::Store;
use trl_store::message::MessageRecord;

use super::super::outbox::Outbox;
use super::record::{Next, Record};

/// Updates taken at once.
const PAGE: usize = 64;

/// Where it comes from.
#[derive(Clone)]
pub(crate) enum Source {
    Live(Arc<Record>),
    Kept(Store, Box<MessageRecord>),
}

/// How it is written down.
pub(crate) trait Form: Send {
    fn update(&self, push: UpdatePush) -> Vec<u8>;
    fn done(&self, push: DonePush) -> Vec<u8>;
}

/// Pushes of the two envelopes.
pub(crate) struct Pushes {
    pub(crate) id: StreamId,
    pub(crate) dialect: Dialect,
}

impl Form for Pushes {
    fn update(&self, push: UpdatePush) -> Vec<u8> {
        let push = UpdatePush { stream_id: Some(self.id.clone()), ..push };
        envelope::push(self.dialect, "agent.update", &push)
    }

    fn done(&self, push: DonePush) -> Vec<u8> {
        let push = DonePush { stream_id: Some(self.id.clone()), ..push };
        envelope::push(self.dialect, "agent.done", &push)
    }
}

/// Every update after one of them, then the end.
pub(crate) struct Updates<F> {
    pub(crate) form: F,
    pub(crate) source: Source,
    pub(crate) since: u64,
}

impl<F: Form> Updates<F> {
    pub(crate) async fn run(self, outbox: &Outbox) {
        match self.source.clone() {
            Source::Live(record) => self.run_live(&record, outbox).await,
            Source::Kept(store, message) => self.run_kept(&store, *message, outbox).await,
        }
    }

    async fn run_live(mut self, record: &Record, outbox: &Outbox) {
        while outbox.room().await {
            match record.after(self.since, PAGE) {
                Next::Updates(updates) => {
                    for update in updates {
                        self.send(&record.session, &record.id, Numbered::clone(&update), outbox);
                    }
                    tokio::task::consume_budget().await;
                }
                Next::Done(done) => return outbox.send(self.form.done(DonePush::clone(&done))),
                Next::Nothing => tokio::select! {
                    () = record.news(self.since) => {}
                    () = outbox.closed() => return,
                },
            }
        }
    }

    async fn run_kept(mut self, store: &Store, message: MessageRecord, outbox: &Outbox) {
        while outbox.room().await {
            let updates = match store.updates(&message.id, self.since, PAGE).await {
                Ok(updates) => updates,
                Err(error) => {
                    return tracing::warn!(code = error.code(), %error, "updates cannot be read");
                }
            };
            if updates.is_empty() {
                return outbox.send(self.form.done(end_of(&message)));
            }
            for (seq, at, what) in updates {
                let numbered = Numbered { seq, time: at.rfc3339(), update: read(what) };
                self.send(&message.session_id, &message.id, numbered, outbox);
            }
        }
    }

    fn send(&mut self, session: &SessionId, message: &MessageId, numbered: Numbered, outbox: &Outbox) {
        self.since = numbered.seq;
        let (session_id, message_id) = (session.clone(), message.clone());
        outbox.send(self.form.update(UpdatePush { stream_id: None, session_id, message_id, numbered }));
    }
}

/// An update as it is kept; one of another version is told as it is.
pub(super) fn read(what: serde_json::Value) -> Update {
    serde_json::from_value(what.clone()).unwrap_or_else(|_| {
        let name = what["kind"].as_str().unwrap_or("unknown").to_string();
        Update::Other { name, content: what }
    })
}

fn end_of(message: &MessageRecord) -> DonePush {
    DonePush {
        stream_id: None,
        session_id: message.session_id.clone(),
        message_id: message.id.clone(),
        seq: message.last_seq + 1,
        time: message.ended_at.unwrap_or(message.created_at).rfc3339(),
        stop_reason: message.stop_reason.unwrap_or(StopReason::Interrupted),
        error: message.error.clone().and_then(|error| serde_json::from_value(error).ok()),
    }
}
