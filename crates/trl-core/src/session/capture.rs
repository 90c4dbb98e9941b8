//! The shell's state as text: taking it, giving it to a fresh shell, seeing what came of it.
//!
//! 1. A state is asked for ([`Task::capture`]), is due, or is the last before the session closes. The idle shell prints
//!    it ([`Phase::Dumping`]); the next command waits that long.
//! 2. A question to a person waits for the state to be on the disk. Where one was asked another may follow, so the state is
//!    put there ahead of it, as soon as the shell is idle.
//! 3. A fresh shell that is to have a state prints its own first. Only what differs is given to it
//!    ([`Phase::Restoring`]); if the state is a checkpoint's, it then prints its state again, and what is still
//!    different is reported.
//!
//! The rollback point of [`recover`](super::recover) is the checkpoint after each command; nothing here is on its way.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::time::Instant;

use tokio::sync::oneshot;
use trl_proto::checkpoint::{NotRestored, Origin, RestoredFrom, RestoredPart};
use trl_proto::exec::ShellState;
use trl_proto::{CheckpointId, Error, ErrorCode};
use trl_store::redact::is_secret_name;
use trl_sys::fifo::{self, Found};
use trl_sys::tree;
use zeroize::Zeroizing;

use super::body::{Body, Saved, Snapshot};
use super::clearing::Clearing;
use super::messages::{Ending, Order, Reply, Stdin};
use super::phase::{Dump, Phase, Then};
use super::recover::{POINT_LIMIT, START_LIMIT};
use super::task::Task;
use crate::checkpoint::{Around, Captured, Checkpoint, Remarks};
use crate::random::Nonce;
use crate::shell::state::{State, What, restore};
use crate::shell::{Kind, script};

/// Checkpoints made ahead of a question that does not come: a session whose commands are let through soon makes none.
pub(crate) const MOST_AHEAD: u8 = 8;

/// No number of commands: whatever was taken last is not what the shell has now.
pub(super) const OUTDATED: u64 = u64::MAX;

/// What a restore did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restoration {
    pub restored: Vec<RestoredPart>,
    pub not_restored: Vec<NotRestored>,
}

impl Task {
    // ---- taking it

    /// Somebody wants the state as it is between two commands.
    pub(super) fn capture(&mut self, reply: Reply<Captured>) {
        if self.ending.is_some() {
            return drop(reply.send(Err(self.front.session.gone())));
        }
        self.captures.push(reply);
        if matches!(self.phase, Phase::Absent) {
            self.open(Then::Open);
        }
    }

    /// Whether something ran since the state was last taken.
    pub(super) fn is_dirty(&self) -> bool {
        self.front.session.public().commands != self.taken_at
    }

    /// Whether its state outlives the daemon.
    fn keeps_on_disk(&self) -> bool {
        self.front.session.is_recorded() && self.front.engine.checkpoints.is_open()
    }

    /// What a command brings along may not be kept, wherever its shell puts it.
    pub(super) fn hear(&mut self, order: &Order) {
        self.heard.begin();
        if let Stdin::Bytes(first) | Stdin::Open(first) = &order.stdin {
            self.heard.stdin(first);
        }
        for (_, value) in order.around.env.iter().filter(|(name, _)| is_secret_name(name)) {
            self.heard.secret(value);
        }
    }

    /// A command has ended: in a while its state is due on disk.
    pub(super) fn note_change(&mut self) {
        let every = self.front.engine.settings.checkpoints.interval;
        if self.keep_at.is_none() && !every.is_zero() && self.keeps_on_disk() {
            self.keep_at = Some(Instant::now() + every);
        }
    }

    /// The idle shell is to print its state before anything else.
    pub(super) fn is_capture_due(&self) -> bool {
        let free = matches!(self.phase, Phase::Idle) && self.renewing.is_none() && self.renew_at.is_none();
        let due = |at: Instant| at <= Instant::now();
        free && (!self.captures.is_empty() || self.keep_at.is_some_and(due) || self.is_question_near())
    }

    /// A person may be asked about the next command, and it is not here yet: the question need not wait for the state then.
    fn is_question_near(&self) -> bool {
        self.ahead > 0
            && self.front.queue.is_empty()
            && self.front.held.is_none()
            && self.is_dirty()
            && self.keeps_on_disk()
    }

