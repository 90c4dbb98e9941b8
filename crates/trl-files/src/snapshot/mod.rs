//! All files of a workspace, kept as they are at one moment, and brought back.
//!
//! Git stores them, in a directory of its own outside the workspace. It never looks at the workspace itself: files are
//! found, read and written here, beneath the root like everything else, and git gets bytes and names through pipes. So
//! nothing in a workspace (attributes, filters, hooks, a configuration) can make git run or change anything.
//!
//! 1. [`Snapshots::take`]: [`survey`] walks the tree, [`capture`] feeds what it found to `git fast-import`.
//! 2. [`Snapshots::plan`] says what a restore would do; nothing is changed. [`stored`] reads a snapshot.
//! 3. [`Snapshots::restore`] does it: all that is needed is read once first, then files are deleted and written.
//! 4. [`Snapshots::forget`] lets one go; git tidies up when there is enough of it.
//!
//! What is kept: regular files with their bytes, permission bits and names of any bytes, and links as links. What is not,
//! and is left alone by a restore: what ignore files name (`.gitignore`, `.ignore`), `.git` of whatever repository,
//! mounts, FIFOs, sockets, devices, what may not be read, and files larger than the cap. Owners, times and empty
//! directories are not kept.

mod about;
mod capture;
mod git;
mod plan;
mod restore;
mod stored;
mod survey;

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

pub use self::plan::{Change, Doing, Plan};
pub use self::restore::Restored;

use crate::Files;
use crate::error::{Error, Result};

/// What a snapshot may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub files: usize,
    /// Of all files together.
    pub bytes: u64,
    /// A larger file is left out, and named.
    pub file_bytes: u64,
}

impl Default for Caps {
    /// A large source tree, without what a build makes of it.
    fn default() -> Self {
        Self { files: 50_000, bytes: 256 << 20, file_bytes: 32 << 20 }
    }
}

/// What can go wrong beyond what can go wrong with files.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("file snapshots need git, and there is none in PATH")]
    NoGit,
    #[error("there is no file snapshot {id:?}")]
    Unknown { id: String },
    #[error("the workspace has more than {most} {what}")]
    TooMuch { what: &'static str, most: u64 },
    #[error("another file snapshot of this workspace is being worked on")]
    Busy,
    #[error("the file snapshot cannot be read: {why}")]
    Damaged { why: String },
    #[error("git: {why}")]
    Git { why: String },
}

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub id: String,
    /// Links included.
    pub files: usize,
    pub bytes: u64,
    /// What is not in it though nobody said that it should be ignored, and why.
    pub skipped: Vec<(PathBuf, String)>,
}

/// The snapshots of one workspace.
pub struct Snapshots {
    git: git::Git,
    files: Files,
    caps: Caps,
}

/// As long as it lives, nobody else changes these snapshots.
struct Turn(#[expect(dead_code, reason = "the lock is the open file")] File);

impl Snapshots {
    /// Of `files`, kept in `git_dir`, which is made when the first one is taken.
    pub fn new(git_dir: &Path, files: Files, caps: Caps) -> Result<Self> {
        let git = git::Git::new(git_dir)?;
        let within = git_dir.strip_prefix(files.base()).ok();
        if within.is_some_and(|place| files.may_read(place).is_ok()) {
            return Err(Error::invalid(git_dir, "lies in the workspace it is to keep"));
        }
        Ok(Self { git, files, caps })
    }

    /// Keeps all files as they are now. A file that changes while it is read is read again, and left out in the end.
    pub fn take(&self) -> Result<Taken> {
        self.git.prepare()?;
        let _turn = self.turn()?;
        capture::take(&self.git, &self.files, self.caps)
    }

    /// What [`Self::restore`] would do now.
    pub fn plan(&self, id: &str) -> Result<Plan> {
        let mut stored = stored::Stored::open(&self.git, id)?;
        let steps = plan::steps(&self.files, &stored.load()?)?;
        Ok(Plan::of(&steps))
    }

    /// Brings the files back. With the digest of a plan somebody has seen, only if that is still what would be done.
    pub fn restore(&self, id: &str, seen: Option<&str>) -> Result<Restored> {
        let mut stored = stored::Stored::open(&self.git, id)?;
        let _turn = self.turn()?;
        let kept = stored.load()?;
        let steps = plan::steps(&self.files, &kept)?;
        if seen.is_some_and(|seen| seen != Plan::of(&steps).digest) {
            return Err(Error::Changed { path: "the workspace".into() });
        }
        restore::carry_out(&self.files, &mut stored, &kept, &steps)
    }

    /// Lets a snapshot go; one that is not there is fine.
    pub fn forget(&self, id: &str) -> Result<()> {
        let reference = git::reference(id)?;
        if !self.git.is_prepared() {
            return Ok(());
        }
        let _turn = self.turn()?;
        self.git.delete(&reference)?;
        self.git.tidy()
    }

    /// The snapshots there are, in no order.
    pub fn list(&self) -> Result<Vec<String>> {
        if !self.git.is_prepared() {
            return Ok(Vec::new());
        }
        self.git.references()
    }

    fn turn(&self) -> Result<Turn> {
        let path = self.git.dir().join("trl.lock");
        let file = File::options().create(true).append(true).open(&path).map_err(|e| Error::io(&path, e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Turn(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Fault::Busy.into()),
            Err(errno) => Err(Error::of(&path, errno)),
        }
    }
}
