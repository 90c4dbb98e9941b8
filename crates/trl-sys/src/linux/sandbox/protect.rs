//! What in a workspace must stay as it is: places whose content runs, or decides, outside of the sandbox.
//!
//! 1. Every git directory is found, at whatever depth: hooks of a submodule run as well as those at the top.
//! 2. What is to be protected but is not there is made, empty, for as long as a keeper relies on it ([`super::hold`]): what
//!    is not there cannot be mounted on, and anybody could make it.
//! 3. What cannot be held name by name is protected as a whole.
//!
//! The keeper that does this stands outside of every sandbox, while others may be changing the same workspace. What they
//! move away or replace meanwhile they could have written to before, so it needs no protection from them.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::Plan;
use super::hold::{Found, Holder, Shape, Waits, Workspace};
use super::made::{self, Before};

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
    /// It is not known what there is to protect.
    pub(crate) incomplete: bool,
    holders: Vec<Holder>,
    before: Option<Before>,
}

/// A workspace with more names than this has no bounds.
const MOST_NAMES: usize = 4_000_000;
/// More git directories than this are protected as a whole each: every one of these costs a descriptor.
const MOST_HOLDERS: usize = 400;

/// The end of a sandbox waits no longer than this for a look at what was made in it.
const LONGEST_LOOK: Duration = Duration::from_millis(500);

/// What git wants to be a file, and what is in one that changes nothing.
const FILES: [(&str, &[u8]); 4] =
    [("commondir", b".\n"), ("config", b""), ("config.worktree", b""), ("info/attributes", b"")];
/// What a directory of `.git/worktrees` has of its own.
const OF_A_WORKTREE: [&str; 2] = ["commondir", "config.worktree"];

impl Protected {
    pub(crate) fn find(plan: &Plan) -> io::Result<Self> {
        let Some(path) = &plan.workspace else { return Ok(Self::default()) };
        let path = Path::new(OsStr::from_bytes(path));
        let names = plan.protect.iter().map(|name| Path::new(OsStr::from_bytes(name)));
        let (in_git, at_top): (Vec<&Path>, Vec<&Path>) = names.partition(|name| name.starts_with(".git"));
        let in_git: Vec<&Path> = in_git.iter().filter_map(|name| name.strip_prefix(".git").ok()).collect();
        let workspace = Workspace::open(path)?;
        let mut search = Search::new(path, workspace);
        if !in_git.is_empty() {
            let in_worktree: Vec<&Path> = in_git
                .iter()
                .copied()
                .filter(|name| OF_A_WORKTREE.iter().any(|own| *name == Path::new(own)))
                .collect();
            let directories = search.find_git_directories()?;
            let known = directories.iter().map(|directory| directory.path().to_path_buf()).collect();
            search.found.before = Some(Before { workspace: path.to_path_buf(), directories: known });
            for directory in directories {
                match directory {
                    GitDirectory::Main(dir) => search.freeze(&dir, &in_git)?,
                    GitDirectory::OfWorktree(dir) => search.freeze(&dir, &in_worktree)?,
                }
            }
        }
        search.freeze(Path::new(""), &at_top)?;
        Ok(search.found)
    }

    /// Git directories that are new since and make git run something: each is its path in the workspace, then why, with NUL
    /// between. Looks for a while only.
    pub(crate) fn made_inside(&self) -> Vec<String> {
        let Some(before) = &self.before else { return Vec::new() };
        let Ok(workspace) = Workspace::open(&before.workspace) else { return Vec::new() };
        let mut search = Search::new(&before.workspace, workspace);
        search.until = Some(Instant::now() + LONGEST_LOOK);
        let directories = search.find_git_directories().unwrap_or_default();
        let new = directories.iter().map(GitDirectory::path).filter(|dir| !before.directories.contains(*dir));
        let told = new.filter_map(|dir| {
            let reasons = made::reasons(&search.workspace, dir);
            (!reasons.is_empty()).then(|| format!("{}\0{}", dir.display(), reasons.join("\0")))
        });
        told.take(made::MOST).collect()
    }

    /// Nobody knows what there is to protect.
    pub(crate) fn unknown() -> Self {
        Self { incomplete: true, ..Self::default() }
    }
}