    pub(super) fn take_due_state(&mut self) {
        let purpose = if !self.captures.is_empty() {
            Dump::Capture
        } else if self.is_question_near() {
            self.ahead -= 1;
            Dump::Keep(Origin::Approval)
        } else {
            Dump::Keep(Origin::Interval)
        };
        self.ask_state(purpose);
    }

    /// Before a session closes, unless nothing ran since it was last taken.
    pub(super) fn wants_last_state(&self) -> bool {
        let closing = self.ending.as_ref().is_some_and(|p| p.into == Ending::Closed && p.keeps_state);
        let shell = self.body.as_ref().is_some_and(|b| b.shell.is_some());
        closing && shell && self.is_dirty()
    }

    /// Once its shell is idle; whether it can be.
    pub(super) fn may_have_last_state(&self) -> bool {
        let closing = self.ending.as_ref().is_some_and(|p| p.into == Ending::Closed && p.keeps_state);
        closing && self.body.as_ref().is_some_and(|b| b.standby().is_some()) && self.is_dirty()
    }

    /// True while the end has to wait for it.
    pub(super) fn takes_last_state(&mut self) -> bool {
        if !self.wants_last_state() {
            return false;
        }
        match &mut self.phase {
            // whatever it is printed for, it is the last
            Phase::Dumping { purpose: purpose @ (Dump::Capture | Dump::Keep(_)), .. } => {
                *purpose = Dump::Keep(Origin::Close);
            }
            // it comes when the clone is up
            Phase::Idle if self.renewing.is_some() => {}
            Phase::Idle => self.ask_state(Dump::Keep(Origin::Close)),
            Phase::Promoting { .. } | Phase::Awaiting { .. } => {}
            _ => return false,
        }
        true
    }

