//! `agent.*`: one function per method, parameters in, a result out.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use trl_core::approval::storage;
use trl_core::session::handle::Session;
use trl_core::session::messages::{Message as ToSession, Turn};
use trl_core::session::state::{self, Request, Verdict};
use trl_proto::agent::{
    AgentHistory, AgentState, AgentStopped, FollowParams, HistoryParams, Message, MessageState,
    MessageStream, Numbered, SendParams, StopParams, StopReason,
};
use trl_proto::runtime::HOST;
use trl_proto::{Error, ErrorCode, MessageId, SessionId, StreamId};
use trl_store::message::MessageRecord;

use super::super::Server;
use super::super::connection::Hears;
use super::super::files::{Doing, FileService, Target};
use super::super::follow::Follow;
use super::super::principal::Principal;
use super::super::rpc::{Answer, Call};
use super::Agents;
use super::news::Word;
use super::push::{Pushes, Source, Updates, read};
use super::record::Record;

/// More is data in the wrong place.
const LONGEST_MESSAGE: usize = 1 << 20;
const USUAL_PAGE: u64 = 20;
const MOST_PAGE: u64 = 100;
/// Of updates, in one page of history.
const MOST_BYTES: u64 = 2 << 20;

impl Call<'_> {
    pub(in crate::serve) async fn send_message(&self) -> Answer {
        match self.sent().await {
            Err(error) => self.done::<()>(Err(error)),
            Ok(record) => self.streamed(Source::Live(record), 0),
        }
    }

    async fn sent(&self) -> Result<Arc<Record>, Error> {
        let params: SendParams = self.request.params()?;
        if params.message.len() > LONGEST_MESSAGE {
            return Err(Error::new(ErrorCode::PayloadTooLarge, "a message has at most 1 MiB"));
        }
        if params.message.trim().is_empty() {
            return Err(Error::invalid("`message` is empty"));
        }
        self.look_back(&params.session_id).await;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        check_agent(&session)?;
        let session = match state::decide(session.state(), Request::Open) {
            Verdict::Accept => self.manager().open(&params.session_id, None, &self.caller(), None).await?,
            _ => session,
        };
        let talk = Agents::talk(&self.client.server, &session);
        let store = self.manager().engine.store.as_ref();
        // The session is on record before what is said to it.
        self.manager().engine.records.handed_on().await;
        let record = Record::new(&session, params.message, store);
        let (reply, begun) = oneshot::channel();
        let message = record.id.clone();
        session.send(ToSession::Turn(Turn::Begin { message, reply })).await?;
        begun.await.unwrap_or_else(|_| Err(session.gone()))?;
        if let Err(error) = record.begin(&session).await {
            let (reply, _) = oneshot::channel();
            let _ = session.send(ToSession::Turn(Turn::End { reply })).await;
            return Err(storage(error));
        }
        talk.set_current(Arc::clone(&record));
        if !talk.say(Word::Message(Arc::clone(&record))) {
            // The session ended while this was written down.
            let reason = self.client.server.unfinished();
            record.end(reason, None).await;
            record.publish(reason, None);
        }
        Ok(record)
    }

    /// The reply to whoever follows a message, and what is pushed after it.
    fn streamed(&self, source: Source, since: u64) -> Answer {
        let (session, message_id) = match &source {
            Source::Live(record) => (record.session.clone(), record.id.clone()),
            Source::Kept(_, message) => (message.session_id.clone(), message.id.clone()),
        };
        let stream_id = StreamId::random();
        let form = Pushes { id: stream_id.clone(), dialect: self.dialect() };
        let (follow, events) = match self.client.hears {
            Hears::Pushes => (Some(Follow::Message(Updates { form, source, since })), None),
            Hears::Replies => (None, Some(format!("/api/sessions/{session}/messages/{message_id}/events"))),
        };
        Answer { line: self.line(Ok(MessageStream { message_id, stream_id, events })), follow }
    }

    pub(in crate::serve) async fn stop_agent(&self) -> Result<AgentStopped, Error> {
        let StopParams { session_id, message_id } = self.request.params()?;
        self.principal.session(self.manager(), &session_id)?;
        let talk = self.client.server.agents.find(&session_id);
        let running = talk.as_ref().and_then(|talk| talk.current()).filter(|record| record.done().is_none());
        let meant = running.filter(|record| message_id.as_ref().is_none_or(|id| *id == record.id));
        let (Some(talk), Some(record)) = (talk, meant) else {
            return Ok(AgentStopped { session_id, message_id: None, stopped: false });
        };
        talk.say(Word::Stop);
        record.over().await;
        Ok(AgentStopped { session_id, message_id: Some(record.id.clone()), stopped: true })
    }

    pub(in crate::serve) async fn follow_message(&self) -> Answer {
        let found = async {
            let FollowParams { session_id, message_id, since } = self.request.params()?;
            self.look_back(&session_id).await;
            self.principal.check(self.manager(), &session_id)?;
            let source = find(&self.client.server, &session_id, message_id.as_ref()).await?;
            Ok((source, since.unwrap_or(0)))
        };
        match found.await {
            Err(error) => self.done::<()>(Err(error)),
            Ok((source, since)) => self.streamed(source, since),
        }
    }

    pub(in crate::serve) async fn agent_history(&self) -> Result<AgentHistory, Error> {
        let params: HistoryParams = self.request.params()?;
        self.look_back(&params.session_id).await;
        let session = self.principal.session(self.manager(), &params.session_id)?;
        let talk = self.client.server.agents.find(&params.session_id);
        let running = talk.as_ref().and_then(|talk| talk.current());
        let waits = session.public().agent.state == AgentState::Waiting;
        let Some(store) = &self.manager().engine.store else {
            let messages = running.iter().map(|record| in_memory(record, waits)).collect();
            return Ok(AgentHistory { messages, more: false });
        };
        let limit = usize::try_from(params.limit.unwrap_or(USUAL_PAGE).clamp(1, MOST_PAGE)).unwrap_or(1);
        let mut found =
            store.messages(&params.session_id, params.before.as_ref(), limit + 1).await.map_err(storage)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let (mut messages, mut room) = (Vec::new(), MOST_BYTES);
        for kept in found {
            let cut = kept.bytes > room;
            let updates = match cut {
                true => Vec::new(),
                false => store.updates(&kept.id, 0, usize::MAX >> 1).await.map_err(storage)?,
            };
            room = if cut { 0 } else { room - kept.bytes };
            let updates = updates.into_iter().map(|(seq, at, what)| Numbered {
                seq,
                time: at.rfc3339(),
                update: read(what),
            });
            let runs = running.as_ref().is_some_and(|record| record.id == kept.id && record.done().is_none());
            let state = state_of(runs, waits);
            messages.push(shown(kept, updates.collect(), state, cut));
        }
        messages.reverse();
        Ok(AgentHistory { messages, more })
    }
}

