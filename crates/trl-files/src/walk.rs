//! Through a tree, in the order of names, without following links.
//!
//! Every directory is opened anew from the root, with no links allowed: whatever is moved or replaced meanwhile, nothing
//! outside is ever read, and no more than one directory is open at a time. What cannot be opened is passed over, and
//! named to those who ask ([`Walk::noting`]).

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{Dir, FileType, fstat};
use rustix::io::Errno;
use trl_sys::files::LOOK;

use crate::Files;
use crate::ignored::Ignored;
use crate::meta::{Kind, Meta};
use crate::root::child;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) place: PathBuf,
    pub(crate) kind: Kind,
}

/// Whether ignore files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignoring {
    Nothing,
    /// And git's own directory is passed over.
    AsFilesSay,
}

/// What is gone into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everything, whoever may read it: to see whether it may be moved.
    Everything,
    /// What may be read, so many levels deep.
    Readable { depth: usize },
}

/// Something that was not told, or not gone into, with all that is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) place: PathBuf,
    pub(crate) why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Ignored,
    /// Git's own.
    Git,
    Denied,
    /// A directory the kernel does not open.
    Closed(Errno),
}

pub(crate) struct Walk<'a> {
    files: &'a Files,
    ignoring: Ignoring,
    reach: Reach,
    /// Directories whose entries are still to come.
    open: Vec<Level>,
    /// A directory that was told and not gone into yet.
    next: Option<(PathBuf, Ignored)>,
    visits: usize,
    until: Instant,
    complete: bool,
    passed: Option<Vec<Passed>>,
}

struct Level {
    place: PathBuf,
    /// Last first.
    entries: Vec<(OsString, Kind)>,
    ignored: Ignored,
}

impl<'a> Walk<'a> {
    /// Through what is below `top`, which itself is not told.
    pub(crate) fn through(files: &'a Files, top: &Path, reach: Reach, ignoring: Ignoring) -> Self {
        let ignored = match ignoring {
            Ignoring::Nothing => Ignored::default(),
            Ignoring::AsFilesSay => above(files, top),
        };
        Self {
            files,
            ignoring,
            reach,
            open: Vec::new(),
            next: Some((top.into(), ignored)),
            visits: 0,
            until: Instant::now() + files.limits.patience,
            complete: true,
            passed: None,
        }
    }

    /// The same, remembering what it passes over.
    pub(crate) fn noting(mut self) -> Self {
        self.passed = Some(Vec::new());
        self
    }

    /// What it has passed over, in the order of names.
    pub(crate) fn passed(self) -> Vec<Passed> {
        self.passed.unwrap_or_default()
    }

    fn note(&mut self, place: PathBuf, why: Why) {
        if let Some(passed) = &mut self.passed {
            passed.push(Passed { place, why });
        }
    }

    /// Whether nothing was left out for its number, its depth or the time it took.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    fn descend(&mut self, place: PathBuf, ignored: &Ignored) {
        if let Reach::Readable { depth } = self.reach
            && self.open.len() >= depth
        {
            return;
        }
        let dir = match self.files.root.dir_at(&place) {
            Ok(dir) => dir,
            // Deeper than the kernel takes paths: there is more than is told.
            Err(Errno::NAMETOOLONG) => return self.complete = false,
            Err(errno) => {
                self.complete &= self.reach != Reach::Everything;
                return self.note(place, Why::Closed(errno));
            }
        };
        let ignored = match self.ignoring {
            Ignoring::Nothing => Ignored::default(),
            Ignoring::AsFilesSay => ignored.with(&dir, &place),
        };
        let entries = entries(dir, self.files.limits.visits.saturating_sub(self.visits));
        self.visits += entries.len();
        self.open.push(Level { place, entries, ignored });
    }

    fn is_spent(&mut self) -> bool {
        let spent = self.visits >= self.files.limits.visits || Instant::now() >= self.until;
        self.complete &= !spent;
        spent
    }

    fn why_passed(&self, level: &Level, entry: &Entry) -> Option<Why> {
        if self.ignoring == Ignoring::AsFilesSay {
            if entry.place.file_name().is_some_and(|name| name == ".git") {
                return Some(Why::Git);
            }
            if level.ignored.matches(&entry.place, entry.kind) {
                return Some(Why::Ignored);
            }
        }
        let denied = self.reach != Reach::Everything && self.files.may_read(&entry.place).is_err();
        denied.then_some(Why::Denied)
    }
}

impl Iterator for Walk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some((place, ignored)) = self.next.take() {
                self.descend(place, &ignored);
            }
            let level = self.open.last_mut()?;
            let Some((name, kind)) = level.entries.pop() else {
                self.open.pop();
                continue;
            };
            let entry = Entry { place: level.place.join(name), kind };
            if self.is_spent() {
                return None;
            }
            let level = self.open.last()?;
            if let Some(why) = self.why_passed(level, &entry) {
                self.note(entry.place, why);
                continue;
            }
            if kind == Kind::Dir {
                self.next = Some((entry.place.clone(), level.ignored.clone()));
            }
            return Some(entry);
        }
    }
}

/// The rules of the directories above `top`.
fn above(files: &Files, top: &Path) -> Ignored {
    let mut ignored = Ignored::default();
    let mut above: Vec<&Path> = top.ancestors().skip(1).collect();
    above.reverse();
    for place in above {
        if let Ok(dir) = files.root.dir_at(place) {
            ignored = ignored.with(&dir, place);
        }
    }
    ignored
}

/// The entries of a directory, the last first.
fn entries(dir: OwnedFd, most: usize) -> Vec<(OsString, Kind)> {
    let Ok(again) = dir.try_clone() else { return Vec::new() };
    let Ok(listing) = Dir::new(dir) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in listing {
        let Ok(entry) = entry else { break };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let name = OsString::from_vec(name.to_vec());
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = child(&again, Path::new(&name), LOOK).and_then(fstat);
                stat.map_or(Kind::Other, |stat| Meta::of(&stat).kind)
            }
            known => known.into(),
        };
        found.push((name, kind));
        if found.len() >= most {
            break;
        }
    }
    found.sort_unstable_by(|a, b| b.0.cmp(&a.0));
    found
}
