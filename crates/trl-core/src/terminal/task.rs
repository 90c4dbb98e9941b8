//! The task of one terminal: it alone owns the pseudo-terminal and the processes on it.
//!
//! ```text
//!  Starting ─▶ Live ─▶ Draining (its program has ended; the last bytes are read) ─▶ LettingGo ─▶ Settling ─▶ over
//!                └───▶ Ending (HUP and CONT to everything, then a while) ─────────────▲   (the model reads on)
//! ```
//!
//! It moves bytes: from the program to the tape, from clients and from the model's answers to the program.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::oneshot;
use trl_proto::event::Happening;
use trl_proto::exec::Outcome;
use trl_proto::limits::Limit;
use trl_proto::{Error, ErrorCode};
use trl_screen::Fed;
use trl_sys::link::{Notice, Request};
use trl_sys::poller::Watch;
use trl_sys::pty::{Ear, Master, Size};
use trl_sys::reap::Exit;
use trl_sys::sandbox::Op;
use trl_sys::tree;

use super::allowance::Allowance;
use super::execution;
use super::handle::{Message, News, Terminal, Wires};
use super::open::{Opened, open};
use super::pump::{Flood, Loudness, Pump};
use crate::clock::Stamp;
use crate::engine::Engine;
use crate::execution::Early;
use crate::sandbox::Maker;
use crate::seats::Seat;
use crate::session::alarm::Alarm;
use crate::session::body::{failed_to_start, start_error};
use crate::session::messages::Reply;
use crate::shell::channel::Link;

/// Input that waits for a program that does not read; more is refused.
const MOST_INPUT: usize = 1 << 20;
/// How long the program has to come up.
const START_LIMIT: Duration = Duration::from_secs(10);
/// After its program has ended, others may still hold the terminal: what they write within this is the last.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);
/// A keeper that was let go of kills and ends within this.
const LET_GO_LIMIT: Duration = Duration::from_secs(8);
/// With everything dead, the last bytes and their meaning are there within this.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);
/// How often those who were asked to go are looked at.
const LOOK: Duration = Duration::from_millis(20);

struct Task {
    terminal: Arc<Terminal>,
    engine: Arc<Engine>,
    wires: Wires,
    master: Master,
    link: Link,
    watch: Watch,
    /// For the keeper, once it has said who it is: nobody below it may knock at the daemon's door before that.
    order: Option<Request>,
    phase: Phase,
    created: Option<Reply<()>>,
    /// What the program has not taken yet.
    input: VecDeque<u8>,
    exit: Option<Exit>,
    reason: Option<String>,
    /// Somebody ended it before it did.
    early: Option<Early>,
    /// What its sandbox refused it.
    refused: Vec<Op>,
    replies: Vec<oneshot::Sender<()>>,
    pump: Arc<Pump>,
    reader: Reader,
    loudness: Loudness,
    allowance: Allowance,
    /// Something is on the tape that the model was not told of.
    fresh: bool,
    seat: Option<Seat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting { until: Instant },
    Live,
    Ending { until: Instant },
    Draining { until: Instant },
    LettingGo { until: Instant },
    Settling { until: Instant },
    Over,
}

/// Starts the program; `created` hears when it runs.
pub fn spawn(engine: Arc<Engine>, terminal: Arc<Terminal>, wires: Wires, seat: Seat, created: Reply<()>) {
    match open(&engine, &terminal) {
        Err(e) => drop(created.send(Err(start_error("prepare", &e)))),
        Ok(Opened { master, ear, link, watch, order, cage }) => {
            let allowance = Allowance::new(Arc::clone(&terminal), cage);
            let pump = Arc::new(Pump::new(Arc::clone(&terminal), &master));
            let task = Task {
                terminal,
                engine,
                wires,
                master,
                link,
                watch,
                order: Some(order),
                phase: Phase::Starting { until: Instant::now() + START_LIMIT },
                created: Some(created),
                input: VecDeque::new(),
                exit: None,
                reason: None,
                early: None,
                refused: Vec::new(),
                replies: Vec::new(),
                pump,
                reader: Reader::Here(ear),
                loudness: Loudness::default(),
                allowance,
                fresh: false,
                seat: Some(seat),
            };
            tokio::spawn(task.run());
        }
    }
}

