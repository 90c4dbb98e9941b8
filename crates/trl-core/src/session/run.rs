//! One execution in flight: starting it, collecting its output, and what its end looks like.
//!
//! The drain rule: a child's writes come before its exit, and that before the report. So when the report is read,
//! what is in the pipes now is the rest of this command's output, all of it; what comes later is a background
//! process's. Nothing ever waits for the end of a pipe.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use trl_proto::exec::{Omitted, Outcome, Range, ShellState};
use trl_proto::limits::{Limit, Limits, Usage};
use trl_proto::sandbox::{Denied, SandboxReport};
use trl_proto::{Error, ErrorCode};
use trl_sys::fifo::Found;
use trl_sys::reap::Exit;
use trl_sys::sandbox::Op;
use trl_sys::tree::Proc;

use super::body::{Body, exit_parts, shortage};
use super::messages::{Order, Stdin};
use super::stop::{Stop, Why};
use crate::execution::millis;
use crate::output::Log;
use crate::random::Nonce;
use crate::sandbox::Sandbox;
use crate::sandbox::denial::{self, Evidence};
use crate::shell::Kind;
use crate::shell::channel::{Outlet, Source};
use crate::shell::feed::Feeder;
use crate::shell::files::Medium;
use crate::shell::script;
use crate::shell::wrap::{self, Places};

#[derive(Debug)]
pub struct Run {
    pub order: Order,
    pub nonce: Nonce,
    pub started: Instant,
    pub deadline: Option<Instant>,
    /// What its end at the deadline is called.
    pub overdue: Why,
    /// What its session may use.
    limits: Limits,
    /// Bytes of output it may still print, with a limit on them.
    output_left: Option<u64>,
    /// It printed more than that, which was dropped.
    pub too_loud: bool,
    /// What it used, once it is over.
    usage: Option<Usage>,
    /// Somebody has signalled it or fed its stdin: to hand it to another shell would undo that.
    pub touched: bool,
    /// Being ended.
    pub stop: Option<Stop>,
    /// Its open stdin.
    pub stdin: Option<Feeder>,
    /// Its text on the way, where that may not touch a disk.
    text: Vec<Feeder>,
    /// What the shell printed outside the command: an EXIT trap's output, should it die.
    base: Vec<u8>,
    /// The shell has reported its code.
    pub reported: Option<i32>,
    /// The shell is dead.
    pub died: Option<Exit>,
    /// What earlier commands had left running when it began.
    pub older: Vec<Proc>,
    /// Output may be waiting that was not read yet.
    pub unread: bool,
    /// A flood beside other commands is not read until then.
    pub rests: Option<Instant>,
    /// Output waits for a slow follower until then.
    pub paused: Option<Instant>,
    /// What its streams held when it ended; background processes may write on.
    totals: Option<Totals>,
    /// What its sandbox refused it.
    refused: Vec<Op>,
}

#[derive(Debug, Clone)]
struct Totals {
    stdout: u64,
    stderr: u64,
    omitted: Omitted,
}

/// Bytes of one stream read in one go, before others get their turn.
const TURN: usize = 4;
const CHUNK: usize = 64 * 1024;

thread_local! {
    /// One buffer for every session of this thread: reads never span an await.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; CHUNK]);
}

impl Run {
    /// Writes the command's files and tells the shell.
    pub fn begin(order: Order, body: &mut Body) -> Result<Self, Box<(Order, Error)>> {
        let nonce = Nonce::random();
        if let Some(cage) = &mut body.cage {
            cage.begin(body.keeper);
        }
        match tell(&order, body, nonce) {
            Err(e) => Err(Box::new((order, write_error(&e)))),
            Ok(feeders) => {
                let mut run = Self::new(order, body, nonce, feeders);
                run.begun();
                Ok(run)
            }
        }
    }

    /// A direct command, which its keeper is about to be asked to start. It has begun when that says so.
    pub fn direct(order: Order, body: &mut Body) -> io::Result<Self> {
        let feeder = match &order.stdin {
            Stdin::Null => None,
            Stdin::Bytes(first) | Stdin::Open(first) => {
                let mut feeder = Feeder::open(&body.files.at("i"))?;
                drop(feeder.write(first.clone()));
                if matches!(order.stdin, Stdin::Bytes(_)) {
                    feeder.close();
                }
                Some(feeder)
            }
        };
        Ok(Self::new(order, body, Nonce::random(), (feeder, Vec::new())))
    }

