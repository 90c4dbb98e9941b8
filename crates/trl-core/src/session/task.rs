//! The task of one session: it alone owns the session's processes and changes its state.
//!
//! Everything is an event: a message, something readable, a moment in time. Each is handled to its end without
//! waiting for another, so the task is never deaf. The phases and what moves between them:
//!
//! ```text
//!  Absent ─▶ Starting ─▶ (Restoring) ─▶ Idle ─▶ Running ─▶ Idle (─▶ Dumping ─▶ Idle)
//!                                        ▲          │ the shell died
//!                                        └─ (Awaiting ─▶) Promoting (the clone) or Starting (a fresh one)
//!  any ─▶ Ending (TERM, grace) ─▶ LettingGo (the keeper kills the rest) ─▶ Over
//! ```
//!
//! Here is the loop and what arrives by itself. [`requests`](super::requests) is what is asked,
//! [`finish`](super::finish) an execution's end, [`recover`](super::recover) the rollback point,
//! [`capture`](super::capture) the shell's state as text, [`lifetime`](super::lifetime) the session's own start and end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::{mpsc, oneshot};
use trl_proto::exec::ShellState;
use trl_proto::session::SessionState;
use trl_proto::{CheckpointId, Error, ErrorCode};
use trl_sys::link::{Notice, Stage};
use trl_sys::reap::Exit;
use trl_sys::tree::{self, Proc};

use super::alarm::Alarm;
use super::body::Body;
use super::capture::Restoration;
use super::front::Front;
use super::handle::Session;
use super::messages::{Ending, Manner, Message, Order, Reply};
use super::phase::{Dump, EndPlan, Phase, Renewing, Then};
use super::run::Run;
use super::stop::{Look, Stop};
use crate::checkpoint::{Captured, Checkpoint, Heard};
use crate::engine::Engine;
use crate::sandbox::Maker;
use crate::seats::Seat;
use crate::shell::channel::Source;
use crate::shell::report::Report;

const INBOX: usize = 32;
/// Of what a shell prints while starting, this much is kept to explain a failure.
const MOST_SAID: usize = 16 * 1024;

pub struct Task {
    pub(super) front: Front,
    pub(super) inbox: mpsc::Receiver<Message>,
    pub(super) body: Option<Body>,
    pub(super) phase: Phase,
    pub(super) ending: Option<EndPlan>,
    /// Whoever waits for the session to be up.
    pub(super) created: Option<Reply<()>>,
    /// The direct command, until it is started.
    pub(super) direct: Option<Order>,
    /// Keepers killed and directories removed since a program last came up.
    pub(super) starts_lost: u8,
    /// What the shell printed while starting.
    pub(super) said: Vec<u8>,
    /// The shell was replaced while idle, and commands were lost with it; the next result says so.
    pub(super) replaced: Option<(ShellState, u64)>,
    /// When the rollback point is to be renewed.
    pub(super) renew_at: Option<Instant>,
    /// When the last command ended.
    pub(super) last_end: Option<Instant>,
    /// A clone that is on its way; the next command waits for it.
    pub(super) renewing: Option<Renewing>,
    /// Renewals that failed in a row.
    pub(super) renewals_failed: u8,
    /// What its commands were given in confidence.
    pub(super) heard: Heard,
    /// Who waits for its shell's state.
    pub(super) captures: Vec<Reply<Captured>>,
    /// Commands it had run when its state was last taken.
    pub(super) taken_at: u64,
    /// When its state is due on disk.
    pub(super) keep_at: Option<Instant>,
    /// Checkpoints it may still make ahead of a question.
    pub(super) ahead: u8,
    /// The checkpoint that was last on its way to the disk, and how many commands it had run then.
    pub(super) saving: Option<(u64, oneshot::Receiver<Result<CheckpointId, Error>>)>,
    /// What its next fresh shell is to begin with.
    pub(super) from: Option<Box<Checkpoint>>,
    /// Who waits for that.
    pub(super) restore_reply: Option<Reply<Restoration>>,
}

