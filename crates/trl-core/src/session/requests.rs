//! What a session's task is asked: running, cancelling, feeding and signalling commands.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::process::Signal;
use trl_proto::event::Happening;
use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode};
use trl_store::failpoint;
use trl_sys::tree::{self};

use super::messages::{AfterInput, Cancel, End as EndMessage, Ending, Manner, Message, Order, Reply};
use super::phase::{Phase, Then};
use super::run::Run;
use super::state::{self, Request, Verdict};
use super::stop::{Stop, Why};
use super::task::Task;
use crate::clock::Stamp;
use crate::diagnostics;
use crate::engine::Counters;

/// Input that may wait for a command that does not read it.
const MOST_WAITING_INPUT: usize = 16 << 20;

impl Task {
    pub(super) fn message(&mut self, message: Message) {
        match message {
            Message::Run(order) => self.take_order(*order),
            Message::Cancel(cancel) => self.cancel(cancel),
            Message::Input { execution, bytes, then, reply } => self.input(&execution, bytes, then, reply),
            Message::Signal { execution, signal, reply } => self.signal(&execution, signal, reply),
            Message::Reset { reply } => self.reset(reply),
            Message::IsAtRest { reply } => drop(reply.send(self.is_at_rest())),
            Message::Asked { execution, outcome } => self.asked(&execution, outcome),
            Message::Answered { request, answer } => self.answered(&request, answer),
            Message::Capture { reply } => self.capture(reply),
            Message::Restore { checkpoint, reply } => self.restore(checkpoint, reply),
            Message::End(EndMessage { into, manner, reason, reply }) => {
                self.plan_end(into, reason.clone(), reply);
                let recorded = self.session.is_recorded();
                let keeps = recorded && into == Ending::Closed && manner == Manner::Graceful;
                if let (true, Some(plan)) =
                    (keeps && self.engine.settings.checkpoints.on_close, &mut self.ending)
                {
                    plan.keeps_state = true;
                }
                self.end(into, manner, reason);
            }
        }
    }

    pub(super) fn take_order(&mut self, order: Order) {
        let limit = self.engine.settings.max_commands_per_session;
        let taken = self.session.public().commands + self.queue.len() as u64;
        let refusal = if self.ending.is_some() {
            Some(self.session.gone())
        } else if limit > 0 && taken >= limit {
            Some(
                Error::new(
                    ErrorCode::SessionLimitExceeded,
                    format!("the session has run its {limit} commands"),
                )
                .hint("create a new session"),
            )
        } else if self.queue.len() >= self.engine.settings.max_queue {
            Some(Error::new(ErrorCode::SessionBusy, "the session's queue is full"))
        } else {
            match state::decide(self.session.state(), Request::Run(order.busy)) {
                Verdict::Deny(denial) => Some(denial.error()),
                Verdict::Accept | Verdict::Later | Verdict::Already => None,
            }
        };
        if let Some(error) = refusal {
            return self.engine.executions.refuse(&order.execution, error);
        }
        self.set_state(SessionState::Running);
        self.queue.push_back(order);
        self.try_next();
    }

    /// Starts the next command if the shell is ready for it.
    pub(super) fn try_next(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if matches!(self.phase, Phase::Absent) && !self.queue.is_empty() {
            self.open(Then::Open);
        }
        while matches!(self.phase, Phase::Idle) && self.held.is_none() && !self.must_renew_first() {
            if self.is_restore_due() {
                return self.begin_restore();
            }
            if self.is_capture_due() {
                return self.take_due_state();
            }
            let Some(order) = self.queue.pop_front() else { return };
            self.weigh(order);
        }
    }

    fn is_at_rest(&mut self) -> bool {
        let quiet = matches!(self.phase, Phase::Idle | Phase::Absent) && self.queue.is_empty();
        quiet
            && self.held.is_none()
            && self.body.as_mut().is_none_or(|body| body.find_background().is_empty())
    }

    pub(super) fn begin(&mut self, mut order: Order) {
        self.hear(&order);
        let Some(body) = &mut self.body else { return };
        if !body.background.is_empty() {
            body.background = body.find_background();
        }
        self.engine.records.about_to_begin(&self.session, &mut order);
        failpoint("exec.marked");
        match Run::begin(order, body) {
            Err(refused) => {
                let (mut order, error) = *refused;
                if order.tries == 0 && body.mend(&self.engine) {
                    order.tries += 1;
                    return self.queue.push_front(order);
                }
                self.refuse_order(&order, error);
            }
            Ok(mut run) => {
                failpoint("exec.begun");
                self.busy = self.engine.count_running();
                self.announce(&mut run);
                self.phase = Phase::Running(Box::new(run));
            }
        }
    }

