//! What the task is asked, and what it asks the engine for in turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::value::{RawValue, to_raw_value};
use trl_proto::exec::{CancelParams, InputParams, RunParams, SignalParams};
use trl_proto::far::{FarMethod, FarRun, OfSession};
use trl_proto::session::{SessionParams, SessionState};
use trl_proto::text::Text;
use trl_proto::{Error, ExecutionId, Method};
use trl_store::failpoint;

use super::{Asked, Early, Phase, Running, Task};
use crate::runtime::far::Far;
use crate::session::clearing::Clearing;
use crate::session::front::Taking;
use crate::session::messages::{AfterInput, Cancel, End, Ending, Manner, Message, Order, Reply, Stdin};
use crate::session::state;

impl Task {
    pub(super) fn message(&mut self, message: Message) {
        match message {
            Message::Run(order) => {
                let taking = if self.ending.is_some() { Taking::Nothing } else { Taking::Commands };
                self.front.enqueue(*order, taking);
            }
            Message::Cancel(cancel) => self.cancel(cancel),
            Message::Input { execution, bytes, then, reply } => self.input(&execution, &bytes, then, reply),
            Message::Signal { execution, signal, reply } => {
                let name = trl_sys::signal::name(signal.as_raw());
                let params = SignalParams { execution_id: execution.clone(), signal: name };
                self.pass_on(&execution, Method::ExecSignal, &params, Asked::Count(reply));
            }
            Message::Reset { reply } => self.reset(reply),
            Message::Appear { reply } => {
                self.appearing.push(reply);
                if matches!(self.phase, Phase::Absent) {
                    self.reach();
                }
            }
            Message::IsAtRest { reply } => self.look_for_rest(reply),
            Message::Asked { execution, outcome } => self.asked(&execution, outcome),
            Message::Answered { request, answer } => self.answered(&request, answer),
            Message::Capture { reply } => {
                self.captures.push(reply);
                if matches!(self.phase, Phase::Absent) {
                    self.reach();
                }
            }
            Message::Restore { checkpoint, reply } => self.restore(checkpoint, reply),
            Message::Turn(turn) => self.front.turn(turn),
            Message::End(End { into, manner, reason, reply }) => {
                self.plan_end(into, reason.clone());
                let keeps = self.front.session.is_recorded()
                    && into == Ending::Closed
                    && manner == Manner::Graceful
                    && self.front.engine.settings.checkpoints.on_close;
                if let Some(plan) = &mut self.ending {
                    plan.replies.extend(reply);
                    plan.keeps_state |= keeps;
                }
                self.end(into, manner == Manner::Forced, reason);
            }
        }
    }

    /// After every event: the next thing, if it is time for one.
    pub(super) fn go_on(&mut self) {
        if matches!(self.phase, Phase::Absent) && !self.front.queue.is_empty() {
            self.reach();
        }
        if !matches!(self.phase, Phase::Absent | Phase::Reaching(_) | Phase::Creating { .. } | Phase::Over) {
            self.appearing.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
        }
        while matches!(self.phase, Phase::Idle) && self.front.held.is_none() {
            if self.ending.is_some() {
                return self.go_on_ending();
            }
            if self.from.is_some() {
                return self.give_state();
            }
            if !self.captures.is_empty() {
                return self.take_state(super::Why::Asked);
            }
            if self.keep_at.is_some_and(|at| at <= Instant::now()) {
                return self.take_state(super::Why::Interval);
            }
            let Some(order) = self.front.queue.pop_front() else { return self.keep_ahead() };
            self.weigh(order);
        }
    }

    pub(super) fn run_there(&mut self, mut order: Order) {
        self.hear(&order);
        let params = FarRun { execution_id: order.execution.id.clone(), run: self.run_params(&order) };
        self.front.engine.records.about_to_begin(&self.front.session, &mut order);
        failpoint("exec.marked");
        let call = self.ask(FarMethod::Run.name(), &params);
        self.phase = Phase::Running(Box::new(Running::new(order, call)));
    }

