//! What a session's task is asked: running, cancelling, feeding and signalling commands.

use std::sync::Arc;

use rustix::process::Signal;
use trl_proto::session::SessionState;
use trl_proto::{Error, ErrorCode};
use trl_store::failpoint;
use trl_sys::tree::{self};

use super::clearing::Clearing;
use super::front::Taking;
use super::messages::{AfterInput, Cancel, End as EndMessage, Ending, Manner, Message, Order, Reply};
use super::phase::{Phase, Then};
use super::run::Run;
use super::state::{self};
use super::stop::{Stop, Why};
use super::task::Task;

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
            // Its files are on this machine.
            Message::Appear { reply } => drop(reply.send(Ok(()))),
            Message::IsAtRest { reply } => drop(reply.send(self.is_at_rest())),
            Message::Asked { execution, outcome } => self.asked(&execution, outcome),
            Message::Answered { request, answer } => self.answered(&request, answer),
            Message::Capture { reply } => self.capture(reply),
            Message::Restore { checkpoint, reply } => self.restore(checkpoint, reply),
            Message::Turn(turn) => self.front.turn(turn),
            Message::End(EndMessage { into, manner, reason, reply }) => {
                self.plan_end(into, reason.clone(), reply);
                let recorded = self.front.session.is_recorded();
                let keeps = recorded && into == Ending::Closed && manner == Manner::Graceful;
                if let (true, Some(plan)) =
                    (keeps && self.front.engine.settings.checkpoints.on_close, &mut self.ending)
                {
                    plan.keeps_state = true;
                }
                self.end(into, manner, reason);
            }
        }
    }

    fn take_order(&mut self, order: Order) {
        let taking = if self.ending.is_some() { Taking::Nothing } else { Taking::Commands };
        self.front.enqueue(order, taking);
        self.try_next();
    }

    /// Starts the next command if the shell is ready for it.
    pub(super) fn try_next(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if matches!(self.phase, Phase::Absent) && !self.front.queue.is_empty() {
            self.open(Then::Open);
        }
        while matches!(self.phase, Phase::Idle) && self.front.held.is_none() && !self.must_renew_first() {
            if self.is_restore_due() {
                return self.begin_restore();
            }
            if self.is_capture_due() {
                return self.take_due_state();
            }
            let Some(order) = self.front.queue.pop_front() else { return };
            self.weigh(order);
        }
    }

    fn is_at_rest(&mut self) -> bool {
        let quiet = matches!(self.phase, Phase::Idle | Phase::Absent) && self.front.queue.is_empty();
        quiet
            && self.front.held.is_none()
            && self.body.as_mut().is_none_or(|body| body.find_background().is_empty())
    }

    pub(super) fn begin(&mut self, mut order: Order) {
        self.hear(&order);
        let Some(body) = &mut self.body else { return };
        if !body.background.is_empty() {
            body.background = body.find_background();
        }
        self.front.engine.records.about_to_begin(&self.front.session, &mut order);
        failpoint("exec.marked");
        match Run::begin(order, body) {
            Err(refused) => {
                let (mut order, error) = *refused;
                if order.tries == 0 && body.mend(&self.front.engine) {
                    order.tries += 1;
                    return self.front.queue.push_front(order);
                }
                self.refuse_order(&order, error);
            }
            Ok(mut run) => {
                failpoint("exec.begun");
                self.front.announce(&mut run.order, run.started);
                self.phase = Phase::Running(Box::new(run));
            }
        }
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        if let Some(order) = self.front.take_held(cancel.execution.as_ref()) {
            let execution = Arc::clone(&order.execution);
            self.front.publish_never_ran(&order);
            self.settle_down();
            let _ = cancel.reply.send(Ok(execution));
            return self.try_next();
        }
        let runs = matches!(self.phase, Phase::Running(_));
        if let Some(order) = self.front.take_meant(cancel.execution.as_ref(), runs) {
            let execution = Arc::clone(&order.execution);
            self.front.publish_never_ran(&order);
            let publishes = matches!(self.phase.then(), Some(Then::Publish(_)));
            if self.front.queue.is_empty() && !publishes && !runs {
                self.front.set_state(SessionState::Idle);
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
        let hit = tree::signal_all(|| super::task::all_targets(run, body), signal);
        let _ = reply.send(Ok(hit as u64));
    }
}
