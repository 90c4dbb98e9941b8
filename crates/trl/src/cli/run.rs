//! `trl run`: one command, as if it ran here.
//!
//! 1. The arguments become shell text, the options become [`RunParams`].
//! 2. `exec.stream` starts it; [`forward`] copies its output to our streams and our stdin to it.
//! 3. Meanwhile ^C is a request, not a death: the first interrupts, the second cancels, the third leaves.
//! 4. We exit with the command's code; 124 when it timed out, 130 when we cancelled it, 125 when TRL itself failed.
//!    What the code does not tell (a timeout, a shell that was lost) is a line on stderr.
//!
//! The command ends with us whatever ends us: the daemon cancels it when the connection goes away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use trl_client::{OutputStream, Process};
use trl_proto::exec::{OnDisconnect, Outcome, RunParams, ShellState};
use trl_proto::{Method, SessionId};

use super::case::CaseArgs;
use super::failure::{Failure, READER_GONE};
use super::runtime::RuntimeArgs;
use super::sandbox::{self, SandboxArgs};
use super::{forward, print, quote, session};
use crate::client::{self, Auth, Connection, Start};
use crate::config::{Config, units};

const TIMED_OUT: u8 = 124;
/// 128 + SIGINT.
const INTERRUPTED: u8 = 130;
/// For the long help.
pub(super) const KEYS_AND_CODES: &str = "\
^C interrupts the command (INT to all it started), a second one cancels it (TERM, then KILL), a third one leaves.

Exits with the command's code; 124 when it timed out, 130 when it was cancelled by ^C, 125 when TRL itself failed.";

#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Run in this session (its id or name) instead of a throw-away one
    #[arg(short, long, value_name = "SESSION")]
    session: Option<String>,
    /// End the command after this long, such as 30s or 2m; 0 is never
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Set a variable for this command
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Run in this directory [default: this one, or the session's own]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Wait for a busy session instead of failing
    #[arg(long)]
    queue: bool,
    #[command(flatten)]
    case: CaseArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// Write nothing to stderr but what the command does; failures of TRL itself are still told
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    sandbox: SandboxArgs,
    #[command(flatten)]
    stdin: forward::StdinArgs,
    #[command(flatten)]
    autostart: Autostart,
    /// One argument is shell text; several are a program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// Reads `NAME=VALUE`.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write NAME=VALUE".into()),
    }
}

/// Of the commands that start a daemon when none is running.
#[derive(Debug, clap::Args)]
pub(super) struct Autostart {
    /// Fail when no daemon is running instead of starting one
    #[arg(long)]
    no_autostart: bool,
}

impl Autostart {
    pub(super) fn start(&self) -> Start {
        if self.no_autostart { Start::Never } else { Start::IfNeeded }
    }
}

/// Where something begins that nobody gave a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directory {
    /// In its own: that of a session, or of another machine.
    Its,
    /// In its case's, or in ours.
    Ours,
}

impl Directory {
    pub(super) fn of(session: Option<&SessionId>, runtime: &RuntimeArgs) -> Self {
        if session.is_some() { Self::Its } else { runtime.directory() }
    }
}

/// Where it begins.
pub(super) async fn working_dir(
    client: &Connection,
    asked: Option<&Path>,
    otherwise: Directory,
    case: &CaseArgs,
) -> Result<Option<String>, Failure> {
    match otherwise {
        Directory::Its => asked.map(absolute).transpose(),
        Directory::Ours => case.start_dir(client, asked).await,
    }
}

/// None rather than an empty one.
pub(super) fn environment(given: Vec<(String, String)>) -> Option<BTreeMap<String, String>> {
    let env: BTreeMap<String, String> = given.into_iter().collect();
    (!env.is_empty()).then_some(env)
}

/// `path` as the daemon, which lives in another directory, can use it.
pub(super) fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path)?;
    let wrong = || Failure::Usage(format!("{path:?} is not valid UTF-8, which the wire needs"));
    path.to_str().map(String::from).ok_or_else(wrong)
}

pub(super) async fn run(config: &Config, args: RunArgs) -> Result<u8, Failure> {
    let stdin = args.stdin.choose();
    let telling = Telling::of(&args);
    let command = quote::shell_text(&args.command).map_err(Failure::Usage)?;
    let (client, pushes) = client::connect(config, args.autostart.start(), Auth::IfPerson).await?;
    let params = params(&client, args, command, &stdin).await?;
    // From here on there is something to interrupt.
    let interrupts = signal(SignalKind::interrupt())?;
    let started = client.call(Method::ExecStream, &params).await?;
    let stream = OutputStream::new(pushes, started, client);
    let process = stream.process().clone();
    if let Some(request) = stream.request_id() {
        say(&format!("waiting for approval: trl approve {request}, or the web page"));
    }
    let output = tokio::spawn(forward::output(stream));
    if let forward::Stdin::Forwarded = stdin {
        tokio::spawn(forward::input(process.clone()));
    }
    let (ended, next) = watch(&process, interrupts, output).await?;
    finish(ended, next, &telling)
}

