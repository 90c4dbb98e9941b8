//! Clearing commands that run elsewhere: judged here, with what the shell there says of their names. One that is not cleared
//! never leaves this daemon.

use serde_json::value::RawValue;
use trl_proto::Error;
use trl_proto::far::{FarMethod, ProbeParams, Probed};

use super::{Phase, Task, Why};
use crate::approval::probe::Found;
use crate::runtime::talk;
use crate::session::capture::MOST_AHEAD;
use crate::session::clearing::Clearing;
use crate::session::front::Front;
use crate::session::messages::{Cancel, Order};
use crate::shell::Kind;

impl Clearing for Task {
    fn front(&mut self) -> &mut Front {
        &mut self.front
    }

    fn seen(&self) -> &Front {
        &self.front
    }

    fn shell_kind(&self) -> Option<Kind> {
        self.front.session.spec.shell()
    }

    fn is_free(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Absent) && self.ending.is_none()
    }

    fn begin(&mut self, order: Order) {
        self.run_there(order);
    }

    /// Between this and the command nothing else can run in that shell: only this task speaks to it.
    fn look_up(&mut self, order: Order, names: &[String]) {
        let params = ProbeParams {
            session_id: self.front.session.spec.id.clone(),
            names: names.to_vec(),
            env: order.around.env.clone(),
            working_dir: order.around.working_dir.clone(),
        };
        let call = self.ask(FarMethod::Probe.name(), &params);
        self.phase = Phase::Probing { call, order: Box::new(order) };
    }

    fn keep_before_asking(&mut self) {
        self.ahead = MOST_AHEAD;
        let at = self.front.session.public().commands;
        let saved = self.front.session.public().saved.clone().filter(|(_, commands)| *commands == at);
        match saved {
            _ if !self.keeps_on_disk() => self.put_question(None),
            Some((id, _)) if self.taken_at == at => self.put_question(Some(id)),
            _ => self.take_state(Why::Approval),
        }
    }

    /// It is looked for after every event.
    fn try_next(&mut self) {}
}

impl Task {
    pub(super) fn looked_up(&mut self, outcome: Result<Box<RawValue>, Error>) {
        let Phase::Probing { order, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        if self.ending.is_some() {
            return self.front.publish_never_ran(&order);
        }
        match outcome.and_then(|said| talk::read::<Probed>(&said)) {
            Ok(Probed { intercepted, executables }) => {
                self.settle(*order, &Found { intercepted, executables })
            }
            Err(error) => self.refuse_order(&order, error),
        }
    }

    /// Nothing has begun: what the shell says of its names is of no interest any more.
    pub(super) fn give_up_probe(&mut self, cancel: Cancel) {
        let Phase::Probing { order, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        self.front.publish_never_ran(&order);
        self.settle_down();
        let _ = cancel.reply.send(Ok(order.execution));
    }

    pub(super) fn put_question(&mut self, kept: Option<trl_proto::CheckpointId>) {
        let shell = self.shell_kind().unwrap_or(Kind::Dash);
        self.front.put_question(shell, async { Ok(kept) });
    }
}
