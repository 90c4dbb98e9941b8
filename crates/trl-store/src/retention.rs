//! Forgetting: by age, by size, and all of a session. In steps, so that nobody waits long for the writer.

use std::time::Duration;

use rusqlite::{Connection, params};
use trl_proto::id::SessionId;

use crate::error::Result;
use crate::message;
use crate::moment::Moment;
use crate::queue::{Haste, Label};
use crate::store::Store;

/// Lines of history in one step.
const STEP: usize = 200;

/// Pages given back to the file system in one step.
const PAGES: i64 = 256;

/// What is kept. None: for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Of history, of messages to agents, of requests that were settled, and of sessions that are terminated.
    pub max_age: Option<Duration>,
    /// Of history: its texts and about what their index takes.
    pub max_bytes: Option<u64>,
    pub audit_age: Option<Duration>,
    /// Of idempotency keys.
    pub key_age: Option<Duration>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub executions: u64,
    pub requests: u64,
    pub audit_entries: u64,
    pub keys: u64,
    pub sessions: u64,
    pub messages: u64,
}

impl Store {
    /// Step by step, until all is within bounds.
    pub async fn prune(&self, now: Moment, keep: Retention) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        loop {
            let step = self.write(step(), move |conn| prune_step(conn, now, keep)).await?;
            pruned.executions += step.executions;
            pruned.requests += step.requests;
            pruned.audit_entries += step.audit_entries;
            pruned.keys += step.keys;
            pruned.sessions += step.sessions;
            pruned.messages += step.messages;
            let all =
                [step.executions, step.requests, step.audit_entries, step.keys, step.sessions, step.messages];
            if all.iter().all(|n| *n < STEP as u64) {
                return Ok(pruned);
            }
        }
    }

    /// Everything of a session but its audit log; says whether there was one.
    pub async fn delete_session(&self, id: &SessionId) -> Result<bool> {
        let session = id.clone();
        let label = Label::durable("delete_session", 0);
        let found = self.write(label, move |conn| delete_record(conn, &session)).await?;
        loop {
            let session = id.clone();
            if self.write(step(), move |conn| delete_history(conn, &session)).await? < STEP {
                return Ok(found);
            }
        }
    }

    /// What retention counts as the size of the history.
    pub async fn history_bytes(&self) -> Result<u64> {
        self.read_latest(total).await
    }
}

fn step() -> Label {
    Label { name: "prune", haste: Haste::Now, bytes: 0 }
}

fn total(conn: &Connection) -> Result<u64> {
    Ok(conn.query_row("SELECT value FROM meta WHERE name = 'history_bytes'", [], |row| row.get(0))?)
}

fn prune_step(conn: &Connection, now: Moment, keep: Retention) -> Result<Pruned> {
    let pruned = Pruned {
        executions: prune_history(conn, now, keep)?,
        requests: match keep.max_age {
            Some(age) => prune_requests(conn, now.before(age))?,
            None => 0,
        },
        audit_entries: older(conn, "audit", keep.audit_age.map(|age| now.before(age)))?,
        keys: older(conn, "keys", keep.key_age.map(|age| now.before(age)))?,
        sessions: 0,
        messages: match keep.max_age {
            Some(age) => message::prune(conn, now.before(age), STEP)?,
            None => 0,
        },
    };
    let pruned = Pruned { sessions: prune_sessions(conn, now, keep, pruned.executions)?, ..pruned };
    let mut statement = conn.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(pruned)
}

/// The oldest, as long as they are too old, or all too many.
fn prune_history(conn: &Connection, now: Moment, keep: Retention) -> Result<u64> {
    let too_old = keep.max_age.map_or(i64::MIN, |age| now.before(age).millis());
    let mut over = keep.max_bytes.map_or(0, |most| i128::from(total(conn).unwrap_or(0)) - i128::from(most));
    let sql = "SELECT seq, bytes, started_at FROM executions WHERE status <> 'running' ORDER BY seq LIMIT ?1";
    let mut oldest = conn.prepare_cached(sql)?;
    let mut rows = oldest.query([STEP])?;
    let mut victims = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, bytes, at): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if over <= 0 && at >= too_old {
            break;
        }
        over -= i128::from(bytes);
        victims.push(seq);
    }
    drop(rows);
    remove(conn, &victims)?;
    Ok(victims.len() as u64)
}

