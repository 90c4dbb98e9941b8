//! Notes: what the scribe is told. Made on the daemon's own thread, so they copy little and work out nothing.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use trl_proto::SessionId;
use trl_proto::exec::Outcome;
use trl_proto::session::SessionState;
use trl_store::history::{EXCERPT_BYTES, NewExecution};
use trl_store::redact::{Kept, Redactor};
use trl_store::session::{SessionRecord, SessionSpec, SessionUpdate, StoredState};
use trl_store::{Durability, Mark, Moment, Store};

use crate::output::Ends;
use crate::session::handle::Session;
use crate::session::messages::Order;
use crate::session::spec::Program;

/// Of a longer command the history has the beginning; the store keeps half of this.
const LONGEST_COMMAND: usize = 128 << 10;
/// Of a command that is about to run, this much is cleaned while it waits.
const MARKED_COMMAND: usize = 1 << 10;

#[derive(Debug)]
pub(super) enum Note {
    Session(Box<SessionRecord>, Arc<Redactor>),
    Changed(SessionUpdate, Durability, Arc<Redactor>),
    Began(Box<Beginning>),
    Ended(Box<Ended>),
    /// Answered when all before it is with the store.
    Pass(oneshot::Sender<()>),
    /// Answered when all before it is done.
    Sync(oneshot::Sender<()>),
}

/// A command that begins.
#[derive(Debug)]
pub struct Beginning {
    pub(super) new: NewExecution,
    /// The length of a command that is not all there.
    pub(super) cut: Option<u64>,
    pub(super) redactor: Arc<Redactor>,
    /// What tells of it until its record is in the store.
    pub(super) mark: Option<Mark>,
}

#[derive(Debug)]
pub(super) struct Ended {
    /// The session it ran in, which may have no record itself.
    pub(super) of: SessionId,
    pub(super) outcome: Outcome,
    pub(super) stdout: Ends,
    pub(super) stderr: Ends,
    pub(super) redactor: Arc<Redactor>,
    /// Of a session that is on record.
    pub(super) session: Option<SessionUpdate>,
}

pub(super) fn session(session: &Session) -> Note {
    let spec = &session.spec;
    let public = session.public();
    let shell = match &spec.program {
        Program::Shell { path, .. } => Some(path.display().to_string()),
        Program::Direct { .. } => None,
    };
    let mut more = std::collections::BTreeMap::new();
    more.insert(ROOT.to_string(), Value::from(spec.origin.root.clone()));
    more.extend(spec.shell().map(|kind| (KIND.to_string(), Value::from(kind.name()))));
    more.extend(spec.case.as_ref().and_then(|case| Some((CASE.to_string(), case.to_record()?))));
    more.extend(spec.elsewhere.as_ref().map(|there| (APART.to_string(), Value::from(there.is_apart))));
    more.extend(
        public.limits.as_ref().and_then(|info| Some((LIMITS.into(), serde_json::to_value(info).ok()?))),
    );
    let record = SessionRecord {
        id: spec.id.clone(),
        name: spec.name.clone(),
        case_id: spec.origin.case_id.clone(),
        case_digest: spec.case.as_ref().map(|case| case.digest.clone()),
        workspace_id: spec.workspace.clone(),
        owner: spec.owner.to_string(),
        state: stored(public.state),
        spec: SessionSpec {
            shell,
            argv: None,
            working_dir: Some(public.working_dir.clone()),
            env: spec.origin.env.clone(),
            secret_names: spec.secrets.names().cloned().collect(),
            pass_env: spec.origin.pass_env.clone(),
            runtime: Some(spec.runtime_name().into()),
            limits: Some(spec.limits),
            sandbox: serde_json::to_value(&spec.origin.sandbox).ok(),
            labels: spec.labels.clone(),
            timeout_s: Some(spec.timeout.as_secs_f64()),
            on_exit: spec.on_exit,
            renewal: spec.renewal,
            more,
        },
        created_at: Moment::from_millis(session.created.unix_millis()),
        last_activity: Moment::from_millis(public.last_activity.unix_millis()),
        command_count: public.commands,
        closed_reason: None,
    };
    drop(public);
    Note::Session(Box::new(record), session.redactor())
}