fn state_of(runs: bool, waits: bool) -> MessageState {
    match (runs, waits) {
        (true, false) => MessageState::Running,
        (true, true) => MessageState::Waiting,
        (false, _) => MessageState::Done,
    }
}

fn shown(kept: MessageRecord, updates: Vec<Numbered>, state: MessageState, cut: bool) -> Message {
    // After a crash the store can be read a little before it says this itself.
    let unsettled = (state == MessageState::Done).then_some(StopReason::Interrupted);
    Message {
        message_id: kept.id,
        session_id: kept.session_id,
        text: kept.text,
        state,
        created_at: kept.created_at.rfc3339(),
        ended_at: kept.ended_at.map(|at| at.rfc3339()),
        stop_reason: kept.stop_reason.or(unsettled),
        error: kept.error.and_then(|error| serde_json::from_value(error).ok()),
        last_seq: kept.last_seq,
        updates,
        cut,
    }
}

fn in_memory(record: &Record, waits: bool) -> Message {
    let (updates, done) = (record.all(), record.done());
    Message {
        message_id: record.id.clone(),
        session_id: record.session.clone(),
        text: record.text.clone(),
        state: state_of(done.is_none(), waits),
        created_at: record.created.rfc3339(),
        ended_at: done.as_ref().map(|done| done.time.clone()),
        stop_reason: done.as_ref().map(|done| done.stop_reason),
        error: done.as_ref().and_then(|done| done.error.clone()),
        last_seq: updates.len() as u64,
        updates,
        cut: false,
    }
}

