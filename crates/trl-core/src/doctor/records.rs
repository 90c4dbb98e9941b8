//! What is kept of sessions and commands: whether it is well, how much it is, and for how long.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trl_proto::doctor::{Finding, Health};
use trl_store::{Opened, Store, StoreError};

use super::{info, size};
use crate::records::Tally;

const ID: &str = "store";
const TITLE: &str = "Store";
/// A store that is not open by then is said to be on its way.
const PATIENCE: Duration = Duration::from_millis(200);

/// How the store is. A daemon without one keeps nothing.
pub async fn store(store: Option<&Store>, tally: &Tally, unsaved_checkpoints: u64) -> Finding {
    let Some(store) = store else { return info(ID, TITLE, "none: nothing is kept") };
    let path = store.path();
    match tokio::time::timeout(PATIENCE, store.ready()).await {
        Ok(Ok(opened)) => {
            let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
            let losses = Losses {
                written: count(&tally.written),
                refused: store.refused() + unsaved_checkpoints,
                dropped: count(&tally.dropped),
            };
            is_open(&path, &opened, &losses)
        }
        Ok(Err(error)) => is_not(&path, &error),
        Err(_) => info(ID, TITLE, format!("{}: being opened and checked", path.display())),
    }
}

fn is_not(path: &Path, error: &StoreError) -> Finding {
    Finding::new(ID, TITLE, Health::Bad, format!("{}: {error}", path.display()))
        .hint("commands run, and nothing is kept of them; what has to be approved is refused")
}

/// What was kept since the daemon started, and what was not.
#[derive(Debug, Default)]
struct Losses {
    written: u64,
    /// By the store or, of checkpoints, by the disk, whoever asked for it.
    refused: u64,
    /// Commands that the store was not told of.
    dropped: u64,
}

fn is_open(path: &Path, opened: &Opened, losses: &Losses) -> Finding {
    let bytes = [path.to_path_buf(), path.with_extension("db-wal")]
        .iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|meta| meta.len())
        .sum();
    let Losses { written, refused, dropped } = losses;
    let value = format!(
        "{}: {}; {written} writes, {refused} refused, {dropped} commands not noted",
        path.display(),
        size(bytes)
    );
    let row = |status| Finding::new(ID, TITLE, status, value.clone());
    if let Some(rescued) = &opened.rescued {
        let aside = rescued.aside.display();
        return row(Health::Warn).hint(format!("it was damaged, and begun anew; the old file is {aside}"));
    }
    if refused + dropped > 0 {
        return row(Health::Warn)
            .hint("some history or checkpoints were not saved: check that the disk is not full or too slow");
    }
    match opened.unclean {
        true => {
            row(Health::Ok).hint("the last daemon did not end in order; the file was checked and is whole")
        }
        false => row(Health::Ok),
    }
}

/// For how long history is kept.
pub fn retention(age: Duration, bytes: u64) -> Finding {
    let age = match age.as_secs() {
        0 => "for ever".into(),
        seconds if seconds < 2 * 86_400 => format!("for {} hours", seconds / 3600),
        seconds => format!("for {} days", seconds / 86_400),
    };
    let most = if bytes == 0 { "however much it is".into() } else { format!("{} at most", size(bytes)) };
    info("history", "History", format!("kept {age}, {most} (history.max_age_s, history.max_bytes)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_lost_something_says_so() {
        let path = Path::new("/nowhere/store.db");
        let row = is_open(path, &Opened::default(), &Losses::default());
        assert_eq!((row.status, row.hint), (Health::Ok, None));
        for losses in [Losses { refused: 1, ..Losses::default() }, Losses { dropped: 1, ..Losses::default() }]
        {
            assert_eq!(is_open(path, &Opened::default(), &losses).status, Health::Warn, "{losses:?}");
        }
        assert_eq!(is_not(path, &StoreError::Full).status, Health::Bad);
    }

    #[test]
    fn retention_reads_as_people_say_it() {
        let value = |age, bytes| retention(Duration::from_secs(age), bytes).value;
        assert!(value(90 * 86_400, 256 << 20).starts_with("kept for 90 days, 256.0 MiB at most"));
        assert!(value(0, 0).starts_with("kept for ever, however much it is"));
        assert!(value(7200, 1).starts_with("kept for 2 hours"));
    }
}
