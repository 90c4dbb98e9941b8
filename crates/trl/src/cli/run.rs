//! `trl run`: one command, as if it ran here.
//!
//! 1. The arguments become shell text, the options become [`RunParams`].
//! 2. `exec.stream` starts it; [`forward`] copies its output to our streams and our stdin to it.
//! 3. Meanwhile ^C is a request, not a death: the first cancels, the second kills, the third gives up waiting.
//! 4. We exit with the command's code; 124 when it timed out, 130 when it was interrupted, 125 when TRL itself failed.
//!
//! The command ends with us whatever ends us: the daemon cancels it when the connection goes away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use trl_proto::exec::{CancelParams, Cancelled, OnDisconnect, Outcome, RunParams, StreamStarted};
use trl_proto::{ExecutionId, Method};

use super::failure::{Failure, READER_GONE};
use super::{forward, quote, session};
use crate::client::{self, Auth, Client, ClientError, Start};
use crate::config::{Config, units};

const TIMED_OUT: u8 = 124;
/// 128 + SIGINT.
const INTERRUPTED: u8 = 130;
/// After KILL everything is over at once, unless our own output is stuck.
const AFTER_KILL: Duration = Duration::from_secs(2);

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

/// `path` as the daemon, which lives in another directory, can use it.
pub(super) fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path)?;
    let wrong = || Failure::Usage(format!("{path:?} is not valid UTF-8, which the wire needs"));
    path.to_str().map(String::from).ok_or_else(wrong)
}

pub(super) async fn run(config: &Config, args: RunArgs) -> Result<u8, Failure> {
    let stdin = args.stdin.choose();
    let command = quote::shell_text(&args.command).map_err(Failure::Usage)?;
    let (client, pushes) = client::connect(config, args.autostart.start(), Auth::IfPerson).await?;
    let params = params(&client, args, command, &stdin).await?;
    let started: StreamStarted = client.call(Method::ExecStream, &params).await?;
    let execution = started.execution_id;
    let output = tokio::spawn(forward::output(pushes, started.stream_id));
    if let forward::Stdin::Forwarded = stdin {
        tokio::spawn(forward::input(client.clone(), execution.clone()));
    }
    watch(&client, &execution, output).await
}

async fn params(
    client: &Client,
    args: RunArgs,
    command: String,
    stdin: &forward::Stdin,
) -> Result<RunParams, Failure> {
    let session_id = match &args.session {
        Some(session) => Some(session::resolve(client, session).await?),
        None => None,
    };
    let working_dir = match (&args.cwd, &session_id) {
        (Some(dir), _) => Some(absolute(dir)?),
        (None, None) => Some(absolute(Path::new("."))?),
        (None, Some(_)) => None,
    };
    let env: BTreeMap<String, String> = args.env.into_iter().collect();
    Ok(RunParams {
        session_id,
        command,
        timeout_s: args.timeout.map(|timeout| timeout.as_secs_f64()),
        open_stdin: matches!(stdin, forward::Stdin::Forwarded).then_some(true),
        env: (!env.is_empty()).then_some(env),
        working_dir,
        queue: args.queue.then_some(true),
        on_disconnect: Some(OnDisconnect::Cancel),
        ..RunParams::default()
    })
}

/// How often ^C was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    Never,
    Once,
    /// Twice; by when to stop waiting.
    Twice(Instant),
}

/// Waits for the end of the command, and passes ^C on to it.
async fn watch(
    client: &Client,
    execution: &ExecutionId,
    mut output: JoinHandle<Result<Outcome, forward::Broken>>,
) -> Result<u8, Failure> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut pressed = Pressed::Never;
    loop {
        let patience = async {
            match pressed {
                Pressed::Twice(until) => sleep_until(until).await,
                Pressed::Never | Pressed::Once => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = &mut output => return finish(ended.map_err(io::Error::from)?, pressed),
            () = patience => return Ok(INTERRUPTED),
            _ = interrupts.recv() => pressed = match pressed {
                Pressed::Never => {
                    say_cancelling();
                    tokio::spawn(cancel(client.clone(), execution.clone(), None));
                    Pressed::Once
                }
                Pressed::Once => {
                    tokio::spawn(cancel(client.clone(), execution.clone(), Some("KILL")));
                    Pressed::Twice(Instant::now() + AFTER_KILL)
                }
                Pressed::Twice(_) => return Ok(INTERRUPTED),
            }
        }
    }
}

/// A person who sees nothing happen during the grace presses ^C again without meaning to kill.
fn say_cancelling() {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let _unseen = writeln!(stderr, "trl: cancelling; ^C again kills");
    }
}

/// Asks the daemon to end the command; that it has ended is heard from the stream.
async fn cancel(client: Client, execution: ExecutionId, signal: Option<&str>) {
    let params = CancelParams {
        execution_id: Some(execution),
        signal: signal.map(String::from),
        grace_s: signal.map(|_| 0.0),
        ..CancelParams::default()
    };
    // It may have ended by itself, which is what was wanted.
    let _over: Result<Cancelled, ClientError> = client.call(Method::ExecCancel, &params).await;
}

fn finish(ended: Result<Outcome, forward::Broken>, pressed: Pressed) -> Result<u8, Failure> {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(_) if pressed != Pressed::Never => return Ok(INTERRUPTED),
        Err(forward::Broken::Reader) => return Ok(READER_GONE),
        Err(forward::Broken::Failed(failure)) => return Err(failure),
    };
    if pressed != Pressed::Never {
        return Ok(INTERRUPTED);
    }
    if outcome.timed_out {
        let seconds = Duration::from_millis(outcome.duration_ms).as_secs_f64();
        let _unseen = writeln!(io::stderr(), "trl: timed out after {seconds:.1} s");
        return Ok(TIMED_OUT);
    }
    if outcome.cancelled {
        let _unseen = writeln!(io::stderr(), "trl: cancelled by someone else");
    }
    // Codes are 0 to 255 already; anything else means failure.
    Ok(u8::try_from(outcome.exit_code).unwrap_or(1))
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
