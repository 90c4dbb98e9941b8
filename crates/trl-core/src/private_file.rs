//! Small files for this user alone: believed only when they are that, and replaced as a whole.
//!
//! 1. [`lock_beside`] while such a file is changed, where several daemons share it.
//! 2. [`read`] refuses what others could have written.
//! 3. [`replace`] writes beside it and renames: a reader sees the old one or the new one, also after a crash.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use trl_proto::{Error, ErrorCode};

/// A file larger than this was not written by a daemon.
const LARGEST: u64 = 8 << 20;
/// How often the lock is tried: its holder needs a moment, and the daemon has but one thread.
const LOCK_TRIES: u32 = 50;

/// Whether a change must survive a crash of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    Yes,
    No,
}

/// None when there is no file.
pub fn read(path: &Path) -> io::Result<Option<(Vec<u8>, Metadata)>> {
    let file = match File::options().read(true).custom_flags(no_follow()).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let meta = file.metadata()?;
    if meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 || !meta.is_file() {
        return Err(io::Error::other("it must be a file of this user with mode 0600"));
    }
    if meta.size() > LARGEST {
        return Err(io::Error::other("it is too large to be ours"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(Some((bytes, meta)))
}

pub fn replace(path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
    let beside = path.with_extension(format!("json.{}", std::process::id()));
    let _ = fs::remove_file(&beside);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| if durable == Durable::Yes { file.sync_all() } else { Ok(()) })
        .and_then(|()| fs::rename(&beside, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    match (durable, path.parent()) {
        (Durable::Yes, Some(dir)) => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}

/// Held while the file is changed. The directory is made when it is not there.
pub fn lock_beside(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600).custom_flags(no_follow());
    let lock = options.open(path.with_extension("lock"))?;
    for _ in 0..LOCK_TRIES {
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::other("another process holds its lock"))
}

/// For whoever asked for something that is in such a file.
pub fn failed(message: String, cause: &io::Error) -> Error {
    let code = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::StorageFull,
        _ => ErrorCode::InternalError,
    };
    Error::new(code, message)
}

fn no_follow() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_written_is_for_its_owner_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("small.json");
        assert!(read(&path).unwrap().is_none());
        for text in ["one", "two"] {
            replace(&path, text.as_bytes(), Durable::Yes).unwrap();
            let (bytes, meta) = read(&path).unwrap().unwrap();
            assert_eq!((bytes.as_slice(), meta.mode() & 0o777), (text.as_bytes(), 0o600));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_others_could_have_written_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("small.json"), dir.path().join("link.json"));
        replace(&path, b"{}", Durable::No).unwrap();
        symlink(&path, &link).unwrap();
        assert!(read(&link).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(read(&path).is_err());
    }
}
