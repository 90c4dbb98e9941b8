//! What there is to keep, and what is passed over.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::Fault;
use crate::error::{Error, Result};
use crate::meta::Kind;
use crate::walk::{Ignoring, Reach, Walk, Why};
use crate::write::is_temporary;
use crate::{Files, Limits};

/// For looking through a tree; reading it is another matter.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Survey {
    /// Regular files and links, in the order of names.
    pub(super) found: Vec<(PathBuf, Kind)>,
    /// What is meant to be left out.
    pub(super) ignored: Vec<PathBuf>,
    /// What is left out all the same, and why.
    pub(super) skipped: Vec<(PathBuf, String)>,
}

/// Looks through the whole tree; half a look would be taken for the whole.
pub(super) fn survey(files: &Files) -> Result<Survey> {
    let limits = Limits { patience: PATIENCE, ..files.limits.clone() };
    let files = Files { limits, ..files.clone() };
    let reach = Reach::Readable { depth: usize::MAX };
    let mut walk = Walk::through(&files, Path::new(""), reach, Ignoring::AsFilesSay).noting();
    let mut survey = Survey { found: Vec::new(), ignored: Vec::new(), skipped: Vec::new() };
    for entry in &mut walk {
        match (entry.kind, refused(&entry.place, entry.kind)) {
            (Kind::Dir, None) => {}
            (_, Some(why)) => survey.skipped.push((entry.place, why.into())),
            (Kind::Other, None) => survey.skipped.push((entry.place, "is no regular file".into())),
            (kind, None) => survey.found.push((entry.place, kind)),
        }
    }
    if !walk.is_complete() {
        return Err(Fault::TooMuch {
            what: "files and directories, or deeper ones, than can be looked through",
            most: files.limits.visits as u64,
        }
        .into());
    }
    for passed in walk.passed() {
        match passed.why {
            Why::Ignored | Why::Git => survey.ignored.push(passed.place),
            // The workspace itself.
            Why::Closed(errno) if passed.place.as_os_str().is_empty() => {
                return Err(Error::of(files.base(), errno));
            }
            Why::Closed(Errno::XDEV) => survey.skipped.push((passed.place, "is a mount".into())),
            Why::Closed(errno) => {
                survey.skipped.push((passed.place.clone(), Error::of(&passed.place, errno).to_string()))
            }
            Why::Denied => survey.skipped.push((passed.place, "is denied".into())),
        }
    }
    Ok(survey)
}

/// Names that git takes from nobody, and drafts of our own.
fn refused(place: &Path, kind: Kind) -> Option<&'static str> {
    let is = |name: &OsStr, other: &str| name.as_encoded_bytes().eq_ignore_ascii_case(other.as_bytes());
    if place.iter().any(|name| is(name, ".git")) {
        return Some("git keeps nothing of this name");
    }
    let last = place.file_name()?;
    if kind == Kind::Symlink && is(last, ".gitmodules") {
        return Some("git keeps no link of this name");
    }
    is_temporary(last).then_some("is a file that is being written")
}
