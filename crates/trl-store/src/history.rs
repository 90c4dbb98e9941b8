//! Executions: what was run, how it ended, the beginning and end of what it printed.
//!
//! ```text
//!  begin ──▶ running ──▶ done      finish
//!                   └──▶ unknown   the daemon was gone before it ended; nobody runs it again
//! ```
//!
//! Searching is in [`crate::search`], forgetting in [`crate::retention`].

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use trl_proto::id::{ExecutionId, RequestId, SessionId};

use crate::error::{Result, StoreError};
use crate::moment::Moment;
use crate::queue::{Durability, Label, Ticket};
use crate::redact::{Clean, Excerpt, Redact, Redactor};
use crate::slate::{Mark, Slate};
use crate::store::Store;
use crate::word;

/// What is kept of each end of a stream, unless a setting says otherwise.
pub const EXCERPT_BYTES: usize = 4096;

/// Longer commands are cut: history is not where a heredoc of megabytes is kept.
const LONGEST_COMMAND: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    Running,
    Done,
    /// The daemon ended before it did.
    Unknown,
}

/// An execution that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewExecution {
    pub id: ExecutionId,
    pub session_id: SessionId,
    /// Of the session: it may have no record of its own.
    pub owner: String,
    /// The approval it was run on.
    pub request_id: Option<RequestId>,
    pub command: String,
    pub working_dir: String,
    pub started_at: Moment,
}

impl Redact for NewExecution {
    fn redact(&mut self, with: &Redactor) {
        with.string(&mut self.command);
        with.string(&mut self.working_dir);
        if self.command.len() > LONGEST_COMMAND {
            let end = (0..=LONGEST_COMMAND).rev().find(|at| self.command.is_char_boundary(*at));
            self.command.truncate(end.unwrap_or(0));
        }
    }
}

/// How one ended. `stdout` and `stderr` come from [`Redactor::excerpt`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    pub signal: Option<String>,
    pub timed_out: bool,
    pub cancelled: bool,
    pub stdout: Excerpt,
    pub stderr: Excerpt,
}

/// An execution that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedExecution {
    pub id: ExecutionId,
    pub exit_code: i32,
    pub duration_ms: u64,
    pub ending: Ending,
}

impl Redact for EndedExecution {
    /// An excerpt is clean already; a second look costs little and forgives a caller that made one by hand.
    fn redact(&mut self, with: &Redactor) {
        let Ending { stdout, stderr, signal, .. } = &mut self.ending;
        let texts = [&mut stdout.head, &mut stdout.tail, &mut stderr.head, &mut stderr.tail];
        with.strings(texts.into_iter().chain(signal));
    }
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionRecord {
    /// Its place in the history; later ones are larger.
    pub seq: i64,
    pub id: ExecutionId,
    pub session_id: SessionId,
    pub owner: String,
    pub request_id: Option<RequestId>,
    pub status: ExecutionStatus,
    pub command: String,
    pub working_dir: String,
    pub started_at: Moment,
    pub duration_ms: Option<u64>,
    pub exit_code: Option<i32>,
    pub ending: Option<Ending>,
}

impl Store {
    /// Returns its place in the history.
    pub fn begin_execution(&self, new: Clean<NewExecution>, durability: Durability) -> Ticket<i64> {
        let bytes = new.command.len() + new.working_dir.len();
        let label = Label { name: "begin", haste: durability.into(), bytes };
        self.write(label, move |conn| begin(conn, &new))
    }

    /// The same for one that was marked before it ran; the mark is taken away once the record is there.
    pub fn begin_marked(&self, new: Clean<NewExecution>, mark: Option<Mark>) -> Ticket<i64> {
        let bytes = new.command.len() + new.working_dir.len();
        let label = Label { name: "begin", haste: Durability::Soon.into(), bytes };
        self.write(label, move |conn| {
            let _until_committed = &mark;
            begin(conn, &new)
        })
    }

    /// Says whether it was there and had not ended.
    pub fn finish_execution(&self, ended: Clean<EndedExecution>, durability: Durability) -> Ticket<bool> {
        let json = match serde_json::to_string(&ended.ending) {
            Ok(json) => json,
            Err(error) => return Ticket::failed(error.into()),
        };
        let label = Label { name: "finish", haste: durability.into(), bytes: 2 * json.len() };
        self.write(label, move |conn| finish(conn, &ended, &json))
    }

    pub async fn execution(&self, id: &ExecutionId) -> Result<Option<ExecutionRecord>> {
        let id = id.clone();
        let work = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?;
            statement.query_row([id.as_str()], |row| Ok(read(row))).optional()?.transpose()
        };
        self.read_latest(work).await
    }
}

