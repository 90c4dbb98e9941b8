//! Clearing commands of a shell that is here: how it is asked what names stand for. The rest is [`clearing`](super::clearing).

use std::path::Path;
use std::time::{Duration, Instant};

use trl_proto::Error;
use trl_proto::hitl::Executable;

use super::clearing::Clearing;
use super::finish::MOST_TRIES;
use super::front::Front;
use super::messages::{Clearance, Order, Stdin};
use super::phase::{Phase, Then};
use super::run::Run;
use super::state::WhenBusy;
use super::task::Task;
use crate::approval::{pin, probe};
use crate::execution::Execution;
use crate::shell::Kind;

/// A shell that takes longer to say what a name stands for has something in its way.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// What a probe may print; more is not an answer.
const PROBE_BYTES: usize = 256 * 1024;

impl Clearing for Task {
    fn front(&mut self) -> &mut Front {
        &mut self.front
    }

    fn seen(&self) -> &Front {
        &self.front
    }

    fn shell_kind(&self) -> Option<Kind> {
        self.body.as_ref().and_then(|b| b.shell.as_ref()).map(|s| s.kind)
    }

    fn is_free(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Absent) && self.ending.is_none()
    }

    fn begin(&mut self, order: Order) {
        Task::begin(self, order);
    }

    fn look_up(&mut self, order: Order, names: &[String]) {
        self.send_probe(order, names);
    }

    fn keep_before_asking(&mut self) {
        Task::keep_before_asking(self);
    }

    fn try_next(&mut self) {
        Task::try_next(self);
    }

    fn directory_of(&self, order: &Order) -> Option<Executable> {
        order.around.working_dir.as_ref().map(|dir| pin::directory(dir).0)
    }
}

impl Task {
    /// A run of our own that nobody sees.
    fn send_probe(&mut self, order: Order, names: &[String]) {
        let Some(body) = &mut self.body else { return };
        let Some(kind) = body.shell.as_ref().map(|s| s.kind) else { return };
        let logs = (self.front.engine.log(Some(PROBE_BYTES)), self.front.engine.log(Some(PROBE_BYTES)));
        let execution = self.front.session.spec.execution(&probe::text(kind, names), logs);
        let probe = Order {
            execution,
            around: order.around.clone(),
            stdin: Stdin::Null,
            timeout: PROBE_LIMIT,
            busy: WhenBusy::Refuse,
            received: Instant::now(),
            tries: order.tries,
            clearance: Clearance { probe_for: Some(Box::new(order)), ..Clearance::default() },
            beginning: None,
        };
        match Run::begin(probe, body) {
            Ok(run) => {
                self.front.busy = self.front.engine.count_running();
                self.phase = Phase::Running(Box::new(run));
            }
            Err(refused) => {
                let (probe, error) = *refused;
                if let Some(order) = probe.clearance.probe_for {
                    self.refuse_order(&order, error);
                }
            }
        }
    }

    /// The shell has answered, or died of the question.
    pub(super) fn probed(&mut self, probe: &Execution, cancelled: bool, mut order: Order) {
        if cancelled || self.ending.is_some() {
            self.front.publish_never_ran(&order);
            self.settle_down();
            return if self.ending.is_some() { self.go_on_ending() } else { self.try_next() };
        }
        if let (Some(lookup), Some(kind)) = (order.clearance.lookup.take(), self.shell_kind()) {
            let found = self.read_probe(kind, &lookup.names, probe, &order);
            let _ = lookup.reply.send(Ok(found));
            self.settle_down();
            return self.try_next();
        }
        let (Some(judgement), Some(kind)) = (&order.clearance.judgement, self.shell_kind()) else {
            return self.refuse_order(&order, Error::internal("the command was not judged"));
        };
        let found = self.read_probe(kind, &judgement.names, probe, &order);
        self.settle(order, &found);
        self.try_next();
    }

    fn read_probe(&self, kind: Kind, names: &[String], probe: &Execution, order: &Order) -> probe::Found {
        let spec = &self.front.session.spec;
        let start = probe::Start { env: &spec.env, around: &order.around.env, secrets: &spec.secrets };
        probe::read(kind, names, &probe.stdout.snapshot(), Path::new(&self.place_of(order)), &start)
    }

    /// The shell is gone: the next one is asked about a command it never saw.
    pub(super) fn died_of_probe(&mut self, probe: &Run, mut order: Order) {
        if probe.stop.is_some() || self.ending.is_some() || order.tries >= MOST_TRIES {
            self.front.publish_never_ran(&order);
        } else {
            order.tries += 1;
            self.front.queue.push_front(order);
        }
        match self.ending {
            Some(_) => self.go_on_ending(),
            None => self.recover(Then::Replace),
        }
    }
}
