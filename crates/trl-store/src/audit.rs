//! The audit log: who decided what, when. Written in the transaction of the decision, never rewritten.

use rusqlite::{Connection, Row, params};
use serde_json::{Value, json};
use trl_proto::id::{ExecutionId, RequestId, SessionId};

use crate::error::Result;
use crate::moment::Moment;
use crate::queue::{Label, Ticket};
use crate::redact::{Clean, Redact, Redactor};
use crate::store::Store;
use crate::word;

/// The most a page has.
pub const LONGEST_PAGE: usize = 1000;

#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub at: Moment,
    /// `operator`, the id of a token, `agent`, or `trl` for what nobody decided.
    pub who: String,
    /// `request.approved`, `case.trusted`, ...
    pub what: String,
    pub session_id: Option<SessionId>,
    pub request_id: Option<RequestId>,
    pub execution_id: Option<ExecutionId>,
    /// More, by kind.
    pub detail: Value,
}

impl AuditEntry {
    pub fn new(at: Moment, who: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            at,
            who: who.into(),
            what: what.into(),
            session_id: None,
            request_id: None,
            execution_id: None,
            detail: json!({}),
        }
    }
}

impl Redact for AuditEntry {
    fn redact(&mut self, with: &Redactor) {
        with.string(&mut self.what);
        with.json(&mut self.detail);
    }
}

/// An entry with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    pub id: i64,
    pub entry: AuditEntry,
}

/// Which entries; newest first.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    pub session_id: Option<SessionId>,
    pub request_id: Option<RequestId>,
    /// Not older.
    pub since: Option<Moment>,
    /// Only entries before this one: the last id of the page before.
    pub before: Option<i64>,
    /// 100 unless told otherwise.
    pub limit: Option<usize>,
}

impl Store {
    /// For decisions that no other write records.
    pub fn audit(&self, entry: Clean<AuditEntry>) -> Ticket<i64> {
        let bytes = entry.detail.to_string().len();
        self.write(Label::durable("audit", bytes), move |conn| append(conn, &entry))
    }

    pub async fn audit_log(&self, query: AuditQuery) -> Result<Vec<Audited>> {
        self.read(move |conn| list(conn, &query)).await
    }
}

pub(crate) fn append(conn: &Connection, entry: &AuditEntry) -> Result<i64> {
    let sql = "INSERT INTO audit (at, who, what, session_id, request_id, execution_id, detail)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    conn.prepare_cached(sql)?.execute(params![
        entry.at,
        entry.who,
        entry.what,
        entry.session_id.as_ref().map(SessionId::as_str),
        entry.request_id.as_ref().map(RequestId::as_str),
        entry.execution_id.as_ref().map(ExecutionId::as_str),
        entry.detail.to_string(),
    ])?;
    Ok(conn.last_insert_rowid())
}

fn list(conn: &Connection, query: &AuditQuery) -> Result<Vec<Audited>> {
    let sql = "SELECT id, at, who, what, session_id, request_id, execution_id, detail FROM audit
               WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR request_id = ?2)
                 AND at >= ?3 AND id < ?4
               ORDER BY id DESC LIMIT ?5";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        query.session_id.as_ref().map(SessionId::as_str),
        query.request_id.as_ref().map(RequestId::as_str),
        query.since.map_or(i64::MIN, Moment::millis),
        query.before.unwrap_or(i64::MAX),
        query.limit.unwrap_or(100).min(LONGEST_PAGE),
    ])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(read(row)?);
    }
    Ok(entries)
}

fn read(row: &Row<'_>) -> Result<Audited> {
    let entry = AuditEntry {
        at: row.get(1)?,
        who: row.get(2)?,
        what: row.get(3)?,
        session_id: word::optional_id(row.get(4)?)?,
        request_id: word::optional_id(row.get(5)?)?,
        execution_id: word::optional_id(row.get(6)?)?,
        detail: serde_json::from_str(&row.get::<_, String>(7)?)?,
    };
    Ok(Audited { id: row.get(0)?, entry })
}
