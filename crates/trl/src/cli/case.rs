//! `trl case`: the profiles sessions are created from; and the flags with which other commands choose one.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trl_core::case::parse::{LARGEST, digest, parse, whole};
use trl_proto::Method;
use trl_proto::case::{
    CaseDetail, CaseError, CaseInfo, CaseList, CaseListParams, CaseOrigin, CaseParams, CaseTrustParams,
};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::run::absolute;
use super::table::Table;
use crate::client::{self, Auth, Connection, Start};
use crate::config::Config;

#[derive(Debug, clap::Subcommand)]
pub(super) enum CaseCommand {
    /// List the cases sessions can be created from, and what is wrong with broken ones
    Ls(LsArgs),
    /// Show a case as it takes effect
    Show(ShowArgs),
    /// Say what is wrong with case files, line by line; needs no daemon
    Check(CheckArgs),
    /// Let all of a workspace's case take effect, as long as its file stays as it is
    Trust(TrustArgs),
}

/// Which workspace.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// The workspace, by its id
    #[arg(long, value_name = "ID", conflicts_with = "dir")]
    workspace: Option<String>,
    /// The workspace, by its directory [default: this one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// Its id
    case: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// Case files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// Its id
    case: String,
    #[command(flatten)]
    place: Place,
    /// Only if this is the file's digest [default: that of the file as it is now]
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// Take it back
    #[arg(long, conflicts_with = "digest")]
    revoke: bool,
    #[command(flatten)]
    output: Output,
}

/// Of the commands that make sessions.
#[derive(Debug, clap::Args)]
pub(super) struct CaseArgs {
    /// Create it from this case [default: the configured one, if any]
    #[arg(long = "case", value_name = "ID")]
    pub(super) case: Option<String>,
    /// The workspace it is in, by its id
    #[arg(short, long, value_name = "ID")]
    pub(super) workspace: Option<String>,
}

impl CaseArgs {
    pub(super) async fn start_dir(
        &self,
        client: &Connection,
        asked: Option<&Path>,
    ) -> Result<Option<String>, Failure> {
        start_dir(client, asked, self.case.as_deref(), self.workspace.as_deref()).await
    }
}

/// Where to start: what was asked for, else what the case or the workspace says, else here.
pub(super) async fn start_dir(
    client: &Connection,
    asked: Option<&Path>,
    case: Option<&str>,
    workspace: Option<&str>,
) -> Result<Option<String>, Failure> {
    if asked.is_none() && workspace.is_some() {
        return Ok(None);
    }
    let here = absolute(asked.unwrap_or(Path::new(".")))?;
    let (None, Some(case)) = (asked, case) else { return Ok(Some(here)) };
    let params = CaseParams {
        case_id: case.into(),
        workspace_id: workspace.map(String::from),
        path: workspace.is_none().then(|| here.clone()),
    };
    let detail: CaseDetail = client.call(Method::CaseGet, &params).await?;
    // A case of a workspace without an id is found by the directory, so that has to be named.
    let found_by_dir = workspace.is_none() && detail.info.origin == CaseOrigin::Workspace;
    let own = detail.case.working_dir.is_some() && !found_by_dir;
    Ok((!own).then_some(here))
}

impl Place {
    fn params(&self) -> Result<(Option<String>, Option<String>), Failure> {
        match &self.workspace {
            Some(id) => Ok((Some(id.clone()), None)),
            None => Ok((None, Some(absolute(self.dir.as_deref().unwrap_or(Path::new(".")))?))),
        }
    }
}

pub(super) async fn run(config: &Config, command: CaseCommand) -> Result<u8, Failure> {
    if let CaseCommand::Check(args) = command {
        return check(&args);
    }
    let auth = match &command {
        CaseCommand::Trust(_) => Auth::Required,
        _ => Auth::IfPerson,
    };
    let (client, _pushes) = client::connect(config, Start::Never, auth).await?;
    match command {
        CaseCommand::Ls(args) => list(&client, &args).await?,
        CaseCommand::Show(args) => show(&client, args).await?,
        CaseCommand::Trust(args) => trust(&client, args).await?,
        CaseCommand::Check(_) => {}
    }
    Ok(0)
}