    fn new(order: Order, body: &Body, nonce: Nonce, feeders: Feeders) -> Self {
        let started = Instant::now();
        let limits = body.cage.as_ref().map(|cage| cage.limits).unwrap_or_default();
        Self {
            overdue: Why::Timeout,
            limits,
            output_left: limits.output_bytes,
            too_loud: false,
            usage: None,
            nonce,
            touched: false,
            started,
            deadline: None,
            stop: None,
            stdin: feeders.0,
            text: feeders.1,
            base: Vec::new(),
            reported: None,
            died: None,
            older: body.background.clone(),
            unread: false,
            rests: None,
            paused: None,
            totals: None,
            refused: Vec::new(),
            order,
        }
    }

    /// It runs: its time counts from here.
    pub fn begun(&mut self) {
        let (longest, overdue) = longest(self.order.timeout, self.limits.wall_s);
        self.started = Instant::now();
        self.overdue = overdue;
        self.deadline = longest.and_then(|longest| self.started.checked_add(longest));
        self.order.execution.start(self.started);
    }

    /// It is to be ended, unless it is over and only the news of that waits.
    pub fn end_early(&mut self, stop: Stop) {
        if self.reported.is_none() && self.died.is_none() {
            self.stop = Some(stop);
        }
    }

    /// What is ending it. A stop that has signalled nobody by the time the command is over comes too late, and goes.
    pub fn acting_stop(&mut self) -> Option<&mut Stop> {
        self.stop.take_if(|stop| !stop.has_acted());
        self.stop.as_mut()
    }

    /// Moves output from the pipes to the logs, as far as this turn and slow followers allow.
    pub fn pump(&mut self, body: &mut Body) {
        self.paused = None;
        let more_out = self.pump_stream(&mut body.out, Source::Stdout);
        let more_err = self.pump_stream(&mut body.err, Source::Stderr);
        self.unread = more_out || more_err;
    }

    /// Reading a flood without a break keeps one processor busy here and another one there, and the scheduler may let a
    /// shell that has next to nothing to do wait for some milliseconds. A full pipe stops the flood itself.
    pub fn rest(&mut self) {
        const REST: Duration = Duration::from_millis(1);
        if self.unread {
            self.rests = Some(Instant::now() + REST);
        }
    }

    /// True when there may be more.
    fn pump_stream(&mut self, outlet: &mut Outlet, source: Source) -> bool {
        let log = self.log(source);
        for _ in 0..TURN {
            if let Some(until) = log.crowded() {
                self.paused = Some(self.paused.map_or(until, |p| p.max(until)));
                return true;
            }
            let found = with_buffer(|buf| {
                let found = outlet.read(buf);
                if let Found::Bytes(n) = found {
                    self.keep(&log, &buf[..n]);
                }
                found
            });
            if !matches!(found, Found::Bytes(_)) {
                return false;
            }
        }
        true
    }

    /// As much of it as it may print.
    fn keep(&mut self, log: &Log, bytes: &[u8]) {
        let Some(left) = &mut self.output_left else { return log.append(bytes) };
        let fits = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
        *left -= fits as u64;
        self.too_loud |= fits < bytes.len();
        log.append(&bytes[..fits]);
    }

    /// What it used, as long as somebody knows.
    pub fn count_usage(&mut self, body: &mut Body) {
        let hit = self.stop.as_ref().and_then(Stop::limit).or(self.too_loud.then_some(Limit::OutputBytes));
        let keeper = body.keeper;
        self.usage = body.cage.as_mut().map(|cage| cage.usage(keeper, hit));
    }

    fn log(&self, source: Source) -> std::sync::Arc<Log> {
        let execution = &self.order.execution;
        if source == Source::Stdout { execution.stdout.clone() } else { execution.stderr.clone() }
    }

    /// Words of the shell that no redirection of the command could catch.
    pub fn heard_base(&mut self, kind: Kind, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if kind.speaks_on_base() {
            return self.order.execution.stderr.append(bytes);
        }
        /// An EXIT trap that prints more than this has said enough.
        const MOST: usize = 1 << 20;
        if self.base.len() < MOST {
            self.base.extend_from_slice(bytes);
        }
    }

    /// What the shell itself has said by now.
    pub fn take_base(&mut self, body: &mut Body) {
        let Some(shell) = &mut body.shell else { return };
        let bytes = shell.control.base_output();
        self.heard_base(shell.kind, &bytes);
    }

