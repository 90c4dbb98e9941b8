//! The task of one session: it alone owns the session's processes and changes its state.
//!
//! Everything is an event: a message, something readable, a moment in time. Each is handled to its end without
//! waiting for another, so the task is never deaf. The phases and what moves between them:
//!
//! ```text
//!  Absent ─▶ Starting ─▶ (Restoring) ─▶ Idle ─▶ Running ─▶ Idle ─▶ Renewing or Dumping ─▶ Idle
//!                                        ▲          │ the shell died
//!                                        └─ Promoting (the clone) or Starting (a fresh one)
//!  any ─▶ Ending (TERM, grace) ─▶ LettingGo (the keeper kills the rest) ─▶ Over
//! ```
//!
//! [`recover`](super::recover) holds the middle row's other half: renewing the rollback point and using it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::mpsc;
use trl_proto::event::Happening;
use trl_proto::exec::ShellState;
use trl_proto::session::{OnExit, SessionState};
use trl_proto::{Error, ErrorCode};
use trl_sys::link::Notice;
use trl_sys::reap::Exit;
use trl_sys::tree::{self, Proc};
use zeroize::Zeroizing;

use super::body::{Body, Standby};
use super::handle::Session;
use super::messages::{AfterInput, Cancel, End as EndMessage, Ending, Manner, Message, Order, Reply};
use super::run::{self, End, Run};
use super::spec::Program;
use super::state::{self, Request, Verdict};
use super::stop::{Look, Stop, Why};
use crate::clock::Stamp;
use crate::engine::{Counters, Engine, Seat};
use crate::shell::channel::Source;
use crate::shell::report::Report;

pub struct Task {
    pub(super) session: Arc<Session>,
    pub(super) engine: Arc<Engine>,
    inbox: mpsc::Receiver<Message>,
    pub(super) body: Option<Body>,
    pub(super) phase: Phase,
    queue: VecDeque<Order>,
    pub(super) ending: Option<EndPlan>,
    /// Whoever waits for the session to be up.
    pub(super) created: Option<Reply<()>>,
    /// The direct command, until it is started.
    direct: Option<Order>,
    /// What the shell printed while starting.
    pub(super) said: Vec<u8>,
    /// The shell was replaced while idle; the next result says so.
    pub(super) replaced: Option<ShellState>,
    /// When the rollback point is to be renewed.
    pub(super) renew_at: Option<Instant>,
    /// When the last command ended.
    last_end: Option<Instant>,
    /// A clone that is on its way; the next command may already run.
    pub(super) renewing: Option<Renewing>,
    /// Its place among the sessions the daemon may have.
    seat: Option<Seat>,
}

#[derive(Debug)]
pub(super) enum Phase {
    Absent,
    /// `reported` when the shell was faster than its keeper's word of it.
    Starting { nonce: u64, until: Instant, then: Then, reported: bool },
    Restoring { nonce: u64, until: Instant, then: Then },
    Idle,
    Running(Box<Run>),
    /// The shell is dead, its clone on the way.
    Awaiting { then: Then },
    Dumping { nonce: u64, until: Instant, text: Zeroizing<Vec<u8>>, purpose: Dump },
    Promoting { nonce: u64, until: Instant, standby: Standby, then: Then },
    Ending(Stop),
    LettingGo { until: Instant, run: Option<Box<Run>> },
    Over,
}

/// A clone that the shell was told to fork. What it is told next comes after the fork, so the clone's state is that of
/// this moment.
#[derive(Debug)]
pub(super) struct Renewing {
    pub(super) slot: usize,
    pub(super) nonce: u64,
    pub(super) until: Instant,
    /// The shell's children before, to tell the new one apart.
    pub(super) before: Vec<i32>,
    pub(super) cwd: String,
    /// Commands that had run since the previous point.
    pub(super) commands: u64,
}

/// What a shell that comes up was needed for.
#[derive(Debug)]
pub(super) enum Then {
    /// The session is new, reset, or opened again.
    Open,
    /// It replaces one that died while idle.
    Replace,
    /// It replaces one that a command ended; the command's result waits for it.
    Publish(Box<Done>),
}

/// An execution that is over but for the news of what became of the shell.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) run: Run,
    pub(super) at: Instant,
    pub(super) text: Option<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dump {
    /// The rollback point of a shell that cannot be cloned.
    Point,
    /// The shell is nested too deep and is built anew.
    Rebase,
}

