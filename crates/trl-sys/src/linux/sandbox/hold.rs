//! What a keeper makes in a workspace so that it can be protected, and removes again when the last one is done with it.
//!
//! A keeper stands outside of every sandbox, and sandboxes change the workspace while it works there. So nothing goes by a
//! path from the root: a directory is opened beneath the workspace and through no link, and what is looked at, made or
//! removed is named relative to an open directory.
//!
//! Who relies on what is made says so by a read lock on byte [`RELYING`] of the directory it is made in, and who removes
//! something by one on byte [`REMOVING`]. A directory cannot be opened for writing, so no process can take a write lock that
//! would keep a keeper from having either. A process in a sandbox that takes the same read locks makes keepers leave
//! something behind, or wait a moment, and no more.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fchmod, fstat, mkdirat, openat, openat2,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::files::{LOOK, Way, give_name, nameless, open_beneath};

/// Mode of a directory that was made here: one that an earlier keeper left is known by it.
const MADE_DIR: u32 = 0o1755;
/// The same for a file.
const MADE_FILE: u32 = 0o1444;

const RELYING: i64 = 0;
const REMOVING: i64 = 1;
/// Milliseconds that one search waits in all for other keepers that are just removing something.
const MOST_WAITS: u32 = 500;

/// The directory that sandboxes may write to.
#[derive(Debug)]
pub(super) struct Workspace {
    dir: OwnedFd,
}

impl Workspace {
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        let flags = LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { dir: openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)? })
    }

    fn at(&self, within: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        beneath(&self.dir, within, flags)
    }

    /// Whether something is there that can be mounted on.
    pub(super) fn has(&self, within: &Path) -> bool {
        self.at(within, LOOK | OFlags::NOFOLLOW | OFlags::CLOEXEC).is_ok()
    }

    /// The content of a regular file that is no longer than `most`.
    pub(super) fn read(&self, within: &Path, most: usize) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(self.at(within, flags)?);
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut content = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut content)?;
        if content.len() > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(content) }
    }

    /// The names in a directory, and what they stand for.
    pub(super) fn list(&self, within: &Path) -> Result<Vec<(PathBuf, FileType)>, Errno> {
        let dir = Dir::new(self.at(within, A_DIRECTORY)?)?;
        let fd = dir.fd()?.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
        let mut names = Vec::new();
        for entry in dir {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                kind => kind,
            };
            names.push((within.join(OsStr::from_bytes(name.to_bytes())), kind));
        }
        Ok(names)
    }
}

/// Opened for reading. Nothing that stands there instead can make the keeper wait.
const A_DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Through no link, and out of `dir` by no means.
fn beneath(dir: &OwnedFd, within: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let within = if within.as_os_str().is_empty() { Path::new(".") } else { within };
    open_beneath(dir, within, flags, Way::AcrossMounts)
}

/// What is made for a name that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Directory,
    File(&'static [u8]),
}

/// What a name in a directory stands for, once it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It is there, and stays there.
    There,
    /// A part of the name before its last is no directory: that many of its parts lead to what stands in the way.
    Blocked(usize),
}

/// A directory in which names are held.
#[derive(Debug)]
pub(super) struct Holder {
    dir: OwnedFd,
    /// Without the lock nobody knows that we rely on what is there. Nobody who has none removes anything.
    locked: bool,
    made: Vec<Made>,
}

/// Something that is there only to be protected.
#[derive(Debug)]
struct Made {
    /// Relative to the directory that holds it.
    path: PathBuf,
    id: (u64, u64),
    shape: Shape,
}

/// How long one search still waits for others.
#[derive(Debug)]
pub(super) struct Waits(u32);

impl Default for Waits {
    fn default() -> Self {
        Self(MOST_WAITS)
    }
}

impl Holder {
    pub(super) fn new(workspace: &Workspace, within: &Path, waits: &mut Waits) -> Result<Self, Errno> {
        let dir = workspace.at(within, A_DIRECTORY)?;
        let locked = lock(&dir, RELYING, libc::F_RDLCK).is_ok();
        // One that looked before that lock was there may be about to remove what we find.
        while locked && waits.0 > 0 && is_locked_by_others(&dir, REMOVING) {
            waits.0 -= 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { dir, locked, made: Vec::new() })
    }

    /// Whether anything here is to be removed one day.
    pub(super) fn is_needed(&self) -> bool {
        !self.made.is_empty()
    }

    /// Sees to it that `name` is there. Directories on the way to it are made too.
    pub(super) fn hold(&mut self, name: &Path, shape: Shape) -> Result<Found, Errno> {
        let parts: Vec<Component<'_>> = name.components().collect();
        for length in 1..=parts.len() {
            let part: PathBuf = parts[..length].iter().collect();
            let last = length == parts.len();
            let kind = self.hold_one(&part, if last { shape } else { Shape::Directory })?;
            if !last && kind != FileType::Directory {
                return Ok(Found::Blocked(length));
            }
        }
        Ok(Found::There)
    }