    /// Everything written before now is this command's; who still holds a pipe becomes a late writer.
    pub fn drain(&mut self, body: &mut Body) {
        self.stdin = None;
        self.text.clear();
        body.release_streams();
        let [seen_out, seen_err] = Outlet::look(&body.out, &body.err);
        for (outlet, source, seen) in
            [(&mut body.out, Source::Stdout, seen_out), (&mut body.err, Source::Stderr, seen_err)]
        {
            if seen.has_bytes {
                self.take_pending(outlet, &self.log(source));
            }
        }
        if self.died.is_some() && !self.base.is_empty() {
            // dash and ash undo redirections before they run an EXIT trap: its output arrived here
            self.order.execution.stdout.append(&std::mem::take(&mut self.base));
        }
        self.totals = Some(self.count());
        for (outlet, source, seen) in
            [(&mut body.out, Source::Stdout, seen_out), (&mut body.err, Source::Stderr, seen_err)]
        {
            outlet.settle(&body.files, &body.watch, seen, self.log(source));
        }
    }

    /// Reads exactly what is in the pipe now.
    fn take_pending(&mut self, outlet: &mut Outlet, log: &Log) {
        let mut left = outlet.pending();
        while left > 0 {
            let found = with_buffer(|buf| {
                let most = left.min(buf.len());
                let found = outlet.read(&mut buf[..most]);
                if let Found::Bytes(n) = found {
                    self.keep(log, &buf[..n]);
                }
                found
            });
            match found {
                Found::Bytes(n) => left -= n,
                _ => return,
            }
        }
    }

    fn count(&self) -> Totals {
        let execution = &self.order.execution;
        let range = |r: Option<(u64, u64)>| r.map(|(from, to)| Range { from, to });
        let omitted =
            Omitted { stdout: range(execution.stdout.omitted()), stderr: range(execution.stderr.omitted()) };
        Totals { stdout: execution.stdout.total(), stderr: execution.stderr.total(), omitted }
    }

    /// The limit on files is the kernel's, and shows in how it ended.
    fn explained(&self, usage: Usage, code: i32) -> Usage {
        const BY_SIGXFSZ: i32 = 128 + 25;
        let by_file = self.limits.file_size_bytes.is_some() && code == BY_SIGXFSZ;
        Usage { limit_hit: usage.limit_hit.or(by_file.then_some(Limit::FileSizeBytes)), ..usage }
    }

    /// How it ended.
    pub fn outcome(&self, end: End) -> Outcome {
        let execution = &self.order.execution;
        let (code, signal) = match (self.reported, self.died) {
            // Ended by us, whatever it managed to report just before: code and flag tell one story.
            (_, Some(exit)) if self.stop.is_some() => exit_parts(exit),
            (Some(code), _) => (code, None),
            (None, Some(exit)) => exit_parts(exit),
            (None, None) => exit_parts(Exit::Signal(9)),
        };
        let Totals { stdout, stderr, omitted } = self.totals.clone().unwrap_or_else(|| self.count());
        Outcome {
            execution_id: execution.id.clone(),
            exit_code: code,
            signal,
            duration_ms: millis(end.at.saturating_duration_since(self.started)),
            waited_ms: millis(self.started.saturating_duration_since(self.order.received)),
            timed_out: self.stop.as_ref().is_some_and(Stop::is_timeout),
            cancelled: self.stop.as_ref().is_some_and(Stop::is_cancel),
            stdout_bytes: stdout,
            stderr_bytes: stderr,
            omitted: (omitted != Omitted::default()).then_some(omitted),
            shell_state: end.shell,
            lost_commands: (end.lost > 0).then_some(end.lost),
            background_pids: (!end.background.is_empty()).then_some(end.background),
            working_dir: end.cwd,
            usage: self.usage.clone().map(|usage| self.explained(usage, code)),
            sandbox: SandboxReport::off(),
            denied: None,
        }
    }

    /// A process of this session was refused a system call; those that were there before are not this command's.
    pub fn heard_refused(&mut self, pid: i32, op: Op) {
        if !self.refused.contains(&op) && !self.older.iter().any(|p| p.pid == pid) {
            self.refused.push(op);
        }
    }

    /// Whether its sandbox was in its way.
    pub fn denied(&self, sandbox: &Sandbox, outcome: &Outcome) -> Option<Denied> {
        let execution = &self.order.execution;
        // Its complaints are on stderr, or where it sent that.
        let complaints = match outcome.exit_code {
            0 => Vec::new(),
            _ if outcome.stderr_bytes > 0 => execution.stderr.snapshot(),
            _ => execution.stdout.snapshot(),
        };
        let evidence = Evidence {
            refused: &self.refused,
            exit_code: outcome.exit_code,
            complaints: &complaints,
            working_dir: Path::new(&outcome.working_dir),
        };
        denial::judge(&sandbox.policy, &evidence)
    }
}