/// Who reads the pseudo-terminal.
enum Reader {
    /// This task.
    Here(Ear),
    /// The thread for floods.
    Elsewhere(Flood),
    Nobody,
}

impl Reader {
    /// Resolves when there is something to read here, or the flood elsewhere is over. Cancel-safe.
    async fn wait(&mut self, pump: &Pump) -> Woken {
        match self {
            Self::Here(ear) if !pump.is_silent() => {
                pump.ready(ear).await;
                Woken::Readable
            }
            Self::Elsewhere(flood) => {
                flood.over().await;
                Woken::Stopped
            }
            Self::Here(_) | Self::Nobody => std::future::pending().await,
        }
    }
}

enum Woken {
    Message(Option<Message>),
    Said(Fed),
    Link,
    Readable,
    /// Its flood is over.
    Stopped,
    Writable,
    Moment,
    Settled,
}

impl Task {
    async fn run(mut self) {
        let mut alarm = Alarm::default();
        while self.phase != Phase::Over {
            tokio::task::consume_budget().await;
            if std::mem::take(&mut self.fresh) {
                // Clients first: somebody may be waiting for the echo of a key.
                tokio::task::yield_now().await;
                self.terminal.model.wake();
            }
            let wake = self.next_moment();
            let settling = matches!(self.phase, Phase::Settling { .. });
            let (model, silent) = (&self.terminal.model, self.pump.is_silent());
            let woken = tokio::select! {
                biased;
                _ = self.watch.ready(), if !settling => Woken::Link,
                message = self.wires.inbox.recv() => Woken::Message(message),
                Some(fed) = self.wires.said.recv() => Woken::Said(fed),
                () = self.master.writable(), if self.has_input() => Woken::Writable,
                woken = self.reader.wait(&self.pump) => woken,
                () = model.caught_up(0), if settling && silent => Woken::Settled,
                () = alarm.wait(wake) => Woken::Moment,
            };
            match woken {
                Woken::Link => self.hear(),
                Woken::Message(message) => self.message(message),
                Woken::Said(fed) => self.said(fed),
                Woken::Readable => self.read(),
                Woken::Stopped => self.listen_again(),
                Woken::Writable => self.write(),
                Woken::Moment => self.moment(Instant::now()),
                Woken::Settled => self.over(),
            }
        }
    }

    fn next_moment(&self) -> Option<Instant> {
        let own = match self.phase {
            Phase::Starting { until }
            | Phase::Draining { until }
            | Phase::LettingGo { until }
            | Phase::Settling { until } => Some(until),
            Phase::Ending { until } => Some(until.min(Instant::now() + LOOK)),
            Phase::Live => self.terminal.public().destroy_at,
            Phase::Over => None,
        };
        let flush = self.owes_keeper().then(|| Instant::now() + Duration::from_millis(1));
        let elsewhere = matches!(self.reader, Reader::Elsewhere(_));
        let look = (self.phase == Phase::Live).then(|| self.allowance.next_look(elsewhere)).flatten();
        [own, flush, look].into_iter().flatten().min()
    }

    fn watch_limits(&mut self, now: Instant) {
        if self.phase == Phase::Live
            && let Some(limit) = self.allowance.look(now)
        {
            self.meet(limit);
        }
    }

    /// It used up what it may: it ends.
    fn meet(&mut self, limit: Limit) {
        tracing::info!(terminal = %self.terminal.spec.id, limit = limit.name(), "a limit was met");
        if limit == Limit::Pids {
            tree::end_storm(self.terminal.keeper(), |_| false);
        }
        let grace = match limit {
            Limit::MemoryBytes | Limit::Pids => Duration::ZERO,
            _ => self.engine.settings.terminal_grace,
        };
        let why = if limit == Limit::WallS { Early::TimedOut } else { Early::Limited };
        self.end(format!("it met its limit on {}", limit.name()), why, grace);
    }

