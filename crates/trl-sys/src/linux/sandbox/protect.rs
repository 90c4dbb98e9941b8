//! What in a workspace must stay as it is: places whose content runs, or decides, outside of the sandbox.
//!
//! 1. Every git directory is found, at whatever depth: hooks of a submodule run as well as those at the top.
//! 2. A directory that is to be protected but is not there is made, empty, for as long as the keeper lives: what is not
//!    there cannot be mounted on, and anybody could make it.
//! 3. Whoever protects one holds a shared lock on it, so that it is not taken away under another; the last one does that.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::Plan;

/// How a place is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// It keeps its name and its place; what is in it may change.
    Pinned,
    /// Nothing in it changes.
    Frozen,
}

/// What was found to protect, and is held for as long as this lives.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    /// Directories before what is in them.
    pub(crate) places: BTreeMap<PathBuf, Kind>,
    /// Something is a link, which cannot be kept from being replaced by another.
    pub(crate) incomplete: bool,
    made: Vec<PathBuf>,
    held: Vec<(PathBuf, File)>,
}

/// A workspace with more names than this has no bounds.
const MOST_NAMES: usize = 4_000_000;

impl Protected {
    pub(crate) fn find(plan: &Plan) -> io::Result<Self> {
        let mut found = Self::default();
        let Some(workspace) = &plan.workspace else { return Ok(found) };
        let workspace = PathBuf::from(std::ffi::OsStr::from_bytes(workspace));
        let names = plan.protect.iter().map(|name| Path::new(std::ffi::OsStr::from_bytes(name)));
        let (in_git, in_workspace): (Vec<&Path>, Vec<&Path>) = names.partition(|n| n.starts_with(".git"));
        let in_git: Vec<&Path> = in_git.iter().filter_map(|n| n.strip_prefix(".git").ok()).collect();
        if !in_git.is_empty() {
            for repository in found.find_repositories(&workspace)? {
                for name in &in_git {
                    match found.freeze(&workspace, &repository, name) {
                        // Whoever links its hooks has them elsewhere, and anybody inside could have made the link.
                        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => {}
                        frozen => frozen?,
                    }
                }
            }
        }
        for name in in_workspace {
            match found.freeze(&workspace, &workspace, name) {
                Err(e) if e.raw_os_error() == Some(libc::ELOOP) => found.incomplete = true,
                frozen => frozen?,
            }
        }
        Ok(found)
    }

    /// Nobody knows what there is to protect.
    pub(crate) fn unknown() -> Self {
        let mut unknown = Self::default();
        unknown.incomplete = true;
        unknown
    }