/// What only the session knows about an execution's end.
#[derive(Debug)]
pub struct End {
    pub at: Instant,
    pub shell: ShellState,
    pub lost: u64,
    pub background: Vec<i32>,
    pub cwd: String,
}

fn with_buffer<T>(f: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with_borrow_mut(|buf| f(buf))
}

/// Until when a command may run, and what it is called when that has come: the nearer of its timeout and its limit.
fn longest(timeout: Duration, wall_s: Option<f64>) -> (Option<Duration>, Why) {
    let timeout = (!timeout.is_zero()).then_some(timeout);
    match (timeout, wall_s.map(Duration::from_secs_f64)) {
        (None, Some(wall)) => (Some(wall), Why::Limit(Limit::WallS)),
        (Some(timeout), Some(wall)) if wall < timeout => (Some(wall), Why::Limit(Limit::WallS)),
        (timeout, _) => (timeout, Why::Timeout),
    }
}

/// For its stdin, and for its text.
type Feeders = (Option<Feeder>, Vec<Feeder>);

fn tell(order: &Order, body: &mut Body, nonce: Nonce) -> io::Result<Feeders> {
    body.hold_streams()?;
    let mut text: Vec<Feeder> = body.files.deliver_command(order.execution.text())?.into_iter().collect();
    let Some(shell) = &body.shell else { return Err(io::Error::other("a direct command runs no others")) };
    let files = &body.files;
    let (letter, stdin_path, stdin) = prepare_stdin(order, body)?;
    let carry = shell.last_code != 0 && shell.kind != Kind::Fish;
    if carry {
        files.write("r", script::carry(shell.kind, shell.last_code).as_bytes())?;
    }
    let letter = if order.around.is_plain() {
        letter
    } else {
        let places = Places { stdin: &stdin_path, back: &shell.cwd };
        let wrapper = wrap::wrapper(shell.kind, &files.paths, &order.around, places);
        text.extend(files.deliver("w", wrapper.outer.as_bytes())?);
        text.extend(files.deliver("x", wrapper.inner.as_bytes())?);
        'w'
    };
    let verb = if carry { script::carrying(letter) } else { letter };
    if order.clearance.probe_for.is_some() && script::prints_traps(shell.kind) {
        shell.control.tell(shell.slot, 'q', nonce)?;
    }
    shell.control.tell(shell.slot, verb, nonce)?;
    Ok((stdin, text))
}

fn prepare_stdin(order: &Order, body: &Body) -> io::Result<(char, String, Option<Feeder>)> {
    let files = &body.files;
    let fifo = |first: &[u8]| -> io::Result<Feeder> {
        files.renew_fifo("i")?;
        let feeder = Feeder::open(&files.at("i"))?;
        drop(feeder.write(first.to_vec()));
        Ok(feeder)
    };
    match &order.stdin {
        Stdin::Null => Ok(('n', "/dev/null".into(), None)),
        Stdin::Bytes(bytes) if files.medium == Medium::Memory => {
            files.write("b", bytes)?;
            Ok(('b', files.paths.stdin_file(), None))
        }
        Stdin::Bytes(bytes) => {
            let mut feeder = fifo(bytes)?;
            feeder.close();
            Ok(('i', files.paths.stdin_fifo(), Some(feeder)))
        }
        Stdin::Open(bytes) => Ok(('i', files.paths.stdin_fifo(), Some(fifo(bytes)?))),
    }
}

fn write_error(error: &io::Error) -> Error {
    let code = shortage(error).unwrap_or(ErrorCode::InternalError);
    let told = Error::new(code, format!("the command could not be handed to the shell: {error}"));
    match code {
        ErrorCode::StorageFull => told.hint("free space where runtime_dir lives, or send less stdin"),
        ErrorCode::ResourcePressure => told.hint("end sessions, or background processes of earlier commands"),
        _ => told,
    }
}

/// Files of a finished command that may hold secrets.
pub fn tidy(body: &mut Body, order: &Order) {
    body.files.forget_command();
    if order.stdin != Stdin::Null {
        body.files.remove("b");
    }
    if !order.around.is_plain() {
        body.files.remove("w");
        body.files.remove("x");
    }
}