#[derive(Debug)]
pub(super) struct EndPlan {
    into: Ending,
    reason: String,
    replies: Vec<tokio::sync::oneshot::Sender<()>>,
    /// The last execution, if it was the session's end: its result comes when nothing is left.
    last: Option<Box<Done>>,
    /// Why it never came up.
    failure: Option<Error>,
}

/// A keeper that takes longer than this to kill everything is abandoned (and logged).
const LET_GO_LIMIT: Duration = Duration::from_secs(8);
const INBOX: usize = 32;
/// Of what a shell prints while starting, this much is kept to explain a failure.
const MOST_SAID: usize = 16 * 1024;

/// Starts the task of a session; `created` hears when its program is up.
pub fn spawn(engine: Arc<Engine>, session: Arc<Session>, seat: Seat, start: Start) {
    let (sender, inbox) = mpsc::channel(INBOX);
    session.connect(sender);
    let (created, direct) = match start {
        Start::Now { created, direct } => (Some(created), direct),
        Start::WithFirstCommand => (None, None),
    };
    let mut task = Task {
        session,
        engine,
        inbox,
        body: None,
        phase: Phase::Absent,
        queue: VecDeque::new(),
        ending: None,
        created,
        direct,
        said: Vec::new(),
        replaced: None,
        renew_at: None,
        last_end: None,
        renewing: None,
        seat: Some(seat),
    };
    if task.created.is_none() {
        task.set_state(SessionState::Ready);
    }
    tokio::spawn(async move {
        if task.created.is_some() {
            task.open(Then::Open);
        }
        task.run().await;
    });
}

/// When a session's processes start.
#[derive(Debug)]
pub enum Start {
    Now { created: Reply<()>, direct: Option<Order> },
    /// A session that is opened again costs nothing until it is used.
    WithFirstCommand,
}

impl Task {
    async fn run(mut self) {
        while !matches!(self.phase, Phase::Over) {
            if self.has_due_work() {
                // The reply that was just made ready goes out first.
                tokio::task::yield_now().await;
                self.do_due_work();
                continue;
            }
            let wake = self.next_moment();
            let paused = self.paused_logs();
            let unread = matches!(&self.phase, Phase::Running(run) if run.unread && run.paused.is_none());
            let watch = self.body.as_ref().map(|b| &b.watch);
            let control = self.body.as_ref().and_then(|b| b.shell.as_ref()).map(|s| &s.control);
            let event = tokio::select! {
                biased;
                message = self.inbox.recv() => Event::Message(message),
                () = async { match control { Some(c) => c.wait_for_reports().await, None => std::future::pending().await } } => Event::Reported,
                tokens = async { match watch { Some(w) => w.ready().await, None => std::future::pending().await } } => Event::Ready(tokens),
                () = async { match &paused { Some((o, e)) => tokio::select! { () = o.drained() => {}, () = e.drained() => {} }, None => std::future::pending().await } } => Event::Unread,
                () = tokio::task::yield_now(), if unread => Event::Unread,
                () = sleep_until(wake) => Event::Moment,
            };
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Message(Some(message)) => self.message(message),
            // Every handle is gone: nobody can ever use this session again.
            Event::Message(None) => self.end(Ending::Terminated, Manner::Forced, "abandoned".into()),
            Event::Ready(tokens) => Source::of(&tokens).into_iter().for_each(|s| self.ready(s)),
            Event::Reported => self.take_reports(),
            Event::Unread => self.pump(),
            Event::Moment => self.moment(Instant::now()),
        }
    }

    // ---- what is readable

    fn ready(&mut self, source: Source) {
        let Some(body) = &mut self.body else { return };
        match source {
            Source::Link => {
                let heard = body.link.hear();
                heard.notices.into_iter().for_each(|n| self.notice(n));
                if heard.gone {
                    self.keeper_gone();
                }
            }
            Source::Stdout | Source::Stderr => self.pump(),
            Source::Base => {
                let bytes = body.shell.as_ref().map(|s| s.control.base_output()).unwrap_or_default();
                match &mut self.phase {
                    Phase::Running(run) => run.keep_base(&bytes),
                    Phase::Starting { .. } if self.said.len() < MOST_SAID => self.said.extend(bytes),
                    _ => {}
                }
            }
            Source::Dump => self.take_dump(),
        }
    }

