//! An execution's end: draining it, saying how it ended, going on from there.
//!
//! A result is published once everything it says is true: after the shell has reported, or after the one that replaces it
//! is up, or, when a session with a shell ends with it, after nothing of the session is left. That of a direct command does
//! not wait for what the command left behind: its end may take the whole grace, and says nothing about the command.

use std::time::{Duration, Instant};

use trl_proto::exec::ShellState;
use trl_proto::session::{OnExit, SessionState};
use trl_sys::reap::Exit;

use super::messages::Ending;
use super::phase::{Done, Phase, Then};
use super::run::{self, End, Run};
use super::task::Task;

/// How often a command is handed to the next shell because one died without reading it.
pub(super) const MOST_TRIES: u8 = 3;
/// A direct command that leaves nothing behind is told of once its session is over, which takes the keeper a millisecond:
/// whoever starts another finds its place free. A keeper with much to remove is not waited for.
const SOON_OVER: Duration = Duration::from_millis(50);

impl Task {
    pub(super) fn take_run(&mut self) -> Option<Box<Run>> {
        self.front.busy = None;
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(run) => Some(run),
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// Its shell has reported; while a clone is on its way it could be taken for a process the command left.
    pub(super) fn finish_reported(&mut self) {
        if self.renewing.is_some() {
            return;
        }
        let Some(mut run) = self.take_run() else { return };
        let Some(body) = &mut self.body else { return };
        let at = Instant::now();
        if body.shell.as_ref().is_some_and(|s| s.kind.speaks_on_base()) {
            run.take_base(body);
        }
        run.drain(body);
        if let Some(order) = run.order.clearance.probe_for.take() {
            run::tidy(body, &run.order);
            return self.probed(&run.order.execution, run.stop.is_some(), *order);
        }
        run.count_usage(body);
        let background = body.find_background();
        let fresh = background.iter().filter(|p| !run.older.contains(p)).map(|p| p.pid).collect();
        body.background = background;
        let Some(shell) = &mut body.shell else { return };
        shell.last_code = run.reported.filter(|c| (0..256).contains(c)).unwrap_or(0);
        shell.since_point += 1;
        let cwd = shell.cwd.clone();
        self.note_change();
        let (state, lost) = self.replaced.take().unwrap_or((ShellState::Kept, 0));
        let end = End { at, shell: state, lost, background: fresh, cwd };
        self.publish(&run, end);
        if let Some(body) = &mut self.body {
            run::tidy(body, &run.order);
        }
        self.renew_at = Some(match self.front.session.spec.renewal {
            trl_proto::session::Renewal::Exact => at,
            trl_proto::session::Renewal::Idle => at + self.quiet(run.started),
        });
        self.go_on_ending();
    }

    /// How long a burst may pause without being over: some multiple of the pauses it has had, within bounds.
    pub(super) fn quiet(&mut self, started: Instant) -> Duration {
        let pause = self.last_end.map_or(Duration::ZERO, |end| started.saturating_duration_since(end));
        self.last_end = Some(Instant::now());
        (pause * 4).clamp(super::recover::QUIET, super::recover::LONGEST_QUIET)
    }

    pub(super) fn finish_dead(&mut self) {
        let Some(mut run) = self.take_run() else { return };
        if let Some(order) = run.order.clearance.probe_for.take() {
            return self.died_of_probe(&run, *order);
        }
        if self.never_heard()
            && !run.touched
            && run.stop.is_none()
            && self.ending.is_none()
            && run.order.tries < MOST_TRIES
        {
            // The shell died before it read the command: the next one gets it.
            self.forget_unheard();
            run.order.tries += 1;
            self.front.queue.push_front(run.order);
            return self.recover(Then::Replace);
        }
        let Some(body) = &mut self.body else { return };
        let at = Instant::now();
        run.take_base(body);
        run.drain(body);
        run.count_usage(body);
        run::tidy(body, &run.order);
        let own_exit = run.stop.is_none() && matches!(run.died, Some(Exit::Code(_)));
        let ends_session =
            body.shell.is_none() || (self.front.session.spec.on_exit == OnExit::Terminate && own_exit);
        // What was ended on request or for a limit has left nothing behind.
        let alone = body.shell.is_none() && run.stop.is_none() && self.ending.is_none();
        let done = Box::new(Done { run: *run, at });
        let last_state = self.ending.is_some() && !ends_session && self.may_have_last_state();
        if ends_session || (self.ending.is_some() && !last_state) {
            if self.ending.is_none() {
                self.plan_end(Ending::Terminated, "its command ended".into(), None);
            }
            self.publish_at_end(done);
            self.go_on_ending();
            match (&self.phase, &mut self.ending) {
                (Phase::Ending(_), Some(_)) if alone => self.publish_early(),
                (Phase::LettingGo { .. }, Some(plan)) if alone => plan.tell_by = Some(at + SOON_OVER),
                _ => {}
            }
        } else {
            self.recover(Then::Publish(done));
        }
    }

    pub(super) fn never_heard(&self) -> bool {
        let shell = self.body.as_ref().and_then(|b| b.shell.as_ref());
        shell.is_some_and(|s| s.control.is_unheard(s.slot))
    }

    /// Nobody will act on what the dead shell did not read, a clone it was to fork included.
    pub(super) fn forget_unheard(&mut self) {
        if let Some(shell) = self.body.as_ref().and_then(|b| b.shell.as_ref()) {
            shell.control.forget(shell.slot);
        }
        if self.renewing.take().is_some()
            && let Some(body) = &mut self.body
        {
            body.kill_strays();
        }
    }

    pub(super) fn publish_at_end(&mut self, done: Box<Done>) {
        if let Some(plan) = &mut self.ending {
            plan.last = Some(done);
        }
    }

    /// Its session is on its way out, but nobody has to wait for that.
    pub(super) fn publish_early(&mut self) {
        let last = self.ending.as_mut().and_then(|plan| {
            plan.tell_by = None;
            plan.last.take()
        });
        if let Some(done) = last {
            self.publish_done(*done, ShellState::Ended, 0);
        }
    }

    pub(super) fn publish_done(&mut self, done: Done, shell: ShellState, lost: u64) {
        let (background, cwd) = match &mut self.body {
            Some(body) => {
                let background = if body.main.is_some() { body.find_background() } else { Vec::new() };
                let fresh =
                    background.iter().filter(|p| !done.run.older.contains(p)).map(|p| p.pid).collect();
                body.background = background;
                let cwd = body.shell.as_ref().map(|s| s.cwd.clone());
                (fresh, cwd.unwrap_or_else(|| self.front.session.spec.working_dir.clone()))
            }
            None => (Vec::new(), self.front.session.spec.working_dir.clone()),
        };
        let end = End { at: done.at, shell, lost, background, cwd };
        if let Some(shell) = self.body.as_mut().and_then(|b| b.shell.as_mut()) {
            let code = done.run.died.map_or(0, Exit::shell_code);
            shell.last_code = if (0..256).contains(&code) { code } else { 0 };
        }
        self.publish(&done.run, end);
    }

    pub(super) fn publish(&mut self, run: &Run, end: End) {
        let mut outcome = run.outcome(end);
        if let Some(sandbox) = self.front.session.spec.sandbox.here() {
            outcome.sandbox = sandbox.report();
            outcome.denied = run.denied(sandbox, &outcome);
        }
        let rests =
            self.front.queue.is_empty() && self.ending.is_none() && !matches!(self.phase, Phase::Over);
        self.front.publish(&run.order, outcome, rests.then_some(SessionState::Idle));
    }
}
