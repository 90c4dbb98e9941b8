//! A session as everyone but its own task sees it.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;
use trl_proto::limits::LimitsInfo;
use trl_proto::session::{Running, SessionInfo, SessionState};
use trl_proto::{Dialect, Error, ErrorCode, ExecutionId};

use super::messages::Message;
use super::spec::{Secrets, Spec};
use super::state::Denial;
use crate::clock::Stamp;
use crate::execution::{Execution, Phase, millis};

#[derive(Debug)]
pub struct Session {
    pub spec: Spec,
    pub created: Stamp,
    /// When its processes could last begin to live: its age counts from here.
    pub opened: Stamp,
    public: Mutex<Public>,
    inbox: Mutex<Option<mpsc::Sender<Message>>>,
    /// The keeper's pid, 0 while there is none: how a peer inside the session is recognised.
    keeper: AtomicI32,
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
    /// The execution of a direct command.
    pub direct: Option<ExecutionId>,
    /// What came of its limits.
    pub limits: Option<LimitsInfo>,
    /// Why and when it ended.
    pub ended: Option<(String, Instant)>,
}

impl Session {
    pub fn new(spec: Spec) -> Arc<Self> {
        Self::with_past(spec, Stamp::now(), 0)
    }

    /// The same session again, where it was when it closed. It keeps its past, but not its age: one that was closed
    /// for its age would be of no use.
    pub fn reopened(&self, secrets: Secrets) -> Arc<Self> {
        let public = self.public();
        let spec = self.spec.reopened(public.working_dir.clone(), secrets);
        let session = Self::with_past(spec, self.created, public.commands);
        session.public().limits.clone_from(&public.limits);
        session
    }

    fn with_past(spec: Spec, created: Stamp, commands: u64) -> Arc<Self> {
        let opened = Stamp::now();
        let public = Public {
            state: SessionState::Creating,
            working_dir: spec.working_dir.clone(),
            last_activity: opened,
            commands,
            pid: None,
            running: None,
            direct: None,
            limits: None,
            ended: None,
        };
        Arc::new(Self {
            spec,
            created,
            opened,
            public: Mutex::new(public),
            inbox: Mutex::new(None),
            keeper: AtomicI32::new(0),
        })
    }

    pub fn public(&self) -> MutexGuard<'_, Public> {
        self.public.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self) -> SessionState {
        self.public().state
    }

    pub fn keeper(&self) -> i32 {
        self.keeper.load(Ordering::Relaxed)
    }

    pub(super) fn set_keeper(&self, pid: i32) {
        self.keeper.store(pid, Ordering::Relaxed);
    }

    pub(crate) fn connect(&self, inbox: mpsc::Sender<Message>) {
        *self.inbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(inbox);
    }

    /// Hands a message to the task; an ended session answers for itself.
    pub async fn send(&self, message: Message) -> Result<(), Error> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match inbox {
            Some(inbox) if inbox.send(message).await.is_ok() => Ok(()),
            _ => Err(self.gone()),
        }
    }

    /// Why nothing can be asked of it any more.
    pub fn gone(&self) -> Error {
        match self.state() {
            SessionState::Closed => Denial::Closed.error(),
            SessionState::Terminated => Denial::Terminated.error(),
            _ => Error::new(ErrorCode::SessionTerminated, "the session is ending"),
        }
    }

    pub fn info(&self, dialect: Dialect) -> SessionInfo {
        let public = self.public();
        let running = public.running.as_ref().map(|e| Running {
            execution_id: e.id.clone(),
            command: e.command.to_string(),
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
            state: public.state.in_dialect(dialect),
            owner: self.spec.owner.to_string(),
            created_at: self.created.rfc3339(),
            last_activity: public.last_activity.rfc3339(),
            runtime: "host".into(),
            labels: self.spec.labels.clone(),
            env_keys: self.spec.env_keys(),
            command_count: public.commands,
            timeout_s: self.spec.timeout.as_secs() + u64::from(self.spec.timeout.subsec_nanos() > 0),
            on_exit: self.spec.on_exit,
            renewal: self.spec.renewal,
            limits: public.limits.clone(),
            pid: public.pid,
            running,
            execution_id: public.direct.clone(),
            pending_requests: Vec::new(),
            ended: public.ended.as_ref().map(|(why, _)| why.clone()),
        }
    }
}
