//! The rollback point: making it after a command, using it when a command has ended the shell.
//!
//! 1. After a command the shell forks a clone into a free slot ([`Task::renew`]), or prints its state as text.
//! 2. When the shell is gone the clone is promoted ([`Task::recover`]); without one a fresh shell starts in the last
//!    known directory, with the last text snapshot if there is one.
//! 3. Either way the waiting result is published only then: what it says of the shell is true.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use trl_proto::exec::ShellState;
use trl_proto::session::{Renewal, SessionState};
use trl_proto::{Error, ErrorCode};
use trl_sys::cwd;
use trl_sys::fifo::{self, Found};
use trl_sys::lineage;
use trl_sys::tree::{self, Proc};
use zeroize::Zeroizing;

use super::body::{Body, Saved, Snapshot, Standby};
use super::messages::Reply;
use super::phase::{Dump, Phase, Renewing, Then};
use super::task::Task;
use crate::random::Nonce;
use crate::shell::Survival;
use crate::shell::report::Report;

/// With `renewal: idle` the rollback point is renewed after this much quiet.
pub(super) const QUIET: Duration = Duration::from_millis(5);
/// On a busy machine a burst has longer pauses; no pause longer than this is part of one.
pub(super) const LONGEST_QUIET: Duration = Duration::from_millis(200);
/// A shell that takes longer to start is not coming.
pub(super) const START_LIMIT: Duration = Duration::from_secs(10);
/// A clone or a snapshot takes a millisecond.
pub(super) const POINT_LIMIT: Duration = Duration::from_secs(3);
/// A snapshot larger than this is not worth keeping in memory.
const MAX_SNAPSHOT: usize = 16 << 20;

impl Task {
    // ---- work that is due as soon as others had their turn

    pub(super) fn has_due_work(&self) -> bool {
        let released = self.body.as_ref().is_some_and(Body::is_released);
        matches!(self.phase, Phase::Idle) && (released || self.is_renewal_due() || self.is_state_due())
    }

    fn is_state_due(&self) -> bool {
        self.ending.is_none() && (self.is_restore_due() || self.is_capture_due())
    }

    fn is_renewal_due(&self) -> bool {
        let free = matches!(self.phase, Phase::Idle) && self.renewing.is_none();
        free && self.renew_at.is_some_and(|at| at <= Instant::now())
    }

    /// The shell is told first: what else is to be done is done while it forks.
    pub(super) fn do_due_work(&mut self) {
        if self.is_renewal_due() {
            self.renew();
        }
        if let Some(body) = self.body.as_mut().filter(|b| b.is_released()) {
            body.take_streams_back();
        }
        if self.is_state_due() {
            match self.is_restore_due() {
                true => self.begin_restore(),
                false => self.take_due_state(),
            }
        }
    }

    /// With exact renewal no command runs without a rollback point of its own; otherwise without any.
    pub(super) fn must_renew_first(&self) -> bool {
        let shell = self.body.as_ref().and_then(|b| b.shell.as_ref());
        let none = shell.is_some_and(|s| s.standby.is_none() && s.snapshot.is_none());
        // A clone is only safe from what the next command does once it has said that it is up.
        let due = self.renew_at.is_some() && (none || self.front.session.spec.renewal == Renewal::Exact);
        due || self.renewing.is_some()
    }

    /// Tells the shell to make a new point.
    fn renew(&mut self) {
        self.renew_at = None;
        let Some(body) = &mut self.body else { return };
        if !body.background.is_empty() {
            body.background = body.find_background();
        }
        if body.standby().is_none() {
            // The last one may have died of it; while a command ran nothing could be done about that.
            body.mend(&self.front.engine);
        }
        if let Err(e) = body.files.complete() {
            return tracing::warn!(session = %self.front.session.spec.id, error = %e, "no rollback point");
        }
        let before = body.children_before_clone();
        let (Some(_), Some(shell)) = (body.main, &mut body.shell) else { return };
        let nonce = Nonce::random();
        let until = Instant::now() + POINT_LIMIT;
        let rebase = shell.kind.rebase_after().is_some_and(|limit| shell.depth >= limit);
        let dump = rebase || shell.kind.survival() == Survival::Snapshot;
        let slot = shell.free_slot();
        let verb = ['0', '1', '2'][slot];
        shell.control.forget(slot);
        if let Some(cage) = &mut body.cage {
            cage.make_room();
        }
        if dump {
            body.files.wipe_command();
            return self.ask_state(if rebase { Dump::Rebase } else { Dump::Point });
        }
        if let Err(e) = shell.control.tell(shell.slot, verb, nonce) {
            return tracing::warn!(session = %self.front.session.spec.id, error = %e, "no rollback point");
        }
        body.files.wipe_command();
        {
            let (cwd, commands) = (shell.cwd.clone(), shell.since_point);
            self.renewing = Some(Renewing {
                slot,
                nonce,
                until,
                before,
                cwd,
                commands,
                _busy: self.front.engine.count_running(),
            });
        }
    }

