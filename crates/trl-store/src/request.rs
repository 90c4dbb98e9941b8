//! Approval requests: kept before anyone is told of them, and until long after they are settled.
//!
//! Answering one is in [`crate::resolve`], what may be run on an answer in [`crate::run`].

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trl_proto::hitl::{ApprovalRequest, RequestState};
use trl_proto::id::{ExecutionId, RequestId, SessionId};

use crate::audit::{self, AuditEntry};
use crate::error::{Result, StoreError};
use crate::grant::{self, Grant};
use crate::moment::Moment;
use crate::queue::{Label, Ticket};
use crate::redact::{Clean, Redact, Redactor};
use crate::store::Store;
use crate::word;

/// The most a list has: those are waited for by people.
const LONGEST_LIST: usize = 1000;

/// What whoever asked does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Waits for the answer.
    Wait,
    /// Has gone; the daemon runs it on a yes.
    Return,
}

/// What is to be run on a yes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunPlan {
    /// Who asked.
    pub owner: String,
    /// As whoever runs it wrote it down; without secret values.
    pub what: Value,
    /// Names of the secrets it needs.
    pub secrets: Vec<String>,
    /// A secret was taken out of the command or of `what`: it cannot be run from this record.
    pub redacted: bool,
}

impl Redact for RunPlan {
    fn redact(&mut self, with: &Redactor) {
        self.redacted |= with.json(&mut self.what);
    }
}

/// A request to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRequest {
    pub request: ApprovalRequest,
    pub mode: Mode,
    pub checkpoint_id: Option<String>,
    pub plan: RunPlan,
}

impl Redact for NewRequest {
    fn redact(&mut self, with: &Redactor) {
        self.plan.redact(with);
        let request = &mut self.request;
        if with.string(&mut request.command) {
            self.plan.redacted = true;
            // Their places were those in the whole text.
            request.segments.iter_mut().for_each(|segment| segment.at = None);
        }
        with.string(&mut request.working_dir);
        with.strings(&mut request.session_name);
        if let Some(permission) = &mut request.permission {
            let names = permission.options.iter_mut().map(|option| &mut option.name);
            with.strings(names.chain([&mut permission.title]));
        }
        for segment in &mut request.segments {
            let more = segment.rule.iter_mut().chain(&mut segment.reason).chain(&mut segment.would_allow);
            with.strings(more.chain(&mut segment.parts).chain([&mut segment.text]));
        }
    }
}

/// A request as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    /// With its state, and its resolution once there is one.
    pub request: ApprovalRequest,
    pub mode: Mode,
    /// Whoever waited for the answer was gone when the store was opened: a yes is kept as a grant.
    pub orphan: bool,
    pub expires_at: Moment,
    pub checkpoint_id: Option<String>,
    pub plan: RunPlan,
}

/// Which requests; oldest first.
#[derive(Debug, Clone, Default)]
pub struct RequestQuery {
    pub session_id: Option<SessionId>,
    /// None: in any state.
    pub state: Option<RequestState>,
    /// Most at once; 1000 at most.
    pub limit: Option<usize>,
}

impl Store {
    /// Durable when it resolves: only then may anyone be told.
    pub fn put_request(&self, new: Clean<NewRequest>) -> Ticket<()> {
        self.write_request(new, put)
    }

    /// The same, unless its session holds a one-shot grant for just this, which is used up then. Either is one write: nobody
    /// waits for a look at the grants first.
    pub fn take_grant_or_put_request(&self, new: Clean<NewRequest>, now: Moment) -> Ticket<Option<Grant>> {
        self.write_request(new, move |conn, new, texts| {
            let session = new.request.session_id.as_ref();
            let taken = session.map(|id| grant::take(conn, id, &new.request.digest, now));
            let taken = taken.transpose()?.flatten();
            if taken.is_none() {
                put(conn, new, texts)?;
            }
            Ok(taken)
        })
    }

