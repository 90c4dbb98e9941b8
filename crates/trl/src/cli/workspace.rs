//! `trl workspace`: names for directories.

use std::path::PathBuf;

use serde_json::Value;
use trl_proto::Method;
use trl_proto::system::NoParams;
use trl_proto::workspace::{CreateParams, WorkspaceList, WorkspaceParams};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::{Autostart, absolute};
use super::session::ago;
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::Config;

#[derive(Debug, clap::Subcommand)]
pub(super) enum WorkspaceCommand {
    /// Make a workspace and print its directory
    New(NewArgs),
    /// List the workspaces
    Ls(Output),
    /// Show everything about a workspace
    Info(InfoArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// What it is called
    workspace: String,
    /// A directory that is there already; for the operator [default: a fresh one of the daemon's]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    autostart: Autostart,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct InfoArgs {
    workspace: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(config: &Config, command: WorkspaceCommand) -> Result<u8, Failure> {
    let (start, auth) = match &command {
        WorkspaceCommand::New(args) => {
            (args.autostart.start(), if args.dir.is_some() { Auth::Required } else { Auth::IfPerson })
        }
        _ => (Start::Never, Auth::IfPerson),
    };
    let (client, _pushes) = client::connect(config, start, auth).await?;
    match command {
        WorkspaceCommand::New(args) => create(&client, args).await?,
        WorkspaceCommand::Ls(output) => list(&client, output).await?,
        WorkspaceCommand::Info(args) => {
            let params = WorkspaceParams { workspace_id: args.workspace };
            let reply: Value = client.call(Method::WorkspaceGet, &params).await?;
            print::reply(&reply, args.output.format())?;
        }
    }
    Ok(0)
}

async fn create(client: &Connection, args: NewArgs) -> Result<(), Failure> {
    let dir = args.dir.as_deref().map(absolute).transpose()?;
    let params = CreateParams { workspace_id: args.workspace, dir };
    let made: Value = client.call(Method::WorkspaceCreate, &params).await?;
    match (args.output.format(), made.get("dir").and_then(Value::as_str)) {
        (Format::People, Some(dir)) => print::value(dir),
        _ => print::json(&made),
    }
}

async fn list(client: &Connection, output: Output) -> Result<(), Failure> {
    let list: WorkspaceList = client.call(Method::WorkspaceList, &NoParams {}).await?;
    if output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["WORKSPACE", "OWNER", "MADE", "DIRECTORY"]);
    for workspace in list.workspaces {
        table.row([workspace.workspace_id, workspace.owner, ago(&workspace.created_at), workspace.dir]);
    }
    print::text(&table.render())
}