    fn take_reports(&mut self) {
        let shell = self.body.as_mut().and_then(|b| b.shell.as_mut());
        let reports = shell.map(|s| s.control.reports()).unwrap_or_default();
        reports.into_iter().for_each(|r| self.report(r));
    }

    fn pump(&mut self) {
        if let (Phase::Running(run), Some(body)) = (&mut self.phase, &mut self.body) {
            run.pump(body);
        }
    }

    fn notice(&mut self, notice: Notice) {
        let Some(body) = &mut self.body else { return };
        match notice {
            Notice::Hello { keeper } => {
                body.keeper = keeper;
                self.session.set_keeper(keeper);
            }
            Notice::Started { pid } => {
                // A process that is already dead has no start time; its exit is on the way.
                body.set_main(tree::identify(pid).unwrap_or(Proc { pid, start: 0 }));
                self.session.public().pid = Some(pid);
                if body.shell.is_none() {
                    self.direct_is_up();
                } else if matches!(self.phase, Phase::Starting { reported: true, .. }) {
                    self.started();
                }
            }
            Notice::Failed { stage, errno } => {
                let error = std::io::Error::from_raw_os_error(errno);
                self.start_failed(super::body::start_error(stage.name(), &error));
            }
            Notice::Exited { pid, exit } => self.exited(pid, exit),
        }
    }

    fn exited(&mut self, pid: i32, exit: Exit) {
        let Some(body) = &mut self.body else { return };
        if body.is_main(pid) {
            body.main = None;
            self.main_died(exit);
        } else if body.shell.as_ref().and_then(|s| s.standby.as_ref()).is_some_and(|s| s.proc.pid == pid) {
            if let Some(shell) = &mut body.shell {
                shell.standby = None;
            }
            self.renew_at = Some(Instant::now());
        } else if matches!(&self.phase, Phase::Promoting { standby, .. } if standby.proc.pid == pid) {
            self.promotion_failed();
        }
    }

    fn main_died(&mut self, exit: Exit) {
        match &mut self.phase {
            Phase::Running(run) => {
                run.died = Some(exit);
                match &mut run.stop {
                    Some(stop) => stop.hurry(),
                    None => self.finish_dead(),
                }
            }
            Phase::Starting { .. } => {
                let last = self.start_output();
                self.said.extend(last);
                let said = String::from_utf8_lossy(&std::mem::take(&mut self.said)).into_owned();
                let error = Error::new(ErrorCode::ShellStartFailed, format!("the shell ended at start with code {}", exit.shell_code()))
                    .detail("stage", "start")
                    .detail("exit_code", exit.shell_code())
                    .detail("stderr", said);
                self.start_failed(error);
            }
            Phase::Restoring { .. } => self.restore_failed(),
            Phase::Idle | Phase::Dumping { .. } => self.recover(Then::Replace),
            Phase::Ending(stop) => stop.hurry(),
            Phase::Absent
            | Phase::Awaiting { .. }
            | Phase::Promoting { .. }
            | Phase::LettingGo { .. }
            | Phase::Over => {}
        }
    }

    fn start_output(&self) -> Vec<u8> {
        let shell = self.body.as_ref().and_then(|b| b.shell.as_ref());
        shell.map(|s| s.control.base_output()).unwrap_or_default()
    }

    fn report(&mut self, report: Report) {
        match (&mut self.phase, report) {
            (Phase::Running(run), Report::Ran { nonce, code, cwd }) if nonce == run.nonce => {
                run.reported = Some(code);
                self.learn_cwd(&cwd);
                if let Phase::Running(run) = &mut self.phase {
                    match &mut run.stop {
                        Some(stop) => stop.hurry(),
                        None => self.finish_reported(),
                    }
                }
            }
            (_, report) => self.shell_report(report),
        }
    }

    // ---- an execution's end

