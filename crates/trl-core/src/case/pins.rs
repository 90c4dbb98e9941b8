//! Which case files of workspaces an operator trusts: a small file of paths and digests, replaced as a whole.
//!
//! Read again when it is another than before: several daemons of a user may share it. A file that cannot be read or trusted
//! means no pins, never all of them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trl_proto::Error;

use crate::clock::Stamp;
use crate::private_file::{self, Durable};

const VERSION: u32 = 1;
/// More than anybody has looked at.
const MOST: usize = 10_000;

#[derive(Debug)]
pub struct Pins {
    /// None: nothing is trusted, and nothing can be.
    path: Option<PathBuf>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    pins: BTreeMap<String, Pin>,
    /// The file as it was read: inode, size, and the times of its change.
    seen: Option<(u64, u64, i64, i64)>,
}

/// One trusted version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub digest: String,
    pub trusted_at: String,
    /// Who said so.
    pub by: String,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    /// By the path of the case file.
    pins: BTreeMap<String, Pin>,
}

impl Pins {
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does an operator trust this file as it is?
    pub fn holds(&self, file: &Path, digest: &str) -> bool {
        let Some(path) = &self.path else { return false };
        let mut known = self.known();
        if let Err(error) = known.refresh(path) {
            tracing::warn!(path = %path.display(), %error, "no case of a workspace is trusted");
            *known = Known::default();
        }
        name(file).and_then(|name| known.pins.get(&name)).is_some_and(|pin| pin.digest == digest)
    }

    pub fn add(&self, file: &Path, digest: &str, by: &str) -> Result<(), Error> {
        let pin = Pin { digest: digest.into(), trusted_at: Stamp::now().rfc3339(), by: by.into() };
        let name = name(file).ok_or_else(|| Error::invalid("the path of the case is not UTF-8"))?;
        self.change(|pins| {
            pins.insert(name, pin);
        })
    }

    pub fn remove(&self, file: &Path) -> Result<(), Error> {
        self.change(|pins| {
            name(file).and_then(|name| pins.remove(&name));
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Pin>)) -> Result<(), Error> {
        let Some(path) = &self.path else {
            return Err(Error::internal("this daemon has no place to remember what is trusted"));
        };
        let mut known = self.known();
        let write = || -> io::Result<BTreeMap<String, Pin>> {
            let _lock = private_file::lock_beside(path)?;
            let mut pins = read(path)?.0;
            change(&mut pins);
            if pins.len() > MOST {
                return Err(io::Error::other(format!("{MOST} cases are trusted, the most there may be")));
            }
            write(path, &pins)?;
            Ok(pins)
        };
        let pins = write().map_err(|error| {
            private_file::failed(format!("{} cannot be changed: {error}", path.display()), &error)
        })?;
        // What is seen of the file is looked at with the next question.
        *known = Known { pins, seen: None };
        Ok(())
    }
}

impl Known {
    fn refresh(&mut self, path: &Path) -> io::Result<()> {
        let there = match fs::symlink_metadata(path) {
            Ok(meta) => Some(seen(&meta)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        if there.is_none() || there != self.seen {
            (self.pins, self.seen) = read(path)?;
        }
        Ok(())
    }
}

fn seen(meta: &fs::Metadata) -> (u64, u64, i64, i64) {
    (meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec())
}

/// Without links, so that a workspace has one name.
fn name(file: &Path) -> Option<String> {
    let dir = file.parent()?.canonicalize().ok()?;
    Some(dir.join(file.file_name()?).to_str()?.to_string())
}

type Seen = Option<(u64, u64, i64, i64)>;

/// No file is no pins.
fn read(path: &Path) -> io::Result<(BTreeMap<String, Pin>, Seen)> {
    let Some((bytes, meta)) = private_file::read(path)? else { return Ok((BTreeMap::new(), None)) };
    let contents: Contents = serde_json::from_slice(&bytes)?;
    if contents.version != VERSION {
        return Err(io::Error::other(format!("its version is {}, not {VERSION}", contents.version)));
    }
    Ok((contents.pins, Some(seen(&meta))))
}

fn write(path: &Path, pins: &BTreeMap<String, Pin>) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(&Contents { version: VERSION, pins: pins.clone() })?;
    private_file::replace(path, &text, Durable::Yes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_pin_holds_for_one_version_and_outlives_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data/case-pins.json");
        let case = dir.path().join("a.yaml");
        let pins = Pins::new(Some(path.clone()));
        assert!(!pins.holds(&case, "d1"));
        pins.add(&case, "d1", "operator").unwrap();
        assert!(pins.holds(&case, "d1") && !pins.holds(&case, "d2"));
        let another = Pins::new(Some(path.clone()));
        assert!(another.holds(&case, "d1"));
        // what one daemon changes, the other knows
        another.add(&case, "d2", "operator").unwrap();
        assert!(pins.holds(&case, "d2") && !pins.holds(&case, "d1"));
        pins.remove(&case).unwrap();
        assert!(!pins.holds(&case, "d2") && !another.holds(&case, "d2"));
        let left: Vec<_> =
            fs::read_dir(dir.path().join("data")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "nothing but the file and its lock: {left:?}");
    }

    #[test]
    fn a_file_that_is_not_ours_pins_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, case) = (dir.path().join("pins.json"), dir.path().join("a.yaml"));
        let pins = Pins::new(Some(path.clone()));
        pins.add(&case, "d", "operator").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!pins.holds(&case, "d"));
        pins.add(&case, "d", "operator").unwrap_err();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(pins.holds(&case, "d"));
        fs::write(&path, "{").unwrap();
        assert!(!pins.holds(&case, "d"));
        assert!(!Pins::new(None).holds(&case, "d"));
    }
}
