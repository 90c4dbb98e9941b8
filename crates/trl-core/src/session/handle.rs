//! A session as everyone but its own task sees it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{mpsc, oneshot, watch};
use trl_proto::agent::AgentInfo;
use trl_proto::case::AgentSpec;
use trl_proto::checkpoint::{CheckpointInfo, Origin as CheckpointOrigin, RestoredFrom};
use trl_proto::limits::LimitsInfo;
use trl_proto::session::{Running, SessionInfo, SessionState};
use trl_proto::{CheckpointId, Dialect, Error, ErrorCode, ExecutionId, MessageId, RequestId};
use trl_store::redact::Redactor;
use zeroize::Zeroizing;

use super::messages::{Ending, Message};
use super::spec::{Elsewhere, Secrets, Spec};
use super::state::{self, Denial, Working};
use crate::approval::Rules;
use crate::checkpoint::{Around, Captured, Checkpoint, Hidden, Manifest, Remarks, Stand};
use crate::clock::Stamp;
use crate::engine::{Counters, Engine};
use crate::env::Env;
use crate::execution::{Execution, Phase, millis};
use crate::sandbox::Boundary;
use crate::shell::state::State;

#[derive(Debug)]
pub struct Session {
    pub spec: Spec,
    /// Which commands a person is asked about; none for what the daemon does itself.
    rules: Option<Arc<Rules>>,
    pub created: Stamp,
    /// When its processes could last begin to live: its age counts from here.
    pub opened: Stamp,
    public: Mutex<Public>,
    /// How many checkpoints of it are on their way to the disk.
    saving: watch::Sender<usize>,
    /// While its task lives. A channel has room for its longest messages, so it is not kept with the record of an ended session.
    inbox: Mutex<Option<mpsc::Sender<Message>>>,
    /// Whether it has had a task. One of an earlier daemon has none until it is opened.
    was_opened: AtomicBool,
    /// Is it on record, for another day?
    keeping: Keeping,
    /// Takes its secrets out of whatever is kept; made while they are known.
    redactor: Arc<Redactor>,
    /// The keeper's pid, 0 while there is none: how a peer inside the session is recognised.
    keeper: AtomicI32,
}

/// Whether a session outlives the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    Recorded,
    /// It is there for one command.
    Passing,
}

/// What is shown of a session; written by its task.
#[derive(Debug)]
pub struct Public {
    pub state: SessionState,
    pub working_dir: String,
    pub last_activity: Stamp,
    pub commands: u64,
    pub pid: Option<i32>,
    pub running: Option<Arc<Execution>>,
    /// The last command its shell's state comes from.
    pub last_execution: Option<ExecutionId>,
    /// Requests that wait for a person.
    pub requests: Vec<RequestId>,
    /// The message its agent works on.
    pub turn: Option<TurnShown>,
    /// Its agent, as whoever runs that says.
    pub agent: AgentInfo,
    /// The execution of a direct command.
    pub direct: Option<ExecutionId>,
    /// Its newest checkpoint, when that could not be put on a disk.
    pub kept: Option<Arc<Checkpoint>>,
    /// Its newest on disk, and how many commands it had run then.
    pub saved: Option<(CheckpointId, u64)>,
    /// Where it has its state from.
    pub restored_from: Option<RestoredFrom>,
    /// What came of its limits.
    pub limits: Option<LimitsInfo>,
    /// Why and when it ended.
    pub ended: Option<(String, Instant)>,
}

/// A message that an agent works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnShown {
    pub message: MessageId,
    /// Requests that a person has to answer before it goes on.
    pub waits: Vec<RequestId>,
}

/// What a session brings along.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    pub created: Stamp,
    pub commands: u64,
}

/// A checkpoint on its way to the disk.
struct Saving(Arc<Session>);

impl Saving {
    fn of(session: &Arc<Session>) -> Self {
        session.saving.send_modify(|n| *n += 1);
        Self(Arc::clone(session))
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        self.0.saving.send_modify(|n| *n -= 1);
    }
}

