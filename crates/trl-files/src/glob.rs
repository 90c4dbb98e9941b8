//! Files by the pattern of their path.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::Files;
use crate::error::{Error, Result};
use crate::list::Found;
use crate::meta::Kind;
use crate::path::Rel;
use crate::root::Last;
use crate::walk::{Ignoring, Reach, Walk};

/// Deeper than anybody's tree.
pub(crate) const DEEPEST: usize = 256;

/// Whether what ignore files name is searched too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hidden {
    #[default]
    LeftOut,
    Searched,
}

impl Hidden {
    pub(crate) fn ignoring(self) -> Ignoring {
        match self {
            Self::LeftOut => Ignoring::AsFilesSay,
            Self::Searched => Ignoring::Nothing,
        }
    }
}

/// `*` stays within a name, `**` does not.
pub(crate) fn pattern(text: &str) -> Result<GlobMatcher> {
    let built = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|e| Error::invalid(Path::new(text), format!("is no pattern: {e}")))
}

impl Files {
    /// Files and links below `path` whose path from there matches, in the order of names.
    pub fn glob(&self, path: &Rel, text: &str, hidden: Hidden, limit: usize) -> Result<Found<PathBuf>> {
        let wanted = pattern(text)?;
        let top = self.root.find(path, Last::Follow)?;
        self.may_read(&top.place)?;
        top.expect_dir()?;
        let mut walk = Walk::through(self, &top.place, Reach::Readable { depth: DEEPEST }, hidden.ignoring());
        let mut items = Vec::new();
        let mut more = false;
        for entry in &mut walk {
            let below = entry.place.strip_prefix(&top.place).unwrap_or(&entry.place);
            if entry.kind == Kind::Dir || !wanted.is_match(below) {
                continue;
            }
            if items.len() == limit {
                more = true;
                break;
            }
            items.push(entry.place);
        }
        Ok(Found { items, truncated: more || !walk.is_complete() })
    }
}