    /// Tells the idle shell to print its state.
    pub(super) fn ask_state(&mut self, purpose: Dump) {
        let nonce = Nonce::random();
        let told = match &mut self.body {
            Some(body) => tell_dump(body, nonce),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        let until = Instant::now() + POINT_LIMIT;
        self.phase = Phase::Dumping { nonce, until, text: Zeroizing::default(), purpose };
        if let Err(e) = told {
            self.dump_failed(&e.to_string());
        }
    }

    /// It has printed all of it.
    pub(super) fn state_printed(&mut self, text: &[u8], purpose: Dump) {
        let Some(body) = &mut self.body else { return };
        body.close_dump();
        let kind = body.shell.as_ref().map(|s| s.kind);
        let Some(state) = kind.and_then(|kind| State::read(kind, text)) else {
            let (nonce, until) = (Nonce::random(), Instant::now());
            self.phase = Phase::Dumping { nonce, until, text: Zeroizing::default(), purpose };
            return self.dump_failed("it is not whole");
        };
        match purpose {
            Dump::Fresh(then) => self.fresh_state(&state, then),
            Dump::Result(then) => self.compare(&state, then),
            Dump::Capture | Dump::Keep(_) => self.captured(state, purpose),
            Dump::Point | Dump::Rebase => {}
        }
    }

    fn captured(&mut self, state: State, purpose: Dump) {
        self.phase = Phase::Idle;
        self.taken_at = self.front.session.public().commands;
        self.keep_at = None;
        let around = self.body.as_mut().map(around).unwrap_or_default();
        let captured = self.front.session.captured(state, around, self.heard.lines());
        for reply in std::mem::take(&mut self.captures) {
            let _ = reply.send(Ok(captured.clone()));
        }
        match purpose {
            Dump::Keep(Origin::Close) => {
                self.keep(captured, Origin::Close);
                self.go_on_ending();
            }
            Dump::Keep(Origin::Approval) if self.front.held.is_some() => self.keep_and_ask(captured),
            Dump::Keep(origin) => self.keep(captured, origin),
            _ => {}
        }
        self.try_next();
    }

    /// Makes a checkpoint of it, soon on disk.
    fn keep(&mut self, captured: Captured, origin: Origin) {
        let commands = captured.stand.commands;
        let saving = self.front.session.save(&self.front.engine, origin, captured, Remarks::default());
        if !self.front.engine.checkpoints.is_open() {
            return;
        }
        let session = self.front.session.spec.id.clone();
        let (done, saved) = oneshot::channel();
        tokio::spawn(async move {
            let saved = saving.await.map(|info| info.checkpoint_id);
            if let Err(error) = &saved {
                tracing::warn!(sessionId = %session, %error, "a checkpoint stays in memory only");
            }
            let _ = done.send(saved);
        });
        self.saving = Some((commands, saved));
    }

    /// Before a command begins to wait for a person: the state it is to begin from, should the daemon not live to see the answer.
    pub(super) fn keep_before_asking(&mut self) {
        self.ahead = MOST_AHEAD;
        let at = self.front.session.public().commands;
        let saved = self.front.session.public().saved.clone().filter(|(_, commands)| *commands == at);
        let saving = self.saving.take_if(|(commands, _)| *commands == at);
        match (saved, saving) {
            _ if !self.keeps_on_disk() => self.put_question(async { Ok(None) }),
            _ if self.is_dirty() => self.ask_state(Dump::Keep(Origin::Approval)),
            (Some((id, _)), _) => self.put_question(async { Ok(Some(id)) }),
            (None, Some((_, saved))) => {
                self.put_question(async { saved.await.map_err(cut_short)?.map(Some) })
            }
            (None, None) => self.ask_state(Dump::Keep(Origin::Approval)),
        }
    }

    fn put_question(
        &mut self,
        kept: impl Future<Output = Result<Option<CheckpointId>, Error>> + Send + 'static,
    ) {
        let shell = self.shell_kind().unwrap_or(Kind::Dash);
        self.front.put_question(shell, kept);
    }

    /// On the disk before anybody is told.
    fn keep_and_ask(&mut self, mut captured: Captured) {
        let Some(held) = &self.front.held else { return };
        captured.stand.pending_requests.push(held.id.clone());
        let saving =
            self.front.session.save(&self.front.engine, Origin::Approval, captured, Remarks::default());
        self.put_question(async { saving.await.map(|info| Some(info.checkpoint_id)) });
    }

    /// Nobody gets a state now. What waits for a person waits without one.
    pub(super) fn refuse_captures(&mut self, why: &str) {
        self.put_question(async { Ok(None) });
        if self.ending.is_some() {
            // nor is it tried again
            self.taken_at = self.front.session.public().commands;
        }
        for reply in std::mem::take(&mut self.captures) {
            let error = Error::internal(format!("the shell's state could not be taken: {why}"));
            let _ = reply.send(Err(error));
        }
    }

    // ---- giving it to a fresh shell

    /// A fresh shell with the state of a checkpoint; everything that ran in the old one ends.
    pub(super) fn restore(&mut self, checkpoint: Box<Checkpoint>, reply: Reply<Restoration>) {
        let running = matches!(self.phase, Phase::Running(_))
            || !self.front.queue.is_empty()
            || self.front.held.is_some();
        if running || self.ending.is_some() || self.restore_reply.is_some() {
            return drop(reply.send(Err(super::state::Denial::Busy.error())));
        }
        self.from = Some(checkpoint);
        self.restore_reply = Some(reply);
        if matches!(self.phase, Phase::Absent) {
            self.taken_at = OUTDATED;
            self.open(Then::Open);
        }
    }

    /// Only once the shell is idle: what it is doing now may be for somebody else.
    pub(super) fn is_restore_due(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.restore_reply.is_some() && self.from.is_some()
    }

    pub(super) fn begin_restore(&mut self) {
        self.refuse_captures("another state is restored");
        self.taken_at = OUTDATED;
        self.replace_shell();
    }

    /// The state a fresh shell begins with, if it is to have one.
    pub(super) fn place_checkpoint(&mut self) {
        let Some(checkpoint) = self.from.take() else { return };
        let Some(shell) = self.body.as_mut().and_then(|b| b.shell.as_mut()) else { return };
        let dir = checkpoint.state.find(What::Directory, b"").map(|p| p.text.clone());
        if let Some(dir) = dir.and_then(|dir| String::from_utf8(dir).ok()) {
            shell.cwd = dir;
        }
        let cwd = shell.cwd.clone();
        shell.snapshot = Some(Snapshot { saved: Saved::Checkpoint(checkpoint), cwd });
    }

    /// What it is now is known: the rest is told.
    fn fresh_state(&mut self, fresh: &State, then: Then) {
        match self.body.as_mut().and_then(|body| tell_restore(body, fresh)) {
            Some(Ok(nonce)) => {
                self.phase = Phase::Restoring { nonce, until: Instant::now() + START_LIMIT, then };
            }
            refused => {
                let why = refused.and_then(Result::err).map(|e| e.to_string()).unwrap_or_default();
                tracing::warn!(session = %self.front.session.spec.id, why, "a state could not be restored");
                self.forget_restore();
                self.report_restore(Err(Error::internal("the state could not be given to the shell")));
                self.shell_is_up(then, ShellState::Reset, 0);
            }
        }
    }

    /// The shell has taken it on. What it has become is looked at where somebody wants to know.
    pub(super) fn restored(&mut self) {
        let Phase::Restoring { then, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        self.forget_restore();
        let shell = self.body.as_mut().and_then(|b| b.shell.as_mut());
        if shell.as_ref().is_some_and(|s| s.taking_on.is_some()) {
            return self.ask_state(Dump::Result(then));
        }
        let lost = shell.map_or(0, |s| std::mem::take(&mut s.since_point));
        self.shell_is_up(then, ShellState::RolledBack, lost);
    }

    fn compare(&mut self, now: &State, then: Then) {
        self.phase = Phase::Idle;
        let found = self.body.as_mut().map(around).unwrap_or_default();
        let shell = self.body.as_mut().and_then(|b| b.shell.as_mut());
        let checkpoint = shell.and_then(|s| {
            s.since_point = 0;
            s.taking_on.take()
        });
        if let Some(checkpoint) = checkpoint {
            let cwd = self.body.as_ref().and_then(|b| b.shell.as_ref()).map(|s| s.cwd.clone());
            let report = report(&checkpoint, now, &found);
            let mut public = self.front.session.public();
            public.working_dir = cwd.unwrap_or_default();
            public.last_execution.clone_from(&checkpoint.manifest.stand.last_execution);
            let lost = public.restored_from.take().map_or(0, |from| from.lost_commands);
            let not_restored = report.not_restored.clone();
            public.restored_from =
                Some(RestoredFrom { lost_commands: lost, ..checkpoint.restored_from(not_restored) });
            drop(public);
            self.report_restore(Ok(report));
        }
        self.shell_is_up(then, ShellState::RolledBack, 0);
    }

    pub(super) fn report_restore(&mut self, outcome: Result<Restoration, Error>) {
        if let Some(reply) = self.restore_reply.take() {
            let _ = reply.send(outcome);
        }
    }

    /// What carried the state holds its secrets.
    pub(super) fn forget_restore(&mut self) {
        if let Some(body) = &mut self.body {
            body.files.remove("t");
            body.files.remove("w");
            if let Some(shell) = &mut body.shell {
                shell.restoring.clear();
            }
        }
    }

    /// The state itself ends the shell: better a fresh one than none.
    pub(super) fn restore_failed(&mut self) {
        let then = match std::mem::replace(&mut self.phase, Phase::Absent).into_then() {
            Ok(then) => then,
            Err(phase) => return self.phase = phase,
        };
        self.forget_restore();
        if let Some(body) = &mut self.body {
            body.close_dump();
            if let Some(shell) = &mut body.shell {
                shell.snapshot = None;
                shell.taking_on = None;
            }
        }
        tracing::warn!(session = %self.front.session.spec.id, "a state could not be restored");
        self.report_restore(Err(Error::new(
            ErrorCode::ShellStartFailed,
            "a shell that takes on this state does not live; the session has a fresh one",
        )));
        self.restart(then);
    }
}

fn cut_short(_: oneshot::error::RecvError) -> Error {
    Error::internal("the checkpoint was not made to its end")
}

fn tell_dump(body: &mut Body, nonce: Nonce) -> std::io::Result<()> {
    body.files.complete()?;
    body.open_dump()?;
    let Some(shell) = &body.shell else { return Err(std::io::ErrorKind::NotFound.into()) };
    if let Some(fd) = &shell.dump {
        // What an earlier one, given up for taking too long, printed after all.
        let mut buf = Zeroizing::new([0; 4096]);
        while let Ok(Found::Bytes(_)) = fifo::read(fd, &mut *buf) {}
    }
    shell.control.tell(shell.slot, 'd', nonce)
}

/// Asks a fresh shell to take on the state it is to have. None if that cannot be read.
fn tell_restore(body: &mut Body, fresh: &State) -> Option<std::io::Result<Nonce>> {
    let files = &body.files;
    let shell = body.shell.as_mut()?;
    let snapshot = shell.snapshot.as_ref()?;
    let text = match &snapshot.saved {
        Saved::Dump(dump) => restore::text(&State::read(shell.kind, dump)?, fresh, &[]),
        Saved::Checkpoint(checkpoint) => restore::text(&checkpoint.state, fresh, &checkpoint.spared()),
    };
    let text = Zeroizing::new(text);
    let nonce = Nonce::random();
    let mut tell = || {
        shell.restoring.extend(files.deliver("t", &text)?);
        shell.restoring.extend(files.deliver("w", script::restore(shell.kind, &files.paths).as_bytes())?);
        shell.control.tell(shell.slot, 'w', nonce)
    };
    let told = tell();
    if let Saved::Checkpoint(checkpoint) = &snapshot.saved {
        shell.taking_on = Some(checkpoint.clone());
    }
    if shell.kind.survival() == crate::shell::Survival::Clone {
        // Only this start needed it; from here on the clone is the rollback point.
        shell.snapshot = None;
    }
    Some(told.map(|()| nonce))
}

/// What a fresh shell cannot be given.
fn around(body: &mut Body) -> Around {
    body.background = body.find_background();
    let Some(main) = body.main else { return Around::default() };
    Around {
        jobs: body.background.iter().map(|p| p.pid).collect(),
        descriptors: match body.shell.as_ref().map(|shell| shell.kind) {
            // nobody can open one there that stays, and its own are anywhere
            Some(Kind::Fish) => Vec::new(),
            _ => descriptors(main.pid, body.files.base()),
        },
        limits: tree::limits(main.pid),
    }
}

/// Those a user can have opened: shells keep their own above 9, and one that is just listening has a FIFO of ours open.
fn descriptors(pid: i32, ours: &Path) -> Vec<u32> {
    let others = tree::descriptors(pid).filter(|(_, name)| !name.starts_with(ours));
    let numbers = others.map(|(number, _)| number);
    let mut found: Vec<u32> = numbers.filter(|n| (3..=9).contains(n)).collect();
    found.sort_unstable();
    found
}

/// What came of it, and what did not.
fn report(checkpoint: &Checkpoint, now: &State, found: &Around) -> Restoration {
    let not = |what: &str, name: String, why: &str| NotRestored { what: what.into(), name, why: why.into() };
    let mut not_restored = checkpoint.lost(|name| now.find(What::Variable, name.as_bytes()).is_some());
    let spared = checkpoint.spared();
    let mut counts: BTreeMap<What, u64> = BTreeMap::new();
    for part in &checkpoint.state.parts {
        *counts.entry(part.what).or_default() += 1;
    }
    for (what, name) in checkpoint.state.differences(now) {
        if matches!(what, What::Variable | What::Export | What::Readonly) && spared.contains(&name) {
            continue;
        }
        if checkpoint.state.find(what, &name).is_some()
            && let Some(count) = counts.get_mut(&what)
        {
            *count -= 1;
        }
        let shown = String::from_utf8_lossy(&name).into_owned();
        not_restored.push(not(what.name(), shown, "the shell has it differently"));
    }
    let changed = checkpoint.manifest.around.limits.iter().filter(|limit| !found.limits.contains(limit));
    not_restored.extend(changed.map(|limit| not("limit", limit.clone(), "limits are not restored")));
    let restored = counts.into_iter().filter(|(_, count)| *count > 0);
    let restored = restored.map(|(what, count)| RestoredPart { what: what.name().into(), count }).collect();
    Restoration { restored, not_restored }
}
