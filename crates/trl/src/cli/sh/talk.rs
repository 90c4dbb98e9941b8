//! One command: asked for, carried and waited for.
//!
//! 1. `exec.start` with `follow`: the reply comes when it runs, and every byte it writes after that. The command waits for
//!    whoever reads us, as it would if it wrote there itself.
//! 2. Our stdin goes to it as it takes it. On a terminal ours is raw meanwhile, and what is typed goes as it is.
//! 3. Signals that we are sent are sent to all it has started; ^Z stops it and us.
//! 4. Whoever reads us goes: it gets what it would have got, SIGPIPE.
//! 5. It ends: so do we. We are killed: the daemon ends it.

use std::io;
use std::time::Duration;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use trl_client::{Approvals, OutputStream, Process};
use trl_proto::exec::{Approval, ExecutionStatus, OnDisconnect, Outcome, StreamStarted};
use trl_proto::runtime::{HOST, RuntimeWish};
use trl_proto::session::SessionInfo;
use trl_proto::start::{StartParams, StartStdin, StderrTo, StdinName, Umask, Until};
use trl_proto::{ErrorCode, Method, RequestId};
use trl_sys::pty::Size;
use trl_sys::tty::Tty;

use super::links::Known;
use super::streams::{Errors, Input, Seat};
use super::words::Task;
use super::{Caller, End, Trouble, say, session};
use crate::cli::attach::without_answers;
use crate::cli::failure::Failure;
use crate::cli::{forward, sandbox};
use crate::client::{self, ClientError, Connection};
use crate::config::Config;

/// So often the same signal is only passed on; then we go, whatever the daemon does.
const MOST_SIGNALS: u32 = 3;
/// After a yes it takes milliseconds.
const BEGINS_WITHIN: Duration = Duration::from_millis(20);
const FORWARDED: [Number; 6] =
    [Number::INT, Number::TERM, Number::HUP, Number::QUIT, Number::USR1, Number::USR2];

type Output = JoinHandle<Result<Outcome, forward::Broken>>;

pub(super) async fn talk(config: &Config, known: Known, caller: &Caller) -> Result<End, Trouble> {
    let found = client::connect_at_once(config, known.start()).await;
    let (client, pushes) = found.map_err(|error| Trouble::NoDaemon(known.explain(error)))?;
    let io = |e: io::Error| Trouble::Failed(e.into());
    // From here on there is something to pass signals on to.
    let mut signals = Signals::take(caller.seat).map_err(io)?;
    let tty = match caller.seat {
        Seat::Terminal => Some(Tty::take().map_err(io)?),
        Seat::Pipes { .. } => None,
    };
    let started = start(&client, config, caller, tty.as_ref().and_then(size_of)).await?;
    let stream = OutputStream::new(pushes, started, client.clone());
    let process = stream.process().clone();
    let request = stream.request_id().cloned();
    if let Some(request) = &request {
        say(&format!("waiting for approval: trl approve {request}, or the web page"));
    }
    let output = tokio::spawn(forward::output(stream));
    if matches!(caller.seat, Seat::Pipes { input: Input::Ours, .. }) {
        tokio::spawn(feed(client, process.clone(), request));
    }
    let job = Job { process, tty };
    job.watch(&mut signals, output).await
}

/// As a terminal of the daemon's can have it: some have none, or one that no program can use.
fn size_of(tty: &Tty) -> Option<Size> {
    tty.size().filter(|size| size.cols > 0 && size.rows > 0).map(trl_core::terminal::spec::nearest_size)
}

impl Caller {
    fn stdin(&self) -> Option<StartStdin> {
        match self.seat {
            Seat::Pipes { input: Input::Nothing, .. } => Some(StartStdin::Named(StdinName::Null)),
            _ => None,
        }
    }

    /// The words for the real shell; `$0` is what we were called as.
    fn argv(&self) -> Result<Vec<String>, Failure> {
        let shell = self.shell.path.clone().into_os_string();
        let mut all = vec![shell];
        all.extend(self.words.iter().cloned());
        if let Task::Command { text } = self.read.task
            && self.words.len() == text + 1
        {
            all.push(self.shell.called.clone());
        }
        all.into_iter().map(text_of).collect()
    }