fn remove(conn: &Connection, victims: &[i64]) -> Result<()> {
    let mut index = conn.prepare_cached("DELETE FROM history WHERE rowid = ?1")?;
    let mut line = conn.prepare_cached("DELETE FROM executions WHERE seq = ?1")?;
    for seq in victims {
        index.execute([seq])?;
        line.execute([seq])?;
    }
    Ok(())
}

fn prune_requests(conn: &Connection, too_old: Moment) -> Result<u64> {
    let sql = "DELETE FROM requests WHERE id IN
               (SELECT id FROM requests WHERE state <> 'pending' AND resolved_at < ?1
                AND id NOT IN (SELECT request_id FROM runs WHERE state IN ('approved', 'started')) LIMIT ?2)";
    let removed = conn.prepare_cached(sql)?.execute(params![too_old, STEP])?;
    let sql = "DELETE FROM runs WHERE ended_at < ?1 AND request_id NOT IN (SELECT id FROM requests)";
    conn.prepare_cached(sql)?.execute([too_old])?;
    conn.prepare_cached("DELETE FROM grants WHERE expires_at < ?1")?.execute([too_old])?;
    Ok(removed as u64)
}

/// Those that are terminated and have no history: when they are too old, or older than all that is left when some of that
/// had to go.
fn prune_sessions(conn: &Connection, now: Moment, keep: Retention, gone: u64) -> Result<u64> {
    let too_old = keep.max_age.map_or(i64::MIN, |age| now.before(age).millis());
    let oldest: Option<i64> = match gone {
        0 => None,
        _ => conn.query_row("SELECT min(started_at) FROM executions", [], |row| row.get(0))?,
    };
    let before = too_old.max(oldest.unwrap_or(i64::MIN));
    let sql = "DELETE FROM sessions WHERE id IN
               (SELECT id FROM sessions WHERE last_activity < ?1 AND state = 'terminated'
                AND NOT EXISTS (SELECT 1 FROM executions WHERE session_id = sessions.id) LIMIT ?2)";
    Ok(conn.prepare_cached(sql)?.execute(params![before, STEP])? as u64)
}

fn older(conn: &Connection, table: &str, than: Option<Moment>) -> Result<u64> {
    let Some(than) = than else { return Ok(0) };
    let key = if table == "audit" { "id" } else { "(caller, key)" };
    let columns = key.trim_matches(['(', ')']);
    let sql =
        format!("DELETE FROM {table} WHERE {key} IN (SELECT {columns} FROM {table} WHERE at < ?1 LIMIT ?2)");
    Ok(conn.prepare_cached(&sql)?.execute(params![than, STEP])? as u64)
}

fn delete_record(conn: &Connection, id: &SessionId) -> Result<bool> {
    let found = conn.execute("DELETE FROM sessions WHERE id = ?1", [id.as_str()])? > 0;
    for table in ["grants", "runs", "requests"] {
        conn.execute(&format!("DELETE FROM {table} WHERE session_id = ?1"), [id.as_str()])?;
    }
    message::delete(conn, id)?;
    Ok(found)
}

fn delete_history(conn: &Connection, id: &SessionId) -> Result<usize> {
    let mut statement = conn.prepare_cached("SELECT seq FROM executions WHERE session_id = ?1 LIMIT ?2")?;
    let victims: rusqlite::Result<Vec<i64>> =
        statement.query_map(params![id.as_str(), STEP], |row| row.get(0))?.collect();
    let victims = victims?;
    remove(conn, &victims)?;
    Ok(victims.len())
}