    /// Reports that are not a command's.
    pub(super) fn shell_report(&mut self, report: Report) {
        match (&mut self.phase, report) {
            (_, Report::Standby { slot, nonce, pid })
                if self.renewing.as_ref().is_some_and(|r| r.nonce == nonce && r.slot == slot) =>
            {
                self.standby_is_up(pid);
            }
            (Phase::Dumping { nonce, .. }, Report::Dumped { nonce: n }) if *nonce == n => self.dumped(),
            (Phase::Starting { nonce, reported, .. }, Report::Promoted { nonce: n }) if *nonce == n => {
                *reported = true;
                if self.body.as_ref().is_some_and(|b| b.main.is_some()) {
                    self.started();
                }
            }
            (Phase::Promoting { nonce, .. }, Report::Promoted { nonce: n }) if *nonce == n => self.promoted(),
            (Phase::Restoring { nonce, .. }, Report::Ran { nonce: n, cwd, .. }) if *nonce == n => {
                self.learn_cwd(&cwd);
                self.restored();
            }
            // Stale, or forged by a process of the session: not believed.
            _ => {}
        }
    }

    fn standby_is_up(&mut self, pid: Option<i32>) {
        let Some(Renewing { slot, before, cwd, commands, .. }) = self.renewing.take() else { return };
        let Some(body) = &mut self.body else { return };
        let proc = match pid {
            Some(pid) => tree::identify(pid).filter(|p| lineage::is_within(p.pid, body.keeper)),
            None => cut_out_clone(body, &before),
        };
        match proc {
            None => {
                tracing::warn!(session = %self.front.session.spec.id, "a clone came up and was gone again");
                body.kill_strays();
                self.try_renewal_again();
            }
            Some(proc) => {
                let Some(shell) = &mut body.shell else { return };
                let old = shell.standby.replace(Standby { slot, proc, cwd });
                shell.since_point = shell.since_point.saturating_sub(commands);
                self.renewals_failed = 0;
                self.go_on();
                // Not before the next command is on its way: its end is work that nobody waits for.
                if let (Some(old), Some(body)) = (old, &mut self.body) {
                    body.end_replaced(old.proc);
                }
                return;
            }
        }
        self.go_on();
    }

