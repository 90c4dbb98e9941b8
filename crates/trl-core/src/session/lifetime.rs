//! A session's own start and end: its processes come up, or the reason why not; they go, and nothing is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trl_proto::exec::ShellState;
use trl_proto::{Error, ErrorCode};
use trl_sys::tree::{self};

use super::body::Body;
use super::messages::{Ending, Manner};
use super::phase::{Done, EndPlan, Phase, Then};
use super::run::Run;
use super::spec::Program;
use super::stop::{Look, Stop, Why};
use super::task::Task;

/// A keeper that takes longer than this to kill everything is abandoned (and logged).
const LET_GO_LIMIT: Duration = Duration::from_secs(8);
/// A program whose keeper is killed, or whose directory is removed, this often before it is up is not tried again.
const MOST_STARTS_LOST: u8 = 3;

impl Task {
    /// Starts the program; without processes so far, also its keeper.
    pub(super) fn open(&mut self, then: Then) {
        let body = match Body::open(&self.front.engine, &self.front.session.spec) {
            Ok(body) => body,
            Err(error) => return self.start_failed_with(then, error),
        };
        self.front.session.public().limits = body.cage.as_ref().map(|cage| cage.info.clone());
        self.body = Some(body);
        match &self.front.session.spec.program {
            Program::Shell { .. } => {
                self.place_checkpoint();
                self.restart(then);
            }
            Program::Direct { .. } => self.start_direct(),
        }
    }

    pub(super) fn start_direct(&mut self) {
        let (Some(mut order), Some(body)) = (self.direct.take(), &mut self.body) else { return };
        self.front.engine.records.about_to_begin(&self.front.session, &mut order);
        let cwd = self.front.session.spec.working_dir.clone();
        let started = Run::direct(order, body).and_then(|run| {
            body.spawn(&self.front.engine, &self.front.session.spec, &cwd, crate::random::Nonce::random())?;
            Ok(run)
        });
        match started {
            Ok(run) => self.phase = Phase::Running(Box::new(run)),
            Err(e) => self.start_failed(super::body::start_error("prepare", &e)),
        }
    }

    pub(super) fn direct_is_up(&mut self) {
        let Some(mut run) = self.take_run() else { return };
        run.begun();
        if let Some(stop) = &mut run.stop {
            // cancelled before it began
            stop.hurry();
        }
        self.front.session.public().direct = Some(run.order.execution.id.clone());
        self.front.announce_session();
        self.front.announce(&mut run.order, run.started);
        self.phase = Phase::Running(run);
        self.prepare_next_keeper();
        if let Some(created) = self.created.take() {
            let _ = created.send(Ok(()));
        }
    }

