//! `trl session`: the resident half.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use trl_proto::limits::{Limit, Limits};
use trl_proto::session::{
    CreateParams, DestroyParams, GetParams, ListParams, SessionInfo, SessionList, SessionParams, SessionState,
};
use trl_proto::{Method, SessionId, by_name};

use super::case::CaseArgs;
use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::{Autostart, assignment, working_dir};
use super::runtime::RuntimeArgs;
use super::sandbox::SandboxArgs;
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::{Config, units};

#[derive(Debug, clap::Subcommand)]
pub(super) enum SessionCommand {
    /// Start a session in this directory and print its id
    New(NewArgs),
    /// List the sessions: live ones first, and of those the latest used
    Ls(LsArgs),
    /// Show everything about a session
    Info(OneArgs),
    /// End a session's processes but keep its record, so that it can be opened again
    Close(OneArgs),
    /// Open a closed session again, with a fresh shell where the last one was
    Open(OpenArgs),
    /// End sessions for good; their history is kept
    Rm(RmArgs),
    /// End sessions, and remove their records, history and files
    Delete(DeleteArgs),
    /// Give a session a fresh shell under the same id
    Reset(OneArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// A name to call it by
    #[arg(long)]
    name: Option<String>,
    /// The shell program [default: /bin/sh]
    #[arg(long, value_name = "PROGRAM")]
    shell: Option<String>,
    /// Set a variable
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Take a variable from the daemon's environment
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Start in this directory [default: the workspace's, or this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Default timeout of its commands, such as 30s or 2m; 0 is never
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Mark it, to find it by in `session ls`
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = assignment)]
    labels: Vec<(String, String)>,
    /// What its programs may use: memory_bytes, cpu, cpu_time_s, pids, open_files, file_size_bytes, output_bytes, wall_s
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = limit)]
    limits: Vec<(Limit, f64)>,
    #[command(flatten)]
    sandbox: SandboxArgs,
    #[command(flatten)]
    case: CaseArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// A secret variable, taken from our environment
    #[arg(long, value_name = "NAME", value_parser = secret)]
    secret_env: Vec<(String, String)>,
    #[command(flatten)]
    autostart: Autostart,
    #[command(flatten)]
    output: Output,
    /// A program to run in place of a shell; the session lives as long as it does
    #[arg(last = true, value_name = "PROGRAM")]
    argv: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    /// Terminated ones too, as long as they are remembered
    #[arg(long)]
    all: bool,
    /// Only sessions in this state: uninitialized, creating, ready, running, waiting_hitl, idle, closed or terminated
    #[arg(long, value_parser = by_name::<SessionState>)]
    state: Option<SessionState>,
    /// Only sessions in this workspace
    #[arg(short, long, value_name = "ID")]
    workspace: Option<String>,
    /// Only sessions with this label: NAME or NAME=VALUE
    #[arg(long)]
    label: Option<String>,
    /// Only sessions of this case
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// Only sessions that live in this runtime
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct OneArgs {
    /// Its id or name
    session: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct OpenArgs {
    /// A secret variable it had, taken from our environment
    #[arg(long, value_name = "NAME", value_parser = secret)]
    secret_env: Vec<(String, String)>,
    #[command(flatten)]
    one: OneArgs,
}

/// `memory_bytes=1GiB`, `wall_s=2m`, `cpu=0.5`.
pub(super) fn limit(text: &str) -> Result<(Limit, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let limit = by_name::<Limit>(name)?;
    let number = match limit {
        Limit::Cpu | Limit::CpuTimeS | Limit::WallS => units::duration(value).ok().map(|d| d.as_secs_f64()),
        _ => units::whole(value).map(|n| n as f64),
    };
    number.map(|number| (limit, number)).ok_or_else(|| format!("`{value}` is no value of {name}"))
}

/// As the wire has them; the last of two wins.
pub(super) fn limits(given: &[(Limit, f64)]) -> Option<Limits> {
    let find = |limit: Limit| given.iter().rev().find(|(given, _)| *given == limit).map(|(_, value)| *value);
    let whole = |limit: Limit| find(limit).map(|value| value as u64);
    (!given.is_empty()).then(|| Limits {
        memory_bytes: whole(Limit::MemoryBytes),
        cpu: find(Limit::Cpu),
        cpu_time_s: find(Limit::CpuTimeS),
        pids: whole(Limit::Pids),
        open_files: whole(Limit::OpenFiles),
        file_size_bytes: whole(Limit::FileSizeBytes),
        disk_bytes: whole(Limit::DiskBytes),
        output_bytes: whole(Limit::OutputBytes),
        wall_s: find(Limit::WallS),
    })
}

/// By its name only: arguments can be seen by everybody, and errors by many.
pub(super) fn secret(name: &str) -> Result<(String, String), String> {
    let value = std::env::var(name).map_err(|_| "no variable of that name is set, to UTF-8".to_string())?;
    Ok((name.into(), value))
}

#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    /// Their ids or names
    #[arg(required = true)]
    sessions: Vec<String>,
    /// Kill at once instead of asking the processes to end first
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    /// Their ids or names
    #[arg(required = true)]
    sessions: Vec<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(config: &Config, command: SessionCommand) -> Result<u8, Failure> {
    let start = match &command {
        SessionCommand::New(args) => args.autostart.start(),
        _ => Start::Never,
    };
    let (client, _pushes) = client::connect(config, start, Auth::IfPerson).await?;
    match command {
        SessionCommand::New(args) => create(&client, args).await?,
        SessionCommand::Ls(args) => list(&client, args).await?,
        SessionCommand::Info(args) => on_one(&client, Method::SessionInfo, &args).await?,
        SessionCommand::Close(args) => on_one(&client, Method::SessionClose, &args).await?,
        SessionCommand::Open(args) => open(&client, args).await?,
        SessionCommand::Reset(args) => on_one(&client, Method::SessionReset, &args).await?,
        SessionCommand::Rm(args) => remove(&client, &args).await?,
        SessionCommand::Delete(args) => delete(&client, &args).await?,
    }
    Ok(0)
}

async fn create(client: &Connection, args: NewArgs) -> Result<(), Failure> {
    let some = |pairs: Vec<(String, String)>| (!pairs.is_empty()).then(|| pairs.into_iter().collect());
    let params = CreateParams {
        shell: args.shell,
        argv: (!args.argv.is_empty()).then_some(args.argv),
        env: some(args.env),
        pass_env: (!args.pass_env.is_empty()).then_some(args.pass_env),
        secret_env: some(args.secret_env),
        working_dir: working_dir(client, args.cwd.as_deref(), args.runtime.directory(), &args.case).await?,
        runtime: args.runtime.wish(),
        case_id: args.case.case,
        workspace_id: args.case.workspace,
        name: args.name,
        timeout_s: args.timeout.map(|timeout| timeout.as_secs_f64()),
        labels: some(args.labels),
        limits: limits(&args.limits),
        sandbox: args.sandbox.params(),
        ..CreateParams::default()
    };
    let created: Value = client.call(Method::SessionCreate, &params).await?;
    match (args.output.format(), created.get("session_id").and_then(Value::as_str)) {
        // The id alone, for `s=$(trl session new)`.
        (Format::People, Some(id)) => print::line(id),
        _ => print::json(&created),
    }
}

async fn list(client: &Connection, args: LsArgs) -> Result<(), Failure> {
    let params = ListParams {
        state: args.state,
        label: args.label,
        case_id: args.case,
        workspace_id: args.workspace,
        runtime: args.runtime,
        name: None,
    };
    let mut reply: Value = client.call(Method::SessionList, &params).await?;
    if let Some(Value::Array(sessions)) = reply.get_mut("sessions") {
        sessions.retain(|s| args.all || args.state.is_some() || s["state"] != "terminated");
        sessions.sort_by_cached_key(|s| (rank(s), Reverse(s["last_activity"].as_str().map(String::from))));
    }
    if args.output.format() == Format::Json {
        return print::json(&reply);
    }
    let list: SessionList = serde_json::from_value(reply).map_err(std::io::Error::from)?;
    let mut table = Table::new(&["SESSION", "NAME", "STATE", "COMMANDS", "ACTIVE", "DIRECTORY"]);
    for session in list.sessions {
        table.row([
            session.session_id.to_string(),
            session.name.unwrap_or_else(|| "-".into()),
            word(session.state),
            session.command_count.to_string(),
            ago(&session.last_activity),
            session.working_dir,
        ]);
    }
    print::text(&table.render())
}

/// The living before those that can live again.
fn rank(session: &Value) -> u8 {
    match session["state"].as_str() {
        Some("terminated") => 2,
        Some("closed" | "uninitialized") => 1,
        _ => 0,
    }
}

fn word(state: SessionState) -> String {
    serde_json::to_value(state).ok().and_then(|word| word.as_str().map(String::from)).unwrap_or_default()
}

/// How long since an RFC 3339 time; the time itself if it is none.
pub(super) fn ago(time: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => {
            let passed = Timestamp::now().duration_since(then);
            units::coarse(Duration::try_from(passed).unwrap_or_default())
        }
        Err(_) => time.into(),
    }
}

