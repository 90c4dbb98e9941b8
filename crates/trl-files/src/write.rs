//! Writing a file: all of it or nothing.
//!
//! 1. [`Files::draft`] finds the directory and asks whether the place may be written. What is there is looked at: only a
//!    regular file that its user may write is replaced; through a link, the file it leads to.
//! 2. A [`Draft`] is a file without a name, where the file system has such; else one with a name that nobody uses.
//! 3. [`Draft::commit`] makes it durable and renames it into its place, in the directory that was found.
//!
//! A draft that is dropped leaves nothing. Modes are kept, owners where the system lets us; other attributes are not.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fchown, fstat, fsync, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use trl_sys::files::{self, LOOK};

use crate::Files;
use crate::error::{Error, Result, shown};
use crate::meta::{Kind, Meta};
use crate::path::Rel;
use crate::root::{Found, Last, child};

/// What must be true of the place when the file gets there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expect {
    #[default]
    Anything,
    /// The file of this version.
    Version(String),
    Nothing,
}

/// Whether missing directories on the way are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Parents {
    #[default]
    MustExist,
    Make,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct How {
    /// Permission bits; what the old file has, or the usual ones.
    pub mode: Option<u32>,
    pub parents: Parents,
    pub expect: Expect,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub place: PathBuf,
    pub meta: Meta,
    pub was: Was,
}

/// What stood there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Was {
    Nothing,
    AFile,
}

/// A file on its way to its place.
#[derive(Debug)]
pub struct Draft {
    file: File,
    dir: OwnedFd,
    dir_place: PathBuf,
    name: OsString,
    /// Its name until then; None while it has none.
    temporary: Option<OsString>,
    expect: Expect,
    was: Was,
    size: u64,
    most: u64,
}

/// Where a write goes.
struct Target {
    dir: Found,
    name: OsString,
    old: Option<Found>,
}

impl Target {
    fn place(&self) -> PathBuf {
        self.dir.place.join(&self.name)
    }
}

/// How often a place is looked at that changes under our eyes.
const TRIES: usize = 16;

impl Files {
    /// The whole of a small file.
    pub fn write(&self, path: &Rel, bytes: &[u8], how: &How) -> Result<Written> {
        let mut draft = self.draft(path, how)?;
        draft.write(bytes)?;
        draft.commit()
    }

    /// Where a write to `path` would go, for whoever has to ask about it first.
    pub fn place_to_write(&self, path: &Rel) -> Result<PathBuf> {
        Ok(self.target(path)?.place())
    }

    pub fn draft(&self, path: &Rel, how: &How) -> Result<Draft> {
        let (parent, name) = path.split()?;
        if how.parents == Parents::Make {
            self.make_all(&parent, name)?;
        }
        let target = self.target(path)?;
        self.draft_of(target, how)
    }

    /// A draft of exactly this place: no link is followed, what stands there is replaced whatever it is.
    pub(crate) fn draft_at(&self, dir: Found, name: &OsStr, how: &How) -> Result<Draft> {
        dir.expect_dir()?;
        let old = match child(&dir.fd, Path::new(name), LOOK) {
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(Error::of(&dir.place.join(name), errno)),
            Ok(fd) => {
                let meta = Meta::of(&fstat(&fd).map_err(Error::at(&dir.place))?);
                (meta.kind == Kind::File).then(|| Found { fd, place: dir.place.join(name), meta })
            }
        };
        let target = Target { dir, name: name.into(), old };
        let mut draft = self.draft_of(target, &How { expect: Expect::Anything, ..how.clone() })?;
        // Looked at when it is put there: what stands there need not be a file.
        draft.expect = how.expect.clone();
        Ok(draft)
    }

    fn draft_of(&self, target: Target, how: &How) -> Result<Draft> {
        let place = target.place();
        self.may_write(&place)?;
        check_expected(&how.expect, target.old.as_ref(), &place)?;
        if let Some(old) = &target.old {
            check_writable(old)?;
        }
        let old = target.old.as_ref().map(|old| fstat(&old.fd)).transpose().map_err(Error::at(&place))?;
        let mode = how.mode.or(old.as_ref().map(files::bits_of)).map(|mode| files::mode_of(mode & 0o777));
        let (file, temporary) = nameless(&target.dir, mode).map_err(Error::at(&place))?;
        let mut draft = Draft {
            file: File::from(file),
            dir: target.dir.fd,
            dir_place: target.dir.place,
            name: target.name,
            temporary,
            expect: how.expect.clone(),
            was: if target.old.is_some() { Was::AFile } else { Was::Nothing },
            size: 0,
            most: self.limits.file_bytes,
        };
        draft.dress(mode, old.as_ref()).map_err(Error::at(&place))?;
        Ok(draft)
    }

    fn target(&self, path: &Rel) -> Result<Target> {
        let (parent, name) = path.split()?;
        let mut dir = self.root.find(&parent, Last::Follow)?;
        let mut name = name.to_os_string();
        for _ in 0..TRIES {
            dir.expect_dir()?;
            let place = dir.place.join(&name);
            let old = match child(&dir.fd, Path::new(&name), LOOK) {
                Err(Errno::NOENT) => return Ok(Target { dir, name, old: None }),
                Err(errno) => return Err(Error::of(&place, errno)),
                Ok(fd) => {
                    let meta = Meta::of(&fstat(&fd).map_err(Error::at(&place))?);
                    Found { fd, place, meta }
                }
            };
            match old.meta.kind {
                Kind::File => return Ok(Target { dir, name, old: Some(old) }),
                Kind::Dir => return Err(Error::invalid(&old.place, "is a directory")),
                Kind::Other => return Err(Error::invalid(&old.place, "is no regular file")),
                Kind::Symlink => {}
            }
            let led = self.root.find(path, Last::Follow)?;
            let (Some(parent), Some(last)) = (led.place.parent(), led.place.file_name()) else {
                return Err(Error::invalid(path.as_path(), "is a directory"));
            };
            name = last.to_os_string();
            dir = self.root.at(parent)?;
        }
        Err(Error::outside(path.as_path()))
    }
}