    fn take_run(&mut self) -> Option<Box<Run>> {
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
        let text = run.drain(body);
        let background = body.find_background();
        let fresh = background.iter().filter(|p| !run.older.contains(p)).map(|p| p.pid).collect();
        body.background = background;
        let Some(shell) = &mut body.shell else { return };
        shell.last_code = run.reported.filter(|c| (0..256).contains(c)).unwrap_or(0);
        shell.since_point += 1;
        let state = self.replaced.take().unwrap_or(ShellState::Kept);
        let end = End { at, shell: state, lost: 0, background: fresh, cwd: shell.cwd.clone() };
        self.publish(&run, end, text);
        if let Some(body) = &self.body {
            run::tidy(body, &run.order);
        }
        self.renew_at = Some(match self.session.spec.renewal {
            trl_proto::session::Renewal::Exact => at,
            trl_proto::session::Renewal::Idle => at + self.quiet(run.started),
        });
        self.go_on_ending();
    }

    /// How long a burst may pause without being over: some multiple of the pauses it has had, within bounds.
    fn quiet(&mut self, started: Instant) -> Duration {
        let pause = self.last_end.map_or(Duration::ZERO, |end| started.saturating_duration_since(end));
        self.last_end = Some(Instant::now());
        (pause * 4).clamp(super::recover::QUIET, super::recover::LONGEST_QUIET)
    }

