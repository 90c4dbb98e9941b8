//! `trl fs`: the files of a session or workspace, as the daemon sees them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use trl_proto::fs::{
    ChangedPush, FileInfo, FileKind, FileList, GlobParams, Globbed, GrepParams, ListParams, Matches,
    MkdirParams, MoveParams, RemoveParams, StatParams, WatchParams, Watching, decode_path, encode_path,
};
use trl_proto::nearest::nearest;
use trl_proto::system::NoParams;
use trl_proto::workspace::{WorkspaceList, WorkspaceParams};
use trl_proto::{Encoding, Error, ErrorCode, Method, SessionId, Untrusted, one_line};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::session::{ago, resolve};
use super::table::Table;
use super::transfer;
use crate::client::{self, Auth, ClientError, Connection, Pushes, Start};
use crate::config::Config;

pub(super) const ABOUT: &str = "\
Paths are relative to the workspace, or to the directory the session was created in. Nothing outside is reached: a link
that leaves it is refused.";

#[derive(Debug, clap::Subcommand)]
pub(super) enum FsCommand {
    /// List a directory
    Ls(LsArgs),
    /// Show what is known of a file
    Stat(PathArgs),
    /// Print a file
    Cat(CatArgs),
    /// Write a local file, or stdin, into the workspace: all of it or nothing
    Put(transfer::PutArgs),
    /// Copy a file of the workspace to here
    Get(transfer::GetArgs),
    /// Make a directory
    Mkdir(MkdirArgs),
    /// Give a file or directory another name
    Mv(MvArgs),
    /// Remove files, or directories with --recursive
    Rm(RmArgs),
    /// Find files by a pattern such as '**/*.rs'; ignore files are honoured
    Glob(GlobArgs),
    /// Find lines by a regular expression; ignore files are honoured
    Grep(GrepArgs),
    /// Show what changes, as it changes
    Watch(WatchArgs),
}

/// Whose files.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Whose {
    /// Of this session (its id or name)
    #[arg(short, long)]
    session: Option<String>,
    /// Of this workspace
    #[arg(short, long, value_name = "ID")]
    workspace: Option<String>,
}

/// The same, found.
pub(super) struct Found {
    pub(super) session_id: Option<SessionId>,
    pub(super) workspace_id: Option<String>,
}

impl Whose {
    pub(super) async fn find(self, client: &Connection) -> Result<Found, Failure> {
        let session_id = match &self.session {
            Some(session) => Some(resolve(client, session).await?),
            None => None,
        };
        Ok(Found { session_id, workspace_id: self.workspace })
    }

    /// The same for a command that writes. The daemon makes a workspace with the first write to it, so that a mistyped name
    /// would make one.
    pub(super) async fn find_to_write(self, client: &Connection) -> Result<Found, Failure> {
        if let Some(id) = &self.workspace {
            let params = WorkspaceParams { workspace_id: id.clone() };
            match client.call::<Value>(Method::WorkspaceGet, &params).await {
                Err(ClientError::Refused(error)) if error.code == ErrorCode::FileNotFound => {
                    return Err(no_workspace(client, id).await?);
                }
                found => drop(found?),
            }
        }
        self.find(client).await
    }
}

async fn no_workspace(client: &Connection, id: &str) -> Result<Failure, ClientError> {
    let list: WorkspaceList = client.call(Method::WorkspaceList, &NoParams {}).await?;
    let hint = match nearest(id, list.workspaces.iter().map(|one| one.workspace_id.as_str())) {
        Some(near) => format!("did you mean {}? `trl workspace new NAME` makes one", one_line(near)),
        None => "`trl workspace ls` lists those there are; `trl workspace new NAME` makes one".into(),
    };
    let error = Error::new(ErrorCode::FileNotFound, format!("there is no workspace `{}`", one_line(id)));
    Ok(ClientError::Refused(error.hint(hint)).into())
}