async fn list(client: &Connection, args: &LsArgs) -> Result<(), Failure> {
    let (workspace_id, path) = args.place.params()?;
    let list: CaseList = client.call(Method::CaseList, &CaseListParams { workspace_id, path }).await?;
    if args.output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["CASE", "FROM", "STATE", "DESCRIPTION"]);
    for case in &list.cases {
        let from = match case.origin {
            CaseOrigin::Config => "config",
            CaseOrigin::Workspace => "workspace",
        };
        let name = if case.default { format!("{} (default)", case.case_id) } else { case.case_id.clone() };
        let description = case.description.clone().unwrap_or_else(|| "-".into());
        table.row([name, from.into(), state(case).into(), description]);
    }
    print::text(&table.render())?;
    for case in &list.cases {
        tell(&case.source, &case.errors);
    }
    Ok(())
}

fn state(case: &CaseInfo) -> &'static str {
    match case {
        CaseInfo { errors, .. } if !errors.is_empty() => "broken",
        CaseInfo { trusted: true, .. } => "trusted",
        _ => "untrusted",
    }
}

fn tell(file: &str, errors: &[CaseError]) {
    for error in errors {
        print::note(&error.in_file(file));
        if let Some(hint) = &error.hint {
            print::note(&format!("  hint: {hint}"));
        }
    }
}

async fn show(client: &Connection, args: ShowArgs) -> Result<(), Failure> {
    let (workspace_id, path) = args.place.params()?;
    let params = CaseParams { case_id: args.case, workspace_id, path };
    let reply: Value = client.call(Method::CaseGet, &params).await?;
    print::reply(&reply, args.output.format())
}

async fn trust(client: &Connection, args: TrustArgs) -> Result<(), Failure> {
    let (workspace_id, path) = args.place.params()?;
    let (case_id, trust) = (args.case, args.revoke.then_some(false));
    let seen: Option<CaseDetail> = match (&args.digest, args.revoke) {
        (None, false) => {
            let params = CaseParams {
                case_id: case_id.clone(),
                workspace_id: workspace_id.clone(),
                path: path.clone(),
            };
            Some(client.call(Method::CaseGet, &params).await?)
        }
        _ => None,
    };
    let digest = args.digest.or_else(|| seen.as_ref()?.info.digest.clone()).unwrap_or_default();
    let params = CaseTrustParams { case_id, workspace_id, path, digest, trust };
    let info: CaseInfo = client.call(Method::CaseTrust, &params).await?;
    if args.output.format() == Format::Json {
        return print::json(&info);
    }
    let fields = seen.map(|seen| seen.info.ignored).unwrap_or_default();
    if !fields.is_empty() {
        print::note(&format!("trl: these take effect now: {}", fields.join(", ")));
    }
    print::line(&info.source)
}

/// 1 when one of them is broken.
fn check(args: &CheckArgs) -> Result<u8, Failure> {
    let mut reports = Vec::new();
    let mut code = 0;
    for file in &args.files {
        let (name, bytes, id) = read(file)?;
        let errors = match &id {
            _ if bytes.len() > LARGEST => parse(&bytes, None).err().unwrap_or_default(),
            Some(Err(error)) => vec![error.clone()],
            id => parse(&bytes, id.as_ref().and_then(|id| id.as_deref().ok())).err().unwrap_or_default(),
        };
        if !errors.is_empty() {
            code = 1;
        }
        if args.output.format() == Format::People {
            tell(&name, &errors);
        }
        reports.push(json!({
            "source": name, "valid": errors.is_empty(), "errors": errors, "digest": digest(&bytes),
        }));
    }
    if args.output.format() == Format::Json {
        print::json(&json!({"files": reports}))?;
    }
    Ok(code)
}

type Named = (String, Vec<u8>, Option<Result<String, CaseError>>);

/// What is called as a case would be must be called rightly; other files are only read.
fn read(file: &Path) -> Result<Named, Failure> {
    let most = LARGEST as u64 + 1;
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        return Ok(("-".into(), bytes, None));
    }
    let opened = std::fs::File::open(file);
    let opened =
        opened.map_err(|error| Failure::Usage(format!("cannot read {}: {error}", file.display())))?;
    opened.take(most).read_to_end(&mut bytes)?;
    let stem = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".yaml"));
    let id = stem.map(|stem| match trl_core::case::check::valid_id(stem) {
        true => Ok(stem.to_string()),
        false => Err(CaseError {
            hint: Some(trl_core::case::check::ID_RULE.into()),
            ..whole("the name of the file is no id")
        }),
    });
    Ok((file.display().to_string(), bytes, id))
}
