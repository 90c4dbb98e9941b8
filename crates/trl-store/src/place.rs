//! The directory of the store: who may look into it, who holds it, what its files are called.
//!
//! 1. [`Place::take`] makes the directory (0700) and takes the lock; a second process is refused.
//! 2. [`Place::peek`] reads the file's format from its header, without SQLite: it costs nothing at start.
//! 3. [`Place::set_aside`] renames a damaged file and what belongs to it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Result, StoreError};
use crate::moment::Moment;

const FILE: &str = "store.db";
const LOCK: &str = "store.lock";
const SLATE: &str = "begun";

/// Whoever was just told to end, and answers nobody any more, may still be writing.
const LAST_WRITES: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Where SQLite keeps `user_version` in the header of a file.
const VERSION_AT: usize = 60;

#[derive(Debug)]
pub(crate) struct Place {
    dir: PathBuf,
    /// Held as long as this value lives, or until [`Place::release`].
    lock: File,
}

impl Place {
    pub(crate) fn take(dir: &Path) -> Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // An older directory may have been made by hand; history is nobody else's business.
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true), &dir.join(LOCK))?;
        let until = Instant::now() + LAST_WRITES;
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { dir: dir.into(), lock }),
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                    std::thread::sleep(BETWEEN_LOOKS)
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(StoreError::Locked(dir.into())),
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
        }
    }

    /// Lets another process have it, though this value may live on.
    pub(crate) fn release(&self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// What has begun and is not in the file yet.
    pub(crate) fn slate(&self) -> Result<File> {
        private(OpenOptions::new().create(true).truncate(false).read(true).write(true), &self.dir.join(SLATE))
    }

    /// The format in the header; none for a file that is new, empty or no database.
    ///
    /// Only before there is a connection: closing any descriptor of the file would drop SQLite's locks on it.
    pub(crate) fn peek(&self) -> Result<Option<u32>> {
        let mut header = [0; VERSION_AT + 4];
        let mut file = match File::open(self.file()) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match file.read_exact(&mut header) {
            Ok(()) if header.starts_with(b"SQLite format 3\0") => {
                let [.., a, b, c, d] = header;
                Ok(Some(u32::from_be_bytes([a, b, c, d])))
            }
            Ok(()) => Ok(None),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// SQLite gives its other files the mode of this one.
    pub(crate) fn create_file(&self) -> Result<()> {
        private(OpenOptions::new().create(true).truncate(false).write(true), &self.file()).map(drop)
    }

    /// An empty file for a copy of the store as format `version`, in place of an older one.
    pub(crate) fn fresh_backup(&self, version: u32) -> Result<PathBuf> {
        let path = self.dir.join(format!("{FILE}.backup-v{version}.new"));
        private(OpenOptions::new().create(true).truncate(true).write(true), &path)?;
        Ok(path)
    }

    /// The copy is complete.
    pub(crate) fn keep_backup(&self, fresh: &Path) -> Result<PathBuf> {
        let kept = fresh.with_extension("");
        File::open(fresh)?.sync_all()?;
        fs::rename(fresh, &kept)?;
        File::open(&self.dir)?.sync_all()?;
        Ok(kept)
    }

    /// Renames the file, its log and its index; returns the file's new name. No connection may be open: one that closes
    /// later would remove the log of the file that comes in its place.
    pub(crate) fn set_aside(&self, now: Moment) -> Result<PathBuf> {
        let stamp = now.rfc3339().replace([':', '.'], "-");
        let mut aside = self.dir.join(format!("{FILE}.corrupt-{stamp}"));
        for n in 2.. {
            if !aside.exists() {
                break;
            }
            aside = self.dir.join(format!("{FILE}.corrupt-{stamp}-{n}"));
        }
        for suffix in ["-shm", "-wal", ""] {
            let from = with_suffix(&self.file(), suffix);
            match fs::rename(&from, with_suffix(&aside, suffix)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        File::open(&self.dir)?.sync_all()?;
        Ok(aside)
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Opens with mode 0600, also a file that was there with another.
fn private(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let file = options.mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_about_to_let_go_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let first = Place::take(dir.path()).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Place::take(dir.path()));
            first.release();
            assert!(second.join().unwrap().is_ok());
        });
    }

    #[test]
    fn one_process_holds_it_and_nobody_else_looks_in() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("a/b");
        let place = Place::take(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(Place::take(&dir).unwrap_err(), StoreError::Locked(dir.clone()));
        place.create_file().unwrap();
        assert_eq!(fs::metadata(place.file()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(place.peek().unwrap(), None);
        drop(place);
        Place::take(&dir).unwrap();
    }
}