    fn run_params(&self, order: &Order) -> RunParams {
        let (stdin, open_stdin) = match &order.stdin {
            Stdin::Null => (None, None),
            Stdin::Bytes(bytes) => (Some(bytes), None),
            Stdin::Open(bytes) => (Some(bytes), Some(true)),
        };
        let text = stdin.map(|bytes| Text::exact(bytes));
        let own = |env: &BTreeMap<String, String>| (!env.is_empty()).then(|| env.clone());
        RunParams {
            session_id: Some(self.front.session.spec.id.clone()),
            command: order.execution.text().into(),
            timeout_s: Some(order.timeout.as_secs_f64()),
            stdin_encoding: text.as_ref().map(|text| text.encoding),
            stdin: text.map(|text| text.data.into_owned()),
            open_stdin,
            env: own(&order.around.env),
            working_dir: order.around.working_dir.clone(),
            ..RunParams::default()
        }
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        let held = self.front.take_held(cancel.execution.as_ref());
        let runs = matches!(self.phase, Phase::Running(_) | Phase::Probing { .. });
        let queued = || self.front.take_meant(cancel.execution.as_ref(), runs);
        if let Some(order) = held.or_else(queued) {
            self.front.publish_never_ran(&order);
            self.settle_down();
            return drop(cancel.reply.send(Ok(order.execution)));
        }
        if let Some(order) =
            self.direct.as_ref().filter(|order| cancel.execution.as_ref() == Some(&order.execution.id))
        {
            let execution = Arc::clone(&order.execution);
            self.end(Ending::Terminated, true, "cancelled before it began".into());
            return drop(cancel.reply.send(Ok(execution)));
        }
        if let Phase::Probing { order, .. } = &self.phase
            && cancel.execution.as_ref().is_none_or(|id| *id == order.execution.id)
        {
            return self.give_up_probe(cancel);
        }
        let run = match &mut self.phase {
            Phase::Running(run)
                if cancel.execution.as_ref().is_none_or(|id| *id == run.order.execution.id) =>
            {
                run
            }
            _ => return drop(cancel.reply.send(Err(state::Denial::NotRunning.error()))),
        };
        // Whoever waits for the end is not to wait for a slow follower as well.
        run.paused = None;
        if !run.known {
            return run.early.push(Early::Cancel(cancel));
        }
        let execution = Arc::clone(&run.order.execution);
        if let Some(far) = &self.far {
            forward_cancel(far, &execution.id, &cancel);
        }
        let _ = cancel.reply.send(Ok(execution));
    }

    fn input(&mut self, id: &ExecutionId, bytes: &[u8], then: AfterInput, reply: Reply<()>) {
        self.heard.stdin(bytes);
        let text = Text::exact(bytes);
        let params = InputParams {
            encoding: Some(text.encoding),
            data: Some(text.data.into_owned()),
            close: (then == AfterInput::Close).then_some(true),
            ..InputParams::to(id.clone())
        };
        self.pass_on(id, Method::ExecInput, &params, Asked::Done(reply));
    }

    /// What is about the running command is for the engine.
    fn pass_on(&mut self, id: &ExecutionId, method: Method, params: &impl serde::Serialize, asked: Asked) {
        let early = match &mut self.phase {
            Phase::Running(run) if run.order.execution.id == *id && !run.known => Some(&mut run.early),
            // Its session is being made for it.
            _ if self.direct.as_ref().is_some_and(|order| order.execution.id == *id) => Some(&mut self.early),
            _ => None,
        };
        if let Some(early) = early {
            return match to_raw_value(params) {
                Ok(params) => early.push(Early::Call { method: method.name(), params, asked }),
                Err(error) => asked.answer(Err(Error::internal(error.to_string()))),
            };
        }
        match &self.phase {
            Phase::Running(run) if run.order.execution.id == *id => {
                let call = self.ask(method.name(), params);
                self.asked.insert(call, asked);
            }
            _ => asked.answer(Err(state::Denial::NotRunning.error())),
        }
    }

    fn reset(&mut self, reply: Reply<()>) {
        match self.phase {
            // Its next shell is a fresh one.
            Phase::Absent => {
                self.from = None;
                let _ = reply.send(Ok(()));
            }
            Phase::Idle => {
                let session_id = self.front.session.spec.id.clone();
                let call = self.ask(Method::SessionReset.name(), &SessionParams { session_id });
                self.phase = Phase::Resetting { call, reply };
            }
            _ => drop(reply.send(Err(state::Denial::Busy.error()))),
        }
    }

    pub(super) fn was_reset(&mut self, outcome: Result<Box<RawValue>, Error>) {
        let Phase::Resetting { reply, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        if let Ok(said) = &outcome
            && let Ok(info) = serde_json::from_str::<trl_proto::session::SessionInfo>(said.get())
        {
            let mut public = self.front.session.public();
            public.working_dir = info.working_dir;
            public.pid = info.pid;
        }
        if outcome.is_ok() {
            self.front.set_state(SessionState::Ready);
        }
        let _ = reply.send(outcome.map(drop));
    }

    fn look_for_rest(&mut self, reply: tokio::sync::oneshot::Sender<bool>) {
        match self.phase {
            Phase::Absent => drop(reply.send(true)),
            Phase::Idle => {
                let of = OfSession { session_id: self.front.session.spec.id.clone() };
                let call = self.ask(FarMethod::AtRest.name(), &of);
                self.asked.insert(call, Asked::AtRest(reply));
            }
            _ => drop(reply.send(false)),
        }
    }
}

/// Goes before everything else on the link; nobody waits for the answer, since the end of the command says it all.
pub(super) fn forward_cancel(far: &Arc<Far>, execution: &ExecutionId, cancel: &Cancel) {
    let params = CancelParams {
        execution_id: Some(execution.clone()),
        signal: Some(trl_sys::signal::name(cancel.signal.as_raw())),
        grace_s: Some(cancel.grace.as_secs_f64()),
        ..CancelParams::default()
    };
    send_cancel(far, params);
}

/// Because its session ends.
pub(super) fn end_there(far: &Arc<Far>, execution: &ExecutionId) {
    send_cancel(far, CancelParams { execution_id: Some(execution.clone()), ..CancelParams::default() });
}

fn send_cancel(far: &Arc<Far>, params: CancelParams) {
    let far = Arc::clone(far);
    tokio::spawn(async move {
        let _ = far.calls.call::<serde_json::Value>(Method::ExecCancel.name(), &params).await;
    });
}
