//! One execution: a command, its output, how far it has come. Shared by the session or terminal that runs it and everyone
//! who watches it; only the task of that moves it on.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use trl_proto::exec::{ExecutionInfo, ExecutionStatus, Outcome, RunResult, Stream};
use trl_proto::start::Next;
use trl_proto::{Dialect, Error, ExecutionId, RequestId, SessionId, TerminalId};

use crate::clock::Stamp;
use crate::output::Log;
use crate::sandbox::Boundary;

#[derive(Debug)]
pub struct Execution {
    pub id: ExecutionId,
    pub place: Place,
    /// Who made its session: it may be asked about when the session is long forgotten.
    pub owner: Arc<str>,
    /// As it was asked for.
    pub command: Box<str>,
    /// What a person made of it.
    edited: OnceLock<Box<str>>,
    pub created: Stamp,
    /// Everything it writes, on a terminal.
    pub stdout: Arc<Log>,
    pub stderr: Arc<Log>,
    /// The boundary around it: that of its session or terminal.
    pub sandbox: Boundary,
    phase: watch::Sender<Phase>,
    told: Mutex<Told>,
    /// Its beginning was noted for the history.
    noted: AtomicBool,
}

/// Where an execution runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Session(SessionId),
    Terminal(TerminalId),
    /// Beside a session, in a place of its own.
    Beside {
        session: SessionId,
        host: SessionId,
    },
}

impl Place {
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Session(id) | Self::Beside { session: id, .. } => Some(id),
            Self::Terminal(_) => None,
        }
    }

    pub fn terminal(&self) -> Option<&TerminalId> {
        match self {
            Self::Session(_) | Self::Beside { .. } => None,
            Self::Terminal(id) => Some(id),
        }
    }
}

/// What calls that drain its output have been told.
#[derive(Debug, Default)]
pub struct Told {
    /// Before here.
    pub next: Next,
    /// Inputs that were taken, oldest first.
    inputs: VecDeque<(String, Input)>,
    /// What an input was is remembered as a number only: it may be a secret.
    prints: RandomState,
}

/// An input with an id, which is taken once.
#[derive(Debug, Clone)]
pub struct Input {
    print: u64,
    /// Where the reply to it began.
    pub began: Next,
    /// How much of it was written, once that is known.
    pub written: watch::Receiver<Option<Result<u64, Error>>>,
}

/// Says how much of an input was written.
pub type Teller = watch::Sender<Option<Result<u64, Error>>>;

/// What becomes of an input that came with an id.
#[derive(Debug)]
pub enum Taking {
    /// It is to be written; how that went is said here.
    Now(Teller),
    Before(Input),
}

impl Told {
    /// Inputs remembered.
    const MOST: usize = 256;

    /// Takes an input unless it was taken before. Another input of the same id is refused.
    pub fn take_input(&mut self, id: &str, input: &impl Hash) -> Result<Taking, Error> {
        let print = self.prints.hash_one(input);
        match self.inputs.iter().find(|(known, _)| known == id) {
            Some((_, before)) if before.print == print => return Ok(Taking::Before(before.clone())),
            Some(_) => {
                return Err(Error::invalid("this `input_id` was used for another input")
                    .hint("`data`, `encoding` and `close` must be the same"));
            }
            None => {}
        }
        if self.inputs.len() == Self::MOST {
            self.inputs.pop_front();
        }
        let (teller, written) = watch::channel(None);
        self.inputs.push_back((id.to_string(), Input { print, began: self.next, written }));
        Ok(Taking::Now(teller))
    }

    /// It was not taken after all.
    pub fn forget_input(&mut self, id: &str) {
        self.inputs.retain(|(known, _)| known != id);
    }
}

impl Input {
    /// Resolves when it has been written, or could not be.
    pub async fn outcome(mut self) -> Result<u64, Error> {
        let known = self.written.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        known.unwrap_or_else(|| Err(Error::internal("an input was given up")))
    }
}

/// Why a program did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Early {
    Cancelled,
    TimedOut,
    /// It met a limit.
    Limited,
}

#[derive(Debug, Clone)]
pub enum Phase {
    Queued,
    /// For a person's yes.
    Waiting {
        request: RequestId,
    },
    Running {
        since: Instant,
    },
    Done(Arc<Finished>),
    /// It never started.
    Refused(Error),
}

/// An execution's end.
#[derive(Debug)]
pub struct Finished {
    pub outcome: Outcome,
}

impl Execution {
    pub fn new(
        place: Place,
        owner: Arc<str>,
        command: &str,
        logs: (Arc<Log>, Arc<Log>),
        sandbox: Boundary,
    ) -> Arc<Self> {
        Arc::new(Self::fresh(place, owner, command, logs, sandbox))
    }

    pub(crate) fn fresh(
        place: Place,
        owner: Arc<str>,
        command: &str,
        logs: (Arc<Log>, Arc<Log>),
        sandbox: Boundary,
    ) -> Self {
        Self {
            id: ExecutionId::random(),
            place,
            owner,
            command: command.into(),
            edited: OnceLock::new(),
            created: Stamp::now(),
            stdout: logs.0,
            stderr: logs.1,
            sandbox,
            phase: watch::Sender::new(Phase::Queued),
            told: Mutex::default(),
            noted: AtomicBool::new(false),
        }
    }

    /// Under the id it had in an earlier daemon.
    pub(crate) fn known_as(mut self, id: Option<ExecutionId>) -> Arc<Self> {
        self.id = id.unwrap_or(self.id);
        Arc::new(self)
    }

