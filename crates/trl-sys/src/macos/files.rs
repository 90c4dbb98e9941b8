//! Files: the way is gone step by step, and the kernel's name for what is open is looked at again.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dev, Mode, OFlags, Stat, fstat, openat, readlinkat, unlinkat};
use rustix::io::Errno;

use crate::files::{Owner, Way};

/// Of `open`: to look at something, which does nothing to it.
pub const LOOK: OFlags = OFlags::from_bits_retain(libc::O_EVTONLY.cast_unsigned());
/// Of `open`: a link itself.
const THE_LINK: OFlags = OFlags::from_bits_retain(libc::O_SYMLINK.cast_unsigned());
/// Of `open`: no link anywhere on the way.
const NO_LINKS: OFlags = OFlags::from_bits_retain(libc::O_NOFOLLOW_ANY.cast_unsigned());
const A_STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// More links than this lead nowhere.
const MOST_LINKS: usize = 32;

/// Every directory on the way is opened from the one before it, and through no link: whoever changes names meanwhile
/// changes nothing about where we are.
pub fn open_beneath(dir: impl AsFd, path: &Path, flags: OFlags, way: Way) -> Result<OwnedFd, Errno> {
    let top = openat(&dir, ".", A_STEP, Mode::empty())?;
    let mut walk = Walk { device: fstat(&top)?.st_dev, way, dirs: vec![top] };
    let mut rest = VecDeque::new();
    prepend(&mut rest, path)?;
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            walk.go_up()?;
            continue;
        }
        let target = walk.link_at(&name)?;
        match target {
            Some(_) if rest.is_empty() && flags.contains(OFlags::NOFOLLOW) => {
                return walk.open_link(&name, flags);
            }
            Some(target) if way == Way::Inside && links < MOST_LINKS => {
                links += 1;
                prepend(&mut rest, &target)?;
            }
            Some(_) => return Err(Errno::LOOP),
            None if rest.is_empty() => return walk.open(&name, flags | OFlags::NOFOLLOW),
            None => {
                let next = walk.open(&name, A_STEP)?;
                walk.dirs.push(next);
            }
        }
    }
    walk.open(OsStr::new("."), flags)
}

/// The directories that were gone through.
struct Walk {
    dirs: Vec<OwnedFd>,
    device: Dev,
    way: Way,
}

impl Walk {
    fn here(&self) -> Result<&OwnedFd, Errno> {
        self.dirs.last().ok_or(Errno::XDEV)
    }

    fn go_up(&mut self) -> Result<(), Errno> {
        self.dirs.pop();
        self.here().map(drop)
    }

    fn link_at(&self, name: &OsStr) -> Result<Option<PathBuf>, Errno> {
        match readlinkat(self.here()?, name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            // It is something else.
            Err(Errno::INVAL) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let found = openat(self.here()?, name, flags, Mode::empty())?;
        match self.way {
            Way::Inside | Way::Straight if fstat(&found)?.st_dev != self.device => Err(Errno::XDEV),
            _ => Ok(found),
        }
    }

    /// A link at the end can be looked at, and not be opened.
    fn open_link(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        if !flags.contains(LOOK) {
            return Err(Errno::LOOP);
        }
        self.open(name, flags.difference(OFlags::NOFOLLOW) | THE_LINK)
    }
}

fn prepend(rest: &mut VecDeque<OsString>, path: &Path) -> Result<(), Errno> {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => rest.push_front(name.into()),
            Component::ParentDir => rest.push_front("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}

/// The permission bits of a file, in a type that every system has.
pub fn bits_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

/// What `open` takes for these bits.
pub fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o7777) as u16)
}

/// Where the system says that it is.
pub fn name_of(fd: impl AsFd) -> Result<PathBuf, Errno> {
    Ok(OsString::from_vec(rustix::fs::getpath(fd)?.into_bytes()).into())
}

/// What is open once more. It has to be found by its name, and is only believed to be the same when it is.
pub fn open_again(fd: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    let again = rustix::fs::open(name_of(&fd)?, flags | NO_LINKS, Mode::empty())?;
    let (before, now) = (fstat(fd)?, fstat(&again)?);
    if (before.st_dev, before.st_ino) == (now.st_dev, now.st_ino) { Ok(again) } else { Err(Errno::STALE) }
}

/// Changes the mode of what is open, also where that is only looked at.
pub fn change_mode(fd: impl AsFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(fd, mode)
}

/// There is no such thing.
pub fn nameless(_: impl AsFd, _: OFlags, _: Mode) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Nor can there be one to name.
pub fn give_name(_: impl AsFd, _: impl AsFd, _: &OsStr) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// A file to write and read that is gone with its descriptor; for a moment it has a name.
pub fn unlinked(dir: &Path, mode: Mode) -> Result<OwnedFd, Errno> {
    use std::hash::{BuildHasher, RandomState};
    let name = format!(".trl-{:016x}.tmp", RandomState::new().hash_one(dir));
    let path = dir.join(OsStr::from_bytes(name.as_bytes()));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, &path, flags, mode)?;
    unlinkat(CWD, &path, AtFlags::empty())?;
    Ok(file)
}

/// Makes durable whatever was written, on every file system: none can be named.
pub fn sync_around(_: impl AsFd) -> Result<(), Errno> {
    rustix::fs::sync();
    Ok(())
}

/// The kernel cannot be asked for what it has in memory only.
pub fn owner_in_memory(_: &Path) -> Result<Owner, Errno> {
    Err(Errno::OPNOTSUPP)
}
