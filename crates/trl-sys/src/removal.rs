//! Removing a directory whatever is in it. Nobody is left who could change anything meanwhile, but who filled it may have
//! closed parts of it to himself, or nested it deeper than descriptors or the length of a path reach.
//!
//! 1. As usual: that goes down with one descriptor a level.
//! 2. If that fails, whatever lies too deep is moved up to the first level, under a fresh name, and what lay above it goes;
//!    until nothing lies so deep. This takes no more memory, descriptors or path for a deep tree than for a flat one.

use std::fs::{self, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What stays is for others to find.
pub(crate) fn remove_whole(dir: &Path) {
    if fs::remove_dir_all(dir).is_ok() || !dir.exists() {
        return;
    }
    flatten(dir);
    let _ = fs::remove_dir_all(dir);
}

/// Levels that are gone down at once. To move a directory up takes the kernel far longer than to remove one.
const DEEPEST: usize = 64;
/// Bytes of a path below which nothing is looked for: half of what the kernel takes.
const LONGEST: usize = 2048;

fn flatten(top: &Path) {
    // Nobody could have taken these names on purpose.
    let salt = RandomState::new().hash_one(top);
    let mut fresh = (0u64..).map(|n| top.join(format!("{salt:016x}-{n}")));
    open_up(top);
    loop {
        let mut moved = false;
        for dir in dirs_in(top) {
            open_up(&dir);
            moved |= raise(&dir, 1, &mut fresh);
            moved |= fs::remove_dir_all(&dir).is_ok();
        }
        if !moved {
            return;
        }
    }
}

/// Gives what lies too deep below `dir` the next name. Whether anything got one.
fn raise(dir: &Path, level: usize, fresh: &mut impl Iterator<Item = PathBuf>) -> bool {
    let mut moved = false;
    for below in dirs_in(dir) {
        // A directory that changes its parent is written to.
        open_up(&below);
        moved |= if level >= DEEPEST || below.as_os_str().len() > LONGEST {
            fresh.next().is_some_and(|name| fs::rename(&below, name).is_ok())
        } else {
            raise(&below, level + 1, fresh)
        };
    }
    moved
}

fn open_up(dir: &Path) {
    let _ = fs::set_permissions(dir, Permissions::from_mode(0o700));
}

/// Never through a link.
fn dirs_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{Mode, OFlags};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("trl-removal-{name}-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        dir
    }

    #[test]
    fn what_is_nested_deeper_than_descriptors_reach_goes() {
        let top = scratch("deep");
        // far deeper than a path may be long, and than most processes may have descriptors
        let dir = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = rustix::fs::open(&top, dir, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", dir, Mode::empty()).unwrap();
        }
        drop(rustix::fs::openat(&at, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap());
        flatten(&top);
        assert_eq!(dirs_in(&top).count(), 0);
        remove_whole(&top);
        assert!(!top.exists());
    }

    #[test]
    fn what_was_closed_goes_and_what_links_lead_to_stays() {
        let (top, outside) = (scratch("closed"), scratch("outside"));
        fs::write(outside.join("file"), "mine").unwrap();
        let (closed, below) = (top.join("closed"), top.join("closed/below/further"));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("file"), "").unwrap();
        symlink(&outside, below.join("link")).unwrap();
        for dir in [&below, &closed] {
            fs::set_permissions(dir, Permissions::from_mode(0o000)).unwrap();
        }
        flatten(&top);
        remove_whole(&top);
        assert!(!top.exists());
        assert!(outside.join("file").exists());
        fs::remove_dir_all(outside).unwrap();
    }
}