impl Public {
    /// As everybody sees it.
    pub fn shown(&self) -> SessionState {
        let working = |turn: &TurnShown| match turn.waits.is_empty() {
            true => Working::Alone,
            false => Working::Waits,
        };
        state::shown(self.state, self.turn.as_ref().map(working))
    }

    fn note_saved(&mut self, manifest: &Manifest) {
        let commands = manifest.stand.commands;
        // An older one may have taken longer.
        if self.saved.as_ref().is_none_or(|(_, newest)| *newest <= commands) {
            self.saved = Some((manifest.checkpoint_id.clone(), commands));
            self.kept = None;
        }
    }
}

impl Session {
    pub fn new(spec: Spec, rules: Option<Arc<Rules>>, keeping: Keeping) -> Arc<Self> {
        Self::with_past(spec, rules, keeping, Past { created: Stamp::now(), commands: 0 })
    }

    /// One of an earlier daemon, without processes.
    pub fn recalled(
        spec: Spec,
        rules: Option<Arc<Rules>>,
        past: Past,
        shown: impl FnOnce(&mut Public),
    ) -> Arc<Self> {
        let session = Self::with_past(spec, rules, Keeping::Recorded, past);
        shown(&mut session.public());
        session
    }

    /// The same session again, where it was when it closed. It keeps its past, but not its age: one that was closed
    /// for its age would be of no use.
    pub fn reopened(&self, secrets: Secrets, boundary: Boundary, elsewhere: Option<Elsewhere>) -> Arc<Self> {
        let public = self.public();
        let mut spec = self.spec.reopened(public.working_dir.clone(), secrets);
        spec.confine(boundary);
        spec.elsewhere = elsewhere;
        let past = Past { created: self.created, commands: public.commands };
        let session = Self::with_past(spec, self.rules.clone(), self.keeping, past);
        session.public().limits.clone_from(&public.limits);
        session
    }

    /// The one it had, or that it is to have: a session that had one is not opened without.
    pub fn boundary(&self, engine: &Engine) -> Result<Boundary, Error> {
        let Spec { id, origin, sandbox, .. } = &self.spec;
        match sandbox {
            Boundary::Here(_) | Boundary::There(_) => Ok(sandbox.clone()),
            Boundary::None => {
                Ok(engine.sandbox(Some(origin.sandbox.clone()), id.as_str(), &origin.root)?.into())
            }
        }
    }

    /// Those it was judged by, whether or not anybody has taken them back since.
    pub fn rules(&self) -> Option<&Arc<Rules>> {
        self.rules.as_ref()
    }

    /// The rules that hold for it now; none when nobody wrote any.
    pub fn rules_in_force(&self) -> Option<Arc<Rules>> {
        self.rules.clone().filter(|rules| rules.is_in_force())
    }

    /// What people have allowed in it, when there are rules at all.
    pub fn restore_rules(&self, granted: Option<Vec<String>>) {
        if let (Some(rules), Some(granted)) = (&self.rules, granted) {
            rules.restore(granted);
        }
    }

    /// It was made from a case, and neither that nor anything in its place could be read.
    pub fn lacks_case(&self) -> bool {
        self.spec.origin.case_id.is_some() && self.spec.case.is_none()
    }

    /// It was not opened since this daemon started, and had not the file of its case when that was last looked for.
    pub fn awaits_case(&self) -> bool {
        let has_file = self.spec.case.as_ref().is_some_and(|case| case.fallback.is_none());
        self.spec.origin.case_id.is_some() && !has_file && !self.was_opened.load(Ordering::Relaxed)
    }

