//! Making directories, moving, removing: by a name in a directory that is open.
//!
//! A tree is looked through before any of it is moved or removed: what may not be written must not go with it, and
//! must not come to be by it.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fstat, mkdirat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use trl_sys::files::LOOK;

use crate::Files;
use crate::error::{Error, Result};
use crate::meta::{Kind, Meta};
use crate::path::Rel;
use crate::root::{Found, Last, child};
use crate::walk::{Ignoring, Reach, Walk};
use crate::write::{Parents, Was, sync_dir};

/// Whether what stands at the destination is replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Replace {
    #[default]
    Never,
    Allowed,
}

/// Whether a directory is removed with all that is in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Depth {
    #[default]
    One,
    All,
}

/// Directories that are open at once while a tree is removed; what lies deeper is moved up first.
const OPEN: usize = 16;

impl Files {
    /// Makes a directory; with [`Parents::Make`] those on the way too, and one that is there is fine.
    pub fn mkdir(&self, path: &Rel, parents: Parents) -> Result<(PathBuf, Was)> {
        let (parent, name) = path.split()?;
        if parents == Parents::Make {
            self.make_all(&parent, name)?;
        }
        let dir = self.root.find(&parent, Last::Follow)?;
        dir.expect_dir()?;
        let place = dir.place.join(name);
        self.may_write(&place)?;
        match mkdirat(&dir.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => Ok((place, Was::Nothing)),
            Err(Errno::EXIST) if parents == Parents::Make => {
                let there = self.root.find(path, Last::Follow)?;
                there.expect_dir()?;
                Ok((there.place, Was::AFile))
            }
            Err(errno) => Err(Error::of(&place, errno)),
        }
    }

