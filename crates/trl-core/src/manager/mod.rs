//! All sessions of one daemon: finding them, making them within limits, ending them.
//!
//! - here: sessions. - [`executions`]: running commands and asking about them; [`start`]: fresh processes as well.
//! - [`beside`]: programs beside a session's shell, and its agent. - [`checkpoints`]: a session's state, kept and given back.
//! - [`terminals`]: the same for terminals. - [`cases`]: what their cases say.
//! - [`runtimes`]: the places they live in. - [`gateway`]: what a gateway asks of an engine behind a link.
//! - [`recall`]: sessions of earlier daemons; [`history`]: what was run.
//! - [`origin`]: whose process a client is.
//! - [`housekeeping`]: what time does to them, and how the daemon ends.

mod approval;
mod beside;
mod cases;
mod checkpoints;
mod executions;
mod gateway;
mod history;
mod housekeeping;
mod idempotency;
mod origin;
mod pressure;
mod recall;
mod runtimes;
mod start;
mod terminals;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{oneshot, watch};
use trl_proto::exec::Approval;
use trl_proto::session::{CreateParams, ListParams, SessionState};
use trl_proto::{CheckpointId, Error, ErrorCode, RequestId, SessionId, TerminalId, one_line};
use trl_store::Durability;

pub use self::approval::Write;
use self::approval::{Gate, Later};
pub use self::beside::{Aside, What};
pub use self::cases::CaseWish;
pub use self::executions::{Caller, Judging, Standing, checked_output_bytes, parse_signal};
use self::idempotency::Keys;
pub use self::origin::{Doubt, Origin};
use self::pressure::Pressure;
pub use self::runtimes::Leaving;
use crate::approval::Rules;
use crate::checkpoint::Checkpoint;
use crate::diagnostics;
use crate::engine::{Counters, Engine};
use crate::limits::asked::Widening;
use crate::seats::{Seat, Seats};
use crate::session;
use crate::session::handle::{Keeping, Session};
use crate::session::messages::{End, Ending, Manner, Message, Order, Stdin};
use crate::session::spec::{Elsewhere, Program, Secrets, Spec, checked_env};
use crate::session::state::{self, Request, Verdict};
use crate::session::task::Start;
use crate::terminal::Terminal;

pub struct Manager {
    pub engine: Arc<Engine>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    terminals: Mutex<HashMap<TerminalId, Arc<Terminal>>>,
    seats: Seats,
    keys: Keys,
    pressure: Pressure,
    shutting_down: AtomicBool,
    /// The sessions of earlier daemons are known.
    recalled: watch::Sender<bool>,
    pruned: Mutex<Pruned>,
}

/// What came of making a session.
#[derive(Debug)]
pub enum Created {
    Up(Arc<Session>),
    /// When a person has said yes.
    Later {
        session: SessionId,
        request: RequestId,
    },
}

/// When history was last looked through for what is too old.
#[derive(Debug)]
struct Pruned {
    at: Instant,
    /// Writes there were then.
    written: u64,
    /// It is being done.
    busy: Arc<AtomicBool>,
}

impl Manager {
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        let max_sessions = engine.settings.max_sessions.min(engine.shares.sessions);
        if max_sessions < engine.settings.max_sessions {
            tracing::warn!(
                max_sessions,
                "fewer sessions than configured: the open-files limit allows no more"
            );
        }
        let pressure = Pressure::new(engine.settings.min_free_memory_bytes);
        let keys = Keys::kept_in(engine.store.clone());
        let recalled = watch::Sender::new(engine.store.is_none());
        let pruned = Pruned { at: Instant::now(), written: 0, busy: Arc::default() };
        Arc::new(Self {
            recalled,
            pruned: Mutex::new(pruned),
            engine,
            sessions: Mutex::default(),
            terminals: Mutex::default(),
            seats: Seats::new(max_sessions),
            keys,
            pressure,
            shutting_down: AtomicBool::new(false),
        })
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn terminals(&self) -> MutexGuard<'_, HashMap<TerminalId, Arc<Terminal>>> {
        self.terminals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn max_sessions(&self) -> usize {
        self.seats.limit()
    }

    /// Sessions and terminals that have a place: all but closed and ended ones.
    pub fn active(&self) -> usize {
        self.seats.taken()
    }

