//! How the writer opens the file.
//!
//! 1. The file is made (0600), or opened; its log is replayed by SQLite.
//! 2. Its format is brought up to date ([`crate::schema`]).
//! 3. After an unclean end it is checked. Writes wait for that, reads do not: they get what is committed. A damaged file is replaced ([`crate::rescue`]).
//! 4. What the last process left open is settled: whatever ran then has an unknown end, and whoever waited is gone.

use rusqlite::{Connection, OpenFlags};

use crate::error::{Result, StoreError};
use crate::moment::Moment;
use crate::schema::{self, Migrated};
use crate::shared::{Phase, Shared};
use crate::store::{Opened, Options};
use crate::writer::File;
use crate::{history, request, rescue, run};

/// The log is cut back to this after it was moved into the file.
const LOG_BYTES: i64 = 16 << 20;

pub(crate) fn open(shared: &Shared, options: &Options) -> Result<(File, Opened)> {
    match attempt(shared, options) {
        Err(StoreError::Corrupt(damage)) => {
            let (file, rescued) = rescue::replace(shared, options, &damage)?;
            let opened = Opened { unclean: true, rescued: Some(rescued), ..Opened::default() };
            settle(file, opened)
        }
        other => other,
    }
}

fn attempt(shared: &Shared, options: &Options) -> Result<(File, Opened)> {
    let (conn, migrated) = connect(shared, options)?;
    let clean: bool = conn.query_row("SELECT value FROM meta WHERE name = 'clean'", [], |row| row.get(0))?;
    if !clean {
        shared.enter(Phase::Checking);
        #[cfg(test)]
        if let Some(barrier) = &options.before_check {
            barrier.wait();
        }
        rescue::check(&conn)?;
    }
    let mut file = File::new(conn);
    file.marked = clean;
    settle(file, Opened { unclean: !clean, migrated, ..Opened::default() })
}

/// A connection to the file in the newest format.
pub(crate) fn connect(shared: &Shared, options: &Options) -> Result<(Connection, Option<Migrated>)> {
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
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    if options.max_bytes > 0 {
        let pages = i64::try_from(options.max_bytes / 4096).unwrap_or(i64::MAX).max(1);
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    conn.set_prepared_statement_cache_capacity(64);
    let migrated = schema::migrate(&mut conn, &shared.place, options.steps)?;
    Ok((conn, migrated))
}

/// Only writes when there is something to settle: a start leaves a clean file as it was.
fn settle(mut file: File, mut opened: Opened) -> Result<(File, Opened)> {
    let now = Moment::now();
    let mut untouched = true;
    let tx = file.conn.transaction()?;
    opened.unknown_executions = history::settle(&tx)?;
    opened.unknown_runs = run::settle(&tx, now)?;
    let orphans = request::settle(&tx)?;
    if opened.unknown_executions + opened.unknown_runs + orphans > 0 {
        tx.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", [])?;
        untouched = false;
    }
    tx.commit()?;
    file.marked &= untouched;
    Ok((file, opened))
}