    fn write_request<T, F>(&self, new: Clean<NewRequest>, mut work: F) -> Ticket<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection, &NewRequest, &Texts) -> Result<T> + Send + 'static,
    {
        let texts = match Texts::of(&new) {
            Ok(texts) => texts,
            Err(error) => return Ticket::failed(error.into()),
        };
        let label = Label::durable("request", texts.request.len() + texts.plan.len());
        self.write(label, move |conn| work(conn, &new, &texts))
    }

    pub async fn request(&self, id: &RequestId) -> Result<Option<RequestRecord>> {
        let id = id.clone();
        self.read(move |conn| get(conn, &id)).await
    }

    /// The newest that was made for an execution.
    pub async fn request_of(&self, execution: &ExecutionId) -> Result<Option<RequestRecord>> {
        let execution = execution.clone();
        let rest =
            "WHERE json_extract(request, '$.execution_id') = ?1 ORDER BY created_at DESC, rowid DESC LIMIT 1";
        let work = move |conn: &Connection| Ok(find(conn, rest, params![execution.as_str()])?.pop());
        self.read(work).await
    }

    pub async fn requests(&self, query: RequestQuery) -> Result<Vec<RequestRecord>> {
        self.read(move |conn| list(conn, &query)).await
    }

    /// All that wait for a person.
    pub async fn pending_requests(&self) -> Result<Vec<RequestRecord>> {
        self.requests(RequestQuery { state: Some(RequestState::Pending), ..RequestQuery::default() }).await
    }
}

fn moment(text: &str) -> Result<Moment> {
    Moment::parse(text).ok_or_else(|| StoreError::Internal(format!("{text:?} is not a time")))
}

/// The columns that are JSON: made once, however often the write is tried.
struct Texts {
    request: String,
    plan: String,
}

impl Texts {
    fn of(new: &NewRequest) -> serde_json::Result<Self> {
        Ok(Self { request: serde_json::to_string(&new.request)?, plan: serde_json::to_string(&new.plan)? })
    }
}

fn put(conn: &Connection, new: &NewRequest, texts: &Texts) -> Result<()> {
    let sql = "INSERT INTO requests (id, session_id, state, digest, mode, created_at, expires_at, checkpoint_id, request, run)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING";
    let created_at = moment(&new.request.created_at)?;
    let added = conn.prepare_cached(sql)?.execute(params![
        new.request.request_id.as_str(),
        new.request.place(),
        word::to_word(&new.request.state)?,
        new.request.digest,
        word::to_word(&new.mode)?,
        created_at,
        moment(&new.request.expires_at)?,
        new.checkpoint_id,
        texts.request,
        texts.plan,
    ])?;
    if added == 0 {
        return Err(StoreError::Exists(new.request.request_id.to_string()));
    }
    let mut entry = entry_of(&new.request, created_at, &new.request.origin, "request.created");
    entry.detail = serde_json::json!({ "command": new.request.command, "digest": new.request.digest });
    audit::append(conn, &entry)?;
    Ok(())
}

/// An entry about a request.
pub(crate) fn entry_of(request: &ApprovalRequest, at: Moment, who: &str, what: &str) -> AuditEntry {
    AuditEntry {
        session_id: request.session_id.clone(),
        request_id: Some(request.request_id.clone()),
        execution_id: request.execution_id.clone(),
        ..AuditEntry::new(at, who, what)
    }
}

const COLUMNS: &str = "SELECT request, mode, orphan, expires_at, checkpoint_id, run FROM requests";

pub(crate) fn get(conn: &Connection, id: &RequestId) -> Result<Option<RequestRecord>> {
    let mut statement = conn.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?;
    statement.query_row([id.as_str()], |row| Ok(read(row))).optional()?.transpose()
}

fn list(conn: &Connection, query: &RequestQuery) -> Result<Vec<RequestRecord>> {
    let sql = format!(
        "{COLUMNS} WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR state = ?2)
         ORDER BY created_at, id LIMIT ?3"
    );
    select(
        conn,
        &sql,
        params![
            query.session_id.as_ref().map(SessionId::as_str),
            query.state.as_ref().map(word::to_word).transpose()?,
            query.limit.unwrap_or(LONGEST_LIST).min(LONGEST_LIST),
        ],
    )
}

/// Requests by the rest of a statement.
pub(crate) fn find(
    conn: &Connection,
    rest: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<RequestRecord>> {
    select(conn, &format!("{COLUMNS} {rest}"), values)
}

fn select(conn: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<RequestRecord>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

fn read(row: &Row<'_>) -> Result<RequestRecord> {
    Ok(RequestRecord {
        request: serde_json::from_str(&row.get::<_, String>(0)?)?,
        mode: word::from_word(row.get(1)?)?,
        orphan: row.get(2)?,
        expires_at: row.get(3)?,
        checkpoint_id: row.get(4)?,
        plan: serde_json::from_str(&row.get::<_, String>(5)?)?,
    })
}

/// After a start: nobody waits any more.
pub(crate) fn settle(conn: &Connection) -> Result<u64> {
    let sql = "UPDATE requests SET orphan = 1 WHERE state = 'pending' AND mode = 'wait' AND orphan = 0";
    Ok(conn.execute(sql, [])? as u64)
}