/// Starts the task of a session; `created` hears when its program is up.
pub fn spawn(engine: Arc<Engine>, session: Arc<Session>, seat: Seat, start: Start) {
    let (sender, inbox) = mpsc::channel(INBOX);
    session.connect(sender);
    let (created, direct, from) = match start {
        Start::Now { created, direct } => (Some(created), direct, None),
        Start::WithFirstCommand { from } => (None, None, from),
    };
    let taken_at = session.public().commands;
    let mut task = Task {
        front: Front::new(engine, session, seat),
        inbox,
        body: None,
        phase: Phase::Absent,
        ending: None,
        created,
        direct,
        starts_lost: 0,
        said: Vec::new(),
        replaced: None,
        renew_at: None,
        last_end: None,
        renewing: None,
        renewals_failed: 0,
        heard: Heard::default(),
        captures: Vec::new(),
        taken_at,
        keep_at: None,
        ahead: 0,
        saving: None,
        from,
        restore_reply: None,
    };
    if task.created.is_none() {
        task.front.set_state(SessionState::Ready);
        task.front.note_ready();
    }
    let session = Arc::clone(&task.front.session);
    tokio::spawn(async move {
        if task.created.is_some() {
            task.open(Then::Open);
        }
        task.run().await;
        session.disconnect();
    });
}

/// When a session's processes start.
#[derive(Debug)]
pub enum Start {
    Now {
        created: Reply<()>,
        direct: Option<Order>,
    },
    /// A session that is opened again costs nothing until it is used.
    WithFirstCommand {
        /// The state its shell is to have.
        from: Option<Box<Checkpoint>>,
    },
}

impl Task {
    async fn run(mut self) {
        let mut alarm = Alarm::default();
        while !matches!(self.phase, Phase::Over) {
            // A session that always has something to do still lets others have their turn.
            tokio::task::consume_budget().await;
            if self.has_due_work() {
                // The reply that was just made ready goes out first.
                tokio::task::yield_now().await;
                self.do_due_work();
                continue;
            }
            let wake = self.next_moment();
            let paused = self.paused_logs();
            let unread = self.base_unread()
                || matches!(&self.phase, Phase::Running(run) if run.unread && run.paused.is_none() && run.rests.is_none());
            let watch = self.body.as_ref().map(|b| &b.watch);
            let control = self.body.as_ref().and_then(|b| b.shell.as_ref()).map(|s| &s.control);
            let event = tokio::select! {
                biased;
                message = self.inbox.recv() => Event::Message(message),
                () = async { match control { Some(c) => c.wait_for_reports().await, None => std::future::pending().await } } => Event::Reported,
                tokens = async { match watch { Some(w) => w.ready().await, None => std::future::pending().await } } => Event::Ready(tokens),
                () = async { match &paused { Some((o, e)) => tokio::select! { () = o.drained() => {}, () = e.drained() => {} }, None => std::future::pending().await } } => Event::Unread,
                () = tokio::task::yield_now(), if unread => Event::Unread,
                () = alarm.wait(wake) => Event::Moment,
            };
            self.handle(event);
        }
        self.refuse_inbox();
    }

