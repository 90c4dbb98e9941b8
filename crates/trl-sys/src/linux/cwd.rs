//! Where a process is, asked so that no file system can make us wait: only names the kernel has in memory are read.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

/// The directory of process `pid`: as `said` if that leads there, else as the kernel calls it.
pub fn of(pid: i32, said: &[u8]) -> Option<PathBuf> {
    let actual = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let said = Path::new(OsStr::from_bytes(said));
    Some(if leads_to(said, &actual) { said.to_path_buf() } else { without_mark(actual) })
}

/// The kernel marks the name of a directory that is gone. One that is there may truly be called so, and then the name
/// leads to it: the way to a directory in use is in memory.
fn without_mark(actual: PathBuf) -> PathBuf {
    match actual.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(name) if !leads_to(&actual, &actual) => PathBuf::from(OsStr::from_bytes(name)),
        _ => actual,
    }
}

/// A name the kernel would have to ask for leads nowhere: a stat of it may hang with its file system. So does one through
/// a link that was made a moment ago: the kernel wants to note that it was read, and must not wait for that either.
fn leads_to(name: &Path, place: &Path) -> bool {
    if !name.is_absolute() {
        return false;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, name, flags, Mode::empty(), ResolveFlags::CACHED)
        .and_then(|dir| rustix::fs::readlink(format!("/proc/self/fd/{}", dir.as_raw_fd()), Vec::new()))
        .is_ok_and(|found| found.as_bytes() == place.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use rustix::fs::{AtFlags, Timespec, Timestamps, utimensat};

    use super::*;

    #[test]
    fn a_name_is_believed_only_if_it_leads_there() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let later = Timespec { tv_sec: 1 << 32, tv_nsec: 0 };
        let earlier = Timespec { tv_sec: 0, tv_nsec: 0 };
        let times = Timestamps { last_access: later, last_modification: earlier };
        utimensat(CWD, &link, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let mut there = std::process::Command::new("sleep").arg("1000").current_dir(&link).spawn().unwrap();
        let pid = i32::try_from(there.id()).unwrap();
        let known = |said: &Path| of(pid, said.as_os_str().as_bytes());
        assert_eq!(known(&link), Some(link.clone()));
        assert_eq!(known(&real), Some(real.clone()));
        for lie in ["/", "", "real", "/nonexistent"] {
            assert_eq!(known(Path::new(lie)), Some(real.clone()), "{lie:?}");
        }
        there.kill().unwrap();
        there.wait().unwrap();
    }

    #[test]
    fn a_directory_that_is_gone_keeps_its_plain_name() {
        let dir = tempfile::tempdir().unwrap();
        for (name, goes) in [("gone", true), ("there (deleted)", false), ("gone (deleted)", true)] {
            let place = dir.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let mut there =
                std::process::Command::new("sleep").arg("1000").current_dir(&place).spawn().unwrap();
            if goes {
                std::fs::remove_dir(&place).unwrap();
            }
            let known = of(i32::try_from(there.id()).unwrap(), place.as_os_str().as_bytes());
            there.kill().unwrap();
            there.wait().unwrap();
            assert_eq!(known, Some(place));
        }
    }
}