#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    #[command(flatten)]
    whose: Whose,
    /// The directory [default: the whole workspace]
    path: Option<OsString>,
    /// How many levels
    #[arg(long, value_name = "N")]
    depth: Option<u64>,
    /// Entries at most
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct PathArgs {
    #[command(flatten)]
    whose: Whose,
    path: OsString,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct CatArgs {
    #[command(flatten)]
    whose: Whose,
    path: OsString,
}

#[derive(Debug, clap::Args)]
pub(super) struct MkdirArgs {
    /// Missing directories on the way too, and one that is there is fine
    #[arg(short, long)]
    parents: bool,
    #[command(flatten)]
    path: PathArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct MvArgs {
    #[command(flatten)]
    whose: Whose,
    from: OsString,
    to: OsString,
    /// Replace what is there
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    #[command(flatten)]
    whose: Whose,
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Directories with all that is in them
    #[arg(short, long)]
    recursive: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct GlobArgs {
    #[command(flatten)]
    whose: Whose,
    /// `*` stays within a name, `**` does not
    pattern: String,
    /// The directory to search
    path: Option<OsString>,
    /// Also what ignore files name
    #[arg(long)]
    all: bool,
    /// Files at most
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct GrepArgs {
    #[command(flatten)]
    whose: Whose,
    pattern: String,
    /// The directory or file to search
    path: Option<OsString>,
    /// Only files whose path matches
    #[arg(long, value_name = "PATTERN")]
    glob: Option<String>,
    /// Lines before and after
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<u64>,
    /// The pattern is the text itself
    #[arg(short = 'F', long)]
    literal: bool,
    #[arg(short, long)]
    ignore_case: bool,
    /// Also what ignore files name
    #[arg(long)]
    all: bool,
    /// Matches at most
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct WatchArgs {
    #[command(flatten)]
    whose: Whose,
    /// The directory [default: the whole workspace]
    path: Option<OsString>,
    /// Everything below as well
    #[arg(short, long)]
    recursive: bool,
    #[command(flatten)]
    output: Output,
}

/// A path for the wire.
fn wire(path: &OsStr) -> (String, Option<Encoding>) {
    encode_path(path.as_bytes())
}

fn optional(path: Option<OsString>) -> (Option<String>, Option<Encoding>) {
    path.map_or((None, None), |path| {
        let (path, encoding) = wire(&path);
        (Some(path), encoding)
    })
}

/// A path of the wire for people.
fn shown(path: &str, encoding: Option<Encoding>) -> String {
    let bytes = decode_path(Some(path.into()), encoding).unwrap_or_default();
    Untrusted::new(&PathBuf::from(OsString::from_vec(bytes)).to_string_lossy()).to_string()
}

pub(super) async fn run(config: &Config, command: FsCommand) -> Result<u8, Failure> {
    let (client, pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    match command {
        FsCommand::Ls(args) => list(&client, args).await?,
        FsCommand::Stat(args) => stat(&client, args).await?,
        FsCommand::Cat(args) => {
            let whose = args.whose.find(&client).await?;
            transfer::cat(config, &whose, &args.path).await?;
        }
        FsCommand::Put(args) => transfer::put(config, &client, args).await?,
        FsCommand::Get(args) => transfer::get(config, &client, args).await?,
        FsCommand::Mkdir(args) => mkdir(&client, args).await?,
        FsCommand::Mv(args) => rename(&client, args).await?,
        FsCommand::Rm(args) => remove(&client, args).await?,
        FsCommand::Glob(args) => glob(&client, args).await?,
        FsCommand::Grep(args) => return grep(&client, args).await,
        FsCommand::Watch(args) => watch(&client, pushes, args).await?,
    }
    Ok(0)
}

/// The reply as JSON; for people nothing, since it was done.
async fn quietly(
    client: &Connection,
    method: Method,
    params: &impl Serialize,
    output: Output,
) -> Result<(), Failure> {
    let reply: Value = client.call(method, params).await?;
    match output.format() {
        Format::Json => print::json(&reply),
        Format::People => Ok(()),
    }
}

async fn list(client: &Connection, args: LsArgs) -> Result<(), Failure> {
    let Found { session_id, workspace_id } = args.whose.find(client).await?;
    let (path, path_encoding) = optional(args.path);
    let params =
        ListParams { session_id, workspace_id, path, path_encoding, depth: args.depth, limit: args.limit };
    let list: FileList = client.call(Method::FsList, &params).await?;
    if args.output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["MODE", "SIZE", "MODIFIED", "PATH"]);
    for entry in list.entries {
        let path = shown(&entry.path, entry.path_encoding);
        let mark = match entry.kind {
            FileKind::Dir => "/",
            FileKind::Symlink => "@",
            FileKind::Other => "|",
            FileKind::File => "",
        };
        table.row([entry.mode, entry.size.to_string(), ago(&entry.modified_at), format!("{path}{mark}")]);
    }
    print::text(&table.render())?;
    more(list.truncated);
    Ok(())
}

/// A list that is not whole says so, beside the data.
fn more(truncated: bool) {
    if truncated {
        print::note("trl: there are more");
    }
}

async fn stat(client: &Connection, args: PathArgs) -> Result<(), Failure> {
    let Found { session_id, workspace_id } = args.whose.find(client).await?;
    let (path, path_encoding) = optional(Some(args.path));
    let params = StatParams { session_id, workspace_id, path, path_encoding };
    let info: FileInfo = client.call(Method::FsStat, &params).await?;
    let value = serde_json::to_value(&info).map_err(std::io::Error::from)?;
    print::reply(&value, args.output.format())
}

async fn mkdir(client: &Connection, args: MkdirArgs) -> Result<(), Failure> {
    let MkdirArgs { parents, path: PathArgs { whose, path, output } } = args;
    let Found { session_id, workspace_id } = whose.find_to_write(client).await?;
    let (path, path_encoding) = wire(&path);
    let params = MkdirParams {
        session_id,
        workspace_id,
        path,
        path_encoding,
        create_dirs: parents.then_some(true),
        approval: None,
    };
    quietly(client, Method::FsMkdir, &params, output).await
}

async fn rename(client: &Connection, args: MvArgs) -> Result<(), Failure> {
    let Found { session_id, workspace_id } = args.whose.find_to_write(client).await?;
    let ((path, path_encoding), (to, to_encoding)) = (wire(&args.from), wire(&args.to));
    let overwrite = args.force.then_some(true);
    let params = MoveParams {
        session_id,
        workspace_id,
        path,
        path_encoding,
        to,
        to_encoding,
        overwrite,
        approval: None,
    };
    quietly(client, Method::FsMove, &params, args.output).await
}

async fn remove(client: &Connection, args: RmArgs) -> Result<(), Failure> {
    let Found { session_id, workspace_id } = args.whose.find_to_write(client).await?;
    for path in &args.paths {
        let (path, path_encoding) = wire(path);
        let params = RemoveParams {
            session_id: session_id.clone(),
            workspace_id: workspace_id.clone(),
            path,
            path_encoding,
            recursive: args.recursive.then_some(true),
            approval: None,
        };
        quietly(client, Method::FsRemove, &params, args.output).await?;
    }
    Ok(())
}

async fn glob(client: &Connection, args: GlobArgs) -> Result<(), Failure> {
    let Found { session_id, workspace_id } = args.whose.find(client).await?;
    let (path, path_encoding) = optional(args.path);
    let params = GlobParams {
        session_id,
        workspace_id,
        pattern: args.pattern,
        path,
        path_encoding,
        include_ignored: args.all.then_some(true),
        limit: args.limit,
    };
    let found: Globbed = client.call(Method::FsGlob, &params).await?;
    if args.output.format() == Format::Json {
        return print::json(&found);
    }
    let lines: String = found.files.iter().map(|f| shown(&f.path, f.path_encoding) + "\n").collect();
    print::text(&lines)?;
    more(found.truncated);
    Ok(())
}

/// Like grep(1): 1 when nothing was found.
async fn grep(client: &Connection, args: GrepArgs) -> Result<u8, Failure> {
    let Found { session_id, workspace_id } = args.whose.find(client).await?;
    let (path, path_encoding) = optional(args.path);
    let params = GrepParams {
        session_id,
        workspace_id,
        pattern: args.pattern,
        path,
        path_encoding,
        glob: args.glob,
        context: args.context,
        literal: args.literal.then_some(true),
        ignore_case: args.ignore_case.then_some(true),
        include_ignored: args.all.then_some(true),
        limit: args.limit,
    };
    let found: Matches = client.call(Method::FsGrep, &params).await?;
    let code = u8::from(found.matches.is_empty());
    if args.output.format() == Format::Json {
        print::json(&found)?;
        return Ok(code);
    }
    let mut text = String::new();
    for hit in &found.matches {
        let path = shown(&hit.path, hit.path_encoding);
        let first = hit.line - hit.before.len() as u64;
        for (line, words) in (first..).zip(&hit.before) {
            text += &format!("{path}-{line}-{}\n", Untrusted::new(words));
        }
        text += &format!("{path}:{}:{}\n", hit.line, Untrusted::new(&hit.text));
        for (line, words) in (hit.line + 1..).zip(&hit.after) {
            text += &format!("{path}-{line}-{}\n", Untrusted::new(words));
        }
    }
    print::text(&text)?;
    more(found.truncated);
    Ok(code)
}

async fn watch(client: &Connection, mut pushes: Pushes, args: WatchArgs) -> Result<(), Failure> {
    let Found { session_id, workspace_id } = args.whose.find(client).await?;
    let (path, path_encoding) = optional(args.path);
    let recursive = args.recursive.then_some(true);
    let params = WatchParams { session_id, workspace_id, path, path_encoding, recursive };
    let watching: Watching = client.call(Method::FsWatch, &params).await?;
    if watching.truncated {
        print::note("trl: not all directories are watched");
    }
    while let Some(push) = pushes.next().await {
        match args.output.format() {
            _ if push.method != "fs.changed" => {}
            Format::Json => print::json_text(push.json())?,
            Format::People => print::text(&changed(&push.parse()?))?,
        }
    }
    Err(ClientError::Lost.into())
}

fn changed(push: &ChangedPush) -> String {
    let line = |change: &trl_proto::fs::FileChange| {
        let kind = serde_json::to_value(change.kind).ok().and_then(|kind| kind.as_str().map(String::from));
        let mark = if change.is_dir { "/" } else { "" };
        let path = shown(&change.path, change.path_encoding);
        format!("{:8} {path}{mark}\n", kind.unwrap_or_default())
    };
    let missed = if push.missed { "missed   some: look again\n" } else { "" };
    push.changes.iter().map(line).collect::<String>() + missed
}