    /// Part of its request is still on the way.
    fn owes_keeper(&self) -> bool {
        !matches!(self.phase, Phase::Settling { .. } | Phase::Over) && !self.link.is_flushed()
    }

    fn moment(&mut self, now: Instant) {
        if self.owes_keeper() && self.link.flush().is_err() {
            return self.keeper_gone();
        }
        self.watch_limits(now);
        match self.phase {
            Phase::Starting { until } if now >= until => {
                self.fail(Error::new(ErrorCode::ShellStartFailed, "the program did not come up in time"));
            }
            Phase::Live if self.terminal.public().destroy_at.is_some_and(|at| now >= at) => {
                self.end(
                    "destroyed on request".into(),
                    Early::Cancelled,
                    self.engine.settings.terminal_grace,
                );
            }
            Phase::Ending { until } if now >= until || self.is_deserted() => self.let_go(),
            Phase::Draining { until } if now >= until => self.let_go(),
            Phase::LettingGo { until } if now >= until => {
                tracing::error!(terminal = %self.terminal.spec.id, "a keeper did not end in time");
                if let Some(keeper) = tree::identify(self.terminal.keeper()) {
                    tree::signal(keeper, Signal::KILL);
                }
                self.settle();
            }
            Phase::Settling { until } if now >= until => self.over(),
            _ => {}
        }
    }

    // ---- what is asked

    fn message(&mut self, message: Option<Message>) {
        match message {
            None => self.end("abandoned".into(), Early::Cancelled, Duration::ZERO),
            Some(Message::Input { bytes, reply }) => {
                let taken = self.type_in(&bytes);
                if let Some(reply) = reply {
                    let _ = reply.send(taken);
                }
            }
            Some(Message::Resize { size, reply }) => {
                let done = self.resize(size);
                if let Some(reply) = reply {
                    let _ = reply.send(done);
                }
            }
            Some(Message::Signal { signal, reply }) => {
                let _ = reply.send(Ok(self.signal_foreground(signal)));
            }
            Some(Message::DestroyAt { at, reply }) => {
                self.terminal.public().destroy_at = at;
                self.terminal.tell_news(News::Fate);
                let _ = reply.send(Ok(()));
            }
            Some(Message::End { reason, why, grace, reply }) => {
                self.replies.extend(reply);
                self.end(reason, why, grace);
            }
        }
    }

    fn type_in(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let bytes = self.give_way(bytes);
        if self.input.len() + bytes.len() > MOST_INPUT {
            return Err(Error::new(ErrorCode::LimitExceeded, "the program does not read its input")
                .hint("wait, or send a signal")
                .detail("waiting_bytes", self.input.len()));
        }
        self.input.extend(bytes);
        self.terminal.public().last_activity = Stamp::now();
        self.write();
        Ok(())
    }

