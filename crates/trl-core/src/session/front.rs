//! The part of a session's task that is the same wherever its processes are: what is shown of it, what is written down,
//! which commands stand in line.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::sync::oneshot;
use trl_proto::event::Happening;
use trl_proto::exec::{Outcome, ShellState};
use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode, ExecutionId};
use trl_store::{Durability, failpoint};

use super::clearing::Held;
use super::handle::{Public, Session, TurnShown};
use super::messages::{Ending, Order, Turn};
use super::state::{self, Request, Verdict};
use crate::clock::Stamp;
use crate::diagnostics;
use crate::engine::{Counters, Engine};
use crate::manager::Standing;
use crate::seats::Seat;

pub(crate) struct Front {
    pub(crate) session: Arc<Session>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) queue: VecDeque<Order>,
    /// The command that waits for a person; those behind it stand in line.
    pub(crate) held: Option<Held>,
    /// A request of it is on record, and so is the session.
    pub(crate) on_record: bool,
    /// Held while a command runs.
    pub(crate) busy: Option<Seat>,
    /// Since when the next command would not have had to wait for one before it.
    pub(crate) free_since: Option<Instant>,
    /// Its place among the sessions the daemon may have.
    pub(crate) seat: Option<Seat>,
}

/// Whether a session takes commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taking {
    Commands,
    /// It is on its way out.
    Nothing,
}

impl Front {
    pub(crate) fn new(engine: Arc<Engine>, session: Arc<Session>, seat: Seat) -> Self {
        let (queue, held, on_record) = (VecDeque::new(), None, false);
        Self { session, engine, queue, held, on_record, busy: None, free_since: None, seat: Some(seat) }
    }

    // ---- standing in line

    /// Takes a command, or refuses it.
    pub(crate) fn enqueue(&mut self, order: Order, taking: Taking) {
        match self.refusal(&order, taking) {
            Some(error) => self.engine.executions.refuse(&order.execution, error),
            None => {
                self.set_state(SessionState::Running);
                self.queue.push_back(order);
            }
        }
    }

    fn refusal(&self, order: &Order, taking: Taking) -> Option<Error> {
        let limit = self.engine.settings.max_commands_per_session;
        let taken = self.session.public().commands + self.queue.len() as u64;
        if taking == Taking::Nothing {
            Some(self.session.gone())
        } else if limit > 0 && taken >= limit {
            let message = format!("the session has run its {limit} commands");
            Some(Error::new(ErrorCode::SessionLimitExceeded, message).hint("create a new session"))
        } else if self.queue.len() >= self.engine.settings.max_queue {
            Some(Error::new(ErrorCode::SessionBusy, "the session's queue is full"))
        } else {
            // The agent's own commands are part of its message.
            let state = match order.clearance.standing {
                Standing::Outside => self.session.state(),
                Standing::Agent => self.session.public().state,
            };
            match state::decide(state, Request::Run(order.busy)) {
                Verdict::Deny(denial) => Some(denial.error()),
                Verdict::Accept | Verdict::Later | Verdict::Already => None,
            }
        }
    }

    /// One that stands in line, taken out of it.
    fn take_queued(&mut self, id: &ExecutionId) -> Option<Order> {
        let at = self.queue.iter().position(|order| order.execution.id == *id)?;
        self.queue.remove(at)
    }

    /// The one in line that somebody means who names it; or, while nothing `runs`, the next.
    pub(crate) fn take_meant(&mut self, id: Option<&ExecutionId>, runs: bool) -> Option<Order> {
        match id {
            Some(id) => self.take_queued(id),
            None if runs => None,
            None => self.queue.pop_front(),
        }
    }

    /// A command that was cancelled before it began, or whose session ended.
    pub(crate) fn publish_never_ran(&self, order: &Order) {
        let cwd = self.session.public().working_dir.clone();
        order.never_ran(&self.engine, cwd);
    }