    fn finish_dead(&mut self) {
        let Some(mut run) = self.take_run() else { return };
        let Some(body) = &mut self.body else { return };
        let at = Instant::now();
        let base = body.shell.as_ref().map(|s| s.control.base_output()).unwrap_or_default();
        run.keep_base(&base);
        let text = run.drain(body);
        run::tidy(body, &run.order);
        let own_exit = run.stop.is_none() && matches!(run.died, Some(Exit::Code(_)));
        let ends_session = body.shell.is_none() || (self.session.spec.on_exit == OnExit::Terminate && own_exit);
        let done = Box::new(Done { run: *run, at, text });
        if self.never_heard() && done.run.stop.is_none() && self.ending.is_none() {
            // The shell died before it read the command: the next one gets it.
            self.forget_unheard();
            self.queue.push_front(done.run.order);
            return self.recover(Then::Replace);
        }
        if ends_session || self.ending.is_some() {
            if self.ending.is_none() {
                self.plan_end(Ending::Terminated, "its command ended".into(), None);
            }
            self.publish_at_end(done);
            self.go_on_ending();
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

    fn publish_at_end(&mut self, done: Box<Done>) {
        if let Some(plan) = &mut self.ending {
            plan.last = Some(done);
        }
    }

    pub(super) fn publish_done(&mut self, done: Done, shell: ShellState, lost: u64) {
        let (background, cwd) = match &mut self.body {
            Some(body) => {
                let background = if body.main.is_some() { body.find_background() } else { Vec::new() };
                let fresh = background.iter().filter(|p| !done.run.older.contains(p)).map(|p| p.pid).collect();
                body.background = background;
                let cwd = body.shell.as_ref().map(|s| s.cwd.clone());
                (fresh, cwd.unwrap_or_else(|| self.session.spec.working_dir.clone()))
            }
            None => (Vec::new(), self.session.spec.working_dir.clone()),
        };
        let end = End { at: done.at, shell, lost, background, cwd };
        if let Some(shell) = self.body.as_mut().and_then(|b| b.shell.as_mut()) {
            let code = done.run.died.map_or(0, Exit::shell_code);
            shell.last_code = if (0..256).contains(&code) { code } else { 0 };
        }
        self.publish(&done.run, end, done.text);
    }

    fn publish(&mut self, run: &Run, end: End, text: Option<(Vec<u8>, Vec<u8>)>) {
        let outcome = run.outcome(end);
        let execution = &run.order.execution;
        let happening = Happening::ExecFinished {
            session_id: self.session.spec.id.clone(),
            execution_id: execution.id.clone(),
            exit_code: outcome.exit_code,
            timed_out: outcome.timed_out,
            cancelled: outcome.cancelled,
        };
        if outcome.timed_out {
            Counters::add(&self.engine.counters.timeouts);
        }
        {
            let mut public = self.session.public();
            public.running = None;
            if public.working_dir != outcome.working_dir {
                public.working_dir.clone_from(&outcome.working_dir);
            }
            public.last_activity = Stamp::now();
        }
        if self.queue.is_empty() && !matches!(self.phase, Phase::Over) {
            self.set_state(SessionState::Idle);
        }
        execution.finish(outcome, text);
        self.engine.executions.retire(execution);
        self.engine.events.emit(happening);
    }

    pub(super) fn set_state(&self, state: SessionState) {
        let mut public = self.session.public();
        if public.state != state {
            public.state = state;
            drop(public);
            let session_id = self.session.spec.id.clone();
            self.engine.events.emit(Happening::SessionState { session_id, state });
        }
    }

    // ---- messages

    fn message(&mut self, message: Message) {
        match message {
            Message::Run(order) => self.take_order(*order),
            Message::Cancel(cancel) => self.cancel(cancel),
            Message::Input { execution, bytes, then, reply } => self.input(&execution, bytes, then, reply),
            Message::Signal { execution, signal, reply } => self.signal(&execution, signal, reply),
            Message::Reset { reply } => self.reset(reply),
            Message::End(EndMessage { into, manner, reason, reply }) => {
                self.plan_end(into, reason.clone(), reply);
                self.end(into, manner, reason);
            }
        }
    }

    fn take_order(&mut self, order: Order) {
        let limit = self.engine.settings.max_commands_per_session;
        let taken = self.session.public().commands + self.queue.len() as u64;
        let refusal = if self.ending.is_some() {
            Some(self.session.gone())
        } else if limit > 0 && taken >= limit {
            Some(Error::new(ErrorCode::SessionLimitExceeded, format!("the session has run its {limit} commands"))
                .hint("create a new session"))
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
        while matches!(self.phase, Phase::Idle) && !self.must_renew_first() {
            let Some(order) = self.queue.pop_front() else { return };
            self.begin(order);
        }
    }

    fn begin(&mut self, order: Order) {
        let Some(body) = &mut self.body else { return };
        if !body.background.is_empty() {
            body.background = body.find_background();
        }
        match Run::begin(order, body) {
            Err((order, error)) => {
                self.engine.executions.refuse(&order.execution, error);
                if self.queue.is_empty() {
                    self.set_state(SessionState::Idle);
                }
            }
            Ok(run) => {
                self.announce(&run);
                self.phase = Phase::Running(Box::new(run));
            }
        }
    }

    fn announce(&self, run: &Run) {
        Counters::add(&self.engine.counters.commands);
        let execution = &run.order.execution;
        {
            let mut public = self.session.public();
            public.commands += 1;
            public.last_activity = Stamp::now();
            public.running = Some(Arc::clone(execution));
        }
        self.set_state(SessionState::Running);
        let session_id = self.session.spec.id.clone();
        self.engine.events.emit(Happening::ExecStarted { session_id, execution_id: execution.id.clone() });
    }

    fn cancel(&mut self, cancel: Cancel) {
        if let Some(id) = &cancel.execution
            && let Some(at) = self.queue.iter().position(|o| o.execution.id == *id)
            && let Some(order) = self.queue.remove(at)
        {
            let execution = Arc::clone(&order.execution);
            self.publish_never_ran(order);
            let _ = cancel.reply.send(Ok(execution));
            return;
        }
        let Phase::Running(run) = &mut self.phase else {
            let _ = cancel.reply.send(Err(state::Denial::NotRunning.error()));
            return;
        };
        if cancel.execution.as_ref().is_some_and(|id| *id != run.order.execution.id) {
            let _ = cancel.reply.send(Err(state::Denial::NotRunning.error()));
            return;
        }
        match &mut run.stop {
            Some(stop) => stop.harden(cancel.signal, cancel.grace),
            None => run.stop = Some(Stop::new(Why::Cancel, cancel.signal, cancel.grace)),
        }
        let _ = cancel.reply.send(Ok(Arc::clone(&run.order.execution)));
        self.look();
    }

    /// A queued command that was cancelled, or whose session ended.
    fn publish_never_ran(&mut self, order: Order) {
        let cwd = self.session.public().working_dir.clone();
        let execution = Arc::clone(&order.execution);
        execution.stdout.close();
        execution.stderr.close();
        let waited = order.received.elapsed();
        let outcome = trl_proto::exec::Outcome {
            execution_id: execution.id.clone(),
            exit_code: 130,
            signal: None,
            duration_ms: 0,
            waited_ms: crate::execution::millis(waited),
            timed_out: false,
            cancelled: true,
            stdout_bytes: 0,
            stderr_bytes: 0,
            omitted: None,
            shell_state: ShellState::Kept,
            lost_commands: None,
            background_pids: None,
            working_dir: cwd,
        };
        execution.finish(outcome, None);
        self.engine.executions.retire(&execution);
    }

    fn input(&mut self, id: &trl_proto::ExecutionId, bytes: Vec<u8>, then: AfterInput, reply: Reply<()>) {
        let run = match &mut self.phase {
            Phase::Running(run) if run.order.execution.id == *id => run,
            _ => return drop(reply.send(Err(state::Denial::NotRunning.error()))),
        };
        let Some(feeder) = run.stdin.as_mut().filter(|f| !f.is_closed()) else {
            let error = Error::invalid("the command's stdin is not open").hint("start it with open_stdin: true");
            return drop(reply.send(Err(error)));
        };
        let written = feeder.write(bytes);
        if then == AfterInput::Close {
            feeder.close();
        }
        tokio::spawn(async move {
            let ended = Error::new(ErrorCode::ExecutionNotFound, "the command ended before it read its input");
            let outcome = match written.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(e)) => Err(Error::internal(e.to_string())),
                Err(_) => Err(ended),
            };
            let _ = reply.send(outcome);
        });
    }

    fn signal(&mut self, id: &trl_proto::ExecutionId, signal: Signal, reply: Reply<u64>) {
        let (run, body) = match (&self.phase, &self.body) {
            (Phase::Running(run), Some(body)) if run.order.execution.id == *id => (run, body),
            _ => return drop(reply.send(Err(state::Denial::NotRunning.error()))),
        };
        let hit = targets(run, body).into_iter().filter(|p| tree::signal(*p, signal)).count();
        let _ = reply.send(Ok(hit as u64));
    }

    // ---- time

    fn moment(&mut self, now: Instant) {
        if let Some(body) = &mut self.body
            && !body.link.is_flushed()
            && body.link.flush().is_err()
        {
            return self.keeper_gone();
        }
        if self.renewing.as_ref().is_some_and(|r| now >= r.until) {
            self.renewal_failed();
        }
        match &mut self.phase {
            Phase::Running(run) => {
                if run.stop.is_none() && run.deadline.is_some_and(|d| now >= d) {
                    run.stop = Some(Stop::new(Why::Timeout, Signal::TERM, self.engine.settings.grace));
                }
                if run.paused.is_some_and(|until| now >= until) {
                    self.pump();
                }
                self.look();
            }
            Phase::Ending(_) => self.look_ending(),
            Phase::LettingGo { until, .. } if now >= *until => {
                tracing::error!(session = %self.session.spec.id, "a keeper did not end in time");
                self.over();
            }
            _ => self.overdue(now),
        }
    }

    /// Signals what is left of a command that is being ended.
    pub(super) fn look(&mut self) {
        let (Phase::Running(run), Some(body)) = (&mut self.phase, &self.body) else { return };
        let Some(mut stop) = run.stop.take() else { return };
        if Instant::now() < stop.look_at || self.renewing.is_some() {
            run.stop = Some(stop);
            return;
        }
        let look = stop.look(|| targets(run, body));
        let gave_up = look == Look::Over && !targets(run, body).is_empty();
        run.stop = Some(stop);
        if look == Look::Waiting {
            return;
        }
        // The signal may have reached the shell just after its report: then there is no shell to go on with.
        if run.died.is_some() {
            self.finish_dead();
        } else if run.reported.is_some() {
            self.finish_reported();
        } else if gave_up {
            run.died = Some(Exit::Signal(9));
            if let Some(body) = &mut self.body {
                body.main = None;
            }
            self.finish_dead();
        }
        // else: gone, but the keeper's word for how it ended is still on the way
    }

    fn next_moment(&self) -> Option<Instant> {
        let soon = |b: &Body| (!b.link.is_flushed()).then(|| Instant::now() + Duration::from_millis(1));
        let own = match &self.phase {
            Phase::Running(run) => {
                let stop = run.stop.as_ref().map(|s| s.look_at.max(Instant::now() + Duration::from_micros(500)));
                [stop.or(run.deadline), run.paused].into_iter().flatten().min()
            }
            Phase::Starting { until, .. }
            | Phase::Restoring { until, .. }
            | Phase::Dumping { until, .. }
            | Phase::Promoting { until, .. }
            | Phase::LettingGo { until, .. } => Some(*until),
            Phase::Ending(stop) => Some(stop.look_at),
            Phase::Idle if self.renewing.is_none() => self.renew_at,
            Phase::Idle => None,
            Phase::Absent | Phase::Awaiting { .. } | Phase::Over => None,
        };
        let renewing = self.renewing.as_ref().map(|r| r.until);
        [own, renewing, self.body.as_ref().and_then(soon)].into_iter().flatten().min()
    }

    fn paused_logs(&self) -> Option<(Arc<crate::output::Log>, Arc<crate::output::Log>)> {
        match &self.phase {
            Phase::Running(run) if run.paused.is_some() => {
                let execution = &run.order.execution;
                Some((Arc::clone(&execution.stdout), Arc::clone(&execution.stderr)))
            }
            _ => None,
        }
    }

    // ---- the session's own start and end

    /// Starts the program; without processes so far, also its keeper.
    pub(super) fn open(&mut self, then: Then) {
        let body = match Body::open(&self.engine, &self.session.spec) {
            Ok(body) => body,
            Err(error) => return self.start_failed_with(then, error),
        };
        self.body = Some(body);
        match &self.session.spec.program {
            Program::Shell { .. } => self.restart(then),
            Program::Direct { .. } => self.start_direct(),
        }
    }

    fn start_direct(&mut self) {
        let (Some(order), Some(body)) = (self.direct.take(), &mut self.body) else { return };
        let cwd = self.session.spec.working_dir.clone();
        let started = Run::direct(order, body).and_then(|run| {
            body.spawn(&self.engine, &self.session.spec, &cwd, 0)?;
            Ok(run)
        });
        match started {
            Ok(run) => self.phase = Phase::Running(Box::new(run)),
            Err(e) => self.start_failed(super::body::start_error("prepare", &e)),
        }
    }

    fn direct_is_up(&mut self) {
        let Phase::Running(run) = &self.phase else { return };
        self.session.public().direct = Some(run.order.execution.id.clone());
        self.announce(run);
        if let Some(created) = self.created.take() {
            let _ = created.send(Ok(()));
        }
    }

    pub(super) fn start_failed(&mut self, error: Error) {
        let then = match std::mem::replace(&mut self.phase, Phase::Absent) {
            Phase::Starting { then, .. }
            | Phase::Restoring { then, .. }
            | Phase::Awaiting { then }
            | Phase::Promoting { then, .. } => then,
            _ => Then::Open,
        };
        self.start_failed_with(then, error);
    }

    fn start_failed_with(&mut self, then: Then, error: Error) {
        tracing::warn!(session = %self.session.spec.id, %error, "a shell did not start");
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

    fn refuse_queue(&mut self, error: &Error) {
        for order in std::mem::take(&mut self.queue) {
            self.engine.executions.refuse(&order.execution, error.clone());
        }
    }

    fn plan_end(&mut self, into: Ending, reason: String, reply: Option<tokio::sync::oneshot::Sender<()>>) {
        let plan = self.ending.get_or_insert_with(|| EndPlan { into, reason, replies: Vec::new(), last: None, failure: None });
        if into == Ending::Terminated {
            plan.into = into;
        }
        plan.replies.extend(reply);
    }

    /// Ends the session; `ending` says into what.
    fn end(&mut self, into: Ending, manner: Manner, reason: String) {
        self.plan_end(into, reason, None);
        for order in std::mem::take(&mut self.queue) {
            self.publish_never_ran(order);
        }
        match (&mut self.phase, manner) {
            (Phase::LettingGo { .. } | Phase::Over, _) => {}
            _ if self.body.is_none() => self.over(),
            (_, Manner::Forced) => self.let_go(),
            (Phase::Ending(_), Manner::Graceful) => {}
            (Phase::Running(run), Manner::Graceful) => {
                let grace = self.engine.settings.grace;
                run.stop.get_or_insert_with(|| Stop::new(Why::Cancel, Signal::TERM, grace)).hurry();
                self.look();
            }
            _ => self.go_on_ending(),
        }
    }

    /// After the last command: TERM to whatever is left, then KILL.
    fn go_on_ending(&mut self) {
        if self.ending.is_none() || matches!(self.phase, Phase::LettingGo { .. } | Phase::Over | Phase::Ending(_)) {
            return;
        }
        self.renewing = None;
        if let Some(body) = &mut self.body {
            body.drop_standby();
        }
        self.phase = Phase::Ending(Stop::new(Why::Cancel, Signal::TERM, self.engine.settings.grace));
        self.look_ending();
    }

    fn look_ending(&mut self) {
        let (Phase::Ending(stop), Some(body)) = (&mut self.phase, &self.body) else { return };
        let keeper = body.keeper;
        if stop.look(|| tree::all_below(keeper, &[])) == Look::Over {
            self.let_go();
        }
    }

    /// The keeper kills what is left and ends.
    fn let_go(&mut self) {
        let Some(body) = &self.body else { return self.over() };
        self.renewing = None;
        body.link.let_go();
        let until = Instant::now() + LET_GO_LIMIT;
        let run = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Running(run) => Some(run),
            _ => None,
        };
        self.phase = Phase::LettingGo { until, run };
    }

    fn keeper_gone(&mut self) {
        match &mut self.phase {
            Phase::LettingGo { run, .. } => {
                if let (Some(mut run), Some(body)) = (run.take(), &mut self.body) {
                    let grace = self.engine.settings.grace;
                    run.stop.get_or_insert_with(|| Stop::new(Why::Cancel, Signal::KILL, grace));
                    let text = run.drain(body);
                    self.publish_at_end(Box::new(Done { run: *run, at: Instant::now(), text }));
                }
                self.over();
            }
            _ if self.ending.is_some() => self.over(),
            _ => self.keeper_lost(),
        }
    }

    /// Somebody killed the keeper. What was below it is killed by the zygote; the session starts anew.
    fn keeper_lost(&mut self) {
        tracing::warn!(session = %self.session.spec.id, "a keeper was killed");
        let phase = std::mem::replace(&mut self.phase, Phase::Absent);
        let then = match (phase, &mut self.body) {
            (Phase::Running(mut run), Some(body)) => {
                let text = run.drain(body);
                Then::Publish(Box::new(Done { run: *run, at: Instant::now(), text }))
            }
            (
                Phase::Starting { then, .. }
                | Phase::Restoring { then, .. }
                | Phase::Awaiting { then }
                | Phase::Promoting { then, .. },
                _,
            ) => then,
            _ => Then::Replace,
        };
        self.session.set_keeper(0);
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

    /// The last step: nothing is left of it but its info.
    fn over(&mut self) {
        self.phase = Phase::Over;
        self.session.set_keeper(0);
        let mut plan = self.ending.take();
        let (into, reason) = plan.as_ref().map_or((Ending::Terminated, "ended".to_string()), |p| (p.into, p.reason.clone()));
        let state = match into {
            Ending::Closed => SessionState::Closed,
            Ending::Terminated => SessionState::Terminated,
        };
        {
            let mut public = self.session.public();
            public.state = state;
            public.pid = None;
            public.running = None;
            public.ended = Some((reason.clone(), Instant::now()));
        }
        if let Some(done) = plan.as_mut().and_then(|p| p.last.take()) {
            self.publish_done(*done, ShellState::Ended, 0);
        }
        self.body = None;
        for order in std::mem::take(&mut self.queue) {
            self.publish_never_ran(order);
        }
        let session_id = self.session.spec.id.clone();
        self.engine.events.emit(Happening::SessionEnded { session_id, state, reason });
        self.seat = None;
        if let (Some(created), Some(error)) = (self.created.take(), plan.as_mut().and_then(|p| p.failure.take())) {
            let _ = created.send(Err(error));
        }
        for reply in plan.into_iter().flat_map(|p| p.replies) {
            let _ = reply.send(());
        }
    }
}

enum Event {
    Message(Option<Message>),
    Ready(Vec<u64>),
    Reported,
    Unread,
    Moment,
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// Everything the command started that is still alive, and the shell itself unless it has reported.
fn targets(run: &Run, body: &Body) -> Vec<Proc> {
    let spared: Vec<Proc> = run.older.iter().copied().chain(body.standby()).collect();
    let mut found = tree::all_below(body.keeper, &spared);
    if run.reported.is_some() {
        found.retain(|p| !body.is_main(p.pid));
    }
    found
}