async fn on_one(client: &Connection, method: Method, args: &OneArgs) -> Result<(), Failure> {
    let params = SessionParams { session_id: resolve(client, &args.session).await? };
    let reply: Value = client.call(method, &params).await?;
    match (method, args.output.format()) {
        (Method::SessionInfo, format) => print::reply(&reply, format),
        (_, format) => done(&reply, format),
    }
}

async fn open(client: &Connection, args: OpenArgs) -> Result<(), Failure> {
    let secret_env = (!args.secret_env.is_empty()).then(|| args.secret_env.into_iter().collect());
    let params = GetParams { session_id: resolve(client, &args.one.session).await?, secret_env };
    done(&client.call(Method::SessionGet, &params).await?, args.one.output.format())
}

/// People see that it worked by hearing nothing.
pub(super) fn done(reply: &Value, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => print::json(reply),
        Format::People => Ok(()),
    }
}

async fn remove(client: &Connection, args: &RmArgs) -> Result<(), Failure> {
    for session in &args.sessions {
        let session_id = resolve(client, session).await?;
        let params = DestroyParams { session_id, force: args.force.then_some(true) };
        let reply: Value = client.call(Method::SessionDestroy, &params).await?;
        done(&reply, args.output.format())?;
    }
    Ok(())
}