    pub(super) fn announce(&self, run: &mut Run) {
        Counters::add(&self.engine.counters.commands);
        let execution = Arc::clone(&run.order.execution);
        {
            let mut public = self.session.public();
            public.commands += 1;
            public.last_activity = Stamp::now();
            public.running = Some(Arc::clone(&execution));
        }
        self.set_state(SessionState::Running);
        self.note_start(run);
        let session_id = Some(self.session.spec.id.clone());
        self.engine.events.emit(
            &self.session.spec.owner,
            Happening::ExecStarted { session_id, terminal_id: None, execution_id: execution.id.clone() },
        );
    }

    /// For the history, the figures and the log.
    fn note_start(&self, run: &mut Run) {
        self.engine.records.began(&mut run.order);
        let Run { order, started, .. } = run;
        diagnostics::execution_start(&self.session.spec.id, &order.execution.id);
        if order.clearance.request.is_none() {
            let since = self.free_since.map_or(order.received, |free| free.max(order.received));
            let took = started.saturating_duration_since(since).as_micros();
            let counters = &self.engine.counters;
            counters.build_us.fetch_add(u64::try_from(took).unwrap_or(u64::MAX), Ordering::Relaxed);
            Counters::add(&counters.builds);
        }
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        if let Some(order) = self.take_held(cancel.execution.as_ref()) {
            let execution = Arc::clone(&order.execution);
            self.publish_never_ran(order);
            self.settle_down();
            let _ = cancel.reply.send(Ok(execution));
            return self.try_next();
        }
        if let Some(id) = &cancel.execution
            && let Some(at) = self.queue.iter().position(|o| o.execution.id == *id)
            && let Some(order) = self.queue.remove(at)
        {
            let execution = Arc::clone(&order.execution);
            self.publish_never_ran(order);
            let publishes = matches!(self.phase.then(), Some(Then::Publish(_)));
            if self.queue.is_empty() && !publishes && !matches!(self.phase, Phase::Running(_)) {
                self.set_state(SessionState::Idle);
            }
            let _ = cancel.reply.send(Ok(execution));
            return;
        }
        let Phase::Running(run) = &mut self.phase else {
            let _ = cancel.reply.send(Err(state::Denial::NotRunning.error()));
            return;
        };
        let meant = run.order.meant();
        if cancel.execution.as_ref().is_some_and(|id| *id != meant.id) {
            let _ = cancel.reply.send(Err(state::Denial::NotRunning.error()));
            return;
        }
        let meant = Arc::clone(meant);
        match &mut run.stop {
            Some(stop) => stop.harden(cancel.signal, cancel.grace),
            None => run.end_early(Stop::new(Why::Cancel, cancel.signal, cancel.grace)),
        }
        let _ = cancel.reply.send(Ok(meant));
        self.look();
    }

    /// A queued command that was cancelled, or whose session ended.
    pub(super) fn publish_never_ran(&mut self, order: Order) {
        let cwd = self.session.public().working_dir.clone();
        order.never_ran(&self.engine, cwd);
    }

    pub(super) fn input(
        &mut self,
        id: &trl_proto::ExecutionId,
        bytes: Vec<u8>,
        then: AfterInput,
        reply: Reply<()>,
    ) {
        let run = match &mut self.phase {
            Phase::Running(run) if run.order.execution.id == *id => run,
            _ => return drop(reply.send(Err(state::Denial::NotRunning.error()))),
        };
        let Some(feeder) = run.stdin.as_mut().filter(|f| !f.is_closed()) else {
            let error =
                Error::invalid("the command's stdin is not open").hint("start it with open_stdin: true");
            return drop(reply.send(Err(error)));
        };
        if feeder.waiting() > MOST_WAITING_INPUT {
            let error = Error::new(ErrorCode::LimitExceeded, "the command does not read its input")
                .hint("wait until it has read what was sent before");
            return drop(reply.send(Err(error)));
        }
        self.heard.stdin(&bytes);
        let written = feeder.write(bytes);
        run.touched = true;
        if then == AfterInput::Close {
            feeder.close();
        }
        tokio::spawn(async move {
            let ended =
                Error::new(ErrorCode::ExecutionNotFound, "the command ended before it read its input");
            let outcome = match written.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(e)) => Err(Error::internal(e.to_string())),
                Err(_) => Err(ended),
            };
            let _ = reply.send(outcome);
        });
    }

    pub(super) fn signal(&mut self, id: &trl_proto::ExecutionId, signal: Signal, reply: Reply<u64>) {
        let (run, body) = match (&mut self.phase, &self.body) {
            (Phase::Running(run), Some(body)) if run.order.execution.id == *id => (run, body),
            _ => return drop(reply.send(Err(state::Denial::NotRunning.error()))),
        };
        run.touched = true;
        let hit = super::task::all_targets(run, body).into_iter().filter(|p| tree::signal(*p, signal)).count();
        let _ = reply.send(Ok(hit as u64));
    }
}