    /// The text for a shell that runs already; None when only a shell of its own can run it.
    fn text(&self) -> Result<Option<String>, Failure> {
        let Task::Command { text } = self.read.task else { return Ok(None) };
        if !self.read.plain || self.seat == Seat::Terminal {
            return Ok(None);
        }
        let Some(command) = self.words.get(text) else { return Ok(None) };
        // Arguments are one command's, and a session's shell has its own.
        match self.words.len() > text + 2 {
            true => Ok(None),
            false => text_of(command.clone()).map(Some),
        }
    }
}

fn text_of(word: std::ffi::OsString) -> Result<String, Failure> {
    word.into_string()
        .map_err(|word| Failure::Usage(format!("{word:?} is not valid UTF-8, which the wire needs")))
}

/// In the session that was asked for, if it is free; on its own otherwise.
async fn start(
    client: &Connection,
    config: &Config,
    caller: &Caller,
    size: Option<Size>,
) -> Result<StreamStarted, Trouble> {
    let key = std::env::var(session::VARIABLE).ok().filter(|key| !key.is_empty());
    let mut working_dir = caller.working_dir.clone();
    if let Some(key) = key {
        let session = session::find(client, config, &key, caller).await?;
        if caller.shell.is(&session.shell)
            && let Some(started) = start_in(client, caller, &session).await?
        {
            return Ok(started);
        }
        working_dir = session.working_dir;
    }
    let terminal = size.filter(|_| caller.seat == Seat::Terminal);
    let params = StartParams {
        argv: Some(caller.argv().map_err(Trouble::Failed)?),
        env: Some(caller.variables.open.clone()),
        secret_env: Some(caller.variables.secret.clone()),
        working_dir: Some(working_dir),
        stdin: caller.stdin(),
        stderr: match caller.seat {
            Seat::Pipes { errors: Errors::WithOutput, .. } => Some(StderrTo::Stdout),
            _ => None,
        },
        umask: Some(caller.umask).filter(|umask| *umask != Umask::default()),
        tty: (caller.seat == Seat::Terminal).then_some(true),
        cols: terminal.map(|size| size.cols),
        rows: terminal.map(|size| size.rows),
        sandbox: caller.sandbox.clone(),
        case_id: caller.case.clone(),
        runtime: Some(RuntimeWish::Named(HOST.into())),
        ..common()
    };
    Ok(client.call(Method::ExecStart, &params).await?)
}

