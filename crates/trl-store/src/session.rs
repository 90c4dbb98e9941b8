//! Sessions: what is needed to show one after the daemon is gone, and to open it again.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trl_proto::id::SessionId;
use trl_proto::limits::Limits;
use trl_proto::session::{OnExit, Renewal};

use crate::error::Result;
use crate::moment::Moment;
use crate::queue::{Durability, Label, Ticket};
use crate::redact::{Clean, Redact, Redactor, is_secret_name};
use crate::store::Store;
use crate::word;

/// The most a page has.
const LONGEST_PAGE: usize = 1000;

/// Where a session stood when it was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredState {
    Ready,
    Running,
    WaitingHitl,
    Idle,
    Closed,
    Terminated,
}

/// Everything that opening it again needs, but the values of its secrets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSpec {
    pub shell: Option<String>,
    pub argv: Option<Vec<String>>,
    pub working_dir: Option<String>,
    /// Without secrets: a variable whose name or value is one goes to `secret_names` when it is cleaned.
    pub env: BTreeMap<String, String>,
    /// Must be given again.
    pub secret_names: Vec<String>,
    pub pass_env: Vec<String>,
    pub runtime: Option<String>,
    pub limits: Option<Limits>,
    pub sandbox: Option<Value>,
    pub labels: BTreeMap<String, String>,
    /// Of its commands; 0 is none.
    pub timeout_s: Option<f64>,
    pub on_exit: OnExit,
    pub renewal: Renewal,
    /// Whatever else the session needs.
    pub more: BTreeMap<String, Value>,
}

impl Redact for SessionSpec {
    fn redact(&mut self, with: &Redactor) {
        let mut env = std::mem::take(&mut self.env);
        env.retain(|name, value| {
            let plain = !is_secret_name(name) && !with.string(value);
            if !plain {
                self.secret_names.push(name.clone());
            }
            plain
        });
        self.env = env;
        self.secret_names.sort_unstable();
        self.secret_names.dedup();
        let words = self.argv.iter_mut().flatten().chain(&mut self.shell).chain(&mut self.working_dir);
        with.strings(words.chain(self.labels.values_mut()));
        for value in self.sandbox.iter_mut().chain(self.more.values_mut()) {
            with.json(value);
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    pub id: SessionId,
    pub name: Option<String>,
    pub case_id: Option<String>,
    /// Of the case as it was when the session was created.
    pub case_digest: Option<String>,
    pub workspace_id: Option<String>,
    pub owner: String,
    pub state: StoredState,
    pub spec: SessionSpec,
    pub created_at: Moment,
    pub last_activity: Moment,
    pub command_count: u64,
    pub closed_reason: Option<String>,
}

impl Redact for SessionRecord {
    fn redact(&mut self, with: &Redactor) {
        self.spec.redact(with);
        with.strings(self.name.iter_mut().chain(&mut self.closed_reason));
    }
}

/// What changes in the life of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionUpdate {
    pub id: SessionId,
    pub state: StoredState,
    pub last_activity: Moment,
    pub command_count: u64,
    pub working_dir: String,
    pub closed_reason: Option<String>,
}

impl Redact for SessionUpdate {
    fn redact(&mut self, with: &Redactor) {
        with.strings(self.closed_reason.iter_mut().chain([&mut self.working_dir]));
    }
}

/// Which sessions; the most recently active first.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    pub state: Option<StoredState>,
    /// None in this state.
    pub without: Option<StoredState>,
    pub workspace_id: Option<String>,
    pub case_id: Option<String>,
    pub owner: Option<String>,
    /// A name, and the value it must have.
    pub label: Option<(String, Option<String>)>,
    /// Only those after this one: the last of the page before.
    pub after: Option<(Moment, SessionId)>,
    /// 100 unless told otherwise.
    pub limit: Option<usize>,
}

impl Store {
    /// Writes the whole record, in place of what was there.
    pub fn put_session(&self, record: Clean<SessionRecord>) -> Ticket<()> {
        let spec = match serde_json::to_string(&record.spec) {
            Ok(spec) => spec,
            Err(error) => return Ticket::failed(error.into()),
        };
        self.write(Label::durable("session", spec.len()), move |conn| put(conn, &record, &spec))
    }