/// Where the session was made: the directory its boundary is drawn around.
pub(crate) const ROOT: &str = "root";
/// The kind of its shell, which only the machine it is on can tell.
pub(crate) const KIND: &str = "kind";
/// Whether what runs in it can reach this daemon, which only shows when the place is reached.
pub(crate) const APART: &str = "apart";
/// A copy of its case, should the file be gone when the session is opened again.
pub(crate) const CASE: &str = "case";
/// What came of its limits.
pub(crate) const LIMITS: &str = "limits_info";

pub(super) fn update(session: &Session) -> SessionUpdate {
    let public = session.public();
    SessionUpdate {
        id: session.spec.id.clone(),
        state: stored(public.state),
        last_activity: Moment::from_millis(public.last_activity.unix_millis()),
        command_count: public.commands,
        working_dir: public.working_dir.clone(),
        closed_reason: public.ended.as_ref().map(|(why, _)| why.clone()),
    }
}

fn stored(state: SessionState) -> StoredState {
    match state {
        SessionState::Uninitialized | SessionState::Creating | SessionState::Ready => StoredState::Ready,
        SessionState::Running => StoredState::Running,
        SessionState::WaitingHitl => StoredState::WaitingHitl,
        SessionState::Idle => StoredState::Idle,
        SessionState::Closed => StoredState::Closed,
        SessionState::Terminated => StoredState::Terminated,
    }
}

impl Beginning {
    pub(super) fn of(session: &Session, order: &Order) -> Self {
        let execution = &order.execution;
        let text = execution.text();
        let command = start_of(text, LONGEST_COMMAND).to_string();
        let here = || session.public().working_dir.clone();
        let cut = (command.len() < text.len()).then_some(text.len() as u64);
        let new = NewExecution {
            id: execution.id.clone(),
            session_id: session.spec.told_as().clone(),
            owner: session.spec.owner.to_string(),
            request_id: order.clearance.request.clone(),
            command,
            working_dir: order.around.working_dir.clone().unwrap_or_else(here),
            started_at: Moment::now(),
        };
        Self { new, cut, redactor: session.redactor_for(&order.around.env), mark: None }
    }

    /// Leaves a mark of it, with no more of its text than is soon cleaned.
    pub(super) fn mark(self, store: &Store) -> Self {
        let text = &self.new.command;
        let command = start_of(text, MARKED_COMMAND).to_string();
        let cut = (command.len() < text.len()).then_some(text.len() as u64);
        let short = NewExecution {
            command,
            id: self.new.id.clone(),
            session_id: self.new.session_id.clone(),
            owner: self.new.owner.clone(),
            request_id: self.new.request_id.clone(),
            working_dir: self.new.working_dir.clone(),
            started_at: self.new.started_at,
        };
        let mark = store.mark_begun(&self.redactor.clean(whole(short, cut, &self.redactor)));
        Self { mark, ..self }
    }
}

fn start_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The beginning of a command that was cut before it was cleaned: half a secret is one too.
pub(super) fn whole(mut new: NewExecution, cut: Option<u64>, redactor: &Redactor) -> NewExecution {
    if let Some(total) = cut {
        let kept = Kept { head: new.command.as_bytes(), tail: &[], total };
        new.command = redactor.excerpt(kept, new.command.len()).head;
    }
    new
}

pub(super) fn ended(session: &Session, order: &Order, outcome: &Outcome) -> Note {
    let redactor = session.redactor_for(&order.around.env);
    let window = redactor.window_for(EXCERPT_BYTES);
    Note::Ended(Box::new(Ended {
        of: session.spec.told_as().clone(),
        outcome: outcome.clone(),
        stdout: order.execution.stdout.ends(window),
        stderr: order.execution.stderr.ends(window),
        redactor,
        session: session.is_recorded().then(|| update(session)),
    }))
}