async fn delete(client: &Connection, args: &DeleteArgs) -> Result<(), Failure> {
    for session in &args.sessions {
        let params = SessionParams { session_id: resolve(client, session).await? };
        let reply: Value = client.call(Method::SessionDelete, &params).await?;
        done(&reply, args.output.format())?;
    }
    Ok(())
}

/// The session a person means: an id, or the name of exactly one. Names never look like ids.
pub(super) async fn resolve(client: &Connection, text: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let list: SessionList = client.call(Method::SessionList, &ListParams::default()).await?;
    one_named(&list.sessions, text)
}

/// A live one goes before closed ones, which keep their names.
fn one_named(sessions: &[SessionInfo], name: &str) -> Result<SessionId, Failure> {
    let is_closed = |s: &&SessionInfo| matches!(s.state, SessionState::Closed | SessionState::Uninitialized);
    let named = sessions.iter().filter(|s| s.name.as_deref() == Some(name));
    let named = named.filter(|s| s.state != SessionState::Terminated);
    let (closed, live): (Vec<_>, Vec<_>) = named.partition(is_closed);
    match if live.is_empty() { closed } else { live }.as_slice() {
        [one] => Ok(one.session_id.clone()),
        [] => Err(Failure::Usage(format!("no session has the id or name `{name}`"))),
        several => {
            let ids: Vec<String> =
                several.iter().map(|s| format!("{} ({})", s.session_id, word(s.state))).collect();
            let ids = ids.join(", ");
            Err(Failure::Usage(format!("several sessions are called `{name}`: {ids}; use an id")))
        }
    }
}