    /// Says whether there is such a session.
    pub fn update_session(&self, update: Clean<SessionUpdate>, durability: Durability) -> Ticket<bool> {
        let label = Label { name: "session_update", haste: durability.into(), bytes: 0 };
        self.write(label, move |conn| {
            let sql =
                "UPDATE sessions SET state = ?2, last_activity = ?3, command_count = ?4, closed_reason = ?5,
                       spec = json_set(spec, '$.working_dir', ?6) WHERE id = ?1";
            let changed = conn.prepare_cached(sql)?.execute(params![
                update.id.as_str(),
                word::to_word(&update.state)?,
                update.last_activity,
                update.command_count,
                update.closed_reason,
                update.working_dir,
            ])?;
            if update.state == StoredState::Terminated {
                // It is never opened again.
                conn.prepare_cached("DELETE FROM grants WHERE session_id = ?1")?
                    .execute([update.id.as_str()])?;
            }
            Ok(changed > 0)
        })
    }

    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>> {
        let id = id.clone();
        self.read_latest(move |conn| get(conn, &id)).await
    }

    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRecord>> {
        self.read_latest(move |conn| list(conn, &query)).await
    }
}

fn put(conn: &Connection, record: &SessionRecord, spec: &str) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO sessions
               (id, name, case_id, case_digest, workspace_id, owner, state, created_at, last_activity, command_count,
                closed_reason, spec)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    conn.prepare_cached(sql)?.execute(params![
        record.id.as_str(),
        record.name,
        record.case_id,
        record.case_digest,
        record.workspace_id,
        record.owner,
        word::to_word(&record.state)?,
        record.created_at,
        record.last_activity,
        record.command_count,
        record.closed_reason,
        spec,
    ])?;
    Ok(())
}

const COLUMNS: &str =
    "SELECT id, name, case_id, case_digest, workspace_id, owner, state, created_at, last_activity,
                       command_count, closed_reason, spec FROM sessions";

fn get(conn: &Connection, id: &SessionId) -> Result<Option<SessionRecord>> {
    let mut statement = conn.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?;
    statement.query_row([id.as_str()], |row| Ok(read(row))).optional()?.transpose()
}

fn list(conn: &Connection, query: &SessionQuery) -> Result<Vec<SessionRecord>> {
    let sql = format!(
        "{COLUMNS}
         WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR workspace_id = ?2) AND (?3 IS NULL OR case_id = ?3)
           AND (?4 IS NULL OR owner = ?4)
           AND (?5 IS NULL OR EXISTS (SELECT 1 FROM json_each(spec, '$.labels') WHERE key = ?5
                                      AND (?6 IS NULL OR value = ?6)))
           AND (last_activity, id) < (?7, ?8) AND (?10 IS NULL OR state <> ?10)
         ORDER BY last_activity DESC, id DESC LIMIT ?9"
    );
    let (label, value) = query.label.clone().map_or((None, None), |(label, value)| (Some(label), value));
    // No id comes after this one.
    let end = ("~".to_string(), i64::MAX);
    let (after, at) = query.after.as_ref().map_or(end, |(at, id)| (id.to_string(), at.millis()));
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        query.state.as_ref().map(word::to_word).transpose()?,
        query.workspace_id,
        query.case_id,
        query.owner,
        label,
        value,
        at,
        after,
        query.limit.unwrap_or(100).min(LONGEST_PAGE),
        query.without.as_ref().map(word::to_word).transpose()?,
    ])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

fn read(row: &Row<'_>) -> Result<SessionRecord> {
    Ok(SessionRecord {
        id: word::id(&row.get::<_, String>(0)?)?,
        name: row.get(1)?,
        case_id: row.get(2)?,
        case_digest: row.get(3)?,
        workspace_id: row.get(4)?,
        owner: row.get(5)?,
        state: word::from_word(row.get(6)?)?,
        created_at: row.get(7)?,
        last_activity: row.get(8)?,
        command_count: row.get(9)?,
        closed_reason: row.get(10)?,
        spec: serde_json::from_str(&row.get::<_, String>(11)?)?,
    })
}
