//! Runs: an approved command, on its way to being run once.
//!
//! ```text
//!  approved ──▶ started ──▶ done       claim_run, finish_run
//!     │            └──────▶ unknown    the daemon ended meanwhile; nobody runs it again
//!     └──▶ granted                     the daemon ended before, and whoever waited is gone
//! ```
//!
//! Whoever runs it claims it first. The claim is on the disk before the process starts, so a second one never does.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use trl_proto::hitl::ApprovalRequest;
use trl_proto::id::{ExecutionId, RequestId};

use crate::audit::{self, AuditEntry};
use crate::error::Result;
use crate::grant;
use crate::history::{self, NewExecution};
use crate::moment::Moment;
use crate::queue::{Label, Ticket};
use crate::request::{self, Mode, RequestRecord};
use crate::resolve::one_shot;
use crate::store::Store;
use crate::word;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Approved,
    Started,
    Done,
    Unknown,
    Granted,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It is the caller's to run.
    Claimed(RequestRecord),
    /// Somebody had it before, or nobody may have it.
    Taken(RunState),
    /// Not approved, or not there.
    NotFound,
}

impl Store {
    /// Durable when it resolves: only then may the process start, and only on [`Claim::Claimed`].
    pub fn claim_run(&self, request: &RequestId, execution: &ExecutionId, now: Moment) -> Ticket<Claim> {
        let (request, execution) = (request.clone(), execution.clone());
        self.write(Label::durable("claim_run", 0), move |conn| claim(conn, &request, &execution, now))
    }

    /// It has ended; says whether it was started.
    pub fn finish_run(&self, request: &RequestId, now: Moment) -> Ticket<bool> {
        let request = request.clone();
        self.write(Label::durable("finish_run", 0), move |conn| {
            let sql =
                "UPDATE runs SET state = 'done', ended_at = ?2 WHERE request_id = ?1 AND state = 'started'";
            Ok(conn.prepare_cached(sql)?.execute(params![request.as_str(), now])? > 0)
        })
    }

    pub async fn run_state(&self, request: &RequestId) -> Result<Option<RunState>> {
        let request = request.clone();
        self.read(move |conn| state(conn, &request)).await
    }

    /// Approved and not begun, with nobody but the daemon to begin them; oldest first.
    pub async fn runs_to_begin(&self) -> Result<Vec<RequestRecord>> {
        let rest = "WHERE mode = 'return' AND id IN (SELECT request_id FROM runs WHERE state = 'approved')
                    ORDER BY created_at, id";
        self.read(move |conn| request::find(conn, rest, &[])).await
    }
}

/// Within the transaction of the answer.
pub(crate) fn approve(conn: &Connection, request: &ApprovalRequest, now: Moment) -> Result<()> {
    let sql = "INSERT INTO runs (request_id, session_id, state, approved_at) VALUES (?1, ?2, 'approved', ?3)";
    conn.prepare_cached(sql)?.execute(params![request.request_id.as_str(), request.place(), now])?;
    Ok(())
}

fn state(conn: &Connection, request: &RequestId) -> Result<Option<RunState>> {
    let mut statement = conn.prepare_cached("SELECT state FROM runs WHERE request_id = ?1")?;
    let word: Option<String> = statement.query_row([request.as_str()], |row| row.get(0)).optional()?;
    word.map(word::from_word).transpose()
}

pub(crate) fn claim(
    conn: &Connection,
    request: &RequestId,
    execution: &ExecutionId,
    now: Moment,
) -> Result<Claim> {
    let sql = "UPDATE runs SET state = 'started', started_at = ?2, execution_id = ?3
               WHERE request_id = ?1 AND state = 'approved'";
    let claimed = conn.prepare_cached(sql)?.execute(params![request.as_str(), now, execution.as_str()])?;
    if claimed == 0 {
        return Ok(state(conn, request)?.map_or(Claim::NotFound, Claim::Taken));
    }
    let Some(record) = request::get(conn, request)? else { return Ok(Claim::NotFound) };
    let mut entry = request::entry_of(&record.request, now, "trl", "run.started");
    entry.execution_id = Some(execution.clone());
    audit::append(conn, &entry)?;
    Ok(Claim::Claimed(record))
}

/// After a start.
pub(crate) fn settle(conn: &Connection, now: Moment) -> Result<u64> {
    let mut unknown = 0;
    for request in in_state(conn, "started")? {
        set(conn, &request, "unknown", now)?;
        if let Some(new) = execution_of(conn, &request)? {
            history::add_unknown(conn, &new)?;
        }
        let entry = AuditEntry { request_id: Some(request), ..AuditEntry::new(now, "trl", "run.unknown") };
        audit::append(conn, &entry)?;
        unknown += 1;
    }
    for request in in_state(conn, "approved")? {
        let Some(record) = request::get(conn, &request)?.filter(|record| record.mode == Mode::Wait) else {
            continue;
        };
        set(conn, &request, "granted", now)?;
        let edited = record.request.resolution.as_ref().is_some_and(|said| said.command.is_some());
        // The yes was to another text than the one whose digest would be asked for.
        if let Some(grant) = one_shot(&record).filter(|_| !edited && record.expires_at > now) {
            grant::add(conn, &grant, Some(&request), now)?;
        }
    }
    Ok(unknown)
}

/// What was to be run: it may not have come as far as the history.
fn execution_of(conn: &Connection, id: &RequestId) -> Result<Option<NewExecution>> {
    let sql = "SELECT execution_id, started_at FROM runs WHERE request_id = ?1";
    let columns = |row: &Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<Moment>>(1)?));
    let found = conn.prepare_cached(sql)?.query_row([id.as_str()], columns).optional()?;
    let (Some((Some(execution), started_at)), Some(record)) = (found, request::get(conn, id)?) else {
        return Ok(None);
    };
    let RequestRecord { request, plan, .. } = record;
    // What is no command of a session has no place in the history.
    let (Some(session_id), Some(_)) = (request.session_id, request.execution_id) else { return Ok(None) };
    Ok(Some(NewExecution {
        id: word::id(&execution)?,
        session_id,
        owner: plan.owner,
        request_id: Some(request.request_id),
        command: request.resolution.and_then(|said| said.command).unwrap_or(request.command),
        working_dir: request.working_dir,
        started_at: started_at.unwrap_or_default(),
    }))
}

fn in_state(conn: &Connection, state: &str) -> Result<Vec<RequestId>> {
    let mut statement =
        conn.prepare("SELECT request_id FROM runs WHERE state = ?1 AND state IN ('approved', 'started')")?;
    let ids: rusqlite::Result<Vec<String>> = statement.query_map([state], |row| row.get(0))?.collect();
    ids?.iter().map(|id| word::id(id)).collect()
}

fn set(conn: &Connection, request: &RequestId, state: &str, now: Moment) -> Result<()> {
    let sql = "UPDATE runs SET state = ?2, ended_at = ?3 WHERE request_id = ?1";
    conn.prepare_cached(sql)?.execute(params![request.as_str(), state, now])?;
    Ok(())
}