    /// Directories that git would run hooks of. A `.git` file, which names one elsewhere, is frozen.
    fn find_repositories(&mut self, workspace: &Path) -> io::Result<Vec<PathBuf>> {
        let mut repositories = Vec::new();
        let mut queue = vec![workspace.to_path_buf()];
        let mut seen = 0;
        while let Some(dir) = queue.pop() {
            let entries = match fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    self.close(workspace, &dir);
                    continue;
                }
                Err(_) => continue,
            };
            // Both of these make a git directory of any name. They stay where they are, or whoever moves one away would
            // have the next sandbox take it for something else.
            let mut marks = Vec::new();
            for entry in entries.flatten() {
                seen += 1;
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                if (name == "objects" || name == "refs") && kind.is_dir() {
                    marks.push(entry.path());
                }
                match (name == ".git", kind) {
                    (_, kind) if kind.is_dir() => queue.push(entry.path()),
                    (true, kind) if kind.is_file() => self.add(workspace, &entry.path(), Kind::Frozen),
                    _ => {}
                }
            }
            if seen > MOST_NAMES {
                return Err(io::Error::from_raw_os_error(libc::E2BIG));
            }
            let named = dir.file_name().is_some_and(|name| name == ".git");
            if marks.len() == 2 || named {
                queue.retain(|below| *below != dir.join("objects"));
                repositories.push(dir);
                let pinned = marks.iter().filter(|_| !named);
                pinned.for_each(|mark| self.add(workspace, mark, Kind::Pinned));
            }
        }
        Ok(repositories)
    }

    /// What cannot be looked into now could be opened by whoever is inside, who owns it. So nothing in it changes.
    fn close(&mut self, workspace: &Path, dir: &Path) {
        let reachable = |path: &&Path| super::place(path).is_ok();
        match dir.ancestors().take_while(|a| *a != workspace).find(reachable) {
            Some(dir) => self.add(workspace, dir, Kind::Frozen),
            None => self.incomplete = true,
        }
    }

    /// Freezes `name` in `dir`, made if it is not there.
    fn freeze(&mut self, workspace: &Path, dir: &Path, name: &Path) -> io::Result<()> {
        let path = dir.join(name);
        match hold(&path) {
            Ok(Held { lock, ours }) => {
                self.held.extend(lock.map(|lock| (path.clone(), lock)));
                self.made.extend(ours.then(|| path.clone()));
                self.add(workspace, &path, Kind::Frozen);
            }
            // Nobody inside can make it either.
            Err(e) if is_refused(&e) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Whoever could rename a directory on the way could put another in its place.
    fn add(&mut self, workspace: &Path, path: &Path, kind: Kind) {
        let way = path.ancestors().skip(1).take_while(|a| *a != workspace && a.starts_with(workspace));
        for dir in way {
            self.places.entry(dir.to_path_buf()).or_insert(Kind::Pinned);
        }
        let place = self.places.entry(path.to_path_buf()).or_insert(kind);
        *place = (*place).max(kind);
    }
}

/// The mode of a directory that was made here: one that another sandbox left is known by it.
const MADE: u32 = 0o1755;
/// Another keeper may be just taking away what it made.
const TRIES: u32 = 100;

/// Something that is there and stays there.
struct Held {
    /// None when somebody else has locked it.
    lock: Option<File>,
    /// It is there only to be protected.
    ours: bool,
}

/// Makes `path` a directory if it is nothing yet, and sees to it that no other keeper removes it.
fn hold(path: &Path) -> io::Result<Held> {
    let mut held = Held { lock: None, ours: false };
    for _ in 0..TRIES {
        match fs::DirBuilder::new().mode(MADE).create(path) {
            // the mask may have taken some of its mode
            Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(MADE))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
        let Ok(meta) = fs::symlink_metadata(path) else { continue };
        if meta.is_symlink() {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let own = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o7777 == MADE;
        held.ours = own && meta.is_dir();
        let Ok(file) = File::open(path) else { return Ok(held) };
        let same = |m: &fs::Metadata| (m.dev(), m.ino()) == (meta.dev(), meta.ino());
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
            && fs::symlink_metadata(path).is_ok_and(|now| same(&now))
        {
            held.lock = Some(file);
            return Ok(held);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(held)
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::ENOTDIR))
}

impl Drop for Protected {
    /// What was made goes, if nobody else relies on it: the last one who does takes it away.
    fn drop(&mut self) {
        for made in &self.made {
            let alone = self
                .held
                .iter()
                .find(|(path, _)| path == made)
                .is_some_and(|(_, file)| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
            if alone {
                let _ = fs::remove_dir(made);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(workspace: &Path) -> Plan {
        Plan {
            workspace: Some(workspace.as_os_str().as_bytes().to_vec()),
            protect: vec![b".git/hooks".to_vec(), b"cases".to_vec()],
            ..Plan::default()
        }
    }

    fn kinds(found: &Protected, workspace: &Path) -> Vec<(String, Kind)> {
        let name = |p: &PathBuf| p.strip_prefix(workspace).unwrap().display().to_string();
        found.places.iter().map(|(p, k)| (name(p), *k)).collect()
    }

    #[test]
    fn hooks_of_every_repository_are_found_and_the_way_to_them() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for made in [".git/hooks", "cases", "a/b/.git/hooks", "bare/objects", "bare/refs", "bare/hooks"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        fs::write(at("bare/HEAD"), "").unwrap();
        fs::create_dir(at("tree")).unwrap();
        fs::write(at("tree/.git"), "gitdir: ../bare").unwrap();
        let found = Protected::find(&plan(dir.path())).unwrap();
        let expected = [
            (".git", Kind::Pinned),
            (".git/hooks", Kind::Frozen),
            ("a", Kind::Pinned),
            ("a/b", Kind::Pinned),
            ("a/b/.git", Kind::Pinned),
            ("a/b/.git/hooks", Kind::Frozen),
            ("bare", Kind::Pinned),
            ("bare/hooks", Kind::Frozen),
            ("bare/objects", Kind::Pinned),
            ("bare/refs", Kind::Pinned),
            ("cases", Kind::Frozen),
            ("tree", Kind::Pinned),
            ("tree/.git", Kind::Frozen),
        ];
        assert_eq!(kinds(&found, dir.path()), expected.map(|(n, k)| (n.to_string(), k)));
        assert!(!found.incomplete);
    }

    #[test]
    fn what_is_missing_is_made_and_goes_again_unless_another_needs_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let names = [dir.path().join(".git/hooks"), dir.path().join("cases")];
        let there = || names.iter().map(|n| n.exists()).collect::<Vec<_>>();
        let first = Protected::find(&plan(dir.path())).unwrap();
        assert_eq!(there(), [true, true]);
        let second = Protected::find(&plan(dir.path())).unwrap();
        drop(first);
        assert_eq!(there(), [true, true]);
        drop(second);
        assert_eq!(there(), [false, false]);
        names.iter().for_each(|n| fs::create_dir(n).unwrap());
        drop(Protected::find(&plan(dir.path())).unwrap());
        assert_eq!(there(), [true, true], "they are not its own to remove");
    }

    #[test]
    fn a_link_is_not_protected_and_it_says_so_where_it_can_only_be_the_users() {
        let dir = tempfile::tempdir().unwrap();
        let link = |name: &str| std::os::unix::fs::symlink("/nonexistent", dir.path().join(name)).unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        link(".git/hooks");
        let found = Protected::find(&plan(dir.path())).unwrap();
        assert!(!found.incomplete && !found.places.contains_key(&dir.path().join(".git/hooks")));
        drop(found);
        link("cases");
        assert!(Protected::find(&plan(dir.path())).unwrap().incomplete);
    }
}