/// None when it has something else to do.
async fn start_in(
    client: &Connection,
    caller: &Caller,
    session: &SessionInfo,
) -> Result<Option<StreamStarted>, Trouble> {
    let Some(command) = caller.text().map_err(Trouble::Failed)? else { return Ok(None) };
    let params = StartParams {
        command: Some(command),
        session_id: Some(session.session_id.clone()),
        stdin: caller.stdin(),
        timeout_s: Some(0.0),
        ..common()
    };
    match client.call(Method::ExecStart, &params).await {
        Ok(started) => Ok(Some(started)),
        Err(ClientError::Refused(error)) if error.code == ErrorCode::SessionBusy => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn common() -> StartParams {
    StartParams {
        follow: Some(true),
        approval: Some(Approval::Return),
        on_disconnect: Some(OnDisconnect::Cancel),
        ..StartParams::default()
    }
}

/// Our stdin, as the command takes it. One that a person is asked about takes nothing yet.
async fn feed(client: Connection, process: Process, request: Option<RequestId>) {
    if let Some(request) = request {
        let _said = Approvals::new(client).wait(&request, None).await;
        while !has_begun(&process).await {}
    }
    forward::input(process).await;
}

/// Also when there is nothing to wait for any more.
async fn has_begun(process: &Process) -> bool {
    let waited = process.wait(Until::default(), BEGINS_WITHIN).await;
    let not_yet = [ExecutionStatus::WaitingHitl, ExecutionStatus::Queued];
    waited.map_or(true, |waited| !not_yet.contains(&waited.progress.status))
}

/// What runs, and the terminal we have lent it.
struct Job {
    process: Process,
    tty: Option<Tty>,
}

impl Job {
    async fn watch(self, signals: &mut Signals, mut output: Output) -> Result<End, Trouble> {
        let mut heard = Heard::default();
        loop {
            tokio::select! {
                ended = &mut output => {
                    let ended = ended.map_err(|e| Trouble::Failed(io::Error::from(e).into()))?;
                    return self.end(ended, heard.last).await;
                }
                number = signals.next() => match number {
                    Number::TSTP => self.pause().await,
                    Number::WINCH => self.resize().await,
                    number => {
                        if heard.again(number) >= MOST_SIGNALS {
                            return Ok(End::Died(number.as_raw()));
                        }
                        tokio::spawn(pass_on(self.process.clone(), number));
                    }
                },
                keys = self.typed() => match keys {
                    // An error means that nobody reads, and the end comes by itself.
                    Ok(keys) => drop(self.process.write(without_answers(&keys)).await),
                    Err(_) => {
                        tokio::spawn(pass_on(self.process.clone(), Number::HUP));
                        return Ok(End::Died(Number::HUP.as_raw()));
                    }
                },
            }
        }
    }

    async fn typed(&self) -> io::Result<Vec<u8>> {
        match &self.tty {
            Some(tty) => tty.read().await,
            None => std::future::pending().await,
        }
    }

    async fn resize(&self) {
        let Some(size) = self.tty.as_ref().and_then(size_of) else { return };
        let _gone = self.process.resize(size.cols, size.rows).await;
    }

    /// All of it stands still while we do.
    async fn pause(&self) {
        self.signal(Number::STOP).await;
        if let Some(tty) = &self.tty {
            tty.restore();
        }
        let _ = rustix::process::kill_process(rustix::process::getpid(), Number::STOP);
        if let Some(tty) = &self.tty {
            let _ = tty.retake();
        }
        self.signal(Number::CONT).await;
    }

    async fn signal(&self, number: Number) {
        let _over = self.process.signal(&name(number)).await;
    }

    async fn end(
        self,
        ended: Result<Outcome, forward::Broken>,
        heard: Option<Number>,
    ) -> Result<End, Trouble> {
        match ended {
            Ok(outcome) => Ok(ended_as(&outcome, heard)),
            Err(forward::Broken::Reader) => {
                cancel(&self.process, Number::PIPE).await;
                Ok(End::Died(Number::PIPE.as_raw()))
            }
            Err(forward::Broken::Failed(failure)) => Err(Trouble::Failed(failure)),
        }
    }
}

fn ended_as(outcome: &Outcome, heard: Option<Number>) -> End {
    let signal = outcome.signal.as_deref().and_then(trl_sys::signal::parse);
    // It had not begun: nobody but us was there to be ended.
    let died = signal.or(heard.filter(|_| outcome.cancelled));
    if let Some(denied) = outcome.denied.as_ref().filter(|_| outcome.exit_code != 0) {
        say(&sandbox::note(denied));
    }
    match died {
        Some(number) => End::Died(number.as_raw()),
        // Codes are 0 to 255 already; anything else means failure.
        None => End::Exited(u8::try_from(outcome.exit_code).unwrap_or(1)),
    }
}

fn name(number: Number) -> String {
    trl_sys::signal::name(number.as_raw())
}

/// What has not begun hears no signal: that is cancelled.
async fn pass_on(process: Process, number: Number) {
    if process.signal(&name(number)).await.is_err() {
        cancel(&process, number).await;
    }
}

async fn cancel(process: &Process, number: Number) {
    // It may have ended by itself, which is what was wanted.
    let _over = process.cancel_with(&name(number)).await;
}

/// Which signal came last, and how often in a row.
#[derive(Default)]
struct Heard {
    last: Option<Number>,
    times: u32,
}

impl Heard {
    fn again(&mut self, number: Number) -> u32 {
        self.times = if self.last == Some(number) { self.times + 1 } else { 1 };
        self.last = Some(number);
        // Whoever asks a program by one of these may do so for ever.
        if number == Number::USR1 || number == Number::USR2 { 0 } else { self.times }
    }
}

/// Those that we pass on.
struct Signals(Vec<(Number, Signal)>);

impl Signals {
    /// What we were started deaf to stays so, as in a shell.
    fn take(seat: Seat) -> io::Result<Self> {
        let more = match seat {
            Seat::Terminal => [Number::TSTP, Number::WINCH].as_slice(),
            Seat::Pipes { .. } => &[Number::TSTP],
        };
        let mut taken = Vec::new();
        for number in FORWARDED.iter().chain(more) {
            if !trl_sys::signal::is_ignored(number.as_raw()) {
                taken.push((*number, signal(SignalKind::from_raw(number.as_raw()))?));
            }
        }
        Ok(Self(taken))
    }

    async fn next(&mut self) -> Number {
        std::future::poll_fn(|cx| {
            let ready = self.0.iter_mut().find_map(|(number, signal)| {
                matches!(signal.poll_recv(cx), std::task::Poll::Ready(Some(()))).then_some(*number)
            });
            ready.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        })
        .await
    }
}
