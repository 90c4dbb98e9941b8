//! A directory opened once, and the one way from a path to a descriptor beneath it.
//!
//! 1. The path is opened with no links allowed: then its text says where it is. Most paths end here.
//! 2. A path with links is opened beneath the root. The system says where that is; the answer is only believed when opening
//!    it with no links allowed leads to the same file. A mount is somebody else's files, so it is outside.
//!
//! [`LOOK`] throughout: looking at a FIFO or a device does nothing to it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use trl_sys::files::{LOOK, Way, name_of, open_again, open_beneath};

use crate::error::{Error, Result};
use crate::meta::{Id, Kind, Meta};
use crate::path::{Rel, for_kernel};

/// How often a path is tried that somebody changes while it is looked at.
const TRIES: usize = 128;

/// What becomes of a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Follow,
    Keep,
}

#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
}

/// Something beneath the root.
#[derive(Debug)]
pub(crate) struct Found {
    /// To look at: [`LOOK`].
    pub(crate) fd: OwnedFd,
    /// Without links; empty for the root.
    pub(crate) place: PathBuf,
    pub(crate) meta: Meta,
}

impl Root {
    pub fn open(dir: &Path) -> Result<Self> {
        let flags = LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(dir, flags, Mode::empty()).map_err(Error::at(dir))?;
        Ok(Self { fd })
    }

    /// Whether the directory was removed since.
    pub fn is_gone(&self) -> bool {
        fstat(&self.fd).is_ok_and(|stat| stat.st_nlink == 0)
    }

    pub(crate) fn real_path(&self) -> Result<PathBuf> {
        name_of(&self.fd).map_err(Error::at(Path::new("the workspace")))
    }

    pub(crate) fn find(&self, path: &Rel, last: Last) -> Result<Found> {
        let fault = |errno| Error::of(path.as_path(), errno);
        match self.straight(path.for_kernel()) {
            Ok(fd) => {
                let meta = Meta::of(&fstat(&fd).map_err(fault)?);
                if meta.kind != Kind::Symlink || last == Last::Keep {
                    let place = path.normal().ok_or_else(|| Error::outside(path.as_path()))?;
                    return Ok(Found { fd, place, meta });
                }
            }
            Err(Errno::LOOP) => {}
            Err(errno) => return Err(fault(errno)),
        }
        self.find_through_links(path, last)
    }

    fn find_through_links(&self, path: &Rel, last: Last) -> Result<Found> {
        let fault = |errno| Error::of(path.as_path(), errno);
        let follow = if last == Last::Keep { OFlags::NOFOLLOW } else { OFlags::empty() };
        for _ in 0..TRIES {
            let there = beneath(&self.fd, path.for_kernel(), LOOK | follow, Way::Inside).map_err(fault)?;
            let id = Id::of(&fstat(&there).map_err(fault)?);
            let Some(place) = self.place_of(&there) else { continue };
            if let Ok(found) = self.at(&place)
                && found.meta.id == id
            {
                return Ok(found);
            }
        }
        Err(Error::outside(path.as_path()))
    }

    /// Where the system says that it is.
    fn place_of(&self, fd: &OwnedFd) -> Option<PathBuf> {
        let there = name_of(fd).ok()?;
        let root = name_of(&self.fd).ok()?;
        there.strip_prefix(root).ok().map(PathBuf::from)
    }

    /// What is at a place; never through a link.
    pub(crate) fn at(&self, place: &Path) -> Result<Found> {
        let fd = self.straight(for_kernel(place)).map_err(Error::at(place))?;
        let meta = Meta::of(&fstat(&fd).map_err(Error::at(place))?);
        Ok(Found { fd, place: place.into(), meta })
    }

    /// A directory at a place, for reading.
    pub(crate) fn dir_at(&self, place: &Path) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        beneath(&self.fd, for_kernel(place), flags, Way::Straight)
    }

    fn straight(&self, path: &Path) -> Result<OwnedFd, Errno> {
        beneath(&self.fd, path, LOOK | OFlags::NOFOLLOW, Way::Straight)
    }
}

impl Found {
    pub(crate) fn expect_dir(&self) -> Result<()> {
        match self.meta.kind {
            Kind::Dir => Ok(()),
            _ => Err(Error::invalid(&self.place, "is not a directory")),
        }
    }

    /// A regular file; nothing else is ever opened.
    pub(crate) fn open_file(&self, flags: OFlags) -> Result<File> {
        let why = match self.meta.kind {
            Kind::File => None,
            Kind::Dir => Some("is a directory"),
            Kind::Symlink => Some("is a link"),
            Kind::Other => Some("is no regular file"),
        };
        if let Some(why) = why {
            return Err(Error::invalid(&self.place, why));
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        // The descriptor itself once more, whatever its name means by now.
        let fd = open_again(&self.fd, flags);
        fd.map(File::from).map_err(Error::at(&self.place))
    }

    /// The directory once more, for reading.
    pub(crate) fn open_dir(&self) -> Result<OwnedFd> {
        self.expect_dir()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.fd, ".", flags, Mode::empty()).map_err(Error::at(&self.place))
    }
}

/// A name in an open directory, not through a link.
pub(crate) fn child(dir: impl AsFd, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    beneath(dir, name, flags | OFlags::NOFOLLOW, Way::Straight)
}

fn beneath(dir: impl AsFd, path: &Path, flags: OFlags, way: Way) -> Result<OwnedFd, Errno> {
    let mut tries = 0;
    loop {
        match open_beneath(&dir, path, flags | OFlags::CLOEXEC, way) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if tries < TRIES => tries += 1,
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn rel(path: &str) -> Rel {
        Rel::parse(path).unwrap()
    }

    #[test]
    fn links_that_stay_inside_lead_to_their_place_and_others_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("w");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/f"), "x").unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        symlink("a/b", top.join("in")).unwrap();
        symlink("../a/b/f", top.join("a/up")).unwrap();
        symlink("../../secret", top.join("a/out")).unwrap();
        symlink("/etc", top.join("abs")).unwrap();
        symlink(top.join("a"), top.join("own")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        let root = Root::open(&top).unwrap();
        for (path, place) in [
            ("", ""),
            (".", ""),
            ("a/b/f", "a/b/f"),
            ("a/../a/./b", "a/b"),
            ("in/f", "a/b/f"),
            ("in/../b/f", "a/b/f"),
            ("a/up", "a/b/f"),
        ] {
            assert_eq!(root.find(&rel(path), Last::Follow).unwrap().place, Path::new(place), "{path}");
        }
        for path in [
            "..",
            "../w/a",
            "a/../../secret",
            "a/out",
            "abs",
            "abs/passwd",
            "own",
            "own/b/f",
            "in/../../../secret",
        ] {
            let error = root.find(&rel(path), Last::Follow).unwrap_err();
            assert!(matches!(error, Error::Outside { .. }), "{path}: {error}");
        }
        assert!(matches!(root.find(&rel("loop"), Last::Follow), Err(Error::Invalid { .. })));
        assert_eq!(root.find(&rel("a/out"), Last::Keep).unwrap().meta.kind, Kind::Symlink);
        assert_eq!(root.find(&rel("in"), Last::Keep).unwrap().place, Path::new("in"));
    }

    #[test]
    fn a_root_stays_itself_when_it_is_moved() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("f"), "x").unwrap();
        let root = Root::open(&old).unwrap();
        fs::rename(&old, &new).unwrap();
        fs::create_dir(&old).unwrap();
        assert!(root.find(&rel("f"), Last::Follow).is_ok());
        fs::remove_dir_all(&new).unwrap();
        assert!(root.is_gone());
    }
}
