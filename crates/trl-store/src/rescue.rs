//! A damaged file: found, set aside, replaced, and what can be read of it carried over.
//!
//! Carried over are records that still read as what they are: sessions, pending requests, the audit log. Permission is not:
//! grants and trusted cases of a damaged file are asked for again. The old file is kept, for people.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::json;
use trl_proto::hitl::ApprovalRequest;

use crate::audit::{self, AuditEntry};
use crate::error::{Result, StoreError};
use crate::moment::Moment;
use crate::session::SessionSpec;
use crate::shared::{Reading, Shared};
use crate::start;
use crate::store::Setup;
use crate::writer::File;

/// What became of a damaged file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rescued {
    /// Where the damaged file is now.
    pub aside: PathBuf,
    /// What SQLite said of it.
    pub damage: String,
    pub sessions: u64,
    pub pending_requests: u64,
    pub audit_entries: u64,
}

/// Reads the whole file.
pub(crate) fn check(conn: &Connection) -> Result<()> {
    let said: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if said == "ok" { Ok(()) } else { Err(StoreError::Corrupt(said)) }
}

/// Sets the file aside and begins another. The writer's connection must be closed; the reader's is closed here.
pub(crate) fn replace(shared: &Shared, setup: &Setup, damage: &str) -> Result<(File, Rescued)> {
    let mut reading = shared.reading();
    *reading = Reading::Idle;
    let now = Moment::now();
    let aside = shared.place.set_aside(now)?;
    tracing::error!(aside = %aside.display(), damage, "the store was damaged; another is begun");
    let (mut conn, _) = start::connect(shared, setup)?;
    let mut rescued = Rescued { aside, damage: damage.into(), ..Rescued::default() };
    let tx = conn.transaction()?;
    if let Ok(old) = open_damaged(&rescued.aside) {
        rescued.sessions = carry(&old, &tx, &SESSIONS)?;
        rescued.pending_requests = carry(&old, &tx, &REQUESTS)?;
        rescued.audit_entries = carry(&old, &tx, &AUDIT)?;
    }
    let detail = json!({
        "aside": rescued.aside, "damage": rescued.damage, "sessions": rescued.sessions,
        "pending_requests": rescued.pending_requests, "audit_entries": rescued.audit_entries,
    });
    audit::append(&tx, &AuditEntry { detail, ..AuditEntry::new(now, "trl", "store.rescued") })?;
    tx.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", [])?;
    tx.commit()?;
    drop(reading);
    let mut file = File::new(conn);
    file.marked = false;
    Ok((file, rescued))
}

fn open_damaged(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    // It is evidence: reading changes nothing in it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// A table whose rows are worth carrying over.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    /// Whether a row still reads as what it should be.
    sound: fn(&[Value]) -> bool,
}

const SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        "id",
        "name",
        "case_id",
        "case_digest",
        "workspace_id",
        "owner",
        "state",
        "created_at",
        "last_activity",
        "command_count",
        "closed_reason",
        "spec",
    ],
    sound: |row| text(row, 11).is_some_and(|spec| serde_json::from_str::<SessionSpec>(spec).is_ok()),
};

const REQUESTS: Table = Table {
    name: "requests",
    columns: &[
        "id",
        "session_id",
        "state",
        "digest",
        "mode",
        "orphan",
        "created_at",
        "expires_at",
        "resolved_at",
        "checkpoint_id",
        "request",
        "run",
    ],
    sound: |row| {
        text(row, 2) == Some("pending")
            && text(row, 10).and_then(|json| serde_json::from_str::<ApprovalRequest>(json).ok()).is_some_and(
                |request| {
                    text(row, 0) == Some(request.request_id.as_str()) && text(row, 3) == Some(&request.digest)
                },
            )
    },
};

const AUDIT: Table = Table {
    name: "audit",
    columns: &["id", "at", "who", "what", "session_id", "request_id", "execution_id", "detail"],
    sound: |row| text(row, 7).is_some_and(|detail| serde_json::from_str::<serde_json::Value>(detail).is_ok()),
};

fn text(row: &[Value], column: usize) -> Option<&str> {
    match row.get(column) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// From both ends of the table, up to what cannot be read.
fn carry(old: &Connection, new: &Connection, table: &Table) -> Result<u64> {
    let mut rows = Vec::new();
    if !rows_of(old, table, "ASC", &mut rows) {
        rows_of(old, table, "DESC", &mut rows);
    }
    let marks = vec!["?"; table.columns.len()].join(", ");
    let columns = table.columns.join(", ");
    let mut insert =
        new.prepare(&format!("INSERT OR IGNORE INTO {} ({columns}) VALUES ({marks})", table.name))?;
    let mut carried = 0;
    for row in rows.into_iter().filter(|row| (table.sound)(row)) {
        match insert.execute(params_from_iter(row)).map_err(StoreError::from) {
            Ok(rows) => carried += rows as u64,
            Err(error) if error.ends_transaction() => return Err(error),
            // A row that the table does not take was not sound.
            Err(_) => {}
        }
    }
    Ok(carried)
}

/// Whether all could be read.
fn rows_of(old: &Connection, table: &Table, order: &str, into: &mut Vec<Vec<Value>>) -> bool {
    let columns = table.columns.join(", ");
    let sql = format!("SELECT {columns} FROM {} NOT INDEXED ORDER BY rowid {order}", table.name);
    let Ok(mut statement) = old.prepare(&sql) else { return true };
    let Ok(mut rows) = statement.query([]) else { return false };
    loop {
        match rows.next() {
            Ok(Some(row)) => {
                let values: rusqlite::Result<Vec<Value>> =
                    (0..table.columns.len()).map(|n| row.get(n)).collect();
                into.extend(values.ok());
            }
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