    /// Says of one without processes how it ended; false when that is nothing new.
    pub fn mark(&self, into: Ending, reason: &str) -> bool {
        let mut public = self.public();
        let state = match (public.state, into) {
            (SessionState::Closed | SessionState::Uninitialized, Ending::Terminated) => {
                SessionState::Terminated
            }
            (SessionState::Uninitialized, Ending::Closed) => SessionState::Closed,
            _ => return false,
        };
        public.state = state;
        public.ended = Some((reason.into(), Instant::now()));
        true
    }

    fn with_past(spec: Spec, rules: Option<Arc<Rules>>, keeping: Keeping, past: Past) -> Arc<Self> {
        let opened = Stamp::now();
        let Past { created, commands } = past;
        let public = Public {
            state: SessionState::Creating,
            working_dir: spec.working_dir.clone(),
            last_activity: opened,
            commands,
            pid: None,
            running: None,
            last_execution: None,
            requests: Vec::new(),
            turn: None,
            agent: AgentInfo::default(),
            direct: None,
            kept: None,
            saved: None,
            restored_from: None,
            limits: None,
            ended: None,
        };
        Arc::new(Self {
            rules,
            created,
            opened,
            public: Mutex::new(public),
            saving: watch::Sender::new(0),
            inbox: Mutex::new(None),
            was_opened: AtomicBool::new(false),
            keeping,
            redactor: Arc::new(spec.redactor().unwrap_or_default()),
            spec,
            keeper: AtomicI32::new(0),
        })
    }

    pub fn public(&self) -> MutexGuard<'_, Public> {
        self.public.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it stands now.
    pub(super) fn stand(&self) -> Stand {
        let public = self.public();
        Stand {
            session_id: self.spec.id.clone(),
            case_id: self.spec.case_id().map(String::from),
            commands: public.commands,
            last_execution: public.last_execution.clone(),
            pending_requests: public.requests.clone(),
        }
    }

    /// What was found of its shell.
    pub(crate) fn captured(&self, state: State, around: Around, heard: Vec<Zeroizing<Vec<u8>>>) -> Captured {
        let hidden = Hidden::new(&self.spec.secrets, self.redactor(), heard);
        Captured { state, around, stand: self.stand(), hidden }
    }