/// A directory that git takes hooks or configuration from, relative to the workspace.
#[derive(Debug)]
enum GitDirectory {
    Main(PathBuf),
    /// It names the main one in a file `commondir`.
    OfWorktree(PathBuf),
}

impl GitDirectory {
    fn path(&self) -> &Path {
        match self {
            Self::Main(path) | Self::OfWorktree(path) => path,
        }
    }
}

struct Search<'a> {
    path: &'a Path,
    workspace: Workspace,
    found: Protected,
    waits: Waits,
    /// When to stop looking, and be content with what was found.
    until: Option<Instant>,
}

impl<'a> Search<'a> {
    fn new(path: &'a Path, workspace: Workspace) -> Self {
        Self { path, workspace, found: Protected::default(), waits: Waits::default(), until: None }
    }

    /// Those nearer to the top come first. What leads to one from elsewhere, a file or a link `.git`, is frozen.
    fn find_git_directories(&mut self) -> io::Result<Vec<GitDirectory>> {
        let mut directories = Vec::new();
        let mut queue = VecDeque::from([PathBuf::new()]);
        let mut seen = 0;
        while let Some(dir) = queue.pop_front() {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let entries = match self.workspace.list(&dir) {
                Ok(entries) => entries,
                Err(Errno::ACCESS | Errno::PERM) => {
                    self.close(&dir);
                    continue;
                }
                Err(errno) if is_gone(errno) => continue,
                Err(errno) => return Err(errno.into()),
            };
            seen += entries.len();
            if seen > MOST_NAMES {
                return Err(Errno::TOOBIG.into());
            }
            directories.extend(self.judge(&dir, &entries));
            let is_git = matches!(directories.last(), Some(GitDirectory::Main(last)) if *last == dir);
            let below = entries.into_iter().filter(|(_, kind)| *kind == FileType::Directory);
            queue.extend(below.map(|(path, _)| path).filter(|path| !is_git || !path.ends_with("objects")));
        }
        Ok(directories)
    }

    /// Whether a directory with these names is one of git's.
    fn judge(&mut self, dir: &Path, entries: &[(PathBuf, FileType)]) -> Option<GitDirectory> {
        let find = |name: &str| entries.iter().find(|(path, _)| path.ends_with(name));
        if let Some((path, _)) = find(".git").filter(|(_, kind)| *kind != FileType::Directory) {
            self.add(path, Kind::Frozen);
        }
        if dir.ends_with(".git") {
            return Some(GitDirectory::Main(dir.into()));
        }
        // Both of these make a git directory of any name. They stay where they are, or whoever moves one away would
        // have the next sandbox take it for something else.
        let is_mark =
            |(_, kind): &&(PathBuf, FileType)| matches!(kind, FileType::Directory | FileType::Symlink);
        if let (Some(objects), Some(refs)) = (find("objects").filter(is_mark), find("refs").filter(is_mark)) {
            for (path, _) in [objects, refs] {
                self.add(path, Kind::Pinned);
            }
            return Some(GitDirectory::Main(dir.into()));
        }
        find("commondir").map(|_| GitDirectory::OfWorktree(dir.into()))
    }

    /// What cannot be looked into now could be opened by whoever is inside, who owns it. So nothing in it changes.
    fn close(&mut self, dir: &Path) {
        match dir.ancestors().take_while(|a| *a != Path::new("")).find(|a| self.workspace.has(a)) {
            Some(dir) => self.add(dir, Kind::Frozen),
            None => self.found.incomplete = true,
        }
    }

