//! What was run, looked up in the store: for all who may see it, and after the registry has let it go.

use trl_proto::exec::ExecutionStatus;
use trl_proto::history::{Excerpt, History, HistoryEntry, HistoryParams};
use trl_proto::{Error, ErrorCode, ExecutionId};
use trl_store::history::{ExecutionRecord, ExecutionStatus as Stored};
use trl_store::redact::Excerpt as Kept;
use trl_store::search::HistoryQuery;

use super::Manager;
use crate::approval::storage;

/// Entries of a page unless somebody says otherwise, and at most.
const USUAL_PAGE: u64 = 50;
const LONGEST_PAGE: u64 = 500;

impl Manager {
    /// A page of it; with an owner, only what is that one's.
    pub async fn history(&self, params: HistoryParams, owner: Option<String>) -> Result<History, Error> {
        let limit = params.limit.unwrap_or(USUAL_PAGE);
        if !(1..=LONGEST_PAGE).contains(&limit) {
            return Err(Error::invalid(format!("`limit` must be between 1 and {LONGEST_PAGE}")));
        }
        let Some(store) = &self.engine.store else { return Err(keeps_nothing()) };
        self.engine.records.caught_up().await;
        let query = HistoryQuery {
            session_id: params.session_id,
            owner,
            text: params.query,
            before: params.before,
            limit: usize::try_from(limit).ok(),
        };
        let found = store.history(query).await.map_err(storage)?;
        let full = found.len() as u64 == limit;
        let next = found.last().filter(|_| full).map(|last| last.seq);
        Ok(History { entries: found.into_iter().map(|record| self.entry(record)).collect(), next })
    }

    /// One that the registry does not know, and who owns it.
    pub async fn recorded(&self, id: &ExecutionId) -> Result<(String, HistoryEntry), Error> {
        let unknown = || self.engine.executions.find(id).map(drop).err().unwrap_or_else(keeps_nothing);
        let Some(store) = &self.engine.store else { return Err(unknown()) };
        self.engine.records.caught_up().await;
        let record = store.execution(id).await.map_err(storage)?.ok_or_else(unknown)?;
        Ok((record.owner.clone(), self.entry(record)))
    }

    fn entry(&self, record: ExecutionRecord) -> HistoryEntry {
        let excerpts =
            record.ending.as_ref().map(|ending| (excerpt(&ending.stdout), excerpt(&ending.stderr)));
        let (stdout, stderr) = excerpts.unwrap_or_default();
        let ending = record.ending.unwrap_or_default();
        HistoryEntry {
            seq: record.seq,
            status: match record.status {
                Stored::Done => ExecutionStatus::Done,
                Stored::Unknown => ExecutionStatus::Unknown,
                // Its end was never written down.
                Stored::Running if self.engine.executions.find(&record.id).is_err() => {
                    ExecutionStatus::Unknown
                }
                Stored::Running => ExecutionStatus::Running,
            },
            execution_id: record.id,
            session_id: record.session_id,
            command: record.command,
            working_dir: record.working_dir,
            exit_code: record.exit_code,
            signal: ending.signal,
            timed_out: ending.timed_out,
            cancelled: ending.cancelled,
            started_at: record.started_at.rfc3339(),
            duration_ms: record.duration_ms,
            stdout,
            stderr,
            request_id: record.request_id,
        }
    }
}

fn excerpt(kept: &Kept) -> Excerpt {
    let tail = Some(kept.tail.clone()).filter(|tail| !tail.is_empty());
    Excerpt { head: kept.head.clone(), tail, bytes: Some(kept.bytes) }
}

fn keeps_nothing() -> Error {
    Error::new(ErrorCode::InvalidParams, "this engine keeps no history").hint("`trl serve` does")
}