    fn hold_one(&mut self, path: &Path, shape: Shape) -> Result<FileType, Errno> {
        let (parent, name) = self.parent(path)?;
        // Made and moved away at once, again and again: whoever does that could have done worse.
        for _ in 0..3 {
            let made = match make(&parent, name, shape) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                // What is there is what is to be held, also where nothing could be made.
                Err(errno) if statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).is_err() => return Err(errno),
                Err(_) => false,
            };
            let stat = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                found => found?,
            };
            if (made || shape.is_of(&stat)) && self.locked {
                self.made.push(Made { path: path.into(), id: id(&stat), shape });
            }
            return Ok(FileType::from_raw_mode(stat.st_mode));
        }
        Err(Errno::NOENT)
    }

    fn parent<'n>(&self, path: &'n Path) -> Result<(OwnedFd, &'n OsStr), Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let around = path.parent().unwrap_or(Path::new(""));
        Ok((beneath(&self.dir, around, LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC)?, name))
    }

    fn remove(&self, made: &Made) -> Result<(), Errno> {
        let (parent, name) = self.parent(&made.path)?;
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if id(&stat) != made.id || !made.shape.is_of(&stat) {
            return Ok(());
        }
        let flags = if made.shape == Shape::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        unlinkat(&parent, name, flags)
    }
}

impl Drop for Holder {
    /// The last one that relies on what was made removes it.
    fn drop(&mut self) {
        let ready = self.locked
            && !self.made.is_empty()
            && lock(&self.dir, REMOVING, libc::F_RDLCK).is_ok()
            && lock(&self.dir, RELYING, libc::F_UNLCK).is_ok();
        if ready && !is_locked_by_others(&self.dir, RELYING) {
            // what lies deeper was made later
            for made in self.made.iter().rev() {
                let _ = self.remove(made);
            }
        }
    }
}

impl Shape {
    fn mode(self) -> u32 {
        match self {
            Self::Directory => MADE_DIR,
            Self::File(_) => MADE_FILE,
        }
    }

    /// Whether this was made by a keeper of the same user.
    fn is_of(self, stat: &Stat) -> bool {
        let same = match self {
            Self::Directory => FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
            Self::File(content) => {
                FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                    && u64::try_from(stat.st_size).is_ok_and(|size| size == content.len() as u64)
            }
        };
        same && stat.st_mode & 0o7777 == self.mode() && stat.st_uid == rustix::process::geteuid().as_raw()
    }
}

fn id(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// An error where something has that name already, or nothing can be made.
fn make(parent: &OwnedFd, name: &OsStr, shape: Shape) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(shape.mode());
    let Shape::File(content) = shape else {
        mkdirat(parent, name, mode)?;
        return settle(&openat(parent, name, A_DIRECTORY, Mode::empty())?, shape);
    };
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    // It has its content before it has its name, or a git outside would meet it empty.
    match nameless(parent, flags, mode) {
        Ok(file) => {
            fill(&file, content)?;
            settle(&file, shape)?;
            give_name(&file, parent, name)
        }
        // There is no such thing on this file system.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let fresh = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let file = openat(parent, name, flags | fresh, mode)?;
            fill(&file, content)?;
            settle(&file, shape)
        }
        Err(errno) => Err(errno),
    }
}

/// Gives what was made its whole mode, of which the mask may have taken some.
fn settle(made: &OwnedFd, shape: Shape) -> Result<(), Errno> {
    let stat = fstat(made)?;
    // Another directory may have that name since: what is somebody else's is left alone.
    let own = stat.st_uid == rustix::process::geteuid().as_raw();
    match own && stat.st_mode & 0o7777 != shape.mode() {
        true => fchmod(made, Mode::from_raw_mode(shape.mode())),
        false => Ok(()),
    }
}

fn fill(file: &OwnedFd, mut content: &[u8]) -> Result<(), Errno> {
    while !content.is_empty() {
        let written = rustix::io::write(file, content)?;
        content = &content[written..];
    }
    Ok(())
}

fn lock_of(kind: libc::c_int, byte: i64) -> libc::flock {
    // SAFETY: a C struct of integers, for which zeros are valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(kind).unwrap_or_default();
    lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).unwrap_or_default();
    (lock.l_start, lock.l_len) = (byte, 1);
    lock
}

/// Takes or leaves a lock that belongs to this descriptor, without waiting.
fn lock(dir: &OwnedFd, byte: i64, kind: libc::c_int) -> io::Result<()> {
    let lock = lock_of(kind, byte);
    // SAFETY: a descriptor of ours and a live struct that the kernel reads.
    match unsafe { libc::fcntl(dir.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where that cannot be found out: yes.
fn is_locked_by_others(dir: &OwnedFd, byte: i64) -> bool {
    let mut lock = lock_of(libc::F_WRLCK, byte);
    // SAFETY: a descriptor of ours and a live struct that the kernel writes.
    let asked = unsafe { libc::fcntl(dir.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    asked != 0 || i32::from(lock.l_type) != libc::F_UNLCK
}
