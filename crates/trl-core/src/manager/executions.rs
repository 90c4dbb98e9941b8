//! Running commands, and asking about them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::oneshot;
use trl_proto::exec::{CancelParams, RunParams};
use trl_proto::session::CreateParams;
use trl_proto::text::decode;
use trl_proto::{Error, ErrorCode, ExecutionId, SessionId};
use trl_sys::pty::Size;

use super::idempotency::Claim;
use super::{CaseWish, Manager};
use crate::execution::{Early, Execution, Place};
use crate::limits::asked::Widening;
use crate::session::handle::{Keeping, Session};
use crate::session::messages::{AfterInput, Cancel, Clearance, Ending, Manner, Message, Order, Stdin};
use crate::session::spec::{checked_dir, checked_env, seconds};
use crate::session::state::WhenBusy;
use crate::shell::wrap::Surroundings;
use crate::terminal::Terminal;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Owns the sessions it makes. Idempotency keys of different names never meet.
    pub name: Arc<str>,
    /// It gets no session while there are this many.
    pub max_sessions: usize,
    /// It gets no session while it has this many itself.
    pub max_own_sessions: usize,
    /// May it ask for more than the settings give?
    pub widening: Widening,
    pub judging: Judging,
    pub standing: Standing,
}

/// Where somebody stands to the message a session's agent works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// The session is busy with it.
    #[default]
    Outside,
    /// It is the agent that asks.
    Agent,
}

/// Whether the rules hold for what somebody wants to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Judging {
    #[default]
    ByRules,
    /// The daemon itself, which looks at the machine with a script of its own.
    Exempt,
}

/// More in memory than this is what spill files are for.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

impl Manager {
    /// Hands a command to its session. Resolves when it stands there; wait for the execution to see its end.
    pub async fn submit(&self, params: RunParams, caller: &Caller) -> Result<Arc<Execution>, Error> {
        if params.idempotency_key.is_none() {
            return self.submit_new(params, caller, |_| {}).await;
        }
        match self.keys.claim(caller, &params).await? {
            Claim::Taken(execution) => Ok(execution),
            Claim::Ours(claim) => {
                let submitted =
                    self.submit_new(params, caller, |execution| claim.accepted(execution)).await?;
                claim.keep();
                Ok(submitted)
            }
        }
    }

    async fn submit_new(
        &self,
        params: RunParams,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        match params.session_id.clone() {
            Some(_) if params.sandbox.is_some() => Err(foreign_sandbox()),
            Some(_) if params.runtime.is_some() => Err(foreign_runtime()),
            Some(_) if params.case_id.is_some() || params.workspace_id.is_some() => {
                Err(Error::invalid("a command has its session's case and workspace")
                    .hint("give them to session.create, or leave out `session_id`"))
            }
            Some(id) => {
                let session = self.find(&id)?;
                self.order_and_wait(&session, params, caller, announce).await
            }
            None => {
                let session = self.create_for(&params, caller).await?;
                let submitted = self.order_and_wait(&session, params, caller, announce).await;
                self.throw_away(session, submitted.as_ref().ok().cloned());
                submitted
            }
        }
    }

    /// A session for one command.
    async fn create_for(&self, params: &RunParams, caller: &Caller) -> Result<Arc<Session>, Error> {
        let create = CreateParams {
            working_dir: params.working_dir.clone(),
            sandbox: params.sandbox.clone(),
            case_id: params.case_id.clone(),
            workspace_id: params.workspace_id.clone(),
            runtime: params.runtime.clone(),
            ..CreateParams::default()
        };
        let case = self.case_for(CaseWish::of(&create))?;
        if let Some(case) = case.as_ref().filter(|case| case.spec.argv.is_some()) {
            return Err(Error::invalid(format!(
                "the case {} runs a program of its own, not commands",
                case.id
            ))
            .hint("session.create starts it"));
        }
        let spec = self.resolve_under(case, create, caller).await?;
        self.create_as(spec, caller, Keeping::Passing).await
    }

    /// Destroys a session after its only execution.
    fn throw_away(&self, session: Arc<Session>, execution: Option<Arc<Execution>>) {
        tokio::spawn(async move {
            if let Some(execution) = execution {
                let _ = execution.wait().await;
            }
            let (reply, over) = oneshot::channel();
            let end = crate::session::messages::End {
                into: Ending::Terminated,
                manner: Manner::Forced,
                reason: "its one command ended".into(),
                reply: Some(reply),
            };
            if session.send(Message::End(end)).await.is_ok() {
                let _ = over.await;
            }
        });
    }

    /// Resolves when it has begun, or stands in line if it may.
    async fn order_and_wait(
        &self,
        session: &Arc<Session>,
        params: RunParams,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        let queued = params.queue == Some(true);
        let execution = self.order(session, params, caller, announce).await?;
        if !queued {
            execution.wait_started().await?;
        }
        Ok(execution)
    }