    pub(crate) fn refuse_all(&mut self, error: &Error) {
        for order in std::mem::take(&mut self.queue) {
            self.engine.executions.refuse(&order.execution, error.clone());
        }
    }

    // ---- running

    /// It runs.
    pub(crate) fn announce(&mut self, order: &mut Order, started: Instant) {
        self.busy = self.engine.count_running();
        Counters::add(&self.engine.counters.commands);
        let execution = Arc::clone(&order.execution);
        {
            let mut public = self.session.public();
            public.commands += 1;
            public.last_activity = Stamp::now();
            public.running = Some(Arc::clone(&execution));
        }
        self.set_state(SessionState::Running);
        self.note_start(order, started);
        let session_id = Some(self.session.spec.told_as().clone());
        self.tell(Happening::ExecStarted {
            session_id,
            terminal_id: None,
            execution_id: execution.id.clone(),
        });
    }

    /// For the history, the figures and the log.
    fn note_start(&self, order: &mut Order, started: Instant) {
        self.engine.records.began(order);
        diagnostics::execution_start(&self.session.spec.id, &order.execution.id);
        if order.clearance.request.is_none() {
            let since = self.free_since.map_or(order.received, |free| free.max(order.received));
            let took = started.saturating_duration_since(since).as_micros();
            let counters = &self.engine.counters;
            counters.build_us.fetch_add(u64::try_from(took).unwrap_or(u64::MAX), Ordering::Relaxed);
            Counters::add(&counters.builds);
        }
    }

    /// It is over; `then` is how the session stands, where that changes.
    pub(crate) fn publish(&mut self, order: &Order, outcome: Outcome, then: Option<SessionState>) {
        let execution = &order.execution;
        let happening = Happening::ExecFinished {
            session_id: Some(self.session.spec.told_as().clone()),
            terminal_id: None,
            execution_id: execution.id.clone(),
            exit_code: outcome.exit_code,
            timed_out: outcome.timed_out,
            cancelled: outcome.cancelled,
        };
        self.busy = None;
        self.engine.counters.note_end(&outcome);
        if let Some(request) = &order.clearance.request {
            self.engine.desk.ran(request);
        }
        {
            let mut public = self.session.public();
            public.running = None;
            public.last_execution = Some(execution.id.clone());
            if public.working_dir != outcome.working_dir {
                public.working_dir.clone_from(&outcome.working_dir);
            }
            public.last_activity = Stamp::now();
        }
        if let Some(state) = then {
            self.set_state(state);
        }
        self.free_since = Some(Instant::now());
        failpoint("exec.ended");
        self.note_end(order, &outcome);
        execution.finish(outcome);
        self.engine.executions.retire(execution);
        self.tell(happening);
        failpoint("exec.told");
    }

    /// For the history and the log.
    fn note_end(&self, order: &Order, outcome: &Outcome) {
        self.engine.records.ended(&self.session, order, outcome);
        let status = match outcome {
            Outcome { cancelled: true, .. } => "cancelled",
            Outcome { timed_out: true, .. } => "timed_out",
            Outcome { exit_code: 0, .. } => "ok",
            _ => "failed",
        };
        let (session, execution) = (&self.session.spec.id, &outcome.execution_id);
        diagnostics::execution_end(session, execution, outcome.duration_ms, status);
    }

    // ---- its own life

    /// It is resident.
    pub(crate) fn note_ready(&self) {
        let spec = &self.session.spec;
        diagnostics::session_ready(&spec.id, spec.case_id());
        self.engine.records.session(&self.session);
        failpoint("session.ready");
    }

    /// Its program is up for the first time.
    pub(crate) fn announce_session(&self) {
        let (session_id, shell) = (self.session.spec.id.clone(), self.session.spec.program_name());
        self.tell_own(Happening::SessionCreated { session_id, shell });
    }

