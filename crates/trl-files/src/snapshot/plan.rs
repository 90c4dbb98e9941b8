//! What has to be done for the workspace to be as it was. Nothing is changed here.
//!
//! Every place of the snapshot is looked at and its bytes compared, by git's own name for them. What is there now and was
//! not then is deleted, unless it was passed over then: nobody knows whether it was there.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, readlinkat};
use sha1::{Digest, Sha1};

use super::stored::{Contents, Form, Kept, Oid};
use super::survey::survey;
use crate::Files;
use crate::error::{Error, Result};
use crate::meta::Kind;
use crate::read::fill;
use crate::root::Found;

const BUFFER: usize = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Create,
    Modify,
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub doing: Doing,
}

/// What a restore would do, in the order of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub changes: Vec<Change>,
    /// Another one when anything else would be done, or something that it touches has changed since.
    pub digest: String,
}

impl Plan {
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut digest = Sha1::new();
        for step in steps {
            let path = step.place.as_os_str().as_bytes();
            digest.update((path.len() as u64).to_be_bytes());
            digest.update(path);
            digest.update(format!("{:?} {:?}\n", step.doing, step.version));
        }
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let change = |step: &Step| Change { path: step.place.clone(), doing: step.doing };
        Self { changes: steps.iter().map(change).collect(), digest }
    }
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) place: PathBuf,
    pub(super) doing: Doing,
    /// What it becomes; None when it is deleted.
    pub(super) kept: Option<Kept>,
    /// What stands there, as it was looked at.
    pub(super) version: Option<String>,
}

pub(super) fn steps(files: &Files, then: &Contents) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut buffer = vec![0; BUFFER];
    for (place, kept) in &then.files {
        let (doing, version) = match files.root.at(place) {
            Ok(found) if found.meta.kind == Kind::Dir => (Doing::Create, None),
            Ok(found) if is_same(&found, kept, &mut buffer) => continue,
            Ok(found) => (Doing::Modify, Some(found.meta.version())),
            // Nothing, or its directory is no directory any more.
            Err(Error::NotFound { .. } | Error::Invalid { .. }) => (Doing::Create, None),
            Err(e) => return Err(e),
        };
        steps.push(Step { place: place.clone(), doing, kept: Some(*kept), version });
    }
    for (place, _) in survey(files)?.found {
        if then.files.contains_key(&place) || then.about.passed_over(&place) {
            continue;
        }
        let Ok(found) = files.root.at(&place) else { continue };
        let version = Some(found.meta.version());
        steps.push(Step { place, doing: Doing::Delete, kept: None, version });
    }
    steps.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(steps)
}

/// What cannot be read is another.
fn is_same(found: &Found, kept: &Kept, buffer: &mut [u8]) -> bool {
    let oid = match (found.meta.kind, kept.form) {
        (Kind::Symlink, Form::Link) => link_oid(found),
        (Kind::File, Form::File) if found.meta.mode & 0o100 == 0 => file_oid(found, buffer),
        (Kind::File, Form::Executable) if found.meta.mode & 0o100 != 0 => file_oid(found, buffer),
        _ => None,
    };
    oid == Some(kept.oid)
}

fn link_oid(found: &Found) -> Option<Oid> {
    let target = readlinkat(&found.fd, "", Vec::new()).ok()?;
    let mut hash = blob(target.as_bytes().len() as u64);
    hash.update(target.as_bytes());
    Some(hash.finalize().into())
}

fn file_oid(found: &Found, buffer: &mut [u8]) -> Option<Oid> {
    let file = found.open_file(OFlags::RDONLY).ok()?;
    let mut hash = blob(found.meta.size);
    let mut done = 0;
    loop {
        let read = fill(&file, buffer, done).ok()?;
        hash.update(&buffer[..read]);
        done += read as u64;
        if read < buffer.len() {
            return Some(hash.finalize().into());
        }
    }
}

/// The beginning of git's name for so many bytes.
pub(super) fn blob(bytes: u64) -> Sha1 {
    Sha1::new_with_prefix(format!("blob {bytes}\0"))
}

/// The directory of a place, and its name there.
pub(super) fn split(place: &Path) -> Result<(&Path, &std::ffi::OsStr)> {
    match (place.parent(), place.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => Err(Error::invalid(place, "does not end in a name")),
    }
}