    /// For the next session, once the reply has gone out.
    pub(super) fn prepare_next_keeper(&self) {
        let engine = Arc::clone(&self.front.engine);
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            engine.prepare_keeper();
        });
    }

    pub(super) fn start_failed(&mut self, error: Error) {
        if self.starts_lost < MOST_STARTS_LOST
            && matches!(self.phase, Phase::Starting { .. })
            && self.body.as_mut().is_some_and(|b| b.mend(&self.front.engine))
        {
            self.starts_lost += 1;
            return self.start_again();
        }
        let then = match std::mem::replace(&mut self.phase, Phase::Absent).into_then() {
            Ok(then) => then,
            // Whoever waits for the session refuses it, once nothing of that is left.
            Err(Phase::Running(run)) if self.created.is_none() => {
                self.front.engine.executions.refuse(&run.order.execution, error.clone());
                Then::Open
            }
            Err(_) => Then::Open,
        };
        self.report_restore(Err(error.clone()));
        self.start_failed_with(then, error);
    }

    /// A program is not up that should be.
    pub(super) fn start_again(&mut self) {
        if let Some(main) = self.body.as_mut().and_then(|b| b.main.take()) {
            tree::signal(main, Signal::KILL);
        }
        match std::mem::replace(&mut self.phase, Phase::Absent) {
            Phase::Starting { then, .. } => self.restart(then),
            other => self.phase = other,
        }
    }

    pub(super) fn start_failed_with(&mut self, then: Then, error: Error) {
        tracing::warn!(session = %self.front.session.spec.id, %error, "a shell did not start");
        if let Then::Publish(done) = then {
            self.publish_done(*done, ShellState::Ended, 0);
        }
        let reason = format!("its shell could not be started: {error}");
        self.refuse_queue(&error);
        self.plan_end(Ending::Terminated, reason.clone(), None);
        if let Some(plan) = &mut self.ending {
            plan.failure = Some(error);
        }
        self.end(Ending::Terminated, Manner::Forced, reason);
    }

    pub(super) fn refuse_queue(&mut self, error: &Error) {
        for order in self.direct.take().into_iter().chain(std::mem::take(&mut self.front.queue)) {
            self.front.engine.executions.refuse(&order.execution, error.clone());
        }
    }

    pub(super) fn plan_end(
        &mut self,
        into: Ending,
        reason: String,
        reply: Option<tokio::sync::oneshot::Sender<()>>,
    ) {
        let plan = self.ending.get_or_insert_with(|| EndPlan {
            into,
            reason,
            keeps_state: false,
            replies: Vec::new(),
            last: None,
            tell_by: None,
            failure: None,
        });
        if into == Ending::Terminated {
            plan.into = into;
        }
        plan.replies.extend(reply);
    }

    /// Ends the session; `ending` says into what.
    pub(super) fn end(&mut self, into: Ending, manner: Manner, reason: String) {
        self.plan_end(into, reason, None);
        for order in self.front.take_held(None).into_iter().chain(std::mem::take(&mut self.front.queue)) {
            self.front.publish_never_ran(&order);
        }
        match (&mut self.phase, manner) {
            (Phase::LettingGo { .. } | Phase::Over, _) => {}
            _ if self.body.is_none() => self.over(),
            (_, Manner::Forced) => self.let_go(),
            (Phase::Ending(_), Manner::Graceful) => {}
            (Phase::Running(run), Manner::Graceful) => {
                let grace = self.front.engine.settings.grace;
                match &mut run.stop {
                    Some(stop) => stop.harden(Signal::TERM, grace),
                    None => run.end_early(Stop::new(Why::Cancel, Signal::TERM, grace)),
                }
                self.look();
            }
            _ => self.go_on_ending(),
        }
    }

    /// An execution that waits for news of the shell gets its result with the session's end.
    pub(super) fn rescue_pending(&mut self) {
        let then = match std::mem::replace(&mut self.phase, Phase::Idle).into_then() {
            Ok(then) => then,
            Err(other) => {
                self.phase = other;
                return;
            }
        };
        if let Then::Publish(done) = then {
            self.publish_at_end(done);
        }
    }

    /// The same for one that still runs when there is nothing left to wait for.
    pub(super) fn rescue_running(&mut self) {
        let mut run = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Running(run) | Phase::LettingGo { run: Some(run), .. } => Some(run),
            _ => None,
        };
        if let Some(order) = run.as_mut().and_then(|run| run.order.clearance.probe_for.take()) {
            return self.front.publish_never_ran(&order);
        }
        if let (Some(mut run), Some(body)) = (run, &mut self.body) {
            let grace = self.front.engine.settings.grace;
            if run.stop.is_none() {
                run.end_early(Stop::new(Why::Cancel, Signal::KILL, grace));
            }
            run.drain(body);
            run.count_usage(body);
            self.publish_at_end(Box::new(Done { run: *run, at: Instant::now() }));
        }
    }

    /// After the last command: TERM to whatever is left, then KILL.
    pub(super) fn go_on_ending(&mut self) {
        if self.ending.is_none()
            || matches!(self.phase, Phase::LettingGo { .. } | Phase::Over | Phase::Ending(_))
        {
            return;
        }
        if self.takes_last_state() {
            return;
        }
        self.rescue_pending();
        if self.renewing.is_some() {
            // A clone ignores the signal that is about to come, so one on its way would use up the grace.
            self.forget_unheard();
        }
        if let Some(body) = &mut self.body {
            body.drop_standby();
        }
        self.phase = Phase::Ending(Stop::new(Why::Cancel, Signal::TERM, self.front.engine.settings.grace));
        self.look_ending();
    }

    pub(super) fn look_ending(&mut self) {
        let program = self.front.session.public().pid;
        let (Phase::Ending(stop), Some(body)) = (&mut self.phase, &self.body) else { return };
        let keeper = body.keeper;
        if body.has_only(program) || stop.look(|| tree::all_below(keeper, &[])) == Look::Over {
            self.let_go();
        }
    }

    /// The keeper kills what is left and ends.
    pub(super) fn let_go(&mut self) {
        self.rescue_pending();
        let Some(body) = &self.body else { return self.over() };
        self.renewing = None;
        if let Some(cage) = &body.cage {
            cage.kill(body.keeper);
        }
        body.link.let_go();
        // It may have been stopped by one of its own.
        if let Some(keeper) = tree::identify(body.keeper) {
            tree::signal(keeper, Signal::CONT);
        }
        let until = Instant::now() + LET_GO_LIMIT;
        let run = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Running(run) => Some(run),
            _ => None,
        };
        self.phase = Phase::LettingGo { until, run };
    }

    pub(super) fn keeper_gone(&mut self) {
        match &mut self.phase {
            Phase::LettingGo { .. } => self.over(),
            _ if self.ending.is_some() => self.over(),
            _ => self.keeper_lost(),
        }
    }

    /// Somebody killed the keeper. What was below it is killed by the zygote; the session starts anew.
    pub(super) fn keeper_lost(&mut self) {
        tracing::warn!(session = %self.front.session.spec.id, "a keeper was killed");
        self.starts_lost += 1;
        if self.starts_lost > MOST_STARTS_LOST {
            self.body = None;
            return self.start_failed(Error::new(
                ErrorCode::ShellStartFailed,
                "its keeper is killed again and again",
            ));
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Absent);
        let then = match (phase.into_then(), &mut self.body) {
            (Err(Phase::Running(run)), _) if run.order.clearance.probe_for.is_some() => {
                if let Some(order) = run.order.clearance.probe_for {
                    self.front.queue.push_front(*order);
                }
                Then::Replace
            }
            (Err(Phase::Running(mut run)), Some(body)) => {
                run.drain(body);
                run.count_usage(body);
                Then::Publish(Box::new(Done { run: *run, at: Instant::now() }))
            }
            (Ok(then), _) => then,
            _ => Then::Replace,
        };
        self.refuse_captures("its keeper was killed");
        let lost = Error::internal("its keeper was killed while the state was restored");
        self.report_restore(Err(lost));
        self.front.session.set_keeper(0);
        self.renewing = None;
        let direct = self.body.take().is_some_and(|body| body.shell.is_none());
        if direct {
            if let Then::Publish(done) = then {
                self.publish_done(*done, ShellState::Ended, 0);
            }
            self.plan_end(Ending::Terminated, "its keeper was killed".into(), None);
            self.over();
        } else {
            self.open(then);
        }
    }

    /// Its keeper removes its directories, whatever is in them.
    fn note_leftovers(&self) {
        let own = self.body.as_ref().map(|body| body.files.base());
        let tmp = self.front.session.spec.sandbox.here().and_then(|sandbox| sandbox.tmp_dir.as_deref());
        for dir in own.into_iter().chain(tmp).filter(|dir| dir.exists()) {
            tracing::warn!(session = %self.front.session.spec.id, dir = %dir.display(), "a directory could not be removed");
        }
    }

    /// The last step: nothing is left of it but its info.
    pub(super) fn over(&mut self) {
        self.rescue_pending();
        self.rescue_running();
        self.phase = Phase::Over;
        let mut plan = self.ending.take();
        let (into, reason) =
            plan.as_ref().map_or((Ending::Terminated, "ended".to_string()), |p| (p.into, p.reason.clone()));
        self.front.leave(into, &reason);
        if let Some(done) = plan.as_mut().and_then(|p| p.last.take()) {
            self.publish_done(*done, ShellState::Ended, 0);
        }
        self.note_leftovers();
        self.body = None;
        self.front.over(reason);
        if let (Some(created), Some(error)) =
            (self.created.take(), plan.as_mut().and_then(|p| p.failure.take()))
        {
            let _ = created.send(Err(error));
        }
        self.refuse_captures("the session ended");
        self.report_restore(Err(self.front.session.gone()));
        let Some(EndPlan { replies, .. }) = plan else { return };
        self.front.tell_over(into, replies);
    }
}