    pub(crate) fn shell_replaced(&self, shell_state: ShellState) {
        let counters = &self.engine.counters;
        Counters::add(match shell_state {
            ShellState::RolledBack => &counters.rollbacks,
            _ => &counters.resets,
        });
        let session_id = self.session.spec.id.clone();
        let happening = Happening::ShellReplaced { session_id, shell_state };
        self.engine.events.emit(&self.session.spec.owner, happening);
    }

    pub(crate) fn set_state(&self, state: SessionState) {
        self.show(|public| public.state = state);
    }

    /// Tells of the state when it is another one than before.
    fn show(&self, change: impl FnOnce(&mut Public)) {
        let mut public = self.session.public();
        let before = public.shown();
        change(&mut public);
        let state = public.shown();
        drop(public);
        if state != before {
            let session_id = self.session.spec.id.clone();
            self.tell_own(Happening::SessionState { session_id, state });
        }
    }

    /// What its agent does, as far as the session is busy with that.
    pub(crate) fn turn(&self, turn: Turn) {
        match turn {
            Turn::Begin { message, reply } => {
                let begun = match state::decide(self.session.state(), Request::Send) {
                    Verdict::Deny(denial) => Err(self.busy_with(denial.error())),
                    Verdict::Accept | Verdict::Later | Verdict::Already => {
                        self.session.public().last_activity = Stamp::now();
                        self.show(|public| public.turn = Some(TurnShown { message, waits: Vec::new() }));
                        Ok(())
                    }
                };
                let _ = reply.send(begun);
            }
            Turn::Waits(requests) => self.show(|public| {
                if let Some(turn) = &mut public.turn {
                    turn.waits = requests;
                }
            }),
            Turn::End { reply } => {
                self.show(|public| {
                    public.turn = None;
                    public.last_activity = Stamp::now();
                    // It has done something, if not with its shell.
                    if public.state == SessionState::Ready {
                        public.state = SessionState::Idle;
                    }
                });
                let _ = reply.send(());
            }
        }
    }

    fn busy_with(&self, error: Error) -> Error {
        match &self.session.public().turn {
            Some(turn) => error.detail("message_id", turn.message.to_string()),
            None => error,
        }
    }

    /// To everybody, unless it is an agent's own process: that is told of by its messages.
    fn tell(&self, happening: Happening) {
        if !self.session.spec.is_agent() {
            self.engine.events.emit(&self.session.spec.owner, happening);
        }
    }

    /// The same, of a session that is one of its own.
    fn tell_own(&self, happening: Happening) {
        if self.session.spec.beside.is_none() {
            self.engine.events.emit(&self.session.spec.owner, happening);
        }
    }

    /// What is shown from here on, while the rest of it goes.
    pub(crate) fn leave(&self, into: Ending, reason: &str) {
        self.session.set_keeper(0);
        let mut public = self.session.public();
        public.state = match into {
            Ending::Closed => SessionState::Closed,
            Ending::Terminated => SessionState::Terminated,
        };
        public.pid = None;
        public.running = None;
        public.ended = Some((reason.into(), Instant::now()));
    }

    /// Nothing of it is left but its info.
    pub(crate) fn over(&mut self, reason: String) {
        self.session.spec.secrets.forget();
        for order in self.take_held(None).into_iter().chain(std::mem::take(&mut self.queue)) {
            self.publish_never_ran(&order);
        }
        self.engine.records.session_changed(&self.session, Durability::Durable);
        failpoint("session.ended");
        let (session_id, state) = (self.session.spec.id.clone(), self.session.state());
        self.tell_own(Happening::SessionEnded { session_id, state, reason });
        self.seat = None;
    }

    /// Tells who waits for the end, once what is kept of it is on disk, or gone from there.
    pub(crate) fn tell_over(&self, into: Ending, replies: Vec<oneshot::Sender<()>>) {
        let (session, engine) = (Arc::clone(&self.session), Arc::clone(&self.engine));
        tokio::spawn(async move {
            session.saved().await;
            if into == Ending::Terminated {
                engine.forget_checkpoints(&session).await;
            }
            for reply in replies {
                let _ = reply.send(());
            }
        });
    }
}