    pub(super) async fn order(
        &self,
        session: &Arc<Session>,
        params: RunParams,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        let bytes = checked_output_bytes(params.max_output_bytes)?;
        let logs = (self.engine.log(bytes), self.engine.log(bytes));
        let execution = session.spec.execution(&params.command, logs);
        self.order_as((session, execution), &params, caller, announce).await
    }

    /// The same for an execution that is there already.
    pub(super) async fn order_as(
        &self,
        (session, execution): (&Arc<Session>, Arc<Execution>),
        params: &RunParams,
        caller: &Caller,
        announce: impl FnOnce(&Arc<Execution>),
    ) -> Result<Arc<Execution>, Error> {
        let received = Instant::now();
        if params.command.contains('\0') {
            return Err(Error::invalid("the command contains a NUL character"));
        }
        let order = Order {
            around: surroundings(params)?,
            stdin: stdin(params)?,
            timeout: seconds(params.timeout_s, "timeout_s")?.unwrap_or(session.spec.timeout),
            busy: if params.queue == Some(true) { WhenBusy::Queue } else { WhenBusy::Refuse },
            received,
            tries: 0,
            clearance: Clearance {
                mode: params.approval.unwrap_or_default(),
                origin: Arc::clone(&caller.name),
                standing: caller.standing,
                ..Clearance::default()
            },
            beginning: None,
            execution: Arc::clone(&execution),
        };
        self.engine.executions.add(&execution);
        announce(&execution);
        if let Err(error) = session.send(Message::Run(Box::new(order))).await {
            self.engine.executions.refuse(&execution, error.clone());
            return Err(error);
        }
        Ok(execution)
    }

    /// Ends a command; resolves when it is over. False when it ended by itself first.
    pub async fn cancel(&self, params: CancelParams) -> Result<(ExecutionId, bool), Error> {
        let signal = match &params.signal {
            None => Signal::TERM,
            Some(name) => parse_signal(name)?,
        };
        let grace = seconds(params.grace_s, "grace_s")?.unwrap_or(self.engine.settings.grace);
        let session = match (&params.execution_id, &params.session_id) {
            (Some(id), _) => {
                let execution = self.engine.executions.find(id)?;
                if let Some(finished) = execution.finished() {
                    return Ok((id.clone(), finished.outcome.cancelled));
                }
                if let Some(request) = execution.request().filter(|_| self.is_to_be_made(&execution)) {
                    self.engine.desk.withdraw(&request);
                    // A yes may have been first: then it begins, and is ended like any other.
                    execution.wait_answered().await;
                    if execution.finished().is_some() || execution.refused().is_some() {
                        let cancelled = execution.wait().await.map_or(true, |f| f.outcome.cancelled);
                        return Ok((id.clone(), cancelled));
                    }
                }
                match &execution.place {
                    Place::Session(session) | Place::Beside { host: session, .. } => self.find(session)?,
                    Place::Terminal(terminal) => {
                        self.terminal(terminal)?.end("cancelled on request", Early::Cancelled, grace).await;
                        let finished = execution.wait().await?;
                        return Ok((id.clone(), finished.outcome.cancelled));
                    }
                }
            }
            (None, Some(id)) => self.find(id)?,
            (None, None) => return Err(Error::invalid("give `execution_id` or `session_id`")),
        };
        let asked = self.ask_cancel(&session, params.execution_id.clone(), signal, grace).await;
        let execution = match (asked, &params.execution_id) {
            (Ok(execution), _) => execution,
            // It ended on the way: what it says of itself is the answer.
            (Err(_), Some(id)) if self.engine.executions.find(id).is_ok() => {
                self.engine.executions.find(id)?
            }
            (Err(error), _) => return Err(error),
        };
        let finished = execution.wait().await?;
        Ok((execution.id.clone(), finished.outcome.cancelled))
    }

    /// Whether what it runs in is only there once a person has said yes.
    fn is_to_be_made(&self, execution: &Execution) -> bool {
        match &execution.place {
            Place::Session(host) | Place::Beside { host, .. } => self.find(host).is_err(),
            Place::Terminal(terminal) => self.terminal(terminal).is_err(),
        }
    }

    async fn ask_cancel(
        &self,
        session: &Session,
        execution: Option<ExecutionId>,
        signal: Signal,
        grace: Duration,
    ) -> Result<Arc<Execution>, Error> {
        let (reply, answer) = oneshot::channel();
        session.send(Message::Cancel(Cancel { execution, signal, grace, reply })).await?;
        answer.await.unwrap_or_else(|_| Err(session.gone()))
    }

