//! `trl history`: what was run, also before the daemon was last started.

use serde_json::Value;
use trl_proto::Method;
use trl_proto::exec::ExecutionStatus;
use trl_proto::history::{History, HistoryEntry, HistoryParams};

use super::failure::Failure;
use super::print::{self, Format, Output};
use super::session::{ago, resolve};
use super::table::Table;
use crate::client::{self, Auth, Start};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct HistoryArgs {
    /// Only of this session (its id or name)
    #[arg(short, long)]
    session: Option<String>,
    /// Only before this entry: the number in its first column
    #[arg(long, value_name = "NUMBER")]
    before: Option<i64>,
    /// How many, 500 at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u64,
    /// Words to look for in commands and output: all must be there, each may be the beginning of one
    query: Vec<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn show(config: &Config, args: HistoryArgs) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    let session_id = match &args.session {
        Some(session) => Some(resolve(&client, session).await?),
        None => None,
    };
    let query = (!args.query.is_empty()).then(|| args.query.join(" "));
    let params = HistoryParams { session_id, query, before: args.before, limit: Some(args.limit) };
    let reply: Value = client.call(Method::SessionHistory, &params).await?;
    if args.output.format() == Format::Json {
        print::json(&reply)?;
        return Ok(0);
    }
    let history: History = serde_json::from_value(reply).map_err(std::io::Error::from)?;
    let mut table = Table::new(&["#", "WHEN", "SESSION", "EXECUTION", "END", "COMMAND"]);
    // The newest is where a person looks: at the end.
    for entry in history.entries.iter().rev() {
        table.row([
            entry.seq.to_string(),
            ago(&entry.started_at),
            entry.session_id.to_string(),
            entry.execution_id.to_string(),
            end(entry),
            entry.command.clone(),
        ]);
    }
    print::text(&table.render())?;
    Ok(0)
}

fn end(entry: &HistoryEntry) -> String {
    match (entry.status, &entry.signal, entry.exit_code) {
        (ExecutionStatus::Done, _, _) if entry.timed_out => "timed out".into(),
        (ExecutionStatus::Done, _, _) if entry.cancelled => "cancelled".into(),
        (ExecutionStatus::Done, Some(signal), _) => signal.clone(),
        (ExecutionStatus::Done, None, Some(code)) => code.to_string(),
        (ExecutionStatus::Unknown, ..) => "unknown".into(),
        _ => "running".into(),
    }
}