/// A message, wherever it is: one that runs is in memory, others are as they were kept.
pub(in crate::serve) async fn find(
    server: &Server,
    session: &SessionId,
    message: Option<&MessageId>,
) -> Result<Source, Error> {
    let missing = || {
        Error::new(
            ErrorCode::MessageNotFound,
            match message {
                Some(id) => format!("no message {id} to {session}"),
                None => format!("no message was sent to {session}"),
            },
        )
        .hint("agent.history lists them")
    };
    let current = server.agents.find(session).and_then(|talk| talk.current());
    let current = current.filter(|record| message.is_none_or(|id| *id == record.id));
    let store = server.manager.engine.store.as_ref();
    if let Some(record) = current.filter(|record| record.done().is_none() || store.is_none()) {
        return Ok(Source::Live(record));
    }
    let Some(store) = store else { return Err(missing()) };
    let kept = match message {
        Some(id) => store.message(id).await.map_err(storage)?,
        None => store.messages(session, None, 1).await.map_err(storage)?.pop(),
    };
    let kept = kept.filter(|kept| kept.session_id == *session).ok_or_else(missing)?;
    Ok(Source::Kept(store.clone(), Box::new(kept)))
}

fn check_agent(session: &Session) -> Result<(), Error> {
    let refuse = |message: String| Error::new(ErrorCode::AgentUnavailable, message).detail("stage", "case");
    if session.agent().is_none() {
        return Err(match session.spec.case_id() {
            Some(case) => refuse(format!("the case {case} names no agent")),
            None => refuse("the session has no case, so nobody says which agent it has".into()),
        }
        .hint("`agent: {command: [...]}` in a case that is trusted: docs/agents.md"));
    }
    match session.spec.runtime_name() {
        HOST => Ok(()),
        other => Err(refuse(format!("the session lives in {other}, and agents on this machine only"))),
    }
}

impl FileService {
    /// Where the files of a session are.
    pub(super) async fn base_of(&self, server: &Server, session: &Session) -> PathBuf {
        let principal = Principal::OfAgent(session.spec.id.clone());
        let target = Target::Session(session.spec.id.clone());
        match self.open(server, &principal, target, Doing::Looking).await {
            Ok(usable) => usable.files.base().to_path_buf(),
            Err(_) => PathBuf::from(&session.spec.origin.root),
        }
    }
}

impl Agents {
    /// Our own tools, for an agent that may speak to the daemon: what is in a sandbox may not.
    pub(super) fn tools(&self, server: &Server, session: &Session) -> Option<trl_acp::Server> {
        if session.spec.sandbox.is_some() {
            return None;
        }
        let socket = server.socket.as_ref()?.to_str()?.to_string();
        Some(trl_acp::Server {
            name: "trl".into(),
            command: self.program.clone()?,
            args: vec!["mcp".into()],
            env: vec![(trl_client::SOCKET_VARIABLE.into(), socket)],
        })
    }
}

#[cfg(test)]
mod tests {
    use trl_store::Moment;

    use super::*;

    #[test]
    fn what_nobody_works_on_and_has_no_end_was_interrupted() {
        let kept = |stop_reason| MessageRecord {
            id: MessageId::random(),
            session_id: SessionId::random(),
            owner: "agent".into(),
            text: "hello".into(),
            created_at: Moment::now(),
            ended_at: None,
            stop_reason,
            error: None,
            last_seq: 0,
            bytes: 0,
        };
        let reason = |stop_reason, state| shown(kept(stop_reason), Vec::new(), state, false).stop_reason;
        assert_eq!(reason(None, MessageState::Done), Some(StopReason::Interrupted));
        assert_eq!(reason(None, MessageState::Running), None);
        assert_eq!(reason(Some(StopReason::EndTurn), MessageState::Done), Some(StopReason::EndTurn));
    }
}