    /// The one place where a session gets its seat, whoever wants it and however.
    fn admit(&self, caller: &Caller) -> Result<Seat, Error> {
        if self.shutting_down.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorCode::ShuttingDown, "the daemon is ending"));
        }
        self.pressure.check()?;
        self.check_own(caller)?;
        self.seats.take_below(caller.max_sessions).ok_or_else(|| {
            let most = caller.max_sessions.min(self.seats.limit());
            let setting = if most < self.seats.limit() { "agent.max_sessions" } else { "sessions.max" };
            Error::new(ErrorCode::MaxSessionsReached, format!("there are {most} sessions, the most allowed"))
                .hint(format!("destroy one, or raise {setting} in the config"))
                .detail("max_sessions", most)
        })
    }

    /// Its own live sessions, counted only for those who may not have as many as there are places.
    fn check_own(&self, caller: &Caller) -> Result<(), Error> {
        let most = caller.max_own_sessions;
        let gone = [SessionState::Uninitialized, SessionState::Closed, SessionState::Terminated];
        let lives = |s: &Arc<Session>| !gone.contains(&s.state());
        let own = |s: &&Arc<Session>| s.spec.owner == caller.name && s.spec.beside.is_none() && lives(s);
        let terminals =
            || self.terminals().values().filter(|t| t.spec.owner == caller.name && !t.is_over()).count();
        if most < self.seats.limit() && self.sessions().values().filter(own).count() + terminals() >= most {
            let message = format!("this token has {most} sessions, the most it may have");
            return Err(Error::new(ErrorCode::MaxSessionsReached, message)
                .hint("destroy one, or use a token with a higher ceiling")
                .detail("max_sessions", most));
        }
        Ok(())
    }

    /// Who made a session, as long as there is a record of it.
    pub fn owner_of(&self, id: &SessionId) -> Option<Arc<str>> {
        self.sessions().get(id).map(|session| Arc::clone(&session.spec.owner))
    }

    /// Starts a session; returns when its program is up, or when a person has been asked. A failure leaves nothing.
    pub async fn create(self: &Arc<Self>, params: CreateParams, caller: &Caller) -> Result<Created, Error> {
        let (given, mode) = (self.given_by(&params)?, params.approval.unwrap_or_default());
        let spec = self.resolve(params, caller).await?;
        let later = match self.gate_session(&spec, &given, mode, caller).await? {
            Gate::Open => return Ok(Created::Up(self.create_as(spec, caller, Keeping::Recorded).await?)),
            Gate::Later(later) => later,
        };
        if mode != Approval::Return {
            return Ok(Created::Up(self.create_later(spec, later, caller).await?));
        }
        let (session, request) = (spec.id.clone(), later.request.clone());
        let (manager, caller) = (Arc::clone(self), caller.clone());
        tokio::spawn(async move {
            if let Err(error) = manager.create_later(spec, later, &caller).await {
                tracing::info!(%error, "a session that was asked for is not made");
            }
        });
        Ok(Created::Later { session, request })
    }

    async fn create_later(&self, spec: Spec, later: Later, caller: &Caller) -> Result<Arc<Session>, Error> {
        let request = later.request.clone();
        if let Err(error) = later.wait(&spec.pin).await {
            self.engine.desk.ran(&request);
            return Err(error);
        }
        let created = self.create_as(spec, caller, Keeping::Recorded).await;
        self.engine.desk.ran(&request);
        created
    }

    async fn create_as(&self, spec: Spec, caller: &Caller, keeping: Keeping) -> Result<Arc<Session>, Error> {
        let (direct, keeping) = match &spec.program {
            Program::Shell { .. } => (None, keeping),
            Program::Direct { argv, .. } => {
                let logs = (self.engine.log(None), self.engine.log(None));
                let execution = spec.execution(&argv.join(" "), logs);
                let order = Order::direct(execution, Stdin::Open(Vec::new()), spec.timeout);
                (Some(order), Keeping::Passing)
            }
        };
        self.bring_up(spec, direct, caller, keeping).await
    }

    /// A direct command is the one execution of its session.
    async fn bring_up(
        &self,
        spec: Spec,
        direct: Option<Order>,
        caller: &Caller,
        keeping: Keeping,
    ) -> Result<Arc<Session>, Error> {
        let spec = spec.within_settings(&self.engine.settings, caller.widening)?;
        let seat = self.admit(caller)?;
        let rules = match caller.judging {
            Judging::ByRules => Some(Rules::watched(&self.engine.book, spec.case.as_ref())),
            Judging::Exempt => None,
        };
        let session = Session::new(spec, rules, keeping);
        let id = session.spec.id.clone();
        let execution = direct.as_ref().map(|order| Arc::clone(&order.execution));
        self.enlist(&session, caller)?;
        if let Some(execution) = execution.as_ref().filter(|_| !session.spec.is_agent()) {
            self.engine.executions.add(execution);
        }
        let (created, up) = oneshot::channel();
        session::spawn(Arc::clone(&self.engine), Arc::clone(&session), seat, Start::Now { created, direct });
        let outcome = up.await.unwrap_or_else(|_| Err(Error::internal("the session's task ended")));
        if let Err(error) = outcome {
            self.sessions().remove(&id);
            if let Some(execution) = &execution {
                self.engine.executions.refuse(execution, error.clone());
            }
            return Err(error);
        }
        self.engine.residents.settle(&id, session.spec.case.clone());
        Counters::add(&self.engine.counters.sessions);
        Ok(session)
    }

    /// Adds a session, or opens it in place of its record. Refused while a live session that the caller can see has its name:
    /// people and programs find sessions by that.
    fn enlist(&self, session: &Arc<Session>, caller: &Caller) -> Result<(), Error> {
        let spec = &session.spec;
        let mut sessions = self.sessions();
        if let Some(name) = &spec.name {
            let is_seen =
                |other: &Session| other.spec.owner == spec.owner || caller.widening == Widening::Allowed;
            let has_it = |other: &&Arc<Session>| {
                other.spec.id != spec.id
                    && other.spec.name.as_ref() == Some(name)
                    && is_seen(other)
                    && other.is_live()
            };
            if let Some(other) = sessions.values().find(has_it) {
                let id = &other.spec.id;
                return Err(Error::invalid(format!("a live session is called `{}`: {id}", one_line(name)))
                    .hint("use that one, end it first, or choose another name")
                    .detail("named_session_id", id.as_str()));
            }
        }
        sessions.insert(spec.id.clone(), Arc::clone(session));
        Ok(())
    }

    pub fn find(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.sessions().get(id).cloned().ok_or_else(|| {
            Error::new(ErrorCode::SessionNotFound, format!("no session {id}")).hint("see session.list")
        })
    }

    /// Oldest first.
    pub fn list(&self, filter: &ListParams) -> Vec<Arc<Session>> {
        let wanted = |session: &Arc<Session>| {
            let state = session.state();
            let state_fits = match filter.state {
                None => true,
                Some(SessionState::Idle) => matches!(state, SessionState::Idle | SessionState::Ready),
                Some(wanted) => state == wanted,
            };
            let case_fits = filter.case_id.is_none() || filter.case_id.as_deref() == session.spec.case_id();
            let workspace_fits =
                filter.workspace_id.is_none() || filter.workspace_id == session.spec.workspace;
            let name_fits = filter.name.is_none() || session.spec.name == filter.name;
            let place_fits = filter.runtime.as_ref().is_none_or(|name| name == session.spec.runtime_name());
            let fits = session.spec.beside.is_none()
                && state_fits
                && case_fits
                && workspace_fits
                && name_fits
                && place_fits;
            fits && filter.label.as_deref().is_none_or(|l| has_label(&session.spec.labels, l))
        };
        let mut found: Vec<_> = self.sessions().values().filter(|s| wanted(s)).cloned().collect();
        found.sort_by_key(|s| s.created.monotonic);
        found
    }

    /// Opens a closed session: a fresh shell with its first command, in the state the last one had, or a certain one.
    pub async fn open(
        &self,
        id: &SessionId,
        secrets: Option<BTreeMap<String, String>>,
        caller: &Caller,
        wanted: Option<&CheckpointId>,
    ) -> Result<Arc<Session>, Error> {
        loop {
            let old = self.find(id)?;
            let from = match state::decide(old.state(), Request::Open) {
                Verdict::Accept => self.last_state(&old, wanted).await,
                Verdict::Deny(_) | Verdict::Already | Verdict::Later => None,
            };
            // Meanwhile it may have been opened, and closed again in another state.
            if Arc::ptr_eq(&old, &self.find(id)?) {
                return self.open_from(&old, secrets, caller, from);
            }
        }
    }

    fn open_from(
        &self,
        old: &Arc<Session>,
        secrets: Option<BTreeMap<String, String>>,
        caller: &Caller,
        from: Option<Box<Checkpoint>>,
    ) -> Result<Arc<Session>, Error> {
        let id = &old.spec.id;
        match state::decide(old.state(), Request::Open) {
            Verdict::Deny(denial) => return Err(denial.error()),
            Verdict::Already | Verdict::Later => return Ok(Arc::clone(old)),
            Verdict::Accept => {}
        }
        if matches!(old.spec.program, Program::Direct { .. }) {
            return Err(
                Error::invalid("a direct command cannot be opened again").hint("create a new session")
            );
        }
        if old.lacks_case() {
            return Err(case_missing(old));
        }
        let case = self.case_of(id)?;
        let mut secrets = checked_env(secrets.unwrap_or_default())?;
        let inherited = case.as_ref().map(|case| case.inherited_secrets(&self.engine.inherited));
        for (name, value) in inherited.unwrap_or_default() {
            secrets.entry(name).or_insert(value);
        }
        let missing: Vec<&str> =
            old.spec.secrets.names().map(String::as_str).filter(|n| !secrets.contains_key(*n)).collect();
        if !missing.is_empty() {
            let message = format!("the session needs secrets: {}", missing.join(", "));
            return Err(Error::new(ErrorCode::SecretsRequired, message)
                .hint("secrets are not kept when a session closes: give them again as `secret_env`")
                .detail("names", missing));
        }
        let elsewhere = match &old.spec.origin.runtime {
            None => None,
            Some(name) => {
                let is_apart = old.spec.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.is_apart);
                Some(Elsewhere { runtime: self.engine.runtimes.find(name)?, is_apart })
            }
        };
        let boundary = old.boundary(&self.engine)?;
        let seat = self.admit(caller)?;
        let session = old.reopened(Secrets::new(secrets), boundary, elsewhere);
        if let Some(from) = &from {
            checkpoints::expect(&session, from);
        }
        self.enlist(&session, caller)?;
        if let Some(why) = case.as_ref().and_then(|case| case.fallback.as_deref()) {
            diagnostics::fell_back(id.as_str(), why);
        }
        session::spawn(
            Arc::clone(&self.engine),
            Arc::clone(&session),
            seat,
            Start::WithFirstCommand { from },
        );
        Ok(session)
    }

    /// Ends a session; returns when nothing of it is left.
    pub async fn end(
        &self,
        session: &Session,
        into: Ending,
        manner: Manner,
        reason: &str,
    ) -> Result<(), Error> {
        let request = if into == Ending::Closed { Request::Close } else { Request::Destroy };
        match state::decide(session.state(), request) {
            Verdict::Deny(denial) => return Err(denial.error()),
            Verdict::Already | Verdict::Later => return Ok(()),
            Verdict::Accept => {}
        }
        let (done, over) = oneshot::channel();
        let message = Message::End(End { into, manner, reason: reason.into(), reply: Some(done) });
        if session.send(message).await.is_err() {
            // It has no processes: only its record is left to be marked.
            if session.mark(into, reason) {
                self.engine.records.session_changed(session, Durability::Durable);
                if into == Ending::Terminated {
                    self.engine.forget_checkpoints(session).await;
                }
            }
            return Ok(());
        }
        let _ = over.await;
        self.end_besides(&session.spec.id).await;
        Ok(())
    }

    pub async fn reset(&self, session: &Session) -> Result<(), Error> {
        match state::decide(session.state(), Request::Reset) {
            Verdict::Deny(denial) => return Err(denial.error()),
            Verdict::Accept | Verdict::Already | Verdict::Later => {}
        }
        let (reply, done) = oneshot::channel();
        session.send(Message::Reset { reply }).await?;
        done.await.unwrap_or_else(|_| Err(session.gone()))
    }
}

/// Without a case a session would have other rules.
fn case_missing(session: &Session) -> Error {
    let case = session.spec.origin.case_id.clone().unwrap_or_default();
    Error::new(ErrorCode::CaseNotFound, format!("the session's case {case} cannot be read"))
        .hint("restore the case file, or correct the default case, then try again")
        .detail("case_id", case)
}

fn has_label(labels: &BTreeMap<String, String>, wanted: &str) -> bool {
    match wanted.split_once('=') {
        Some((key, value)) => labels.get(key).is_some_and(|v| v == value),
        None => labels.contains_key(wanted),
    }
}
