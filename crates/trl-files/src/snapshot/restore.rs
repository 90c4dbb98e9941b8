//! Carrying out a plan: by names in directories that are opened with no links allowed, and only where what stands there
//! is still what was looked at.
//!
//! 1. Everything that will be written is read from git once: what cannot be read stops it before anything is changed.
//! 2. What was not there is deleted, and directories with nothing left in them.
//! 3. Files are written beside their places and renamed into them; links are made the same way.
//!
//! A place that fails is named, and the others go on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, RenameFlags, fstat, mkdirat, renameat_with, symlinkat, unlinkat};
use rustix::io::Errno;
use sha1::Digest;
use trl_sys::files::LOOK;

use super::plan::{Change, Doing, Plan, Step, blob, split};
use super::stored::{Contents, Form, Kept, Oid, Stored, damaged};
use crate::Files;
use crate::error::{Error, Result, shown};
use crate::meta::{Kind, Meta};
use crate::root::{Found, child};
use crate::write::{Expect, How, Parents, unused_name};

/// A link says no more than this.
const LONGEST_TARGET: usize = 4096;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// What was to be done.
    pub changes: Vec<Change>,
    pub written: usize,
    pub deleted: usize,
    /// Places that are not as they were, and why.
    pub failed: Vec<(PathBuf, String)>,
}

pub(super) fn carry_out(
    files: &Files,
    stored: &mut Stored,
    then: &Contents,
    steps: &[Step],
) -> Result<Restored> {
    for oid in steps.iter().filter_map(|step| step.kept).map(|kept| kept.oid) {
        check(stored, &oid)?;
    }
    let mut restored = Restored { changes: Plan::of(steps).changes, ..Restored::default() };
    let mut emptied = BTreeSet::new();
    for step in steps.iter().filter(|step| step.doing == Doing::Delete) {
        match delete(files, step) {
            Ok(()) => {
                restored.deleted += 1;
                emptied.extend(step.place.ancestors().skip(1).map(PathBuf::from));
            }
            Err(e) => restored.failed.push((step.place.clone(), e.to_string())),
        }
    }
    // The deepest first; the workspace itself stays.
    for place in emptied.iter().rev().filter(|place| !place.as_os_str().is_empty()) {
        drop_empty(files, then, place);
    }
    for step in steps {
        let Some(kept) = step.kept else { continue };
        match write(files, stored, then, step, kept) {
            Ok(()) => restored.written += 1,
            // Git is gone, and nothing else can be written either.
            Err(e @ (Error::Snapshot(_) | Error::Full)) => return Err(e),
            Err(e) => restored.failed.push((step.place.clone(), e.to_string())),
        }
    }
    // One for all of them; not every file system can, and the files are there either way.
    if let Ok(root) = files.root.dir_at(Path::new("")) {
        let _ = trl_sys::files::sync_around(root);
    }
    Ok(restored)
}

/// Whether git has these bytes, unharmed.
fn check(stored: &mut Stored, oid: &Oid) -> Result<()> {
    let mut hash = None;
    stored.copy(oid, |size, piece| {
        Digest::update(hash.get_or_insert_with(|| blob(size)), piece);
        Ok(())
    })?;
    let found: Oid = hash.unwrap_or_else(|| blob(0)).finalize().into();
    match found == *oid {
        true => Ok(()),
        false => Err(damaged("the bytes of a file are others")),
    }
}

/// Only what was looked at, and never a directory.
fn delete(files: &Files, step: &Step) -> Result<()> {
    let (parent, name) = split(&step.place)?;
    files.may_write(&step.place)?;
    let dir = files.root.at(parent)?;
    expect_version(&dir, step)?;
    unlinkat(&dir.fd, name, AtFlags::empty()).map_err(Error::at(&step.place))
}

/// Whether what stands there is what was looked at.
fn expect_version(dir: &Found, step: &Step) -> Result<()> {
    let (_, name) = split(&step.place)?;
    let there = child(&dir.fd, Path::new(name), LOOK).and_then(fstat);
    match there.map(|stat| Meta::of(&stat)) {
        Ok(meta) if Some(meta.version()) == step.version => Ok(()),
        Err(Errno::NOENT) if step.version.is_none() => Ok(()),
        _ => Err(Error::Changed { path: shown(&step.place) }),
    }
}

/// A directory that the snapshot does not know, if nothing is in it.
fn drop_empty(files: &Files, then: &Contents, place: &Path) {
    let known = then
        .files
        .range(place.to_path_buf()..)
        .next()
        .is_some_and(|(file, _)| file != place && file.starts_with(place));
    let Ok((parent, name)) = split(place) else { return };
    if known || files.may_write(place).is_err() {
        return;
    }
    if let Ok(dir) = files.root.at(parent) {
        let _ = unlinkat(&dir.fd, name, AtFlags::REMOVEDIR);
    }
}

fn write(files: &Files, stored: &mut Stored, then: &Contents, step: &Step, kept: Kept) -> Result<()> {
    let (parent, name) = split(&step.place)?;
    let dir = make_dir(files, parent)?;
    if kept.form == Form::Link {
        return write_link(files, stored, dir, step, kept);
    }
    let old = child(&dir.fd, Path::new(name), LOOK).and_then(fstat).ok();
    let old = old.map(|stat| Meta::of(&stat)).filter(|meta| meta.kind == Kind::File);
    let plain = |meta: Meta| if kept.form == Form::File { meta.mode & 0o666 } else { meta.mode };
    let mode = then.about.mode(&step.place).or(old.map(plain));
    let expect = step.version.clone().map_or(Expect::Nothing, Expect::Version);
    let mut draft = files.draft_at(dir, name, &How { mode, parents: Parents::MustExist, expect })?;
    stored.copy(&kept.oid, |_, piece| draft.write(piece))?;
    if kept.form == Form::Executable {
        draft.make_executable()?;
    }
    draft.put().map(drop)
}

fn write_link(files: &Files, stored: &mut Stored, dir: Found, step: &Step, kept: Kept) -> Result<()> {
    let (_, name) = split(&step.place)?;
    files.may_write(&step.place)?;
    let mut target = Vec::new();
    stored.copy(&kept.oid, |_, piece| {
        target.extend_from_slice(piece);
        match target.len() > LONGEST_TARGET {
            true => Err(damaged("a link is too long")),
            false => Ok(()),
        }
    })?;
    expect_version(&dir, step)?;
    let temporary = unused_name();
    let fault = Error::at(&step.place);
    symlinkat(OsString::from_vec(target), &dir.fd, &temporary).map_err(fault)?;
    let flags = if step.version.is_none() { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
    renameat_with(&dir.fd, &temporary, &dir.fd, name, flags).map_err(|errno| {
        let _ = unlinkat(&dir.fd, &temporary, AtFlags::empty());
        Error::of(&step.place, errno)
    })
}

/// The directory at a place, made where it is missing; a link is none.
fn make_dir(files: &Files, place: &Path) -> Result<Found> {
    match files.root.at(place) {
        Err(Error::NotFound { .. }) => {}
        other => return other,
    }
    let (parent, name) = split(place)?;
    let dir = make_dir(files, parent)?;
    dir.expect_dir()?;
    files.may_write(place)?;
    match mkdirat(&dir.fd, name, Mode::from_raw_mode(0o777)) {
        // Somebody else was faster; what it is shows on the way on.
        Ok(()) | Err(Errno::EXIST) => files.root.at(place),
        Err(errno) => Err(Error::of(place, errno)),
    }
}
