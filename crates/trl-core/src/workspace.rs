//! The workspaces there are: names for directories, kept in a small file.
//!
//! 1. [`Workspaces::find`] looks a name up. The file is read again when it is another than before, since several daemons
//!    of a user may share it.
//! 2. [`Workspaces::create`] and [`Workspaces::ensure`] add to it: lock, read, add, write beside it, rename.
//! 3. A workspace nobody gave a directory has one of its own below `files/`.
//!
//! A file that cannot be read is an error for whoever asks, never an empty list: the name would come to mean another
//! directory. Everything here blocks.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use trl_proto::workspace::WorkspaceInfo;
use trl_proto::{Error, ErrorCode};

use crate::clock::Stamp;
use crate::place::private_dir;

/// More than anybody keeps an eye on.
const MOST: usize = 10_000;

#[derive(Debug)]
pub struct Workspaces {
    file: PathBuf,
    homes: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    known: BTreeMap<String, WorkspaceInfo>,
    /// The file as it was read.
    seen: Option<Seen>,
}

/// A file that is replaced as a whole is another one then.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    inode: u64,
    modified: (i64, i64),
    size: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    workspaces: Vec<WorkspaceInfo>,
}

impl Workspaces {
    /// Nothing is read or made before somebody asks.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            file: data_dir.join("workspaces.json"),
            homes: data_dir.join("files"),
            inner: Mutex::default(),
        }
    }

    /// Where directories of their own are.
    pub fn homes(&self) -> &Path {
        &self.homes
    }

    pub fn find(&self, id: &str) -> Result<Option<WorkspaceInfo>, Error> {
        checked_id(id)?;
        Ok(self.fresh()?.known.get(id).cloned())
    }

    pub fn list(&self) -> Result<Vec<WorkspaceInfo>, Error> {
        Ok(self.fresh()?.known.values().cloned().collect())
    }

    /// A new one; `dir` is a directory that is there already.
    pub fn create(&self, id: &str, dir: Option<&Path>, owner: &str) -> Result<WorkspaceInfo, Error> {
        checked_id(id)?;
        let dir = dir.map(checked_dir).transpose()?;
        self.change(|known| match known.get(id) {
            Some(_) => {
                Err(Error::invalid(format!("there is a workspace {id:?} already")).hint("see workspace.get"))
            }
            None => self.add(known, id, dir, owner),
        })
    }

    /// The one of that name, with a directory of its own if it is new.
    pub fn ensure(&self, id: &str, owner: &str) -> Result<WorkspaceInfo, Error> {
        if let Some(known) = self.find(id)? {
            return Ok(known);
        }
        self.change(|known| match known.get(id) {
            Some(there) => Ok(there.clone()),
            None => self.add(known, id, None, owner),
        })
    }

    fn add(
        &self,
        known: &mut BTreeMap<String, WorkspaceInfo>,
        id: &str,
        dir: Option<PathBuf>,
        owner: &str,
    ) -> Result<WorkspaceInfo, Error> {
        if known.len() >= MOST {
            let message = format!("there are {MOST} workspaces, the most allowed");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let dir = match dir {
            Some(dir) => dir,
            None => {
                let own = self.homes.join(id);
                private_dir(&self.homes).and_then(|()| private_dir(&own)).map_err(|e| fault(&own, &e))?;
                fs::canonicalize(&own).map_err(|e| fault(&own, &e))?
            }
        };
        let dir = dir.into_os_string().into_string();
        let dir = dir.map_err(|_| Error::invalid("the directory's path is not UTF-8"))?;
        let info = WorkspaceInfo {
            workspace_id: id.into(),
            dir,
            owner: owner.into(),
            created_at: Stamp::now().rfc3339(),
        };
        known.insert(id.into(), info.clone());
        Ok(info)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the file has them now.
    fn fresh(&self) -> Result<MutexGuard<'_, Inner>, Error> {
        let mut inner = self.lock();
        let seen = match fs::metadata(&self.file) {
            Ok(meta) => Some(Seen {
                inode: meta.ino(),
                modified: (meta.mtime(), meta.mtime_nsec()),
                size: meta.size(),
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(fault(&self.file, &e)),
        };
        if seen != inner.seen {
            let kept = if seen.is_some() { self.read()? } else { Kept::default() };
            inner.known = kept.workspaces.into_iter().map(|w| (w.workspace_id.clone(), w)).collect();
            inner.seen = seen;
        }
        Ok(inner)
    }

    fn read(&self) -> Result<Kept, Error> {
        let bytes = fs::read(&self.file).map_err(|e| fault(&self.file, &e))?;
        serde_json::from_slice(&bytes).map_err(|e| fault(&self.file, &io::Error::from(e)))
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, WorkspaceInfo>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        private_dir(dir).map_err(|e| fault(dir, &e))?;
        // On the directory: a lock on the file would be on one that is replaced.
        let lock = File::open(dir).map_err(|e| fault(dir, &e))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|e| fault(dir, &e.into()))?;
        let mut known = self.fresh()?.known.clone();
        let done = change(&mut known)?;
        let kept = Kept { workspaces: known.into_values().collect() };
        self.replace(&kept).map_err(|e| fault(&self.file, &e))?;
        Ok(done)
    }

    fn replace(&self, kept: &Kept) -> io::Result<()> {
        let beside = self.file.with_extension(format!("json.{}", std::process::id()));
        let text = serde_json::to_vec_pretty(kept)?;
        let written = (|| {
            let mut file =
                File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&beside, &self.file)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

fn fault(path: &Path, cause: &io::Error) -> Error {
    let code = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::StorageFull,
        _ => ErrorCode::InternalError,
    };
    Error::new(code, format!("{}: {cause}", path.display()))
}

fn checked_dir(dir: &Path) -> Result<PathBuf, Error> {
    let refuse = |why: String| Error::new(ErrorCode::WorkingDirInvalid, format!("{} {why}", dir.display()));
    if !dir.is_absolute() {
        return Err(refuse("is not an absolute path".into()));
    }
    let real = fs::canonicalize(dir).map_err(|e| refuse(format!("cannot be used: {e}")))?;
    if real.is_dir() { Ok(real) } else { Err(refuse("is not a directory".into())) }
}

/// A name that can be a directory's, and is nobody's id.
pub fn checked_id(id: &str) -> Result<(), Error> {
    match fault_of(id) {
        Some(fault) => Err(Error::invalid(format!("`workspace_id` {fault}"))),
        None => Ok(()),
    }
}

/// Why this is no id of a workspace, which is the name of a directory, too.
pub fn fault_of(id: &str) -> Option<&'static str> {
    let fault = if id.is_empty() || id.len() > 128 {
        "must have 1 to 128 bytes"
    } else if id.contains(|c: char| c.is_control() || c == '/') {
        "contains `/` or a control character"
    } else if id.starts_with('.') {
        "begins with a dot"
    } else if id.starts_with("s-") || id.starts_with("t-") {
        "looks like the id of a session or terminal"
    } else {
        return None;
    };
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_found_again_by_another_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (Workspaces::new(dir.path()), Workspaces::new(dir.path()));
        assert_eq!(one.find("w").unwrap(), None);
        let made = one.ensure("w", "agent").unwrap();
        assert!(Path::new(&made.dir).ends_with("files/w") && Path::new(&made.dir).is_dir());
        assert_eq!(other.ensure("w", "tok-other").unwrap(), made);
        let given = other.create("given", Some(dir.path()), "operator").unwrap();
        assert_eq!(one.find("given").unwrap(), Some(given));
        assert_eq!(one.list().unwrap().len(), 2);
        assert!(one.create("w", None, "agent").is_err());
    }

    #[test]
    fn a_broken_file_is_an_error_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("workspaces.json");
        fs::write(&file, "{").unwrap();
        let workspaces = Workspaces::new(dir.path());
        assert!(workspaces.find("w").is_err() && workspaces.ensure("w", "agent").is_err());
        assert_eq!(fs::read(&file).unwrap(), b"{");
    }

    #[test]
    fn names_and_directories_that_cannot_be_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(dir.path());
        for bad in ["", ".", "..", ".git", "a/b", "s-abcdefgh", "t-x", "a\nb", &"x".repeat(129)] {
            assert!(workspaces.ensure(bad, "agent").is_err(), "{bad:?}");
        }
        assert!(workspaces.ensure("a b", "agent").is_ok());
        fs::write(dir.path().join("f"), "").unwrap();
        for bad in [Path::new("rel"), &dir.path().join("f"), &dir.path().join("none")] {
            assert!(workspaces.create("x", Some(bad), "operator").is_err(), "{}", bad.display());
        }
    }
}