    /// Commands that arrived too late.
    pub(super) fn refuse_inbox(&mut self) {
        self.inbox.close();
        while let Ok(message) = self.inbox.try_recv() {
            if let Message::Run(order) = message {
                self.front.engine.executions.refuse(&order.execution, self.front.session.gone());
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Message(Some(message)) => self.message(message),
            // Every handle is gone: nobody can ever use this session again.
            Event::Message(None) => self.end(Ending::Terminated, Manner::Forced, "abandoned".into()),
            Event::Ready(tokens) => Source::of(&tokens).into_iter().for_each(|s| self.ready(s)),
            Event::Reported => self.take_reports(),
            Event::Unread => {
                self.pump();
                if self.base_unread() {
                    self.ready(Source::Base);
                }
            }
            Event::Moment => self.moment(Instant::now()),
        }
    }

    // ---- what is readable

    pub(super) fn ready(&mut self, source: Source) {
        let Some(body) = &mut self.body else { return };
        match source {
            Source::Link => {
                body.link.listen();
                // one by one: what is done about one may look for the next
                while let Some(notice) = self.body.as_mut().and_then(|b| b.link.next_notice()) {
                    self.notice(notice);
                }
                if self.body.as_ref().is_some_and(|b| b.link.is_gone()) {
                    self.tell_made();
                    self.keeper_gone();
                }
            }
            Source::Stdout | Source::Stderr => self.pump(),
            Source::Base => {
                let bytes = body.shell.as_mut().map(|s| s.control.base_output()).unwrap_or_default();
                let kind = body.shell.as_ref().map(|s| s.kind);
                match (&mut self.phase, kind) {
                    (Phase::Running(run), Some(kind)) => run.heard_base(kind, &bytes),
                    (Phase::Starting { .. }, _) if self.said.len() < MOST_SAID => self.said.extend(bytes),
                    _ => {}
                }
            }
            Source::Dump => self.take_dump(),
        }
    }

    pub(super) fn take_reports(&mut self) {
        let shell = self.body.as_mut().and_then(|b| b.shell.as_mut());
        let reports = shell.map(|s| s.control.reports()).unwrap_or_default();
        reports.into_iter().for_each(|r| self.report(r));
        if self.body.as_ref().is_some_and(|b| b.link.has_heard()) {
            self.ready(Source::Link);
        }
    }

    pub(super) fn pump(&mut self) {
        if let (Phase::Running(run), Some(body)) = (&mut self.phase, &mut self.body)
            && run.rests.is_none()
        {
            run.pump(body);
            if run.too_loud {
                return self.silence();
            }
            if self.front.engine.is_shared() {
                run.rest();
            }
        }
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        let Some(body) = &mut self.body else { return };
        match notice {
            Notice::Hello { keeper } => {
                body.keeper = keeper;
                self.front.session.set_keeper(keeper);
            }
            Notice::Started { pid, missing } => {
                self.front.session.spec.pin.over();
                if let Some(sandbox) = self.front.session.spec.sandbox.here() {
                    sandbox.lacks(missing);
                }
                // A process that is already dead has no start time; its exit is on the way.
                body.set_main(tree::identify(pid).unwrap_or(Proc { pid, start: 0 }));
                self.front.session.public().pid = Some(pid);
                if body.shell.is_none() {
                    self.direct_is_up();
                } else if matches!(self.phase, Phase::Starting { reported: true, .. }) {
                    self.started();
                }
            }
            Notice::Failed { stage: Stage::Chdir, .. } if self.start_in_root() => {}
            Notice::Failed { stage, errno } => {
                let sandbox = self.front.session.spec.sandbox.here().map(|s| &**s);
                let error = super::body::failed_to_start(stage, errno, sandbox);
                self.start_failed(error);
            }
            Notice::Refused { pid, op } => {
                if let Phase::Running(run) = &mut self.phase {
                    run.heard_refused(pid, op);
                }
            }
            Notice::Exited { pid, exit } => self.exited(pid, exit),
            // Its text is taken at the end.
            Notice::Made { .. } => {}
        }
    }

    /// What programs in its sandbox have made that runs outside.
    fn tell_made(&mut self) {
        let made = self.body.as_mut().map(|body| body.link.take_made()).unwrap_or_default();
        let spec = &self.front.session.spec;
        let Some(sandbox) = spec.sandbox.here() else { return };
        for text in made {
            let by = Maker { session_id: Some(spec.told_as().clone()), ..Maker::default() };
            sandbox.tell_made(&self.front.engine, &spec.owner, by, &text);
        }
    }

    pub(super) fn exited(&mut self, pid: i32, exit: Exit) {
        let Some(body) = &mut self.body else { return };
        if body.is_main(pid) {
            // Its last words count: it may have reported just before.
            self.take_reports();
            if let Some(body) = &mut self.body {
                body.main = None;
            }
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

    pub(super) fn main_died(&mut self, exit: Exit) {
        match &mut self.phase {
            Phase::Running(run) => {
                run.died = Some(exit);
                match run.acting_stop() {
                    Some(stop) => stop.hurry(),
                    None => self.finish_dead(),
                }
            }
            Phase::Starting { .. } => {
                let last = self.start_output();
                self.said.extend(last);
                let said = String::from_utf8_lossy(&std::mem::take(&mut self.said)).into_owned();
                let error = Error::new(
                    ErrorCode::ShellStartFailed,
                    format!("the shell ended at start with code {}", exit.shell_code()),
                )
                .detail("stage", "start")
                .detail("exit_code", exit.shell_code())
                .detail("stderr", said);
                self.start_failed(error);
            }
            Phase::Restoring { .. } | Phase::Dumping { purpose: Dump::Fresh(_) | Dump::Result(_), .. } => {
                self.restore_failed()
            }
            Phase::Dumping { .. } => {
                self.refuse_captures("the shell ended");
                self.recover(Then::Replace);
            }
            Phase::Idle => self.recover(Then::Replace),
            Phase::Ending(stop) => stop.hurry(),
            Phase::Absent
            | Phase::Awaiting { .. }
            | Phase::Promoting { .. }
            | Phase::LettingGo { .. }
            | Phase::Over => {}
        }
    }

    pub(super) fn start_output(&mut self) -> Vec<u8> {
        let shell = self.body.as_mut().and_then(|b| b.shell.as_mut());
        shell.map(|s| s.control.base_output()).unwrap_or_default()
    }

    pub(super) fn base_unread(&self) -> bool {
        self.body.as_ref().and_then(|b| b.shell.as_ref()).is_some_and(|s| s.control.base_unread())
    }

    pub(super) fn report(&mut self, report: Report) {
        match (&mut self.phase, report) {
            (Phase::Running(run), Report::Ran { nonce, code, cwd }) if nonce == run.nonce => {
                run.reported = Some(code);
                if let Some(body) = self.body.as_mut().filter(|_| self.front.session.spec.sandbox.is_some()) {
                    // Told before the program went on, and so before this report.
                    body.link.listen();
                    body.link.take_refused().into_iter().for_each(|(pid, op)| run.heard_refused(pid, op));
                }
                self.learn_cwd(&cwd);
                if let Phase::Running(run) = &mut self.phase {
                    match run.acting_stop() {
                        Some(stop) => stop.hurry(),
                        None => self.finish_reported(),
                    }
                }
            }
            (_, report) => self.shell_report(report),
        }
    }

    // ---- time

    pub(super) fn moment(&mut self, now: Instant) {
        if let Some(body) = &mut self.body
            && !body.link.is_flushed()
            && body.link.flush().is_err()
        {
            return self.keeper_gone();
        }
        if self.renewing.as_ref().is_some_and(|r| now >= r.until) {
            self.renewal_failed();
        }
        self.watch_limits(now);
        if self.ending.as_ref().and_then(|plan| plan.tell_by).is_some_and(|at| now >= at) {
            self.publish_early();
        }
        match &mut self.phase {
            Phase::Running(run) => {
                if run.stop.is_none() && run.deadline.is_some_and(|d| now >= d) {
                    run.end_early(Stop::new(run.overdue, Signal::TERM, self.front.engine.settings.grace));
                }
                let rested = run.rests.take_if(|until| now >= *until).is_some();
                if rested || run.paused.is_some_and(|until| now >= until) {
                    self.pump();
                }
                self.look();
            }
            Phase::Ending(_) => self.look_ending(),
            Phase::LettingGo { until, .. } if now >= *until => {
                tracing::error!(session = %self.front.session.spec.id, "a keeper did not end in time");
                // The zygote ends what it leaves behind.
                if let Some(keeper) = self.body.as_ref().and_then(|b| tree::identify(b.keeper)) {
                    tree::signal(keeper, Signal::KILL);
                }
                self.over();
            }
            _ => self.overdue(now),
        }
    }

    /// Before the first signal: a command that has ended by itself by now was not ended by us.
    fn hear_last_words(&mut self) {
        let waits = |run: &Run| run.stop.as_ref().is_some_and(|stop| !stop.has_acted());
        if matches!(&self.phase, Phase::Running(run) if waits(run)) {
            self.take_reports();
        }
        if matches!(&self.phase, Phase::Running(run) if waits(run)) {
            self.ready(Source::Link);
        }
    }

    /// Signals what is left of a command that is being ended.
    pub(super) fn look(&mut self) {
        self.hear_last_words();
        let (Phase::Running(run), Some(body)) = (&mut self.phase, &self.body) else { return };
        let Some(mut stop) = run.stop.take() else { return };
        if Instant::now() < stop.look_at || self.renewing.is_some() {
            run.stop = Some(stop);
            return;
        }
        let look = stop.look(|| targets(run, body));
        let gave_up = look == Look::Over && !targets(run, body).is_empty();
        let overdue = stop.is_overdue();
        if look == Look::Over
            && run.reported.is_some()
            && run.died.is_none()
            && !overdue
            && !body.is_main_at_rest()
        {
            // It reported with our signal on its heels; whether it lives on shows in a moment.
            stop.look_again_soon();
            run.stop = Some(stop);
            return;
        }
        run.stop = Some(stop);
        if look == Look::Waiting {
            return;
        }
        // The signal may have reached the shell just after its report: then there is no shell to go on with.
        if run.died.is_some() {
            self.finish_dead();
        } else if run.reported.is_some() {
            self.finish_reported();
        } else if gave_up || overdue {
            run.died = Some(Exit::Signal(9));
            if let Some(body) = &mut self.body {
                body.main = None;
            }
            self.finish_dead();
        } else {
            self.nudge_keeper();
        }
        // else: gone, but the keeper's word for how it ended is still on the way
    }

    /// Everything is gone and nobody says how: the keeper may have been stopped.
    pub(super) fn nudge_keeper(&self) {
        if let Some(keeper) = self.body.as_ref().and_then(|b| tree::identify(b.keeper)) {
            tree::signal(keeper, Signal::CONT);
        }
    }

    pub(super) fn next_moment(&self) -> Option<Instant> {
        let soon = |b: &Body| (!b.link.is_flushed()).then(|| Instant::now() + Duration::from_millis(1));
        let own = match &self.phase {
            Phase::Running(run) => {
                let stop =
                    run.stop.as_ref().map(|s| s.look_at.max(Instant::now() + Duration::from_micros(500)));
                [stop.or(run.deadline), run.paused, run.rests].into_iter().flatten().min()
            }
            Phase::Starting { until, .. }
            | Phase::Restoring { until, .. }
            | Phase::Dumping { until, .. }
            | Phase::Promoting { until, .. }
            | Phase::LettingGo { until, .. } => Some(*until),
            Phase::Ending(stop) => Some(stop.look_at),
            Phase::Idle if self.renewing.is_none() => self.renew_at.or(self.keep_at),
            Phase::Idle => None,
            Phase::Absent | Phase::Awaiting { .. } | Phase::Over => None,
        };
        let renewing = self.renewing.as_ref().map(|r| r.until);
        let telling = self.ending.as_ref().and_then(|plan| plan.tell_by);
        [own, renewing, telling, self.next_watch(), self.body.as_ref().and_then(soon)]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn paused_logs(&self) -> Option<(Arc<crate::output::Log>, Arc<crate::output::Log>)> {
        match &self.phase {
            Phase::Running(run) if run.paused.is_some() => {
                let execution = &run.order.execution;
                Some((Arc::clone(&execution.stdout), Arc::clone(&execution.stderr)))
            }
            _ => None,
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

/// Everything the command started that is still alive, and the shell itself unless it has reported.
pub(super) fn targets(run: &Run, body: &Body) -> Vec<Proc> {
    found_below(run, body, tree::all_below)
}

/// The same for who looks only once, and may miss none.
pub(super) fn all_targets(run: &Run, body: &Body) -> Vec<Proc> {
    found_below(run, body, tree::below_for_sure)
}

fn found_below(run: &Run, body: &Body, look: fn(i32, &[Proc]) -> Vec<Proc>) -> Vec<Proc> {
    let spared: Vec<Proc> = run.older.iter().copied().chain(body.standby()).collect();
    let mut found = look(body.keeper, &spared);
    // What is spared may be above the shell for a moment: whoever forked it as a clone, and is about to end.
    if let Some(main) =
        body.main.filter(|main| !found.contains(main) && tree::identify(main.pid) == Some(*main))
    {
        found.push(main);
        found.extend(look(main.pid, &spared));
    }
    if run.reported.is_some() {
        found.retain(|p| !body.is_main(p.pid));
    }
    found
}