    /// Makes a checkpoint and has it put on the disk. It is waited for before the session is opened again.
    pub(crate) fn save(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        origin: CheckpointOrigin,
        captured: Captured,
        remarks: Remarks,
    ) -> impl Future<Output = Result<CheckpointInfo, Error>> + use<> {
        let (saving, session, engine) = (Saving::of(self), Arc::clone(self), Arc::clone(engine));
        let (done, heard) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let checkpoint = Checkpoint::new(origin, captured).with(remarks);
            let store = &engine.checkpoints;
            let saved = store.save(&checkpoint);
            match &saved {
                Ok(_) => session.public().note_saved(&checkpoint.manifest),
                Err(_) => {
                    Counters::add(&engine.counters.checkpoints_unsaved);
                    session.public().kept = Some(Arc::new(checkpoint.clone()));
                }
            }
            drop(saving);
            let _ = done.send(saved.map(|size| checkpoint.manifest.info(size)));
            let id = &session.spec.id;
            store.prune(id, origin, &engine.desk.states_awaited(id));
        });
        async move {
            heard.await.unwrap_or_else(|_| Err(Error::internal("the checkpoint was not made to its end")))
        }
    }

    /// Resolves when none is on its way.
    pub(crate) async fn saved(&self) {
        let _ = self.saving.subscribe().wait_for(|n| *n == 0).await;
    }

    pub fn state(&self) -> SessionState {
        self.public().shown()
    }

    /// Resolves when its task has ended: nothing of it is left.
    pub async fn over(&self) {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(inbox) = inbox {
            inbox.closed().await;
        }
    }

    /// The agent its case names.
    pub fn agent(&self) -> Option<&AgentSpec> {
        self.spec.case.as_ref().and_then(|case| case.spec.agent.as_ref())
    }

    /// Whether it takes commands, or soon will.
    pub fn is_live(&self) -> bool {
        !matches!(self.state(), SessionState::Closed | SessionState::Uninitialized | SessionState::Terminated)
    }

    /// Does it outlive the daemon?
    pub fn is_recorded(&self) -> bool {
        self.keeping == Keeping::Recorded
    }

    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// For a command with variables of its own.
    pub fn redactor_for(&self, env: &Env) -> Arc<Redactor> {
        self.spec.redactor_for(env).map_or_else(|| self.redactor(), Arc::new)
    }

    pub fn keeper(&self) -> i32 {
        self.keeper.load(Ordering::Relaxed)
    }

    pub(super) fn set_keeper(&self, pid: i32) {
        self.keeper.store(pid, Ordering::Relaxed);
    }

    pub(crate) fn connect(&self, inbox: mpsc::Sender<Message>) {
        self.was_opened.store(true, Ordering::Relaxed);
        *self.inbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(inbox);
    }

    /// Its task has ended.
    pub(crate) fn disconnect(&self) {
        *self.inbox.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Hands a message to the task; an ended session answers for itself.
    pub async fn send(&self, message: Message) -> Result<(), Error> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match inbox {
            Some(inbox) if inbox.send(message).await.is_ok() => Ok(()),
            _ => Err(self.gone()),
        }
    }

    /// Resolves when it is where its files are.
    pub async fn appear(&self) -> Result<(), Error> {
        let (reply, there) = oneshot::channel();
        self.send(Message::Appear { reply }).await?;
        there.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Whether nothing of it runs, what earlier commands left behind too.
    pub async fn is_at_rest(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.send(Message::IsAtRest { reply }).await.is_ok() && answer.await.unwrap_or(false)
    }

    /// Why nothing can be asked of it any more.
    pub fn gone(&self) -> Error {
        match self.state() {
            SessionState::Closed | SessionState::Uninitialized => Denial::Closed.error(),
            SessionState::Terminated => Denial::Terminated.error(),
            _ => Error::new(ErrorCode::SessionTerminated, "the session is ending"),
        }
    }

    pub fn info(&self, dialect: Dialect) -> SessionInfo {
        let public = self.public();
        let running = public.running.as_ref().map(|e| Running {
            execution_id: e.id.clone(),
            command: e.text().to_string(),
            elapsed_ms: match e.phase() {
                Phase::Running { since } => millis(since.elapsed()),
                _ => 0,
            },
        });
        SessionInfo {
            session_id: self.spec.id.clone(),
            name: self.spec.name.clone(),
            shell: self.spec.program_name(),
            working_dir: public.working_dir.clone(),
            workspace_id: self.spec.workspace.clone(),
            state: public.shown().in_dialect(dialect),
            owner: self.spec.owner.to_string(),
            created_at: self.created.rfc3339(),
            last_activity: public.last_activity.rfc3339(),
            case_id: self.spec.case_id().map(String::from),
            case_digest: self.spec.case.as_ref().map(|case| case.digest.clone()),
            ignored: self.spec.case.as_ref().map(|case| case.ignored.clone()).unwrap_or_default(),
            runtime: self.spec.runtime_name().into(),
            labels: self.spec.labels.clone(),
            env_keys: self.spec.env_keys(),
            command_count: public.commands,
            timeout_s: self.spec.timeout.as_secs() + u64::from(self.spec.timeout.subsec_nanos() > 0),
            on_exit: self.spec.on_exit,
            renewal: self.spec.renewal,
            limits: public.limits.clone(),
            sandbox: self.spec.sandbox.report(),
            pid: public.pid,
            running,
            execution_id: public.direct.clone(),
            pending_requests: public
                .requests
                .iter()
                .chain(public.turn.iter().flat_map(|turn| &turn.waits))
                .map(ToString::to_string)
                .collect(),
            agent: self.agent().map(|_| public.agent.clone()),
            restored_from: public.restored_from.clone(),
            ended: public.ended.as_ref().map(|(why, _)| why.clone()),
        }
    }
}