fn check_expected(expect: &Expect, old: Option<&Found>, place: &Path) -> Result<()> {
    match (expect, old) {
        (Expect::Anything, _) | (Expect::Nothing, None) => Ok(()),
        (Expect::Version(wanted), Some(old)) if old.meta.version() == *wanted => Ok(()),
        (Expect::Nothing, Some(_)) => Err(Error::Exists { path: shown(place) }),
        (Expect::Version(_), _) => Err(Error::Changed { path: shown(place) }),
    }
}

/// A rename asks only the directory; who may not write the file should not replace it either.
fn check_writable(old: &Found) -> Result<()> {
    match old.open_file(OFlags::WRONLY) {
        Ok(_) => Ok(()),
        // A program that runs is replaced, not written.
        Err(Error::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::ExecutableFileBusy => Ok(()),
        Err(e) => Err(e),
    }
}

/// A file in that directory, without a name where the file system has such. Private, if it is to have a mode of its own.
fn nameless(dir: &Found, mode: Option<Mode>) -> Result<(OwnedFd, Option<OsString>), Errno> {
    let first = if mode.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(0o666) };
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    match files::nameless(&dir.fd, flags, first) {
        Ok(fd) => return Ok((fd, None)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {}
        Err(errno) => return Err(errno),
    }
    let name = unused_name();
    let fd = openat(&dir.fd, &name, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, first)?;
    Ok((fd, Some(name)))
}

const PREFIX: &str = ".trl-";
const SUFFIX: &str = ".tmp";

pub(crate) fn unused_name() -> OsString {
    let random = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
    format!("{PREFIX}{random:016x}{SUFFIX}").into()
}

/// Whether this is the name of a draft.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    random.is_some_and(|r| r.len() == 16 && r.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl Draft {
    fn dress(&mut self, mode: Option<Mode>, old: Option<&rustix::fs::Stat>) -> Result<(), Errno> {
        if let Some(old) = old {
            let now = fstat(&self.file)?;
            if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid) {
                let (uid, gid) =
                    (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
                // Only root may; a user's own files are the user's anyway.
                let _ = fchown(&self.file, Some(uid), Some(gid));
            }
        }
        mode.map_or(Ok(()), |mode| fchmod(&self.file, mode))
    }

    fn place(&self) -> PathBuf {
        self.dir_place.join(&self.name)
    }

    /// For everybody who may read it.
    pub(crate) fn make_executable(&self) -> Result<()> {
        let chmod = || {
            let mode = fstat(&self.file)?.st_mode & 0o777;
            fchmod(&self.file, Mode::from_raw_mode(mode | (mode & 0o444) >> 2))
        };
        chmod().map_err(Error::at(&self.place()))
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.size += bytes.len() as u64;
        if self.size > self.most {
            return Err(Error::TooLarge { most: self.most });
        }
        self.file.write_all(bytes).map_err(|e| Error::io(&self.place(), e))
    }

    /// Durable, and in its place.
    pub fn commit(self) -> Result<Written> {
        fsync(&self.file).map_err(Error::at(&self.place()))?;
        let dir = self.dir.try_clone().map_err(|e| Error::io(&self.place(), e))?;
        let written = self.put()?;
        sync_dir(&dir);
        Ok(written)
    }

    /// In its place; for whoever makes many files durable at once.
    pub(crate) fn put(mut self) -> Result<Written> {
        let place = self.place();
        if let Expect::Version(_) = &self.expect {
            let there = child(&self.dir, Path::new(&self.name), LOOK);
            let meta = there.and_then(fstat).map(|stat| Meta::of(&stat));
            let found = meta.map_err(|_| Error::Changed { path: shown(&place) })?;
            if self.expect != Expect::Version(found.version()) {
                return Err(Error::Changed { path: shown(&place) });
            }
        }
        let temporary = match self.temporary.clone() {
            Some(name) => name,
            None => self.give_name().map_err(Error::at(&place))?,
        };
        let flags = match self.expect {
            Expect::Nothing => RenameFlags::NOREPLACE,
            Expect::Anything | Expect::Version(_) => RenameFlags::empty(),
        };
        renameat_with(&self.dir, &temporary, &self.dir, &self.name, flags).map_err(Error::at(&place))?;
        self.temporary = None;
        let meta = Meta::of(&fstat(&self.file).map_err(Error::at(&place))?);
        Ok(Written { place, meta, was: self.was })
    }

    fn give_name(&mut self) -> Result<OsString, Errno> {
        let name = unused_name();
        files::give_name(&self.file, &self.dir, &name)?;
        self.temporary = Some(name.clone());
        Ok(name)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            let _ = unlinkat(&self.dir, name, AtFlags::empty());
        }
    }
}

/// A name is durable when its directory is. Not every file system can say so, and the file is there either way.
pub(crate) fn sync_dir(dir: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = openat(dir, ".", flags, Mode::empty()) {
        let _ = fsync(dir);
    }
}
