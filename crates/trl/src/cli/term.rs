//! `trl term`: programs on terminals, typed at and looked at from here.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use trl_proto::limits::Limit;
use trl_proto::terminal::{
    CreateParams, DestroyParams, ListParams, ResizeParams, Screen, ScreenFormat, ScreenParams, SignalParams,
    SizePolicy, TerminalInfo, TerminalList, TerminalParams, TerminalState,
};
use trl_proto::{Method, TerminalId, by_name};

use super::case::start_dir;
use super::failure::Failure;
use super::print::{self, Format, Output};
use super::record::{self, RecordArgs};
use super::run::{Autostart, Directory, absolute, assignment};
use super::runtime::RuntimeArgs;
use super::sandbox::SandboxArgs;
use super::send;
use super::session::{ago, done, limit, limits, secret};
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::{Config, units};

#[derive(Debug, clap::Subcommand)]
pub(super) enum TermCommand {
    /// Start a shell, or another program, on a terminal and print the terminal's id
    New(NewArgs),
    /// List the terminals, the oldest first
    Ls(LsArgs),
    /// Show everything about a terminal
    Info(OneArgs),
    /// Type into a terminal
    #[command(after_long_help = send::NAMES)]
    Send(send::SendArgs),
    /// Show what a person would see
    Screen(ScreenArgs),
    /// Write what a terminal showed to a file that asciinema plays
    #[command(after_long_help = record::ABOUT)]
    Record(RecordArgs),
    /// Give a terminal another size; its program is told
    Resize(ResizeArgs),
    /// Send a signal to whoever has the keyboard
    Signal(SignalArgs),
    /// End everything a terminal started
    Rm(RmArgs),
    /// Take back an `rm --grace` that is still to come
    Keep(OneArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// A name to call it by
    #[arg(long)]
    name: Option<String>,
    /// The shell program [default: yours]
    #[arg(long, value_name = "PROGRAM", conflicts_with = "argv")]
    shell: Option<String>,
    /// Set a variable
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Give it a variable of our environment, whose value is never shown
    #[arg(long, value_name = "NAME", value_parser = secret)]
    secret_env: Vec<(String, String)>,
    /// Take a variable from the daemon's environment
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Start in this directory [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Its width [default: 80]
    #[arg(long)]
    cols: Option<u16>,
    /// Its height [default: 24]
    #[arg(long)]
    rows: Option<u16>,
    /// Whose window decides its size: driver (of who typed last), pinned (nobody's) or smallest [default: driver]
    #[arg(long, value_name = "POLICY", value_parser = by_name::<SizePolicy>)]
    size_policy: Option<SizePolicy>,
    /// Create it from this case [default: the configured one, if any]
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// List it under this group
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// Mark it
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = assignment)]
    labels: Vec<(String, String)>,
    /// What its programs may use: memory_bytes, cpu, cpu_time_s, pids, open_files, file_size_bytes, output_bytes, wall_s
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = limit)]
    limits: Vec<(Limit, f64)>,
    #[command(flatten)]
    sandbox: SandboxArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
    #[command(flatten)]
    autostart: Autostart,
    #[command(flatten)]
    output: Output,
    /// A program to run in place of a shell
    #[arg(last = true, value_name = "PROGRAM")]
    argv: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    /// Ended ones too, as long as they are remembered
    #[arg(long)]
    all: bool,
    /// Only those of this group
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct OneArgs {
    /// Its id or name
    terminal: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct ScreenArgs {
    /// Its id or name
    terminal: String,
    /// text, ansi (with colours) or json (cells, cursor, title and more)
    #[arg(long, value_name = "FORMAT", value_parser = by_name::<ScreenFormat>)]
    format: Option<ScreenFormat>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResizeArgs {
    /// Its id or name
    terminal: String,
    cols: u16,
    rows: u16,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct SignalArgs {
    /// Its id or name
    terminal: String,
    /// Which one: INT, SIGINT or 2
    signal: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    /// Their ids or names
    #[arg(required = true)]
    terminals: Vec<String>,
    /// Only after this long, such as 5s; until then `term keep` takes it back
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    grace: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(config: &Config, command: TermCommand) -> Result<u8, Failure> {
    let start = match &command {
        TermCommand::New(args) => args.autostart.start(),
        _ => Start::Never,
    };
    let (client, _pushes) = client::connect(config, start, Auth::IfPerson).await?;
    match command {
        TermCommand::New(args) => create(&client, args).await?,
        TermCommand::Ls(args) => list(&client, args).await?,
        TermCommand::Info(args) => info(&client, &args).await?,
        TermCommand::Send(args) => send::send(&client, args).await?,
        TermCommand::Screen(args) => screen(&client, &args).await?,
        TermCommand::Record(args) => return record::record(config, client, args).await,
        TermCommand::Resize(args) => resize(&client, &args).await?,
        TermCommand::Signal(args) => signal(&client, args).await?,
        TermCommand::Rm(args) => remove(&client, &args).await?,
        TermCommand::Keep(args) => keep(&client, &args).await?,
    }
    Ok(0)
}

async fn create(client: &Connection, args: NewArgs) -> Result<(), Failure> {
    let some = |pairs: Vec<(String, String)>| (!pairs.is_empty()).then(|| pairs.into_iter().collect());
    let (case, workspace) = (args.case.as_deref(), args.workspace.as_deref());
    let working_dir = match args.runtime.directory() {
        Directory::Its => args.cwd.as_deref().map(absolute).transpose()?,
        Directory::Ours => start_dir(client, args.cwd.as_deref(), case, workspace).await?,
    };
    let params = CreateParams {
        shell: args.shell,
        argv: (!args.argv.is_empty()).then_some(args.argv),
        env: some(args.env),
        secret_env: some(args.secret_env),
        pass_env: (!args.pass_env.is_empty()).then_some(args.pass_env),
        working_dir,
        case_id: args.case,
        cols: args.cols,
        rows: args.rows,
        workspace_id: args.workspace,
        name: args.name,
        labels: some(args.labels),
        sandbox: args.sandbox.params(),
        size_policy: args.size_policy,
        limits: limits(&args.limits),
        runtime: args.runtime.wish(),
        ..CreateParams::default()
    };
    let created: Value = client.call(Method::TerminalCreate, &params).await?;
    match (args.output.format(), created.get("terminal_id").and_then(Value::as_str)) {
        // The id alone, for `t=$(trl term new)`.
        (Format::People, Some(id)) => print::line(id),
        _ => print::json(&created),
    }
}

async fn list(client: &Connection, args: LsArgs) -> Result<(), Failure> {
    let params = ListParams { workspace_id: args.workspace };
    let mut reply: Value = client.call(Method::TerminalList, &params).await?;
    if let Some(Value::Array(terminals)) = reply.get_mut("terminals") {
        terminals.retain(|t| args.all || t["state"] != "exited");
    }
    if args.output.format() == Format::Json {
        return print::json(&reply);
    }
    let list: TerminalList = serde_json::from_value(reply).map_err(io::Error::from)?;
    let mut table =
        Table::new(&["TERMINAL", "NAME", "STATE", "SIZE", "CLIENTS", "ACTIVE", "PROGRAM", "TITLE"]);
    for terminal in list.terminals {
        table.row([
            terminal.terminal_id.to_string(),
            terminal.name.clone().unwrap_or_else(|| "-".into()),
            state(&terminal),
            format!("{}x{}", terminal.cols, terminal.rows),
            terminal.clients.to_string(),
            ago(&terminal.last_activity),
            terminal.shell,
            terminal.title,
        ]);
    }
    print::text(&table.render())
}

fn state(terminal: &TerminalInfo) -> String {
    match (terminal.state, &terminal.signal, terminal.exit_code) {
        (TerminalState::Running, ..) => "running".into(),
        (TerminalState::Exited, Some(signal), _) => format!("signal {signal}"),
        (TerminalState::Exited, None, code) => format!("exit {}", code.unwrap_or_default()),
    }
}

async fn info(client: &Connection, args: &OneArgs) -> Result<(), Failure> {
    let params = TerminalParams { terminal_id: resolve(client, &args.terminal).await? };
    print::reply(&client.call(Method::TerminalGet, &params).await?, args.output.format())
}

async fn screen(client: &Connection, args: &ScreenArgs) -> Result<(), Failure> {
    let format = args.format.unwrap_or_default();
    let params = ScreenParams { terminal_id: resolve(client, &args.terminal).await?, format: Some(format) };
    let reply: Value = client.call(Method::TerminalScreen, &params).await?;
    if args.output.format() == Format::Json || format == ScreenFormat::Json {
        return print::json(&reply);
    }
    let screen: Screen = serde_json::from_value(reply).map_err(io::Error::from)?;
    let text = format!("{}\n", screen.text.unwrap_or_default().trim_end_matches('\n'));
    match format {
        // Asked for with its escape sequences.
        ScreenFormat::Ansi => print::exact(&text),
        _ => print::passage(&text),
    }
}

async fn resize(client: &Connection, args: &ResizeArgs) -> Result<(), Failure> {
    let terminal_id = resolve(client, &args.terminal).await?;
    let params = ResizeParams { terminal_id, cols: args.cols, rows: args.rows };
    done(&client.call(Method::TerminalResize, &params).await?, args.output.format())
}

async fn signal(client: &Connection, args: SignalArgs) -> Result<(), Failure> {
    let terminal_id = resolve(client, &args.terminal).await?;
    let params = SignalParams { terminal_id, signal: args.signal };
    done(&client.call(Method::TerminalSignal, &params).await?, args.output.format())
}

async fn remove(client: &Connection, args: &RmArgs) -> Result<(), Failure> {
    for terminal in &args.terminals {
        let terminal_id = resolve(client, terminal).await?;
        let params = DestroyParams { terminal_id, grace_s: args.grace.map(|grace| grace.as_secs_f64()) };
        done(&client.call(Method::TerminalDestroy, &params).await?, args.output.format())?;
    }
    Ok(())
}

async fn keep(client: &Connection, args: &OneArgs) -> Result<(), Failure> {
    let params = TerminalParams { terminal_id: resolve(client, &args.terminal).await? };
    done(&client.call(Method::TerminalKeep, &params).await?, args.output.format())
}

/// The terminal a person means: an id, or the name of exactly one. Names never look like ids.
pub(super) async fn resolve(client: &Connection, text: &str) -> Result<TerminalId, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let list: TerminalList = client.call(Method::TerminalList, &ListParams::default()).await?;
    one_named(&list.terminals, text)
}

/// A live one goes before ended ones.
fn one_named(terminals: &[TerminalInfo], name: &str) -> Result<TerminalId, Failure> {
    let named = terminals.iter().filter(|t| t.name.as_deref() == Some(name));
    let (live, ended): (Vec<_>, Vec<_>) = named.partition(|t| t.state == TerminalState::Running);
    match if live.is_empty() { ended } else { live }.as_slice() {
        [one] => Ok(one.terminal_id.clone()),
        [] => Err(Failure::Usage(format!("no terminal has the id or name `{name}`"))),
        several => {
            let ids: Vec<String> =
                several.iter().map(|t| format!("{} ({})", t.terminal_id, state(t))).collect();
            let ids = ids.join(", ");
            Err(Failure::Usage(format!("several terminals are called `{name}`: {ids}; use an id")))
        }
    }
}
