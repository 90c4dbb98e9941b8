//! What `.gitignore` and `.ignore` files say, read beneath the root like everything else.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{OFlags, fstat};
use trl_sys::files::LOOK;

use crate::meta::{Kind, Meta};
use crate::root::child;

/// The later one wins.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];
/// A larger one was not written by a person.
const LARGEST: u64 = 256 << 10;

/// The rules of a directory, and of those above it.
#[derive(Clone, Default)]
pub(crate) struct Ignored(Option<Rc<Level>>);

struct Level {
    rules: Gitignore,
    above: Ignored,
}

impl Ignored {
    /// With the rules of one more directory.
    pub(crate) fn with(&self, dir: &OwnedFd, place: &Path) -> Self {
        let lines: Vec<String> = NAMES.iter().filter_map(|name| read(dir, name)).collect();
        if lines.is_empty() {
            return self.clone();
        }
        let mut rules = GitignoreBuilder::new(anchored(place));
        for line in lines.iter().flat_map(|text| text.lines()) {
            // A line that is no pattern ignores nothing.
            let _ = rules.add_line(None, line);
        }
        match rules.build() {
            Ok(rules) => Self(Some(Rc::new(Level { rules, above: self.clone() }))),
            Err(_) => self.clone(),
        }
    }

    pub(crate) fn matches(&self, place: &Path, kind: Kind) -> bool {
        let path = anchored(place);
        let mut next = &self.0;
        while let Some(level) = next {
            match level.rules.matched(&path, kind == Kind::Dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = &level.above.0,
            }
        }
        false
    }
}

/// The matcher compares with the directory its rules are from; a path that begins nowhere could be misread.
fn anchored(place: &Path) -> PathBuf {
    Path::new("/").join(place)
}

fn read(dir: &OwnedFd, name: &str) -> Option<String> {
    let seen = child(dir, Path::new(name), LOOK).ok()?;
    if Meta::of(&fstat(&seen).ok()?).kind != Kind::File {
        return None;
    }
    let fd = child(dir, Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK).ok()?;
    let mut bytes = Vec::new();
    File::from(fd).take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
