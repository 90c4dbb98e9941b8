//! `trl checkpoint`: the kept states of a session's shell.

use serde_json::Value;
use trl_proto::checkpoint::{
    Change, CheckpointInfo, CheckpointList, CreateParams, DeleteParams, FileChange, ListParams, Origin,
    RestoreParams, Restored,
};
use trl_proto::{CheckpointId, Method};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::session::{ago, done, resolve};
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::{Config, units};

#[derive(Debug, clap::Subcommand)]
pub(super) enum CheckpointCommand {
    /// Keep the state of a session's shell and print the checkpoint's id
    New(NewArgs),
    /// List the checkpoints of a session, newest first
    Ls(LsArgs),
    /// Give a session a fresh shell with a state that was kept; says what could not be restored
    Restore(RestoreArgs),
    /// Delete checkpoints
    Rm(RmArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// Its session's id or name
    session: String,
    /// What to call it in lists
    #[arg(long)]
    label: Option<String>,
    /// Keep the files of its directory as well, where its case has `snapshots`
    #[arg(long)]
    files: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    /// The session's id or name
    session: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The session's id or name
    session: String,
    /// The checkpoint [default: the newest]
    checkpoint: Option<CheckpointId>,
    /// Bring its files back as well; shows which would change, and with --yes changes them
    #[arg(long)]
    files: bool,
    #[arg(long, requires = "files")]
    yes: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    /// The session's id or name
    session: String,
    #[arg(required = true)]
    checkpoints: Vec<CheckpointId>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(config: &Config, command: CheckpointCommand) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    match command {
        CheckpointCommand::New(args) => create(&client, args).await?,
        CheckpointCommand::Ls(args) => list(&client, &args).await?,
        CheckpointCommand::Restore(args) => restore(&client, args).await?,
        CheckpointCommand::Rm(args) => remove(&client, args).await?,
    }
    Ok(0)
}

async fn create(client: &Connection, args: NewArgs) -> Result<(), Failure> {
    let session_id = resolve(client, &args.session).await?;
    let params = CreateParams { session_id, label: args.label, files: args.files.then_some(true) };
    let created: CheckpointInfo = client.call(Method::CheckpointCreate, &params).await?;
    match args.output.format() {
        Format::Json => print::json(&created),
        // The id alone, for `c=$(trl checkpoint new work)`.
        Format::People => print::line(created.checkpoint_id.as_str()),
    }
}

async fn all(client: &Connection, session: &str) -> Result<CheckpointList, Failure> {
    let params = ListParams { session_id: resolve(client, session).await? };
    Ok(client.call(Method::CheckpointList, &params).await?)
}

async fn list(client: &Connection, args: &LsArgs) -> Result<(), Failure> {
    let list = all(client, &args.session).await?;
    if args.output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["CHECKPOINT", "LABEL", "MADE", "WHY", "COMMANDS", "SIZE", "LEFT OUT"]);
    for one in list.checkpoints {
        table.row([
            one.checkpoint_id.to_string(),
            one.label.unwrap_or_else(|| "-".into()),
            ago(&one.created_at),
            why(one.origin).into(),
            one.commands.to_string(),
            units::size(one.size_bytes),
            one.left_out.len().to_string(),
        ]);
    }
    for one in list.corrupt {
        let dash = || "-".to_string();
        table.row([one.checkpoint_id, one.why, dash(), "corrupt".into(), dash(), dash(), dash()]);
    }
    print::text(&table.render())
}

fn why(origin: Origin) -> &'static str {
    match origin {
        Origin::Request => "asked for",
        Origin::Close => "close",
        Origin::Interval => "interval",
        Origin::Approval => "approval",
    }
}

async fn restore(client: &Connection, args: RestoreArgs) -> Result<(), Failure> {
    let session_id = resolve(client, &args.session).await?;
    let checkpoint_id = match args.checkpoint {
        Some(id) => id,
        None => {
            let newest = all(client, session_id.as_str()).await?.checkpoints.into_iter().next();
            newest.ok_or_else(|| Failure::Usage("the session has no checkpoint".into()))?.checkpoint_id
        }
    };
    let mut params =
        RestoreParams { session_id, checkpoint_id, files: None, preview: None, files_digest: None };
    if args.files {
        let preview = RestoreParams { preview: Some(true), ..params.clone() };
        let shown: Restored = client.call(Method::CheckpointRestore, &preview).await?;
        if !args.yes {
            return show_preview(&shown, args.output.format());
        }
        params = RestoreParams { files: Some(true), files_digest: shown.files_digest, ..params };
    }
    let restored: Restored = client.call(Method::CheckpointRestore, &params).await?;
    if args.output.format() == Format::Json {
        return print::json(&restored);
    }
    print_changes(&restored)?;
    for one in &restored.not_restored {
        print::line(&format!("not restored: {} {}: {}", one.what, one.name, one.why))?;
    }
    Ok(())
}

fn show_preview(shown: &Restored, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print::json(shown);
    }
    print_changes(shown)?;
    print::note("trl: nothing was changed; --yes does it");
    Ok(())
}

fn print_changes(restored: &Restored) -> Result<(), Failure> {
    for FileChange { path, change } in restored.files.iter().flatten() {
        let what = match change {
            Change::Created => "create",
            Change::Overwritten => "overwrite",
            Change::Removed => "remove",
        };
        print::line(&format!("{what:<9} {path}"))?;
    }
    Ok(())
}

async fn remove(client: &Connection, args: RmArgs) -> Result<(), Failure> {
    let session_id = resolve(client, &args.session).await?;
    for checkpoint_id in args.checkpoints {
        let params = DeleteParams { session_id: session_id.clone(), checkpoint_id };
        let reply: Value = client.call(Method::CheckpointDelete, &params).await?;
        done(&reply, args.output.format())?;
    }
    Ok(())
}