    pub fn log(&self, stream: Stream) -> &Arc<Log> {
        match stream {
            Stream::Stdout | Stream::Tty => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    /// What its first stream is called.
    pub fn main_stream(&self) -> Stream {
        match self.place {
            Place::Session(_) | Place::Beside { .. } => Stream::Stdout,
            Place::Terminal(_) => Stream::Tty,
        }
    }

    pub fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.noted.load(Ordering::Relaxed)
    }

    pub(crate) fn set_noted(&self) {
        self.noted.store(true, Ordering::Relaxed);
    }

    pub fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub fn finished(&self) -> Option<Arc<Finished>> {
        match &*self.phase.borrow() {
            Phase::Done(finished) => Some(Arc::clone(finished)),
            _ => None,
        }
    }

    /// Why it will never run.
    pub fn refused(&self) -> Option<Error> {
        match &*self.phase.borrow() {
            Phase::Refused(error) => Some(error.clone()),
            _ => None,
        }
    }

    /// Resolves when it is over, or was refused.
    pub async fn wait(&self) -> Result<Arc<Finished>, Error> {
        let mut phase = self.phase.subscribe();
        loop {
            match &*phase.borrow_and_update() {
                Phase::Done(finished) => return Ok(Arc::clone(finished)),
                Phase::Refused(error) => return Err(error.clone()),
                Phase::Queued | Phase::Waiting { .. } | Phase::Running { .. } => {}
            }
            if phase.changed().await.is_err() {
                // the sender lives in self
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn start(&self, since: Instant) {
        self.phase.send_replace(Phase::Running { since });
    }

    pub(crate) fn finish(&self, outcome: Outcome) {
        self.phase.send_replace(Phase::Done(Arc::new(Finished { outcome })));
    }

    /// It will not be run: whoever waits for it hears why.
    pub(crate) fn refuse(&self, error: Error) {
        self.stdout.close();
        self.stderr.close();
        self.phase.send_replace(Phase::Refused(error));
    }

    /// A person wants something else to be run in its place.
    pub(crate) fn edit(&self, command: &str) {
        let _ = self.edited.set(command.into());
    }

    /// What is run.
    pub fn text(&self) -> &str {
        self.edited.get().unwrap_or(&self.command)
    }

    /// A person is asked before it begins.
    pub(crate) fn ask(&self, request: RequestId) {
        self.phase.send_replace(Phase::Waiting { request });
    }

    /// The request that is to be answered before it begins.
    pub fn request(&self) -> Option<RequestId> {
        match &*self.phase.borrow() {
            Phase::Waiting { request } => Some(request.clone()),
            _ => None,
        }
    }

    /// Resolves when it is over or was refused; or, with the request, when a person has to be asked.
    pub async fn wait_or_ask(&self) -> Result<Option<RequestId>, Error> {
        let mut phase = self.phase.subscribe();
        loop {
            match &*phase.borrow_and_update() {
                Phase::Done(_) => return Ok(None),
                Phase::Waiting { request } => return Ok(Some(request.clone())),
                Phase::Refused(error) => return Err(error.clone()),
                Phase::Queued | Phase::Running { .. } => {}
            }
            if phase.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Resolves when nobody is asked about it any more.
    pub async fn wait_answered(&self) {
        let mut phase = self.phase.subscribe();
        while matches!(&*phase.borrow_and_update(), Phase::Waiting { .. }) {
            if phase.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Resolves when it has started, waits for a person, is over, or was refused.
    pub async fn wait_started(&self) -> Result<(), Error> {
        let mut phase = self.phase.subscribe();
        loop {
            match &*phase.borrow_and_update() {
                Phase::Queued => {}
                Phase::Waiting { .. } | Phase::Running { .. } | Phase::Done(_) => return Ok(()),
                Phase::Refused(error) => return Err(error.clone()),
            }
            if phase.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Bytes it holds in memory.
    pub fn memory(&self) -> usize {
        self.stdout.memory() + self.stderr.memory()
    }

    pub fn info(&self) -> ExecutionInfo {
        let phase = self.phase();
        let (status, elapsed) = match &phase {
            Phase::Queued | Phase::Refused(_) => (ExecutionStatus::Queued, Duration::ZERO),
            Phase::Waiting { .. } => (ExecutionStatus::WaitingHitl, Duration::ZERO),
            Phase::Running { since } => (ExecutionStatus::Running, since.elapsed()),
            Phase::Done(f) => (ExecutionStatus::Done, Duration::from_millis(f.outcome.duration_ms)),
        };
        ExecutionInfo {
            execution_id: self.id.clone(),
            session_id: self.place.session().cloned(),
            terminal_id: self.place.terminal().cloned(),
            command: self.text().to_string(),
            status,
            created_at: self.created.rfc3339(),
            elapsed_ms: millis(elapsed),
            exit_code: self.finished().map(|f| f.outcome.exit_code),
            stdout_bytes: self.stdout.total(),
            stderr_bytes: self.stderr.total(),
        }
    }
}

impl Finished {
    /// The result with its text, as it was at the end.
    pub fn result(&self, execution: &Execution, dialect: Dialect) -> RunResult {
        let (out, err) = (execution.stdout.snapshot(), execution.stderr.snapshot());
        RunResult::new(self.outcome.clone(), &out, &err, dialect)
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