    /// Whatever waited for the clone.
    fn go_on(&mut self) {
        self.close_room();
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Awaiting { then } => self.recover(then),
            Phase::Running(run) => {
                let (reported, stopping) = (run.reported.is_some(), run.stop.is_some());
                self.phase = Phase::Running(run);
                match (stopping, reported) {
                    (true, _) => self.look(),
                    (false, true) => self.finish_reported(),
                    (false, false) => {}
                }
            }
            Phase::Idle if self.ending.is_some() => self.go_on_ending(),
            Phase::Idle => {
                self.try_next();
                self.warm_up();
            }
            other => self.phase = other,
        }
    }

    /// Nothing of ours is to be forked any more.
    fn close_room(&mut self) {
        if let Some(cage) = self.body.as_mut().and_then(|b| b.cage.as_mut()) {
            cage.close_room();
        }
    }

    /// With nothing to do anywhere, the shell gets the cost of having been forked behind it.
    fn warm_up(&self) {
        if self.front.engine.is_busy() {
            return;
        }
        let shell = self.body.as_ref().and_then(|b| b.shell.as_ref());
        if let (Phase::Idle, Some(shell)) = (&self.phase, shell) {
            let _ = shell.control.tell(shell.slot, 'h', Nonce::random());
        }
    }

    pub(super) fn renewal_failed(&mut self) {
        if self.never_heard()
            && let Some(renewing) = &mut self.renewing
        {
            // The shell has not even read it: slow or stopped, but nothing went wrong.
            if let Some(main) = self.body.as_ref().and_then(|b| b.main) {
                tree::signal(main, Signal::CONT);
            }
            renewing.until = Instant::now() + POINT_LIMIT;
            return;
        }
        tracing::warn!(session = %self.front.session.spec.id, "the rollback point could not be renewed");
        self.renewing = None;
        // While a command runs, a stray cannot be told from what the command started; it is one of its processes then.
        if let (Phase::Idle | Phase::Awaiting { .. }, Some(body)) = (&self.phase, &mut self.body) {
            body.kill_strays();
            self.try_renewal_again();
        }
        self.go_on();
    }

    /// One failure must not leave the next commands without a rollback point of their own.
    fn try_renewal_again(&mut self) {
        const MOST: u8 = 2;
        self.renewals_failed = self.renewals_failed.saturating_add(1);
        if let (Phase::Idle, Some(body), true) = (&self.phase, &mut self.body, self.renewals_failed <= MOST) {
            body.mend(&self.front.engine);
            self.renew_at = Some(Instant::now());
        }
    }

    pub(super) fn take_dump(&mut self) {
        let Some(fd) = self.body.as_ref().and_then(|b| b.shell.as_ref()).and_then(|s| s.dump.as_ref()) else {
            return;
        };
        let mut buf = Zeroizing::new([0; 4096]);
        while let Ok(Found::Bytes(n)) = fifo::read(fd, &mut *buf) {
            if let Phase::Dumping { text, .. } = &mut self.phase
                && text.len() <= MAX_SNAPSHOT
            {
                text.extend_from_slice(&buf[..n]);
            }
        }
    }

    fn dumped(&mut self) {
        self.take_dump();
        self.close_room();
        let Phase::Dumping { text, purpose, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return;
        };
        let fault = match text.len() {
            // Even an empty state is some text: it went elsewhere.
            0 => Some("nothing came"),
            n if n > MAX_SNAPSHOT => Some("it is too large"),
            _ => None,
        };
        if let Some(fault) = fault {
            let (nonce, until) = (Nonce::random(), Instant::now());
            self.phase = Phase::Dumping { nonce, until, text: Zeroizing::default(), purpose };
            return self.dump_failed(fault);
        }
        if !matches!(purpose, Dump::Point | Dump::Rebase) {
            return self.state_printed(&text, purpose);
        }
        let Some(body) = &mut self.body else { return };
        let Some(shell) = &mut body.shell else { return };
        shell.snapshot = Some(Snapshot { saved: Saved::Dump(text), cwd: shell.cwd.clone() });
        shell.since_point = 0;
        if matches!(purpose, Dump::Rebase) {
            // Forget the old shell first: its end is not a death to recover from.
            if let Some(old) = body.main.take() {
                tree::signal(old, Signal::KILL);
            }
            body.drop_standby();
            self.restart(Then::Open);
        } else {
            self.try_next();
        }
    }

    /// The older point stays, and with it the count of commands that a rollback would undo.
    pub(super) fn dump_failed(&mut self, why: &str) {
        tracing::warn!(session = %self.front.session.spec.id, why, "the state could not be printed");
        self.close_room();
        if let Some(body) = &mut self.body {
            body.mend(&self.front.engine);
        }
        let purpose = match &self.phase {
            Phase::Dumping { purpose, .. } => purpose,
            _ => return,
        };
        match purpose {
            Dump::Fresh(_) | Dump::Result(_) => {
                if let Some(main) = self.body.as_mut().and_then(|b| b.main.take()) {
                    tree::signal(main, Signal::KILL);
                }
                return self.restore_failed();
            }
            Dump::Capture | Dump::Keep(_) => {
                self.phase = Phase::Idle;
                self.refuse_captures(why);
                // not again before something has changed
                self.taken_at = self.front.session.public().commands;
                self.keep_at = None;
                if self.ending.is_some() {
                    return self.go_on_ending();
                }
                return self.try_next();
            }
            Dump::Point | Dump::Rebase => {}
        }
        self.phase = Phase::Idle;
        let Some(shell) = self.body.as_mut().and_then(|b| b.shell.as_mut()) else { return };
        if shell.kind.survival() == Survival::Clone {
            // It was to be built anew: not now, but after as many rollbacks again. Until then it is cloned.
            shell.depth = 0;
            self.renew_at = Some(Instant::now());
        }
        self.try_next();
    }

    // ---- using the rollback point

    /// The shell is gone: its clone takes over, or a fresh one.
    pub(super) fn recover(&mut self, then: Then) {
        // From here on nothing that was on its way can report.
        let mended = self.body.as_mut().is_some_and(|b| b.mend(&self.front.engine));
        if let Some(renewing) = &self.renewing {
            // A shell that does not know its pid cannot go on before its clone is up, so that one is of no use.
            if self.body.as_ref().and_then(|b| b.shell.as_ref()).is_some_and(|s| s.kind.knows_its_pid())
                && Instant::now() < renewing.until
                && !mended
                && !self.never_heard()
            {
                self.phase = Phase::Awaiting { then };
                return;
            }
            self.forget_unheard();
        }
        let Some(body) = &mut self.body else { return };
        body.end_old_listeners();
        let Some(shell) = &mut body.shell else { return };
        let alive = shell.standby.take().filter(|s| tree::identify(s.proc.pid) == Some(s.proc));
        let Some(standby) = alive else { return self.restart(then) };
        // A `kill -STOP 0` has stopped it too.
        tree::signal(standby.proc, Signal::CONT);
        let nonce = Nonce::random();
        match shell.control.tell(standby.slot, 'p', nonce) {
            Ok(()) => {
                self.phase = Phase::Promoting { nonce, until: Instant::now() + POINT_LIMIT, standby, then }
            }
            Err(_) => self.restart(then),
        }
    }

    pub(super) fn promotion_failed(&mut self) {
        if let Phase::Promoting { standby, then, .. } = std::mem::replace(&mut self.phase, Phase::Absent) {
            tree::signal(standby.proc, Signal::KILL);
            self.restart(then);
        }
    }

    fn promoted(&mut self) {
        let Phase::Promoting { standby, then, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return;
        };
        let Some(body) = &mut self.body else { return };
        body.set_main(standby.proc);
        self.front.session.public().pid = Some(standby.proc.pid);
        let Some(shell) = &mut body.shell else { return };
        shell.slot = standby.slot;
        shell.cwd = standby.cwd;
        shell.depth += 1;
        let lost = std::mem::take(&mut shell.since_point);
        self.shell_is_up(then, ShellState::RolledBack, lost);
    }

    /// A fresh shell in the last known directory.
    pub(super) fn restart(&mut self, then: Then) {
        let Some(body) = &mut self.body else { return };
        body.drop_standby();
        body.end_old_listeners();
        body.mend(&self.front.engine);
        let Some(shell) = &mut body.shell else { return };
        match &shell.snapshot {
            Some(snapshot) => shell.cwd.clone_from(&snapshot.cwd),
            None => shell.since_point = 0,
        }
        let cwd = shell.cwd.clone();
        shell.slot = 0;
        shell.control.forget_all();
        shell.depth = 0;
        if let Some(cage) = &mut body.cage {
            cage.make_room();
        }
        let nonce = Nonce::random();
        match body.spawn(&self.front.engine, &self.front.session.spec, &cwd, nonce) {
            Ok(()) => {
                let until = Instant::now() + START_LIMIT;
                self.phase = Phase::Starting { nonce, until, then, reported: false };
            }
            Err(e) => {
                self.phase = Phase::Starting { nonce, until: Instant::now(), then, reported: false };
                self.start_failed(super::body::start_error("spawn", &e));
            }
        }
    }

    /// The last known directory is gone: it is for the keeper to find out, since asking may take for ever.
    pub(super) fn start_in_root(&mut self) -> bool {
        let shell = self.body.as_mut().and_then(|b| b.shell.as_mut()).filter(|s| s.cwd != "/");
        let (Some(shell), true) = (shell, self.front.session.state() != SessionState::Creating) else {
            return false;
        };
        shell.cwd = "/".into();
        if let Some(snapshot) = &mut shell.snapshot {
            snapshot.cwd = "/".into();
        }
        self.start_again();
        true
    }

    pub(super) fn started(&mut self) {
        self.said = Vec::new();
        self.starts_lost = 0;
        let Phase::Starting { then, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let shell = self.body.as_ref().and_then(|b| b.shell.as_ref());
        match shell.is_some_and(|s| s.snapshot.is_some()) {
            true => self.ask_state(Dump::Fresh(then)),
            false => self.shell_is_up(then, ShellState::Reset, 0),
        }
    }

    /// Whatever it was for, there is a shell again.
    pub(super) fn shell_is_up(&mut self, then: Then, state: ShellState, lost: u64) {
        self.phase = Phase::Idle;
        self.renew_at = Some(Instant::now());
        self.close_room();
        match then {
            Then::Open => {
                self.prepare_next_keeper();
                if let Some(created) = self.created.take() {
                    self.front.announce_session();
                    self.front.set_state(SessionState::Ready);
                    self.front.note_ready();
                    let _ = created.send(Ok(()));
                }
            }
            Then::Replace => {
                self.front.shell_replaced(state);
                self.replaced = Some((state, lost));
            }
            Then::Publish(done) if self.ending.is_some() => self.publish_at_end(done),
            Then::Publish(done) => {
                self.front.shell_replaced(state);
                self.publish_done(*done, state, lost);
            }
        }
        match self.ending.is_some() {
            true => self.go_on_ending(),
            false => self.try_next(),
        }
    }

    pub(super) fn reset(&mut self, reply: Reply<()>) {
        if !matches!(self.phase, Phase::Idle | Phase::Absent | Phase::Dumping { .. })
            || self.phase.then().is_some()
        {
            let busy = super::state::Denial::Busy.error();
            return drop(reply.send(Err(busy)));
        }
        self.refuse_captures("the shell was reset");
        self.from = None;
        self.taken_at = super::capture::OUTDATED;
        self.front.session.public().restored_from = None;
        let Some(body) = &mut self.body else { return drop(reply.send(Ok(()))) };
        if body.shell.is_none() {
            return drop(reply.send(Err(Error::invalid("a direct command has no shell to reset"))));
        }
        if let Some(shell) = &mut body.shell {
            shell.cwd.clone_from(&self.front.session.spec.working_dir);
        }
        self.front.session.public().working_dir.clone_from(&self.front.session.spec.working_dir);
        self.created = Some(reply);
        self.replace_shell();
    }

    /// Ends the shell and all it started, and starts another.
    pub(super) fn replace_shell(&mut self) {
        let Some(body) = &mut self.body else { return };
        self.renewing = None;
        if let Some(old) = body.main.take() {
            tree::signal(old, Signal::KILL);
        }
        body.drop_standby();
        if let Some(shell) = &mut body.shell {
            shell.snapshot = None;
            shell.last_code = 0;
        }
        // What earlier commands left running goes with their shell.
        let keeper = body.keeper;
        tree::kill_all(|| tree::all_below(keeper, &[]));
        body.background.clear();
        self.place_checkpoint();
        self.restart(Then::Open);
    }

    /// Deadlines of starting, promoting and the like.
    pub(super) fn overdue(&mut self, now: Instant) {
        match &self.phase {
            Phase::Starting { until, .. } if now >= *until => {
                let error = Error::new(ErrorCode::ShellStartFailed, "the shell did not come up in time");
                self.start_failed(error.detail("stage", "start"));
            }
            Phase::Restoring { until, .. } if now >= *until => {
                if let Some(main) = self.body.as_mut().and_then(|b| b.main.take()) {
                    tree::signal(main, Signal::KILL);
                }
                self.restore_failed();
            }
            Phase::Promoting { until, .. } if now >= *until => self.promotion_failed(),
            Phase::Dumping { until, .. } if now >= *until => {
                self.dump_failed("it takes too long");
            }
            _ => {}
        }
    }

    /// The directory a shell says it is in, if it is; the truth otherwise.
    pub(super) fn learn_cwd(&mut self, reported: &[u8]) {
        let Some(body) = &mut self.body else { return };
        let (Some(main), Some(shell)) = (body.main, &mut body.shell) else { return };
        if reported == shell.cwd.as_bytes() {
            return;
        }
        shell.cwd = cwd::of(main.pid, reported).map(|p| p.display().to_string()).unwrap_or_default();
    }
}

/// A shell that does not know its pid waits for a middle process, which waits for the clone: find both, end the first.
fn cut_out_clone(body: &Body, before: &[i32]) -> Option<Proc> {
    let new = |pids: Vec<i32>| pids.into_iter().find(|p| !before.contains(p));
    // A sibling that is just being reaped may hide it for a moment.
    let for_sure = || new(tree::children_for_sure(body.main?.pid));
    let middle = new(body.children_of_shell()).or_else(for_sure)?;
    let clone = tree::children_of_main_thread(middle);
    // No check of who has the pid: the shell waits for this child, so nobody else can have it.
    rustix::process::kill_process(rustix::process::Pid::from_raw(middle)?, Signal::KILL).ok()?;
    clone.first().and_then(|pid| tree::identify(*pid))
}
