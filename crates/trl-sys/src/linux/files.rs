//! Files: `openat2`, and `/proc/self/fd` for what is open.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat, StatxFlags, linkat, openat, openat2, statx,
};
use rustix::io::Errno;

use crate::files::{Owner, Way};

/// Of `open`: to look at something, which does nothing to it.
pub const LOOK: OFlags = OFlags::PATH;

const INSIDE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_XDEV);
const STRAIGHT: ResolveFlags = INSIDE.union(ResolveFlags::NO_SYMLINKS);
const ACROSS_MOUNTS: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// `AGAIN` when somebody moved directories meanwhile.
pub fn open_beneath(dir: impl AsFd, path: &Path, flags: OFlags, way: Way) -> Result<OwnedFd, Errno> {
    let resolve = match way {
        Way::Inside => INSIDE,
        Way::Straight => STRAIGHT,
        Way::AcrossMounts => ACROSS_MOUNTS,
    };
    openat2(dir, path, flags, Mode::empty(), resolve)
}

/// The permission bits of a file, in a type that every system has.
pub fn bits_of(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

/// What `open` takes for these bits.
pub fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}

/// A name for what is open, good as long as it is.
pub(super) fn link_to(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// Where the system says that it is.
pub fn name_of(fd: impl AsFd) -> Result<PathBuf, Errno> {
    let text = rustix::fs::readlink(link_to(fd.as_fd()), Vec::new())?;
    Ok(OsString::from_vec(text.into_bytes()).into())
}

/// What is open once more, whatever its name means by now.
pub fn open_again(fd: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(link_to(fd.as_fd()), flags, Mode::empty())
}

/// Changes the mode of what is open, also where that is only looked at.
pub fn change_mode(fd: impl AsFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::chmod(link_to(fd.as_fd()), mode)
}

/// A file in this directory that has no name yet; an error where there is no such thing.
pub fn nameless(dir: impl AsFd, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    openat(dir, ".", flags | OFlags::TMPFILE, mode)
}

/// Gives one of those a name.
pub fn give_name(file: impl AsFd, dir: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    linkat(CWD, link_to(file.as_fd()), dir, name, AtFlags::SYMLINK_FOLLOW)
}

/// A file to write and read that is gone with its descriptor.
pub fn unlinked(dir: &Path, mode: Mode) -> Result<OwnedFd, Errno> {
    rustix::fs::open(dir, OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, mode)
}

/// Makes durable whatever was written on the file system of this.
pub fn sync_around(fd: impl AsFd) -> Result<(), Errno> {
    rustix::fs::syncfs(fd)
}

/// By what the kernel has in memory, so that no file system can make us wait; an error for what is not.
pub fn owner_in_memory(path: &Path) -> Result<Owner, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED)?;
    let wanted = StatxFlags::MODE | StatxFlags::UID | StatxFlags::GID;
    let stat = statx(&file, "", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, wanted);
    // What is there and does not say is not the same as what is not there.
    let stat = stat.map_err(|_| Errno::AGAIN)?;
    Ok(Owner { uid: stat.stx_uid, gid: stat.stx_gid, mode: stat.stx_mode })
}