    /// Resolves when everything is with the process, or in the pipe to it.
    pub async fn input(
        &self,
        execution: &ExecutionId,
        bytes: Vec<u8>,
        then: AfterInput,
    ) -> Result<u64, Error> {
        /// What a terminal's user types for the end of input.
        const END: u8 = 4;
        let len = bytes.len() as u64;
        match self.host_of(execution)? {
            Host::Session(session) => {
                let (reply, answer) = oneshot::channel();
                let execution = execution.clone();
                session.send(Message::Input { execution, bytes, then, reply }).await?;
                answer.await.unwrap_or_else(|_| Err(session.gone()))?;
            }
            Host::Terminal(terminal) => {
                let end = (then == AfterInput::Close).then_some(END);
                terminal.input(bytes.into_iter().chain(end).collect()).await?;
            }
        }
        Ok(len)
    }

    /// How many processes got it.
    pub async fn signal(&self, execution: ExecutionId, name: &str) -> Result<u64, Error> {
        let signal = parse_signal(name)?;
        match self.host_of(&execution)? {
            Host::Session(session) => {
                let (reply, answer) = oneshot::channel();
                session.send(Message::Signal { execution, signal, reply }).await?;
                answer.await.unwrap_or_else(|_| Err(session.gone()))
            }
            Host::Terminal(terminal) => terminal.signal(signal).await,
        }
    }

    /// Only for one that runs on a terminal.
    pub async fn resize(&self, execution: &ExecutionId, size: Size) -> Result<Arc<Terminal>, Error> {
        match self.host_of(execution)? {
            Host::Session(_) => {
                Err(Error::invalid(format!("{execution} has no terminal")).hint("start it with tty: true"))
            }
            Host::Terminal(terminal) => {
                terminal.resize(size).await?;
                Ok(terminal)
            }
        }
    }

    pub fn execution(&self, id: &ExecutionId) -> Result<Arc<Execution>, Error> {
        self.engine.executions.find(id)
    }

    pub fn executions(&self, session: Option<&SessionId>) -> Vec<Arc<Execution>> {
        self.engine.executions.list(session)
    }

    /// Leaves no trace of one that is over, nor of the session it had to itself.
    pub fn forget(&self, execution: &Execution) {
        if let Place::Session(id) | Place::Beside { host: id, .. } = &execution.place {
            self.sessions().remove(id);
        }
        self.engine.executions.forget(&execution.id);
    }

    /// Whose task a live execution is moved by.
    fn host_of(&self, id: &ExecutionId) -> Result<Host, Error> {
        let execution = self.engine.executions.find(id)?;
        if execution.finished().is_some() {
            return Err(Error::new(ErrorCode::ExecutionNotFound, format!("{id} is over")));
        }
        Ok(match &execution.place {
            Place::Session(session) | Place::Beside { host: session, .. } => {
                Host::Session(self.find(session)?)
            }
            Place::Terminal(terminal) => Host::Terminal(self.terminal(terminal)?),
        })
    }
}

enum Host {
    Session(Arc<Session>),
    Terminal(Arc<Terminal>),
}

/// How much output somebody wants to have kept, or shown.
pub fn checked_output_bytes(asked: Option<u64>) -> Result<Option<usize>, Error> {
    if asked.is_some_and(|bytes| !(2..=MAX_OUTPUT_BYTES).contains(&bytes)) {
        return Err(Error::invalid(format!("`max_output_bytes` must be between 2 and {MAX_OUTPUT_BYTES}")));
    }
    Ok(asked.and_then(|bytes| usize::try_from(bytes).ok()))
}

/// `sandbox` beside `session_id`.
pub(super) fn foreign_sandbox() -> Error {
    Error::invalid("a command has its session's sandbox")
        .hint("give `sandbox` to session.create, or start the command without a session: exec.start")
}

pub(super) fn foreign_runtime() -> Error {
    Error::invalid("a command runs where its session lives")
        .hint("give `runtime` to session.create, or leave out `session_id`")
}

fn surroundings(params: &RunParams) -> Result<Surroundings, Error> {
    let working_dir = params.working_dir.as_deref().map(checked_dir).transpose()?;
    Ok(Surroundings { env: checked_env(params.env.clone().unwrap_or_default())?, working_dir })
}

fn stdin(params: &RunParams) -> Result<Stdin, Error> {
    let encoding = params.stdin_encoding.unwrap_or_default();
    let bytes = params.stdin.clone().map(|text| decode(text, encoding)).transpose()?;
    Ok(match (bytes, params.open_stdin == Some(true)) {
        (bytes, true) => Stdin::Open(bytes.unwrap_or_default()),
        (Some(bytes), false) => Stdin::Bytes(bytes),
        (None, false) => Stdin::Null,
    })
}

pub fn parse_signal(name: &str) -> Result<Signal, Error> {
    trl_sys::signal::parse(name)
        .ok_or_else(|| Error::invalid(format!("{name:?} is not a signal")).hint("TERM, SIGINT, 9, ..."))
}
