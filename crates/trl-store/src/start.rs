//! How the writer opens the file.
//!
//! 1. The file is made (0600), or opened; its log is replayed by SQLite.
//! 2. Its format is brought up to date ([`crate::schema`]).
//! 3. After an unclean end it is checked. Writes wait for that, reads do not: they get what is committed. A damaged file is replaced ([`crate::rescue`]).
//! 4. What the last process left open is settled: whatever ran then has an unknown end, and whoever waited is gone.

use rusqlite::{Connection, OpenFlags};

use crate::error::{Result, StoreError};
use crate::failpoint::failpoint;
use crate::moment::Moment;
use crate::schema::{self, Migrated};
use crate::shared::{Phase, Shared};
use crate::store::{Opened, Setup};
use crate::writer::File;
use crate::{history, message, request, rescue, run};

/// The log is cut back to this after it was moved into the file.
const LOG_BYTES: i64 = 16 << 20;

pub(crate) fn open(shared: &Shared, setup: &Setup) -> Result<(File, Opened)> {
    match attempt(shared, setup) {
        Err(StoreError::Corrupt(damage)) => {
            let (file, rescued) = rescue::replace(shared, setup, &damage)?;
            let opened = Opened { unclean: true, rescued: Some(rescued), ..Opened::default() };
            settle(shared, file, opened)
        }
        other => other,
    }
}

fn attempt(shared: &Shared, setup: &Setup) -> Result<(File, Opened)> {
    let (conn, migrated) = connect(shared, setup)?;
    let clean: bool = conn.query_row("SELECT value FROM meta WHERE name = 'clean'", [], |row| row.get(0))?;
    if !clean {
        shared.enter(Phase::Checking);
        #[cfg(test)]
        if let Some(barrier) = &setup.before_check {
            barrier.wait();
        }
        rescue::check(&conn)?;
    }
    let mut file = File::new(conn);
    file.marked = clean;
    settle(shared, file, Opened { unclean: !clean, migrated, ..Opened::default() })
}

/// A connection to the file in the newest format.
pub(crate) fn connect(shared: &Shared, setup: &Setup) -> Result<(Connection, Option<Migrated>)> {
    shared.place.create_file()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(shared.place.file(), flags)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    // Only a new file takes this: pages that retention frees are given back.
    conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    // The writer moves the log itself, after its answers.
    conn.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    conn.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    // It writes far more than it reads back.
    conn.pragma_update(None, "cache_size", -512)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    if setup.options.max_bytes > 0 {
        let pages = i64::try_from(setup.options.max_bytes / 4096).unwrap_or(i64::MAX).max(1);
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    conn.set_prepared_statement_cache_capacity(64);
    let migrated = schema::migrate(&mut conn, &shared.place, setup.steps)?;
    Ok((conn, migrated))
}

/// Only writes when there is something to settle: a start leaves a clean file as it was.
fn settle(shared: &Shared, mut file: File, mut opened: Opened) -> Result<(File, Opened)> {
    let now = Moment::now();
    let mut untouched = true;
    let tx = file.conn.transaction()?;
    opened.unknown_executions = history::settle(&tx, &shared.slate)?;
    opened.unknown_runs = run::settle(&tx, now)?;
    let orphans = request::settle(&tx)?;
    let interrupted = message::settle(&tx, now)?;
    if opened.unknown_executions + opened.unknown_runs + orphans + interrupted > 0 {
        tx.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", [])?;
        untouched = false;
        failpoint("store.settle.written");
    }
    tx.commit()?;
    if !untouched {
        failpoint("store.settle.committed");
    }
    shared.slate.left().clear();
    file.marked &= untouched;
    Ok((file, opened))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::audit::{AuditEntry, AuditQuery};
    use crate::redact::{Clean, Redactor};
    use crate::store::{Options, Store};

    fn entry() -> Clean<AuditEntry> {
        Redactor::default().clean(AuditEntry::new(Moment::now(), "operator", "x"))
    }

    #[tokio::test]
    async fn reads_do_not_wait_for_the_check_and_writes_do() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        store.audit(entry()).await.unwrap();
        let file = store.path();
        store.close().await;
        let conn = Connection::open(file).unwrap();
        conn.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", []).unwrap();
        drop(conn);

        let barrier = Arc::new(Barrier::new(2));
        let setup = Setup { before_check: Some(Arc::clone(&barrier)), ..Options::default().into() };
        let store = Store::open_with(dir.path(), setup).unwrap();
        let mut write = store.audit(entry());
        // The check cannot have begun: it waits for this test.
        assert_eq!(store.audit_log(AuditQuery::default()).await.unwrap().len(), 1);
        let waits = std::future::poll_fn(|cx| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut write).poll(cx).is_pending())
        });
        assert!(waits.await);
        barrier.wait();
        write.await.unwrap();
        assert!(store.ready().await.unwrap().unclean);
        assert_eq!(store.audit_log(AuditQuery::default()).await.unwrap().len(), 2);
        store.close().await;
    }
}