fn begin(conn: &Connection, new: &NewExecution) -> Result<i64> {
    let sql =
        "INSERT INTO executions (id, session_id, request_id, status, command, working_dir, started_at, bytes, owner)
               VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING";
    let bytes = ROW_BYTES + 2 * new.command.len() + new.working_dir.len();
    let added = conn.prepare_cached(sql)?.execute(params![
        new.id.as_str(),
        new.session_id.as_str(),
        new.request_id.as_ref().map(RequestId::as_str),
        new.command,
        new.working_dir,
        new.started_at,
        bytes,
        new.owner,
    ])?;
    if added == 0 {
        return Err(StoreError::Exists(new.id.to_string()));
    }
    let seq = conn.last_insert_rowid();
    index(conn, seq, [session_word(&new.session_id), &new.command, ""])?;
    Ok(seq)
}

/// About what a line takes beside its texts, with its places in the indexes.
const ROW_BYTES: usize = 256;

fn finish(conn: &Connection, ended: &EndedExecution, json: &str) -> Result<bool> {
    let sql = "UPDATE executions SET status = 'done', exit_code = ?2, duration_ms = ?3, ended = ?4, bytes = bytes + ?5
               WHERE id = ?1 AND status = 'running' RETURNING seq, session_id, command";
    let columns =
        |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    let (id, bytes) = (ended.id.as_str(), 2 * json.len());
    let values = params![id, ended.exit_code, ended.duration_ms, json, bytes];
    let Some((seq, session, command)) = conn.prepare_cached(sql)?.query_row(values, columns).optional()?
    else {
        return Ok(false);
    };
    let Ending { stdout, stderr, .. } = &ended.ending;
    let output = [&stdout.head, &stdout.tail, &stderr.head, &stderr.tail].map(String::as_str).join("\n");
    if !output.trim().is_empty() {
        conn.prepare_cached("DELETE FROM history WHERE rowid = ?1")?.execute([seq])?;
        index(conn, seq, [session_word(&word::id(&session)?), &command, &output])?;
    }
    Ok(true)
}

fn index(conn: &Connection, seq: i64, [session, command, output]: [&str; 3]) -> Result<()> {
    let sql = "INSERT INTO history (rowid, session, command, output) VALUES (?1, ?2, ?3, ?4)";
    conn.prepare_cached(sql)?.execute(params![seq, session, command, output])?;
    Ok(())
}

/// A session's id as one word of the index.
pub(crate) fn session_word(id: &SessionId) -> &str {
    id.as_str().strip_prefix("s-").unwrap_or(id.as_str())
}

/// After a start: whatever ran has an unknown end, also what only the slate knows of.
pub(crate) fn settle(conn: &Connection, slate: &Slate) -> Result<u64> {
    let mut unknown =
        conn.execute("UPDATE executions SET status = 'unknown' WHERE status = 'running'", [])?;
    for (new, _) in slate.left().iter() {
        unknown += usize::from(add_unknown(conn, new)?);
    }
    Ok(unknown as u64)
}

/// One whose record was not written before the process ended; says whether that is so.
pub(crate) fn add_unknown(conn: &Connection, new: &NewExecution) -> Result<bool> {
    match begin(conn, new) {
        Err(StoreError::Exists(_)) => Ok(false),
        Err(error) => Err(error),
        Ok(seq) => {
            let sql = "UPDATE executions SET status = 'unknown' WHERE seq = ?1";
            conn.prepare_cached(sql)?.execute([seq])?;
            Ok(true)
        }
    }
}

pub(crate) const COLUMNS: &str =
    "SELECT seq, id, session_id, request_id, status, command, working_dir, started_at,
                                  duration_ms, exit_code, ended, owner FROM executions";

pub(crate) fn read(row: &Row<'_>) -> Result<ExecutionRecord> {
    let ended: Option<String> = row.get(10)?;
    Ok(ExecutionRecord {
        seq: row.get(0)?,
        id: word::id(&row.get::<_, String>(1)?)?,
        session_id: word::id(&row.get::<_, String>(2)?)?,
        owner: row.get(11)?,
        request_id: word::optional_id(row.get(3)?)?,
        status: word::from_word(row.get(4)?)?,
        command: row.get(5)?,
        working_dir: row.get(6)?,
        started_at: row.get(7)?,
        duration_ms: row.get(8)?,
        exit_code: row.get(9)?,
        ending: ended.as_deref().map(serde_json::from_str).transpose()?,
    })
}
