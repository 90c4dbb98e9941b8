//! Reading case files without being led elsewhere.
//!
//! - In the directory of cases a file is trusted, so nobody else may be able to write it, and it is the file itself: a link
//!   may lead to where an agent writes.
//! - In a workspace anybody may have written anything: it is opened beneath the workspace, through no link, and without
//!   waiting for a writer.
//! - Either way no more is read than a case may have.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use trl_proto::case::{CaseError, CaseOrigin};
use trl_sys::files::{LOOK, Way, open_beneath};

use super::check::{ID_RULE, valid_id};
use super::parse::{LARGEST, too_large, whole};

/// What is looked at of one directory.
const MOST: usize = 4096;
/// Names counted beyond that.
const MOST_COUNTED: usize = 20_000;
/// A file changed less than this ago may change again without its times showing it: file systems count in ticks.
const FRESH: Duration = Duration::from_secs(2);
const EXTENSION: &str = ".yaml";
/// Where a workspace has its cases: in a directory that sandboxes protect as a whole ([`trl_sys::sandbox::OWN_DIR`]).
pub const IN_WORKSPACE: &str = ".trl/cases";
/// Where they were in version 0.1.
const BEFORE: &str = "cases";

/// A directory with cases in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Shelf {
    Config(PathBuf),
    /// [`IN_WORKSPACE`] in this directory.
    Workspace(PathBuf),
}

/// A file as it was opened.
#[derive(Debug)]
pub struct Opened {
    file: File,
    pub version: Version,
}

/// Tells one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// Times say enough.
    pub settled: bool,
}

/// The names on a shelf.
#[derive(Debug, Default)]
pub struct Names {
    pub ids: Vec<String>,
    /// Files whose names are no ids.
    pub odd: Vec<(String, CaseError)>,
    pub left_out: u64,
}

impl Shelf {
    pub fn origin(&self) -> CaseOrigin {
        match self {
            Self::Config(_) => CaseOrigin::Config,
            Self::Workspace(_) => CaseOrigin::Workspace,
        }
    }

    pub fn path(&self, id: &str) -> PathBuf {
        self.dir().join(format!("{id}{EXTENSION}"))
    }

    pub fn dir(&self) -> PathBuf {
        match self {
            Self::Config(dir) => dir.clone(),
            Self::Workspace(workspace) => workspace.join(IN_WORKSPACE),
        }
    }

    /// The file of a case; None when there is none.
    pub fn open(&self, id: &str) -> Result<Option<Opened>, CaseError> {
        if !valid_id(id) {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = match self {
            Self::Config(_) => openat(CWD, self.path(id), flags, Mode::empty()),
            Self::Workspace(dir) => beneath(dir, &format!("{IN_WORKSPACE}/{id}{EXTENSION}"), flags),
        };
        let file = match opened {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(unopened(errno)),
        };
        let meta = file.metadata().map_err(|e| whole(format!("it cannot be read: {e}")))?;
        if !meta.is_file() {
            return Err(whole("it is no regular file"));
        }
        if let Self::Config(dir) = self {
            let around = std::fs::metadata(dir).map_err(|e| whole(format!("it cannot be read: {e}")))?;
            check_owner(&around, "its directory")?;
            check_owner(&meta, "it")?;
        }
        Ok(Some(Opened { version: Version::of(&meta), file }))
    }

    /// A case of that id where workspaces had them before, which is not read.
    pub fn outdated(&self, id: &str) -> Option<PathBuf> {
        let Self::Workspace(dir) = self else { return None };
        let name = format!("{BEFORE}/{id}{EXTENSION}");
        let there = valid_id(id) && beneath(dir, &name, LOOK | OFlags::NOFOLLOW | OFlags::CLOEXEC).is_ok();
        there.then(|| dir.join(name))
    }

    /// What is there, by name. No directory is no cases.
    pub fn names(&self) -> Names {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = match self {
            Self::Config(dir) => openat(CWD, dir, flags, Mode::empty()),
            Self::Workspace(dir) => beneath(dir, IN_WORKSPACE, flags),
        };
        let Some(dir) = dir.ok().and_then(|fd| Dir::new(fd).ok()) else { return Names::default() };
        let mut names: Vec<String> = dir
            .take(MOST_COUNTED)
            .filter_map(|entry| {
                entry.ok()?.file_name().to_str().ok()?.strip_suffix(EXTENSION).map(String::from)
            })
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        let left_out = names.len().saturating_sub(MOST) as u64;
        names.truncate(MOST);
        let (ids, odd): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| valid_id(name));
        let fault = CaseError { hint: Some(ID_RULE.into()), ..whole("the name of the file is no id") };
        Names { ids, odd: odd.into_iter().map(|name| (name, fault.clone())).collect(), left_out }
    }
}

impl Opened {
    pub fn read(self) -> Result<Vec<u8>, CaseError> {
        if self.version.size > LARGEST as u64 {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let most = LARGEST as u64 + 1;
        self.file.take(most).read_to_end(&mut bytes).map_err(|e| whole(format!("it cannot be read: {e}")))?;
        Ok(bytes)
    }
}

impl Version {
    fn of(meta: &Metadata) -> Self {
        // The time of change is the kernel's own; that of modification anybody can set.
        let changed = u64::try_from(meta.ctime()).map_or(UNIX_EPOCH, |s| UNIX_EPOCH + Duration::from_secs(s));
        let age = SystemTime::now().duration_since(changed);
        Self {
            place: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            settled: age.is_ok_and(|age| age > FRESH),
        }
    }

