//! The tables, and how a file of an older format becomes one of this.
//!
//! The format of a file is its `user_version`: the number of steps it has gone through. A step is one transaction. Before the
//! steps of an older file a copy of it is made; a file of a newer format is not touched.
//!
//! A step that was released is never edited: a change is a new step at the end of the list.

use std::path::PathBuf;

use rusqlite::Connection;

use crate::error::{Result, StoreError};
use crate::place::Place;

/// One step: the statements that lead to the next format.
pub(crate) type Step = &'static str;

pub(crate) const STEPS: &[Step] = &[V1, V2];

/// What became of a file when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    pub from: u32,
    pub to: u32,
    /// A copy of the file as it was.
    pub backup: PathBuf,
}

pub(crate) fn latest(steps: &[Step]) -> u32 {
    u32::try_from(steps.len()).unwrap_or(u32::MAX)
}

/// Brings the file to the newest format.
pub(crate) fn migrate(conn: &mut Connection, place: &Place, steps: &[Step]) -> Result<Option<Migrated>> {
    let from: u32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let to = latest(steps);
    if from > to {
        return Err(StoreError::Newer { path: place.file(), found: from, known: to });
    }
    if from == to {
        return Ok(None);
    }
    let backup = match from {
        0 => None,
        _ => Some(back_up(conn, place, from)?),
    };
    for version in from..to {
        let tx = conn.transaction()?;
        tx.execute_batch(steps.get(version as usize).copied().unwrap_or_default())?;
        tx.pragma_update(None, "user_version", version + 1)?;
        tx.commit()?;
    }
    Ok(backup.map(|backup| Migrated { from, to, backup }))
}

fn back_up(conn: &Connection, place: &Place, version: u32) -> Result<PathBuf> {
    let fresh = place.fresh_backup(version)?;
    conn.execute("VACUUM INTO ?1", [fresh.to_string_lossy()])?;
    place.keep_backup(&fresh)
}

/// Times are milliseconds since 1970. Enumerations are the words the wire has for them.
const V1: Step = "
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- clean: nothing was written since the store was last closed in order.
INSERT INTO meta VALUES ('clean', 1), ('history_bytes', 0);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    name TEXT,
    case_id TEXT,
    case_digest TEXT,
    workspace_id TEXT,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_activity INTEGER NOT NULL,
    command_count INTEGER NOT NULL,
    closed_reason TEXT,
    spec TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_by_activity ON sessions (last_activity, id);

-- seq is never used twice: it is where a page of history ends.
CREATE TABLE executions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    request_id TEXT,
    status TEXT NOT NULL,
    command TEXT NOT NULL,
    working_dir TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER,
    exit_code INTEGER,
    ended TEXT,
    bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX executions_by_session ON executions (session_id, seq);
CREATE INDEX executions_by_owner ON executions (owner, seq);
CREATE INDEX executions_running ON executions (seq) WHERE status = 'running';

-- The sum that retention looks at, kept so that nobody has to add up the whole table.
CREATE TRIGGER executions_added AFTER INSERT ON executions BEGIN
    UPDATE meta SET value = value + new.bytes WHERE name = 'history_bytes';
END;
CREATE TRIGGER executions_grown AFTER UPDATE OF bytes ON executions BEGIN
    UPDATE meta SET value = value + new.bytes - old.bytes WHERE name = 'history_bytes';
END;
CREATE TRIGGER executions_removed AFTER DELETE ON executions BEGIN
    UPDATE meta SET value = value - old.bytes WHERE name = 'history_bytes';
END;

-- The words of the history, without its text. rowid is the seq; session is there so that a search within one stays fast.
CREATE VIRTUAL TABLE history USING fts5 (
    session, command, output,
    content = '', contentless_delete = 1, detail = full, prefix = '2 3'
);

CREATE TABLE requests (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    state TEXT NOT NULL,
    digest TEXT NOT NULL,
    mode TEXT NOT NULL,
    -- 1: the one who waited for the answer is gone.
    orphan INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    resolved_at INTEGER,
    checkpoint_id TEXT,
    request TEXT NOT NULL,
    run TEXT NOT NULL
) STRICT;
CREATE INDEX requests_by_session ON requests (session_id, created_at);
CREATE INDEX requests_pending ON requests (expires_at) WHERE state = 'pending';

