//! Idempotency keys that outlive the daemon: a caller that asks again after a crash must not run it twice.

use rusqlite::{Connection, OptionalExtension, Row, params};
use trl_proto::id::ExecutionId;

use crate::error::Result;
use crate::moment::Moment;
use crate::queue::{Durability, Label, Ticket};
use crate::store::Store;
use crate::word;

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Whose key.
    pub caller: String,
    pub key: String,
    /// Tells another request apart. Not a plain hash of what was asked: that may hold secrets, and short ones can be guessed.
    pub print: String,
    pub execution_id: ExecutionId,
    pub at: Moment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyClaim {
    /// It leads to this execution from now on.
    Ours,
    /// As it was first claimed.
    Known(KeyRecord),
}

impl Store {
    /// The first claim of a caller's key wins.
    pub fn claim_key(&self, record: KeyRecord, durability: Durability) -> Ticket<KeyClaim> {
        let label = Label { name: "claim_key", haste: durability.into(), bytes: record.key.len() };
        self.write(label, move |conn| claim(conn, &record))
    }

    /// Nothing came of the execution.
    pub fn release_key(&self, record: KeyRecord) -> Ticket<bool> {
        self.write(Label::durable("release_key", record.key.len()), move |conn| {
            let sql = "DELETE FROM keys WHERE caller = ?1 AND key = ?2 AND execution_id = ?3";
            let values = [record.caller.as_str(), &record.key, record.execution_id.as_str()];
            Ok(conn.prepare_cached(sql)?.execute(values)? > 0)
        })
    }
}

fn claim(conn: &Connection, record: &KeyRecord) -> Result<KeyClaim> {
    let sql = "INSERT INTO keys (caller, key, print, execution_id, at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    let id = record.execution_id.as_str();
    let values = params![record.caller, record.key, record.print, id, record.at];
    if conn.prepare_cached(sql)?.execute(values)? > 0 {
        return Ok(KeyClaim::Ours);
    }
    let sql = "SELECT caller, key, print, execution_id, at FROM keys WHERE caller = ?1 AND key = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let known = statement.query_row([&record.caller, &record.key], |row| Ok(read(row))).optional()?;
    Ok(known.transpose()?.map_or(KeyClaim::Ours, KeyClaim::Known))
}

fn read(row: &Row<'_>) -> Result<KeyRecord> {
    Ok(KeyRecord {
        caller: row.get(0)?,
        key: row.get(1)?,
        print: row.get(2)?,
        execution_id: word::id(&row.get::<_, String>(3)?)?,
        at: row.get(4)?,
    })
}
