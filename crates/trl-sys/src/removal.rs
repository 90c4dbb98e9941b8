//! Removing a directory whatever is in it. Who filled it may have closed parts of it to himself, or nested it deeper than
//! descriptors or the length of a path reach. Others may still be there and change it meanwhile: nothing goes by a path
//! below its top, and no link is followed.
//!
//! 1. As usual: that goes down with one descriptor a level.
//! 2. If that fails, whatever lies too deep is moved up to the first level, under a fresh name, and what lay above it goes;
//!    until nothing lies so deep. This takes no more memory, descriptors or path for a deep tree than for a flat one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, renameat, statat};
use rustix::io::Errno;

use crate::files::{LOOK, change_mode, open_again};

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

fn flatten(path: &Path) {
    let Ok(top) = enter(CWD, path.as_os_str()) else { return };
    // Nobody could have taken these names on purpose.
    let salt = RandomState::new().hash_one(path);
    let mut fresh = (0u64..).map(|n| OsString::from(format!("{salt:016x}-{n}")));
    loop {
        let mut moved = false;
        for name in dirs_in(&top) {
            moved |= enter(&top, &name).is_ok_and(|dir| raise(&dir, 1, &top, &mut fresh));
            moved |= fs::remove_dir_all(path.join(&name)).is_ok();
        }
        if !moved {
            return;
        }
    }
}

/// Gives what lies too deep below `dir` the next name in `top`. Whether anything got one.
fn raise(dir: &OwnedFd, level: usize, top: &OwnedFd, fresh: &mut impl Iterator<Item = OsString>) -> bool {
    let mut moved = false;
    for name in dirs_in(dir) {
        // A directory that changes its parent is written to.
        let Ok(below) = enter(dir, &name) else { continue };
        moved |= if level >= DEEPEST {
            fresh.next().is_some_and(|new| renameat(dir, &name, top, new).is_ok())
        } else {
            raise(&below, level + 1, top, fresh)
        };
    }
    moved
}

/// Opens a directory, whatever its mode was.
fn enter(parent: impl std::os::fd::AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(parent, name, LOOK | flags, Mode::empty())?;
    change_mode(&dir, Mode::RWXU)?;
    open_again(&dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)
}

fn dirs_in(dir: &OwnedFd) -> Vec<OsString> {
    let Ok(entries) = Dir::read_from(dir) else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let kind = match entry.file_type() {
            FileType::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        if kind == FileType::Directory && !matches!(name.to_bytes(), b"." | b"..") {
            names.push(OsStr::from_bytes(name.to_bytes()).to_os_string());
        }
    }
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

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
        assert_eq!(dirs_in(&enter(CWD, top.as_os_str()).unwrap()).len(), 0);
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

    #[test]
    #[cfg(target_os = "linux")]
    fn modes_outside_stay() {
        use rustix::fs::{RenameFlags, renameat_with};
        let (top, outside) = (scratch("swapped"), scratch("untouched"));
        fs::set_permissions(&outside, Permissions::from_mode(0o750)).unwrap();
        let (dir, link) = (top.join("dir"), top.join("link"));
        symlink(&outside, &link).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = fs::create_dir(&dir);
                    let _ = renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE);
                }
            });
            let changed = (0..2000).any(|_| {
                flatten(&top);
                fs::metadata(&outside).unwrap().permissions().mode() & 0o777 != 0o750
            });
            over.store(true, Ordering::Relaxed);
            assert!(!changed);
        });
        remove_whole(&top);
        fs::remove_dir_all(outside).unwrap();
    }
}