CREATE TABLE runs (
    request_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    state TEXT NOT NULL,
    approved_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    execution_id TEXT
) STRICT;
CREATE INDEX runs_open ON runs (state) WHERE state IN ('approved', 'started');

CREATE TABLE grants (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Of what a one-shot grant is for; of a grant for the session: its rule.
    what TEXT NOT NULL,
    request_id TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT;
CREATE INDEX grants_by_session ON grants (session_id, kind, what);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    session_id TEXT,
    request_id TEXT,
    execution_id TEXT,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_session ON audit (session_id, id);
CREATE INDEX audit_by_time ON audit (at);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not rewritten');
END;

CREATE TABLE trust (
    path TEXT PRIMARY KEY,
    case_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    who TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    print TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_time ON keys (at);
";

/// Messages to agents.
const V2: Step = "
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    stop_reason TEXT,
    error TEXT
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, seq);
CREATE INDEX messages_running ON messages (seq) WHERE stop_reason IS NULL;

CREATE TABLE updates (
    message_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (message_id, seq)
) STRICT, WITHOUT ROWID;

-- The conversation an agent is given back.
CREATE TABLE agents (
    session_id TEXT PRIMARY KEY,
    agent_session_id TEXT NOT NULL,
    agent TEXT NOT NULL
) STRICT;
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Options, Setup, Store};

    const V3: Step = "ALTER TABLE sessions ADD COLUMN note TEXT NOT NULL DEFAULT 'none';";
    const BROKEN: Step = "ALTER TABLE sessions ADD COLUMN extra TEXT; SELECT nonsense FROM nowhere;";

    fn with(steps: &'static [Step]) -> Setup {
        Setup { steps, ..Options::default().into() }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    fn version(path: &std::path::Path) -> u32 {
        let conn = Connection::open(path).unwrap();
        conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    /// A store of an older format with something in it.
    fn old(dir: &std::path::Path) -> PathBuf {
        run(async {
            let store = Store::open_with(dir, with(&[V1, V2])).unwrap();
            let entry = crate::audit::AuditEntry::new(crate::Moment::now(), "operator", "kept");
            store.audit(crate::redact::Redactor::default().clean(entry)).await.unwrap();
            store.close().await;
            store.path()
        })
    }

    async fn entries(store: &Store) -> usize {
        store.audit_log(crate::audit::AuditQuery::default()).await.unwrap().len()
    }

    #[test]
    fn an_older_file_is_copied_and_brought_up_to_date() {
        let dir = tempfile::tempdir().unwrap();
        old(dir.path());
        run(async {
            let store = Store::open_with(dir.path(), with(&[V1, V2, V3])).unwrap();
            let migrated = store.ready().await.unwrap().migrated.clone().unwrap();
            assert_eq!((migrated.from, migrated.to), (2, 3));
            assert_eq!(version(&migrated.backup), 2);
            let note = |conn: &Connection| Ok(conn.prepare("SELECT note FROM sessions").map(drop)?);
            store.read(note).await.unwrap();
            assert_eq!(entries(&store).await, 1);
            store.close().await;
            let store = Store::open_with(dir.path(), with(&[V1, V2, V3])).unwrap();
            assert_eq!(store.ready().await.unwrap().migrated, None);
            store.close().await;
        });
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = old(dir.path());
        run(async {
            let store = Store::open_with(dir.path(), with(&[V1, V2, BROKEN])).unwrap();
            assert!(matches!(store.ready().await, Err(StoreError::Internal(_))));
            store.close().await;
            assert_eq!(version(&path), 2);
            let store = Store::open_with(dir.path(), with(&[V1, V2])).unwrap();
            assert_eq!(entries(&store).await, 1);
            store.close().await;
        });
    }

    #[test]
    fn a_newer_file_is_refused_and_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = old(dir.path());
        run(async {
            let store = Store::open_with(dir.path(), with(&[V1, V2, V3])).unwrap();
            store.close().await;
            let before = std::fs::read(&path).unwrap();
            let error = Store::open_with(dir.path(), with(&[V1, V2])).unwrap_err();
            assert_eq!(error, StoreError::Newer { path: path.clone(), found: 3, known: 2 });
            assert_eq!(std::fs::read(&path).unwrap(), before);
        });
    }
}