    /// Freezes `names` in `dir`; what is not there is made. Where that cannot be done, nothing in `dir` changes.
    fn freeze(&mut self, dir: &Path, names: &[&Path]) -> io::Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        match self.hold(dir, names) {
            Err(errno) if is_gone(errno) => Ok(()),
            // Nobody inside can make it either.
            Err(Errno::ROFS) => Ok(()),
            Err(Errno::ACCESS | Errno::PERM | Errno::MFILE | Errno::NOSPC | Errno::DQUOT)
                if dir != Path::new("") =>
            {
                self.add(dir, Kind::Frozen);
                Ok(())
            }
            Err(Errno::ACCESS | Errno::PERM) => {
                self.found.incomplete = true;
                Ok(())
            }
            held => Ok(held?),
        }
    }

    fn hold(&mut self, dir: &Path, names: &[&Path]) -> Result<(), Errno> {
        if self.found.holders.len() >= MOST_HOLDERS {
            return Err(Errno::MFILE);
        }
        let mut holder = Holder::new(&self.workspace, dir, &mut self.waits)?;
        let mut result = Ok(());
        for name in names {
            match holder.hold(name, shape_of(name)) {
                Ok(Found::There) => self.add(&dir.join(name), Kind::Frozen),
                Ok(Found::Blocked(parts)) => {
                    let blocking: PathBuf = name.components().take(parts).collect();
                    self.add(&dir.join(blocking), Kind::Frozen);
                }
                Err(errno) => result = result.and(Err(errno)),
            }
        }
        if holder.is_needed() {
            self.found.holders.push(holder);
        }
        result
    }

    /// Whoever could rename a directory on the way could put another in its place.
    fn add(&mut self, within: &Path, kind: Kind) {
        for dir in within.ancestors().skip(1).take_while(|a| *a != Path::new("")) {
            self.found.places.entry(self.path.join(dir)).or_insert(Kind::Pinned);
        }
        let place = self.found.places.entry(self.path.join(within)).or_insert(kind);
        *place = (*place).max(kind);
    }
}

fn shape_of(name: &Path) -> Shape {
    let file = FILES.iter().find(|(file, _)| name == Path::new(file));
    file.map_or(Shape::Directory, |(_, content)| Shape::File(content))
}

/// Somebody moved or replaced it since, or it lies deeper than a path reaches.
pub(super) fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
    fn links_are_held_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let link = |name: &str| std::os::unix::fs::symlink("/nonexistent", dir.path().join(name)).unwrap();
        fs::create_dir_all(dir.path().join("sub/.git")).unwrap();
        for name in ["sub/.git/hooks", "cases", ".git"] {
            link(name);
        }
        let found = Protected::find(&plan(dir.path())).unwrap();
        let expected = [
            (".git", Kind::Frozen),
            ("cases", Kind::Frozen),
            ("sub", Kind::Pinned),
            ("sub/.git", Kind::Pinned),
        ];
        let hooks = ("sub/.git/hooks", Kind::Frozen);
        assert_eq!(
            kinds(&found, dir.path()),
            [&expected[..], &[hooks]].concat().iter().map(|(n, k)| (n.to_string(), *k)).collect::<Vec<_>>()
        );
        assert!(!found.incomplete);
    }

    #[test]
    fn git_files_are_made_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("a/.git")).unwrap();
        fs::create_dir_all(at("b/.git/worktrees/w")).unwrap();
        fs::write(at("b/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(at("b/.git/info"), "in the way").unwrap();
        let mut plan = plan(dir.path());
        plan.protect = FILES.map(|(name, _)| format!(".git/{name}").into_bytes()).to_vec();
        let found = Protected::find(&plan).unwrap();
        assert_eq!(fs::read(at("a/.git/commondir")).unwrap(), b".\n");
        assert_eq!(fs::read(at("a/.git/info/attributes")).unwrap(), b"");
        assert_eq!(found.places[&at("b/.git/info")], Kind::Frozen);
        assert_eq!(found.places[&at("b/.git/worktrees/w/config.worktree")], Kind::Frozen);
        assert!(!at("b/.git/worktrees/w/config").exists());
        // what somebody has changed or put there since is not ours to remove
        fs::remove_file(at("a/.git/config.worktree")).unwrap();
        fs::write(at("a/.git/config.worktree"), "").unwrap();
        drop(found);
        let left: Vec<_> = fs::read_dir(at("a/.git")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["config.worktree"]);
        assert_eq!(fs::read(at("b/.git/worktrees/w/commondir")).unwrap(), b"../..\n");
    }

    #[test]
    fn a_closed_git_directory_is_frozen() {
        if rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::set_permissions(dir.path().join(".git"), fs::Permissions::from_mode(0o555)).unwrap();
        let found = Protected::find(&plan(dir.path())).unwrap();
        assert_eq!(found.places[&dir.path().join(".git")], Kind::Frozen);
    }
}
