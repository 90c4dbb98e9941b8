//! `trl session`: the resident half.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use trl_proto::session::{
    CreateParams, DestroyParams, ListParams, SessionInfo, SessionList, SessionParams, SessionState,
};
use trl_proto::{Method, SessionId};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::{Autostart, absolute, assignment};
use super::table::Table;
use crate::client::{self, Auth, Client, Start};
use crate::config::{Config, units};

#[derive(Debug, clap::Subcommand)]
pub(super) enum SessionCommand {
    /// Start a session in this directory and print its id
    New(NewArgs),
    /// List the sessions
    Ls(LsArgs),
    /// Show everything about a session
    Info(OneArgs),
    /// End a session's processes but keep its record, so that it can be opened again
    Close(OneArgs),
    /// End sessions for good
    Rm(RmArgs),
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
    /// Start in this directory [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Default timeout of its commands, such as 30s or 2m; 0 is never
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Mark it, to find it by in `session ls`
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = assignment)]
    labels: Vec<(String, String)>,
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
    /// Only sessions in this state: creating, ready, running, idle, closed or terminated
    #[arg(long, value_parser = state)]
    state: Option<SessionState>,
    /// Only sessions with this label: NAME or NAME=VALUE
    #[arg(long)]
    label: Option<String>,
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

fn state(text: &str) -> Result<SessionState, String> {
    serde_json::from_value(Value::String(text.into())).map_err(|_| format!("`{text}` is no state"))
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
        SessionCommand::Reset(args) => on_one(&client, Method::SessionReset, &args).await?,
        SessionCommand::Rm(args) => remove(&client, &args).await?,
    }
    Ok(0)
}

async fn create(client: &Client, args: NewArgs) -> Result<(), Failure> {
    let some = |pairs: Vec<(String, String)>| (!pairs.is_empty()).then(|| pairs.into_iter().collect());
    let params = CreateParams {
        shell: args.shell,
        argv: (!args.argv.is_empty()).then_some(args.argv),
        env: some(args.env),
        pass_env: (!args.pass_env.is_empty()).then_some(args.pass_env),
        working_dir: Some(absolute(args.cwd.as_deref().unwrap_or(Path::new(".")))?),
        name: args.name,
        timeout_s: args.timeout.map(|timeout| timeout.as_secs_f64()),
        labels: some(args.labels),
        ..CreateParams::default()
    };
    let created: Value = client.call(Method::SessionCreate, &params).await?;
    match (args.output.format(), created.get("session_id").and_then(Value::as_str)) {
        // The id alone, for `s=$(trl session new)`.
        (Format::People, Some(id)) => print::line(id),
        _ => print::json(&created),
    }
}

async fn list(client: &Client, args: LsArgs) -> Result<(), Failure> {
    let params = ListParams { state: args.state, label: args.label };
    let reply: Value = client.call(Method::SessionList, &params).await?;
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

async fn on_one(client: &Client, method: Method, args: &OneArgs) -> Result<(), Failure> {
    let params = SessionParams { session_id: resolve(client, &args.session).await? };
    let reply: Value = client.call(method, &params).await?;
    match (method, args.output.format()) {
        (Method::SessionInfo, format) => print::reply(&reply, format),
        (_, Format::Json) => print::json(&reply),
        (_, Format::People) => Ok(()),
    }
}

async fn remove(client: &Client, args: &RmArgs) -> Result<(), Failure> {
    for session in &args.sessions {
        let session_id = resolve(client, session).await?;
        let params = DestroyParams { session_id, force: args.force.then_some(true) };
        let reply: Value = client.call(Method::SessionDestroy, &params).await?;
        if args.output.format() == Format::Json {
            print::json(&reply)?;
        }
    }
    Ok(())
}

/// The session a person means: an id, or the name of exactly one that has not ended.
pub(super) async fn resolve(client: &Client, text: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let list: SessionList = client.call(Method::SessionList, &ListParams::default()).await?;
    one_named(&list.sessions, text)
}

fn one_named(sessions: &[SessionInfo], name: &str) -> Result<SessionId, Failure> {
    let mut named = sessions
        .iter()
        .filter(|session| session.name.as_deref() == Some(name))
        .filter(|session| session.state != SessionState::Terminated);
    match (named.next(), named.next()) {
        (Some(session), None) => Ok(session.session_id.clone()),
        (Some(_), Some(_)) => Err(Failure::Usage(format!("several sessions are called `{name}`: use an id"))),
        (None, _) => Err(Failure::Usage(format!("no session has the id or name `{name}`"))),
    }
}
