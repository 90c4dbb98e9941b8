//! What is in a directory.

use std::path::PathBuf;

use crate::Files;
use crate::error::Result;
use crate::meta::Meta;
use crate::path::Rel;
use crate::root::Last;
use crate::walk::{Ignoring, Reach, Walk};

/// A bounded number of things that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    pub items: Vec<T>,
    /// There is more.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub place: PathBuf,
    pub meta: Meta,
}

impl Files {
    /// Entries in the order of names, those of a directory right after it. Links are told and not followed.
    pub fn list(&self, path: &Rel, depth: usize, limit: usize) -> Result<Found<Listed>> {
        let top = self.root.find(path, Last::Follow)?;
        self.may_read(&top.place)?;
        top.expect_dir()?;
        // What may not be opened is an error here, and passed over further down.
        drop(top.open_dir()?);
        let mut walk = Walk::through(self, &top.place, Reach::Readable { depth }, Ignoring::Nothing);
        let mut items = Vec::new();
        let mut more = false;
        for entry in &mut walk {
            // It may be gone by now, or something else.
            let Ok(seen) = self.root.at(&entry.place) else { continue };
            if items.len() == limit {
                more = true;
                break;
            }
            items.push(Listed { place: entry.place, meta: seen.meta });
        }
        Ok(Found { items, truncated: more || !walk.is_complete() })
    }
}
