//! `trl exec start` and `trl exec wait`: commands that may outlive the call about them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use trl_client::Progress;
use trl_proto::exec::Stream;
use trl_proto::limits::Limit;
use trl_proto::start::{
    self, ProgressEnd, Reason, StartParams, StartStdin, StdinName, Until, WaitParams, Waited,
};
use trl_proto::{ExecutionId, Method};

use super::case::CaseArgs;
use super::exec::{StreamName, eprint_line};
use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::{Autostart, Directory, assignment, environment, working_dir};
use super::runtime::RuntimeArgs;
use super::sandbox::{self, SandboxArgs};
use super::{forward, session};
use crate::client::Connection;
use crate::config::units;

/// Of a wait that ended because it was long enough.
const WAITED_LONG_ENOUGH: u8 = 124;

#[derive(Debug, clap::Args)]
pub(super) struct StartArgs {
    /// Run in this session (its id or name) instead of a fresh process
    #[arg(short, long, value_name = "SESSION")]
    session: Option<String>,
    /// On a terminal, which `trl attach` and the web UI show
    #[arg(long)]
    tty: bool,
    /// Wait this long for its end, between 250ms and 30s [default: 10s]
    #[arg(long = "yield", value_name = "DURATION", value_parser = units::duration)]
    wait: Option<Duration>,
    /// End it after this long; 0 is never [default: never, or the session's own]
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Set a variable for it
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Run in this directory [default: this one, or the session's own]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    case: CaseArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// Give it no input, rather than what `trl exec input` brings
    #[arg(long)]
    no_stdin: bool,
    /// What it may use: memory_bytes, cpu, cpu_time_s, pids, open_files, file_size_bytes, output_bytes, wall_s
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = session::limit)]
    limits: Vec<(Limit, f64)>,
    #[command(flatten)]
    sandbox: SandboxArgs,
    #[command(flatten)]
    pub(super) autostart: Autostart,
    #[command(flatten)]
    output: Output,
    /// One argument is shell text; several are a program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(super) struct WaitArgs {
    /// Its id
    execution: ExecutionId,
    /// Until its output matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Until it has written nothing for so long
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    idle: Option<Duration>,
    /// Until it has written so many bytes
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// Only this stream counts
    #[arg(long, value_enum)]
    stream: Option<StreamName>,
    /// Where --pattern and --bytes begin in the stream
    #[arg(long, value_name = "OFFSET")]
    since: Option<u64>,
    /// But no longer than this; exits with 124 then
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn start(client: &Connection, args: StartArgs) -> Result<u8, Failure> {
    let format = args.output.format();
    let params = params(client, args).await?;
    let reply: Value = client.call(Method::ExecStart, &params).await?;
    if format == Format::Json {
        print::json(&reply)?;
        return Ok(0);
    }
    let progress: start::Progress = serde_json::from_value(reply).map_err(io::Error::from)?;
    tell(progress)
}

async fn params(client: &Connection, args: StartArgs) -> Result<StartParams, Failure> {
    let text = |word: &OsString| {
        word.to_str().map(String::from).ok_or_else(|| Failure::Usage(format!("{word:?} is not valid UTF-8")))
    };
    let session_id = match &args.session {
        Some(name) => Some(session::resolve(client, name).await?),
        None => None,
    };
    let words: Vec<String> = args.command.iter().map(text).collect::<Result<_, _>>()?;
    let (command, argv) = match (&words[..], &session_id) {
        ([command], _) => (Some(command.clone()), None),
        (_, Some(_)) => (Some(super::quote::shell_text(&args.command).map_err(Failure::Usage)?), None),
        (_, None) => (None, Some(words)),
    };
    let otherwise = Directory::of(session_id.as_ref(), &args.runtime);
    let working_dir = working_dir(client, args.cwd.as_deref(), otherwise, &args.case).await?;
    Ok(StartParams {
        command,
        argv,
        session_id,
        tty: args.tty.then_some(true),
        stdin: args.no_stdin.then_some(StartStdin::Named(StdinName::Null)),
        env: environment(args.env),
        working_dir,
        yield_ms: args.wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        timeout_s: args.timeout.map(|timeout| timeout.as_secs_f64()),
        limits: session::limits(&args.limits),
        case_id: args.case.case,
        workspace_id: args.case.workspace,
        sandbox: args.sandbox.params(),
        runtime: args.runtime.wish(),
        ..StartParams::default()
    })
}

pub(super) async fn wait(client: &Connection, args: WaitArgs) -> Result<u8, Failure> {
    let params = WaitParams {
        execution_id: args.execution,
        until: Some(Until {
            exit: None,
            pattern: args.pattern,
            idle_ms: args.idle.map(|idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)),
            bytes: args.bytes,
            stream: args.stream.map(Stream::from),
            since: args.since,
        }),
        timeout_s: args.timeout.map(|timeout| timeout.as_secs_f64()),
        max_output_bytes: None,
    };
    let reply: Value = client.call(Method::ExecWait, &params).await?;
    if args.output.format() == Format::Json {
        print::json(&reply)?;
        return Ok(0);
    }
    let waited: Waited = serde_json::from_value(reply).map_err(io::Error::from)?;
    let code = tell(waited.progress)?;
    Ok(if waited.reason == Reason::Timeout { WAITED_LONG_ENOUGH } else { code })
}

/// Prints what is new; the code is the command's, once it has ended.
fn tell(progress: start::Progress) -> Result<u8, Failure> {
    let progress = Progress::try_from(progress)?;
    forward::write(Stream::Stdout, &progress.stdout)?;
    forward::write(Stream::Stderr, &progress.stderr)?;
    if progress.gap.is_some() {
        eprint_line("trl: some of the output is not shown; `trl exec output` reads what is still kept");
    }
    match progress.end {
        ProgressEnd::Done(outcome) => {
            if let Some(denied) = &outcome.denied {
                eprint_line(&format!("trl: {}", sandbox::note(denied)));
            }
            Ok(u8::try_from(outcome.exit_code).unwrap_or(1))
        }
        ProgressEnd::NotYet { execution_id, .. } => {
            let terminal =
                progress.terminal_id.map(|id| format!(" in `trl attach {id}`")).unwrap_or_default();
            eprint_line(&format!(
                "trl: {execution_id} runs on{terminal}; see `trl exec wait {execution_id}`"
            ));
            Ok(0)
        }
    }
}
