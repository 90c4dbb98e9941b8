//! What changes below a directory.
//!
//! 1. [`Files::watch`] puts a watch on the directory and, if asked to, on those below it.
//! 2. [`Watch::gather`] takes what the kernel has noted and makes one [`Change`] per place of it. It never waits:
//!    whoever wants to knows the descriptor.
//! 3. Before a directory's changes are told it is looked for again, beneath the root and with no links allowed. One
//!    that is somewhere else by now is watched no longer: nothing outside is ever told.
//!
//! Bounded in all directions: so many directories, so many changes at a time. When something was left out, it says so.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use trl_sys::changes::{Changes, Happened, Noted};

use crate::Files;
use crate::error::{Error, Result};
use crate::meta::{Id, Kind};
use crate::path::Rel;
use crate::root::{Found, Last};
use crate::walk::{Ignoring, Reach, Walk};
use crate::write::is_temporary;

/// How far down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Below {
    #[default]
    One,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Created,
    Modified,
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub place: PathBuf,
    pub what: What,
    pub is_dir: bool,
}

/// What changed since the last time, one change per place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub changes: Vec<Change>,
    /// More than is told: whoever keeps a picture has to look again.
    pub missed: bool,
    /// The kernel has noted more already.
    pub more: bool,
}

/// Directories one watch may have; the kernel counts them per user.
const MOST_DIRS: usize = 4096;
/// Changes told at a time.
const MOST_CHANGES: usize = 1000;
/// Events looked at for that.
const MOST_NOTED: usize = 16 * MOST_CHANGES;

pub struct Watch {
    files: Files,
    noted: Changes,
    below: Below,
    dirs: HashMap<i32, Watched>,
    /// Directories were left out.
    incomplete: bool,
}

struct Watched {
    place: PathBuf,
    id: Id,
}

impl Files {
    pub fn watch(&self, path: &Rel, below: Below) -> Result<Watch> {
        let top = self.root.find(path, Last::Follow)?;
        self.may_read(&top.place)?;
        top.expect_dir()?;
        let noted = Changes::new().map_err(Error::at(&top.place))?;
        let mut watch = Watch { files: self.clone(), noted, below, dirs: HashMap::new(), incomplete: false };
        let place = top.place.clone();
        watch.add(&top).map_err(Error::at(&place))?;
        if below == Below::All {
            watch.add_below(&place);
        }
        Ok(watch)
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.noted.as_fd()
    }
}

impl Watch {
    /// Whether there were more directories than are watched.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    fn add(&mut self, dir: &Found) -> Result<(), Errno> {
        let wd = self.noted.add(&dir.fd)?;
        self.dirs.insert(wd, Watched { place: dir.place.clone(), id: dir.meta.id });
        Ok(())
    }

    /// All directories below `place`; what is in them as changes, for whoever was not looking yet.
    fn add_below(&mut self, place: &Path) -> Vec<(PathBuf, bool)> {
        let files = self.files.clone();
        let mut walk =
            Walk::through(&files, place, Reach::Readable { depth: crate::glob::DEEPEST }, Ignoring::Nothing);
        let mut found = Vec::new();
        for entry in &mut walk {
            if entry.kind == Kind::Dir && !self.try_add(&entry.place) {
                break;
            }
            if found.len() <= MOST_CHANGES {
                found.push((entry.place, entry.kind == Kind::Dir));
            }
        }
        self.incomplete |= !walk.is_complete();
        found
    }

    /// False when there is no room for more.
    fn try_add(&mut self, place: &Path) -> bool {
        if self.dirs.len() >= MOST_DIRS {
            self.incomplete = true;
            return false;
        }
        let Ok(found) = self.files.root.at(place) else { return true };
        match self.add(&found) {
            Err(Errno::NOSPC) => {
                self.incomplete = true;
                false
            }
            _ => true,
        }
    }

    /// What the kernel has noted so far. An error ends the watch: its directory is gone.
    pub fn gather(&mut self) -> Result<Batch> {
        let mut picture = Picture::default();
        let noted = self.noted.take(MOST_NOTED);
        let (noted, overflow) = noted.map_err(Error::at(Path::new("the watch")))?;
        picture.missed = overflow;
        let more = noted.len() >= MOST_NOTED;
        for event in noted {
            self.note(&event, &mut picture);
        }
        Ok(Batch { more, ..picture.batch() })
    }

    fn note(&mut self, event: &Noted, picture: &mut Picture) {
        let what = match event.happened {
            Happened::Created => What::Created,
            Happened::Modified => What::Modified,
            Happened::Removed => What::Removed,
            Happened::Ended => {
                self.dirs.remove(&event.watch);
                return;
            }
        };
        let Some(dir) = self.dirs.get(&event.watch) else { return };
        if !picture.is_there(&self.files, dir) {
            self.noted.remove(event.watch);
            self.dirs.remove(&event.watch);
            return;
        }
        if event.name.is_empty() || is_temporary(&event.name) {
            return;
        }
        let place = dir.place.join(&event.name);
        if self.files.may_read(&place).is_err() {
            return;
        }
        picture.add(place.clone(), what, event.is_dir);
        if event.is_dir && self.below == Below::All {
            match what {
                What::Created => self.begin(&place, picture),
                What::Removed => self.forget(&place),
                What::Modified => {}
            }
        }
    }

    /// A new directory: what came into it before it was watched is told as well.
    fn begin(&mut self, place: &Path, picture: &mut Picture) {
        if !self.try_add(place) {
            picture.missed = true;
            return;
        }
        for (place, is_dir) in self.add_below(place) {
            picture.add(place, What::Created, is_dir);
        }
        picture.missed |= self.incomplete;
    }

    fn forget(&mut self, place: &Path) {
        let gone: Vec<i32> =
            self.dirs.iter().filter(|(_, dir)| dir.place.starts_with(place)).map(|(wd, _)| *wd).collect();
        for wd in gone {
            self.noted.remove(wd);
            self.dirs.remove(&wd);
        }
    }
}

/// Changes as they are put together.
#[derive(Default)]
struct Picture {
    changes: BTreeMap<PathBuf, (What, bool)>,
    /// Directories that were looked for already.
    looked: HashMap<PathBuf, bool>,
    missed: bool,
}

impl Picture {
    fn is_there(&mut self, files: &Files, dir: &Watched) -> bool {
        *self
            .looked
            .entry(dir.place.clone())
            .or_insert_with(|| files.root.at(&dir.place).is_ok_and(|found| found.meta.id == dir.id))
    }

    fn add(&mut self, place: PathBuf, what: What, is_dir: bool) {
        if self.changes.len() >= MOST_CHANGES && !self.changes.contains_key(&place) {
            self.missed = true;
            return;
        }
        let known = self.changes.entry(place).or_insert((what, is_dir));
        *known = (together(known.0, what), is_dir);
    }

    fn batch(self) -> Batch {
        let changes = self.changes.into_iter().map(|(place, (what, is_dir))| Change { place, what, is_dir });
        Batch { changes: changes.collect(), missed: self.missed, more: false }
    }
}

/// One change that says what both did.
fn together(first: What, then: What) -> What {
    match (first, then) {
        (What::Created, What::Modified) => What::Created,
        (What::Removed, What::Created) => What::Modified,
        (_, then) => then,
    }
}
