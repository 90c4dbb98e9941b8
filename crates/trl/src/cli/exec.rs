//! `trl exec`: what runs and what has run.

use std::io;
use std::time::Duration;

use serde_json::Value;
use trl_client::{Finished, Process, Slice};
use trl_proto::exec::{
    CancelParams, ExecListParams, ExecutionInfo, ExecutionList, ExecutionParams, ExecutionStatus,
    OutputParams, OutputSlice, ResultBody, ResultReply, SignalParams, Stream,
};
use trl_proto::{ExecutionId, Method, Untrusted};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::table::Table;
use super::{forward, session, start};
use crate::client::{self, Auth, Connection, Start};
use crate::config::{Config, units};

#[derive(Debug, clap::Subcommand)]
pub(super) enum ExecCommand {
    /// Start a command and leave it running after a while: print its output so far, or its end
    Start(start::StartArgs),
    /// Wait for a command: its end, something it says, its silence
    Wait(start::WaitArgs),
    /// List live and retained executions
    Ls(LsArgs),
    /// End a running or queued command, and wait until it is over
    Cancel(CancelArgs),
    /// Write to the stdin of a command that was started with it left open
    Input(InputArgs),
    /// Send a signal to everything a running command started
    Signal(SignalArgs),
    /// Print the output of an execution so far, exact to the byte
    Output(OutputArgs),
    /// Replay a finished execution: its output to both streams, its code as ours
    Result(ResultArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    /// Only of this session (its id or name)
    #[arg(short, long)]
    session: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct CancelArgs {
    /// An execution, or the session (its id or name) whose running command to cancel
    target: String,
    /// The first signal [default: TERM]
    #[arg(long)]
    signal: Option<String>,
    /// How long until KILL, such as 500ms [default: the daemon's exec.grace_s]
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    grace: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
    /// Its id
    execution: ExecutionId,
    /// What to write, as it is [default: our stdin, to its end]
    text: Option<String>,
    /// End its input after that
    #[arg(long)]
    close: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct SignalArgs {
    /// Its id
    execution: ExecutionId,
    /// Which one: INT, SIGINT or 2
    signal: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct OutputArgs {
    /// Its id
    execution: ExecutionId,
    /// Which stream
    #[arg(long, value_enum)]
    stream: Option<StreamName>,
    /// Begin at this byte
    #[arg(long, value_name = "OFFSET", default_value_t)]
    since: u64,
    /// Print at most this many bytes
    #[arg(long, value_name = "BYTES")]
    limit: Option<u64>,
    #[command(flatten)]
    output: Output,
}

/// The streams as the command line calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum StreamName {
    Stdout,
    Stderr,
    /// Both, of a command on a terminal
    Tty,
}

impl From<StreamName> for Stream {
    fn from(name: StreamName) -> Self {
        match name {
            StreamName::Stdout => Self::Stdout,
            StreamName::Stderr => Self::Stderr,
            StreamName::Tty => Self::Tty,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ResultArgs {
    /// Its id
    execution: ExecutionId,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(config: &Config, command: ExecCommand) -> Result<u8, Failure> {
    let begin = match &command {
        ExecCommand::Start(args) => args.autostart.start(),
        _ => Start::Never,
    };
    let (client, _pushes) = client::connect(config, begin, Auth::IfPerson).await?;
    match command {
        ExecCommand::Start(args) => start::start(&client, args).await,
        ExecCommand::Wait(args) => start::wait(&client, args).await,
        ExecCommand::Ls(args) => list(&client, args).await,
        ExecCommand::Cancel(args) => cancel(&client, args).await,
        ExecCommand::Input(args) => input(&client, args).await,
        ExecCommand::Signal(args) => signal(&client, args).await,
        ExecCommand::Output(args) => output(&client, args).await,
        ExecCommand::Result(args) => result(&client, args).await,
    }
}

async fn list(client: &Connection, args: LsArgs) -> Result<u8, Failure> {
    let session_id = match &args.session {
        Some(session) => Some(session::resolve(client, session).await?),
        None => None,
    };
    let reply: Value = client.call(Method::ExecList, &ExecListParams { session_id }).await?;
    if args.output.format() == Format::Json {
        print::json(&reply)?;
        return Ok(0);
    }
    let list: ExecutionList = serde_json::from_value(reply).map_err(io::Error::from)?;
    let mut table = Table::new(&["EXECUTION", "RUNS IN", "STATUS", "TIME", "OUTPUT", "COMMAND"]);
    for execution in list.executions {
        table.row([
            execution.execution_id.to_string(),
            execution.place(),
            status(&execution),
            units::coarse(Duration::from_millis(execution.elapsed_ms)),
            (execution.stdout_bytes + execution.stderr_bytes).to_string(),
            execution.command,
        ]);
    }
    print::text(&table.render())?;
    Ok(0)
}

fn status(execution: &ExecutionInfo) -> String {
    match (execution.status, execution.exit_code) {
        (ExecutionStatus::Queued, _) => "queued".into(),
        (ExecutionStatus::WaitingHitl, _) => "waits for approval".into(),
        (ExecutionStatus::Unknown, _) => "unknown".into(),
        (ExecutionStatus::Running, _) => "running".into(),
        (ExecutionStatus::Done, Some(code)) => format!("exit {code}"),
        (ExecutionStatus::Done, None) => "done".into(),
    }
}

async fn cancel(client: &Connection, args: CancelArgs) -> Result<u8, Failure> {
    let execution_id: Option<ExecutionId> = args.target.parse().ok();
    let session_id = match execution_id {
        Some(_) => None,
        None => Some(session::resolve(client, &args.target).await?),
    };
    let grace_s = args.grace.map(|grace| grace.as_secs_f64());
    let params = CancelParams { session_id, execution_id, signal: args.signal, grace_s };
    let reply: Value = client.call(Method::ExecCancel, &params).await?;
    if args.output.format() == Format::Json {
        print::json(&reply)?;
    }
    Ok(0)
}

async fn input(client: &Connection, args: InputArgs) -> Result<u8, Failure> {
    let process = Process::new(client.clone(), args.execution);
    match &args.text {
        Some(text) => process.write(text).await?,
        None => forward::send_stdin(&process).await?,
    }
    if args.close {
        process.close_stdin().await?;
    }
    Ok(0)
}

async fn signal(client: &Connection, args: SignalArgs) -> Result<u8, Failure> {
    let params = SignalParams { execution_id: args.execution, signal: args.signal };
    let reply: Value = client.call(Method::ExecSignal, &params).await?;
    if args.output.format() == Format::Json {
        print::json(&reply)?;
    }
    Ok(0)
}

/// Asks for slice after slice until nothing new is there.
async fn output(client: &Connection, args: OutputArgs) -> Result<u8, Failure> {
    let mut params = OutputParams {
        execution_id: args.execution,
        stream: args.stream.map(Stream::from),
        since: Some(args.since),
        limit: args.limit,
    };
    if args.output.format() == Format::Json {
        print::json(&client.call::<Value>(Method::ExecOutput, &params).await?)?;
        return Ok(0);
    }
    loop {
        let since = params.since.unwrap_or_default();
        let slice = Slice::try_from(client.call::<OutputSlice>(Method::ExecOutput, &params).await?)?;
        if let Some(gap) = slice.gap {
            eprint_line(&format!("trl: bytes {} to {} are gone", gap.from, gap.to));
        }
        forward::write(Stream::Stdout, &slice.data)?;
        params.limit = params.limit.map(|left| left.saturating_sub(slice.data.len() as u64));
        if slice.done || slice.next <= since || params.limit == Some(0) {
            return Ok(0);
        }
        params.since = Some(slice.next);
    }
}

async fn result(client: &Connection, args: ResultArgs) -> Result<u8, Failure> {
    let params = ExecutionParams { execution_id: args.execution };
    let reply: Value = client.call(Method::ExecResult, &params).await?;
    if args.output.format() == Format::Json {
        print::json(&reply)?;
        return Ok(0);
    }
    let reply: ResultReply = serde_json::from_value(reply).map_err(io::Error::from)?;
    let result = match reply.body {
        ResultBody::Done(result) => Finished::try_from(result)?,
        ResultBody::Recorded { execution_id, recorded } => {
            let known = match recorded.status {
                ExecutionStatus::Unknown => "nobody knows how it ended: its daemon was gone before it did",
                _ => "only its beginning and end are left: `trl history --json`",
            };
            return Err(Failure::Usage(format!("{execution_id}: {known}")));
        }
        ResultBody::NotYet { execution_id } => {
            return Err(Failure::Usage(format!("{execution_id} has not ended yet")));
        }
    };
    forward::write(Stream::Stdout, &result.stdout)?;
    forward::write(Stream::Stderr, &result.stderr)?;
    if result.outcome.omitted.is_some() {
        eprint_line("trl: the middle of the output is not shown; `trl exec output` reads what is still kept");
    }
    Ok(u8::try_from(result.exit_code()).unwrap_or(1))
}

/// `eprintln!` without its panic on a closed stderr.
pub(super) fn eprint_line(line: &str) {
    let line = format!("{}\n", Untrusted::new(line));
    let _unseen = forward::write(Stream::Stderr, line.as_bytes());
}