    /// ^C takes back what was typed before it and waits for a program that does not read; returns what is left to type.
    fn give_way<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        match self.master.interrupt_in(bytes) {
            Some(at) if !self.input.is_empty() || self.master.has_backlog() => {
                self.input.clear();
                self.master.forget_input();
                &bytes[at..]
            }
            _ => bytes,
        }
    }

    /// Something waits to be read by a program. When that has ended, room shows for ever and is none.
    fn has_input(&self) -> bool {
        let reads = matches!(self.phase, Phase::Starting { .. } | Phase::Live | Phase::Ending { .. });
        reads && self.exit.is_none() && !self.input.is_empty()
    }

    /// As much as the program's side takes now.
    fn write(&mut self) {
        while !self.input.is_empty() {
            let (first, _) = self.input.as_slices();
            match self.master.write(first) {
                Ok(0) => return,
                Ok(n) => drop(self.input.drain(..n)),
                // nobody will ever read it
                Err(_) => self.input.clear(),
            }
        }
    }

    fn resize(&mut self, size: Size) -> Result<(), Error> {
        // What was written before is for the old size.
        self.pump.catch_up();
        self.fresh = true;
        if self.terminal.public().size == size {
            return Ok(());
        }
        self.master.resize(size).map_err(|e| Error::internal(format!("resize: {e}")))?;
        self.terminal.public().size = size;
        self.terminal.tape.resize(size);
        Ok(())
    }

    /// Those who have the keyboard, as ^C would; how many.
    fn signal_foreground(&self, signal: Signal) -> u64 {
        let Some(group) = self.master.foreground() else { return 0 };
        let group = group.as_raw_nonzero().get();
        let in_front = |p: &tree::Proc| tree::stat(p.pid).is_some_and(|s| s.group == group);
        let targets = tree::all_below(self.terminal.keeper(), &[]).into_iter().filter(in_front);
        targets.filter(|p| tree::signal(*p, signal)).count() as u64
    }

    // ---- what comes

    fn read(&mut self) {
        let Reader::Here(ear) = &self.reader else { return };
        let taken = self.pump.turn(ear);
        self.fresh |= taken > 0;
        if self.allowance.is_too_loud() {
            self.watch_limits(Instant::now());
        }
        if self.loudness.hears(taken) {
            match self.engine.floods.read(&self.pump, &self.master) {
                Ok(flood) => self.reader = Reader::Elsewhere(flood),
                Err(e) => tracing::warn!(terminal = %self.terminal.spec.id, %e, "a flood is read here"),
            }
        }
        self.hear_silence();
    }

    fn listen_again(&mut self) {
        match self.master.listen() {
            Ok(ear) => self.reader = Reader::Here(ear),
            Err(e) => {
                self.reader = Reader::Nobody;
                self.end(format!("it could not be read any more: {e}"), Early::Cancelled, Duration::ZERO);
            }
        }
        self.hear_silence();
    }

    fn hear_silence(&mut self) {
        if let (true, Phase::Draining { .. }) = (self.pump.is_silent(), self.phase) {
            self.let_go();
        }
    }

    fn said(&mut self, fed: Fed) {
        if !fed.replies.is_empty() {
            // more than fits is a program that asks and does not listen
            let _ = self.type_in(&fed.replies);
        }
        self.terminal.hear(fed);
    }

    fn hear(&mut self) {
        let heard = self.link.hear();
        for notice in heard.notices {
            match notice {
                Notice::Hello { keeper } => self.keeper_here(keeper),
                Notice::Started { pid, missing } => {
                    if let Some(sandbox) = self.terminal.spec.sandbox.here() {
                        sandbox.lacks(missing);
                    }
                    self.started(pid);
                }
                Notice::Failed { stage, errno } => {
                    self.fail(failed_to_start(stage, errno, self.terminal.spec.sandbox.here().map(|s| &**s)));
                }
                Notice::Refused { op, .. } if !self.refused.contains(&op) => self.refused.push(op),
                Notice::Refused { .. } | Notice::Made { .. } => {}
                Notice::Exited { pid, exit } => {
                    if self.terminal.public().pid == Some(pid) {
                        self.program_ended(exit);
                    }
                }
            }
        }
        if heard.gone {
            self.tell_made();
            self.keeper_gone();
        }
    }

    /// What programs in its sandbox have made that runs outside.
    fn tell_made(&mut self) {
        let Some(sandbox) = self.terminal.spec.sandbox.here() else { return };
        for text in self.link.take_made() {
            let by = Maker { terminal_id: Some(self.terminal.spec.id.clone()), ..Maker::default() };
            sandbox.tell_made(&self.engine, &self.terminal.spec.owner, by, &text);
        }
    }

    fn keeper_here(&mut self, keeper: i32) {
        self.terminal.set_keeper(keeper);
        if let Some(order) = self.order.take() {
            // a keeper that is gone again shows as the end of the link
            let _ = self.link.send(order.encode());
        }
    }

    fn started(&mut self, pid: i32) {
        self.terminal.public().pid = Some(pid);
        self.phase = Phase::Live;
        self.allowance.begin();
        execution::announce(&self.engine, &self.terminal);
        if let Some(created) = self.created.take() {
            let _ = created.send(Ok(()));
        }
    }

    fn fail(&mut self, error: Error) {
        tracing::warn!(terminal = %self.terminal.spec.id, %error, "a terminal did not start");
        if let Some(execution) = &self.terminal.execution {
            self.engine.executions.refuse(execution, error.clone());
        }
        if let Some(created) = self.created.take() {
            let _ = created.send(Err(error));
        }
        self.reason = Some("it did not start".into());
        self.let_go();
    }

    // ---- how it ends

    fn program_ended(&mut self, exit: Exit) {
        self.exit = Some(exit);
        self.reason.get_or_insert_with(|| "its program ended".into());
        if self.phase == Phase::Live {
            self.phase = Phase::Draining { until: Instant::now() + DRAIN_LIMIT };
            self.master.let_go_of_peer();
            self.read();
        }
    }

    fn end(&mut self, reason: String, why: Early, grace: Duration) {
        if matches!(self.phase, Phase::LettingGo { .. } | Phase::Settling { .. } | Phase::Over) {
            return;
        }
        if self.exit.is_none() {
            self.early.get_or_insert(why);
        }
        self.reason.get_or_insert(reason);
        if grace.is_zero() {
            return self.let_go();
        }
        let mut until = Instant::now() + grace;
        if let Phase::Ending { until: before } = self.phase {
            until = until.min(before);
        }
        // An interactive shell ignores TERM; HUP is what a closed window sends. A stopped job must hear it too.
        for target in tree::all_below(self.terminal.keeper(), &[]) {
            tree::signal(target, Signal::HUP);
            tree::signal(target, Signal::CONT);
        }
        self.phase = Phase::Ending { until };
    }

    fn is_deserted(&self) -> bool {
        self.exit.is_some() && tree::all_below(self.terminal.keeper(), &[]).is_empty()
    }

    /// The keeper kills whatever is left and ends.
    fn let_go(&mut self) {
        self.allowance.end();
        self.link.let_go();
        self.phase = Phase::LettingGo { until: Instant::now() + LET_GO_LIMIT };
    }

    fn keeper_gone(&mut self) {
        if matches!(self.phase, Phase::Settling { .. }) {
            return;
        }
        if !matches!(self.phase, Phase::LettingGo { .. }) {
            self.reason.get_or_insert_with(|| "its keeper was killed".into());
            if let Some(created) = self.created.take() {
                let error = Error::new(ErrorCode::ShellStartFailed, "its keeper was killed");
                let _ = created.send(Err(error));
            }
        }
        self.settle();
    }

    /// Everything below the keeper is gone: what the kernel holds is all there will ever be.
    fn settle(&mut self) {
        self.allowance.over();
        self.master.let_go_of_peer();
        self.phase = Phase::Settling { until: Instant::now() + SETTLE_LIMIT };
        self.pump.finish();
        self.fresh = true;
    }

    /// What the program said last is known too.
    fn over(&mut self) {
        while let Ok(fed) = self.wires.said.try_recv() {
            self.said(fed);
        }
        self.phase = Phase::Over;
        self.seat = None;
        self.terminal.set_keeper(0);
        self.terminal.spec.secrets.forget();
        // An end nobody saw was the keeper's doing.
        let exit = self.exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw()));
        let reason = self.reason.take().unwrap_or_else(|| "ended".into());
        self.allowance.ended(exit);
        {
            let mut public = self.terminal.public();
            public.pid = None;
            public.exit = Some(exit);
            public.destroy_at = None;
            public.ended = Some((reason.clone(), Instant::now()));
        }
        self.terminal.tape.close();
        self.terminal.model.wake();
        let denied = |outcome: &Outcome| execution::denied(&self.terminal, &self.refused, outcome);
        execution::finish(&self.engine, &self.terminal, (exit, self.early), denied);
        let terminal_id = self.terminal.spec.id.clone();
        let exit_code = exit.shell_code();
        self.engine
            .events
            .emit(&self.terminal.spec.owner, Happening::TerminalEnded { terminal_id, exit_code, reason });
        for reply in std::mem::take(&mut self.replies) {
            let _ = reply.send(());
        }
    }
}