    /// Makes every directory of `path` that is missing; none, where one of them or the `last` name in them may not be
    /// written.
    pub(crate) fn make_all(&self, path: &Rel, last: &OsStr) -> Result<()> {
        let mut missing = Vec::new();
        let mut next = path.clone();
        let mut place = loop {
            match self.root.find(&next, Last::Follow) {
                Ok(found) => {
                    found.expect_dir()?;
                    break found.place;
                }
                Err(Error::NotFound { .. }) => {
                    let (parent, _) = next.split()?;
                    missing.push(std::mem::replace(&mut next, parent));
                }
                Err(e) => return Err(e),
            }
        };
        if missing.is_empty() {
            return Ok(());
        }
        let names = missing.iter().rev().filter_map(|rel| rel.as_path().file_name()).chain([last]);
        self.may_write_all(names.map(|name| {
            place.push(name);
            place.clone()
        }))?;
        for rel in missing.into_iter().rev() {
            match self.mkdir(&rel, Parents::MustExist) {
                // Somebody else was faster; what it is shows on the way on.
                Ok(_) | Err(Error::Exists { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Renames, within the workspace.
    pub fn rename(&self, from: &Rel, to: &Rel, replace: Replace) -> Result<(PathBuf, PathBuf)> {
        let (source, source_name) = self.entry(from)?;
        let (target, target_name) = {
            let (parent, name) = to.split()?;
            (self.root.find(&parent, Last::Follow)?, name)
        };
        target.expect_dir()?;
        let (old, new) = (source.place.join(source_name), target.place.join(target_name));
        self.may_write_all([old.clone(), new.clone()])?;
        self.check_tree(&old, &[&old, &new])?;
        if replace == Replace::Allowed {
            self.check_tree(&new, &[&new])?;
        }
        let flags = match replace {
            Replace::Never => RenameFlags::NOREPLACE,
            Replace::Allowed => RenameFlags::empty(),
        };
        renameat_with(&source.fd, source_name, &target.fd, target_name, flags).map_err(
            |errno| match errno {
                Errno::NOENT => Error::of(&old, errno),
                // Beneath one root and no mount between: the file system has parts of its own.
                Errno::XDEV => Error::invalid(&new, "is on another part of the file system"),
                Errno::INVAL => Error::invalid(&new, "is inside of what is to be moved"),
                other => Error::of(&new, other),
            },
        )?;
        sync_dir(&source.fd);
        sync_dir(&target.fd);
        Ok((old, new))
    }

    /// Removes a file, a link, or a directory; returns where it was.
    pub fn remove(&self, path: &Rel, depth: Depth) -> Result<PathBuf> {
        let (dir, name) = self.entry(path)?;
        let place = dir.place.join(name);
        self.may_write(&place)?;
        let fd = child(&dir.fd, Path::new(name), LOOK).map_err(Error::at(&place))?;
        let kind = Meta::of(&fstat(&fd).map_err(Error::at(&place))?).kind;
        if kind == Kind::Dir && depth == Depth::All {
            self.check_tree(&place, &[&place])?;
            self.remove_tree(&dir.fd, name, &place)?;
        } else {
            let flags = if kind == Kind::Dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            unlinkat(&dir.fd, name, flags).map_err(Error::at(&place))?;
        }
        sync_dir(&dir.fd);
        Ok(place)
    }

    /// The directory something is in, and its name there.
    fn entry<'a>(&self, path: &'a Rel) -> Result<(Found, &'a OsStr)> {
        let (parent, name) = path.split()?;
        let dir = self.root.find(&parent, Last::Follow)?;
        dir.expect_dir()?;
        Ok((dir, name))
    }

    /// May all that is below `top` be written, where it is and where it would be?
    fn check_tree(&self, top: &Path, places: &[&Path]) -> Result<()> {
        let is_tree = self.root.at(top).is_ok_and(|found| found.meta.kind == Kind::Dir);
        if self.access.refuses_nothing() || !is_tree {
            return Ok(());
        }
        let mut walk = Walk::through(self, top, Reach::Everything, Ignoring::Nothing);
        self.may_write_all((&mut walk).flat_map(|entry| {
            let below = entry.place.strip_prefix(top).map(Path::to_path_buf).ok();
            below.into_iter().flat_map(|below| places.iter().map(move |place| place.join(&below)))
        }))?;
        match walk.is_complete() {
            true => Ok(()),
            false => {
                Err(Error::invalid(top, "cannot be looked through, and something in it may be protected"))
            }
        }
    }

    /// Depth first, with a bounded number of open directories.
    fn remove_tree(&self, parent: &OwnedFd, name: &OsStr, place: &Path) -> Result<()> {
        let top = open_dir(parent, name).map_err(Error::at(place))?;
        let mut stack = vec![Level { dir: top, name: name.into(), place: place.into() }];
        let mut moved = 0;
        while let Some(level) = stack.last() {
            let deep = stack.len() >= OPEN;
            let next = self.empty(level, |sub| {
                if !deep {
                    return Ok(Handled::Descend);
                }
                moved += 1;
                let up = format!(".trl-deep-{}-{moved}", std::process::id());
                let (here, top) = (&level.dir, &stack[0].dir);
                renameat_with(here, sub, top, &up, RenameFlags::NOREPLACE).map(|()| Handled::Gone)
            })?;
            match next {
                Some(sub) => {
                    let place = level.place.join(&sub);
                    let dir = open_dir(&level.dir, &sub).map_err(Error::at(&place))?;
                    stack.push(Level { dir, name: sub, place });
                }
                None => {
                    let Some(done) = stack.pop() else { break };
                    let above = stack.last().map_or(parent, |level| &level.dir);
                    match unlinkat(above, &done.name, AtFlags::REMOVEDIR) {
                        Ok(()) | Err(Errno::NOENT) => {}
                        // Something came meanwhile; below the top it is found by looking again.
                        Err(Errno::NOTEMPTY) if !stack.is_empty() => {}
                        Err(errno) => return Err(Error::of(&done.place, errno)),
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes what is no directory; the first directory that is to be gone into.
    fn empty(
        &self,
        level: &Level,
        mut on_dir: impl FnMut(&OsStr) -> Result<Handled, Errno>,
    ) -> Result<Option<OsString>> {
        let fault = |name: &OsStr, errno| Error::of(&level.place.join(name), errno);
        let entries = Dir::read_from(&level.dir).map_err(Error::at(&level.place))?;
        for entry in entries {
            let entry = entry.map_err(Error::at(&level.place))?;
            let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.may_write(&level.place.join(name))?;
            let is_dir = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => child(&level.dir, Path::new(name), LOOK)
                    .and_then(fstat)
                    .is_ok_and(|stat| Meta::of(&stat).kind == Kind::Dir),
                _ => false,
            };
            let removed = if is_dir {
                match on_dir(name).map_err(|errno| fault(name, errno))? {
                    Handled::Descend => return Ok(Some(name.into())),
                    Handled::Gone => Ok(()),
                }
            } else {
                unlinkat(&level.dir, name, AtFlags::empty())
            };
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                // It became a directory: found as such by looking again.
                Err(Errno::ISDIR) => return Ok(Some(name.into())),
                Err(errno) => return Err(fault(name, errno)),
            }
        }
        Ok(None)
    }
}

/// A directory that is being emptied.
struct Level {
    dir: OwnedFd,
    name: OsString,
    place: PathBuf,
}

enum Handled {
    Descend,
    Gone,
}

fn open_dir(dir: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    child(dir, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY)
}