async fn params(
    client: &Connection,
    args: RunArgs,
    command: String,
    stdin: &forward::Stdin,
) -> Result<RunParams, Failure> {
    let session_id = match &args.session {
        Some(session) => Some(session::resolve(client, session).await?),
        None => None,
    };
    let otherwise = Directory::of(session_id.as_ref(), &args.runtime);
    let working_dir = working_dir(client, args.cwd.as_deref(), otherwise, &args.case).await?;
    Ok(RunParams {
        session_id,
        command,
        timeout_s: args.timeout.map(|timeout| timeout.as_secs_f64()),
        open_stdin: matches!(stdin, forward::Stdin::Forwarded).then_some(true),
        env: environment(args.env),
        working_dir,
        queue: args.queue.then_some(true),
        on_disconnect: Some(OnDisconnect::Cancel),
        sandbox: args.sandbox.params(),
        case_id: args.case.case,
        workspace_id: args.case.workspace,
        runtime: args.runtime.wish(),
        ..RunParams::default()
    })
}

/// What the next ^C does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Interrupt,
    Cancel,
    Leave,
}

/// How the command ended; None when a person did not wait for that.
type Ended = Option<Result<Outcome, forward::Broken>>;

/// Waits for the end of the command, and passes ^C on to it.
async fn watch(
    process: &Process,
    mut interrupts: Signal,
    mut output: JoinHandle<Result<Outcome, forward::Broken>>,
) -> Result<(Ended, Next), Failure> {
    let mut next = Next::Interrupt;
    loop {
        tokio::select! {
            ended = &mut output => return Ok((Some(ended.map_err(io::Error::from)?), next)),
            _ = interrupts.recv() => next = match next {
                Next::Interrupt => {
                    tokio::spawn(interrupt(process.clone()));
                    Next::Cancel
                }
                Next::Cancel => {
                    say_cancelling();
                    tokio::spawn(cancel(process.clone()));
                    Next::Leave
                }
                // The daemon goes on with the cancel.
                Next::Leave => return Ok((None, next)),
            }
        }
    }
}

/// What a terminal does. A command that still waits for its turn has nothing to interrupt: that one is cancelled.
async fn interrupt(process: Process) {
    if process.signal("INT").await.is_err() {
        cancel(process).await;
    }
}

/// A person who sees nothing happen during the grace presses ^C again without meaning to leave.
fn say_cancelling() {
    if io::stderr().is_terminal() {
        say("cancelling; ^C again leaves");
    }
}

/// Asks the daemon to end the command; that it has ended is heard from the stream.
async fn cancel(process: Process) {
    // It may have ended by itself, which is what was wanted.
    let _over = process.cancel().await;
}

fn finish(ended: Ended, next: Next, telling: &Telling) -> Result<u8, Failure> {
    let outcome = match ended {
        Some(Ok(outcome)) => outcome,
        None => return Ok(INTERRUPTED),
        Some(Err(_)) if next != Next::Interrupt => return Ok(INTERRUPTED),
        Some(Err(forward::Broken::Reader)) => return Ok(READER_GONE),
        Some(Err(forward::Broken::Failed(failure))) => return Err(failure),
    };
    telling.notes(&outcome, next).iter().for_each(|note| say(note));
    Ok(match outcome {
        _ if next == Next::Leave => INTERRUPTED,
        _ if outcome.timed_out => TIMED_OUT,
        // Codes are 0 to 255 already; anything else means failure.
        _ => u8::try_from(outcome.exit_code).unwrap_or(1),
    })
}

/// A closed stderr must not panic.
fn say(note: &str) {
    print::note(&format!("trl: {note}"));
}

/// What a person wants to hear about the end of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Telling {
    Nothing,
    /// In a session of its own: nobody cares what became of the shell.
    End {
        limit: Option<Duration>,
    },
    EndAndShell {
        limit: Option<Duration>,
    },
}

impl Telling {
    fn of(args: &RunArgs) -> Self {
        match (args.quiet, &args.session) {
            (true, _) => Self::Nothing,
            (false, None) => Self::End { limit: args.timeout },
            (false, Some(_)) => Self::EndAndShell { limit: args.timeout },
        }
    }

    fn notes(self, outcome: &Outcome, next: Next) -> Vec<String> {
        let denied = outcome.denied.as_ref().map(sandbox::note);
        match self {
            Self::Nothing => Vec::new(),
            Self::End { limit } => end_note(outcome, limit, next).into_iter().chain(denied).collect(),
            Self::EndAndShell { limit } => {
                end_note(outcome, limit, next).into_iter().chain(denied).chain(shell_note(outcome)).collect()
            }
        }
    }
}

fn end_note(outcome: &Outcome, limit: Option<Duration>, next: Next) -> Option<String> {
    let took = Duration::from_millis(outcome.duration_ms).as_secs_f64();
    match limit.map(|limit| limit.as_secs_f64()) {
        Some(limit) if outcome.timed_out => Some(format!("timed out after {took:.1} s (limit {limit} s)")),
        None if outcome.timed_out => {
            Some(format!("timed out after {took:.1} s (the default limit; --timeout sets another)"))
        }
        _ if outcome.cancelled && next == Next::Interrupt => Some("cancelled by someone else".into()),
        _ => None,
    }
}

fn shell_note(outcome: &Outcome) -> Option<String> {
    match (outcome.shell_state, outcome.lost_commands) {
        (ShellState::Kept, _) => None,
        (ShellState::RolledBack, None | Some(0)) => {
            Some("the shell ended; its state from before this command is back".into())
        }
        (ShellState::RolledBack, Some(lost)) => Some(format!(
            "the shell ended; its state from before this command and the {lost} before it is back"
        )),
        (ShellState::Reset, _) => Some("the shell was lost; a fresh one took its place".into()),
        (ShellState::Ended, _) => Some("the session ended with this command".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_have_a_name() {
        assert_eq!(assignment("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(assignment("A="), Ok(("A".into(), String::new())));
        assert!(assignment("=x").is_err());
        assert!(assignment("A").is_err());
    }
}