    /// What reading it costs; one that is too large costs nothing.
    pub fn to_read(&self) -> u64 {
        if self.size > LARGEST as u64 { 0 } else { self.size }
    }

    /// Is this the very same file, unchanged?
    pub fn is_same(&self, other: &Self) -> bool {
        self.settled && other.settled && self == other
    }
}

/// Through no link, and out of `dir` by no means.
fn beneath(dir: &Path, path: &str, flags: OFlags) -> rustix::io::Result<rustix::fd::OwnedFd> {
    let base = openat(CWD, dir, LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    open_beneath(&base, Path::new(path), flags, Way::AcrossMounts)
}

fn unopened(errno: Errno) -> CaseError {
    match errno {
        Errno::LOOP => CaseError {
            hint: Some("put the file itself there".into()),
            ..whole("it is reached through a symbolic link")
        },
        Errno::XDEV => whole("it is outside of the workspace"),
        errno => whole(format!("it cannot be opened: {}", io::Error::from(errno))),
    }
}

/// A case of the config is trusted for being the user's own.
fn check_owner(meta: &Metadata, what: &str) -> Result<(), CaseError> {
    let user = rustix::process::geteuid().as_raw();
    if meta.uid() != user && meta.uid() != 0 {
        return Err(whole(format!("{what} belongs to user {}, not to you", meta.uid())));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(CaseError {
            hint: Some("chmod go-w".into()),
            ..whole(format!("{what} can be written by others: its mode is {:04o}", meta.mode() & 0o7777))
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn config() -> (tempfile::TempDir, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        mode(dir.path(), 0o700);
        let shelf = Shelf::Config(dir.path().into());
        (dir, shelf)
    }

    fn put(path: &Path) {
        fs::write(path, "id: a\n").unwrap();
        mode(path, 0o644);
    }

    fn refused(shelf: &Shelf, id: &str) -> String {
        shelf.open(id).expect_err(id).message
    }

    #[test]
    fn a_case_others_could_have_written_is_refused() {
        let (dir, shelf) = config();
        let path = shelf.path("a");
        assert!(shelf.open("a").unwrap().is_none());
        put(&path);
        assert_eq!(shelf.open("a").unwrap().unwrap().read().unwrap(), b"id: a\n");
        for open in [0o664, 0o646, 0o666] {
            mode(&path, open);
            assert!(refused(&shelf, "a").contains("can be written by others"));
        }
        mode(&path, 0o600);
        mode(dir.path(), 0o777);
        assert!(refused(&shelf, "a").starts_with("its directory can be written by others"));
        mode(dir.path(), 0o700);
        symlink(&path, dir.path().join("b.yaml")).unwrap();
        assert_eq!(refused(&shelf, "b"), "it is reached through a symbolic link");
        fs::create_dir(dir.path().join("c.yaml")).unwrap();
        assert_eq!(refused(&shelf, "c"), "it is no regular file");
    }

    #[test]
    fn nothing_leads_out_of_a_workspace() {
        let (outside, _) = config();
        put(&outside.path().join("a.yaml"));
        let workspace = tempfile::tempdir().unwrap();
        let shelf = Shelf::Workspace(workspace.path().into());
        assert!(shelf.open("a").unwrap().is_none());
        assert!(shelf.names().ids.is_empty());
        fs::create_dir(workspace.path().join(".trl")).unwrap();
        symlink(outside.path(), shelf.dir()).unwrap();
        assert_eq!(refused(&shelf, "a"), "it is reached through a symbolic link");
        assert!(shelf.names().ids.is_empty());
        fs::remove_file(shelf.dir()).unwrap();
        fs::create_dir(shelf.dir()).unwrap();
        symlink(outside.path().join("a.yaml"), shelf.path("a")).unwrap();
        assert_eq!(refused(&shelf, "a"), "it is reached through a symbolic link");
        // a pipe nobody writes to holds nobody up
        trl_sys::fifo::make(&shelf.path("p")).unwrap();
        assert_eq!(refused(&shelf, "p"), "it is no regular file");
        for odd in ["../a", "..", "/etc/passwd", "a/b", ""] {
            assert!(shelf.open(odd).unwrap().is_none(), "{odd}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let (_dir, shelf) = config();
        fs::write(shelf.path("a"), "").unwrap();
        mode(&shelf.path("a"), 0o600);
        File::options().write(true).open(shelf.path("a")).unwrap().set_len(100 << 20).unwrap();
        let opened = shelf.open("a").unwrap().unwrap();
        assert_eq!(opened.read().unwrap_err().message, "the file is larger than 256 KiB");
    }

    #[test]
    fn names_that_are_no_ids_are_told_and_others_left_out() {
        let (dir, shelf) = config();
        for name in ["b.yaml", "a.yaml", "A B.yaml", ".hidden.yaml", "notes.txt", "x.yml"] {
            put(&dir.path().join(name));
        }
        let names = shelf.names();
        assert_eq!(names.ids, ["a", "b"]);
        assert_eq!(names.odd.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["A B"]);
        assert_eq!(names.left_out, 0);
    }
}
