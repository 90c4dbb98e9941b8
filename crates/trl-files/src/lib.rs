//! The files of a workspace, and no others.
//!
//! 1. [`Root`] is a directory, opened once. Every path goes through the kernel's `openat2` with `RESOLVE_BENEATH`: what
//!    leaves the directory, by `..`, a link, a mount or a race, is refused by the kernel, not by looking at the text.
//! 2. [`Rel`] is a path as a request names it; a *place* is where it really is, without links.
//! 3. [`Access`] says yes or no to a place; [`Rules`] are the modes of a sandbox.
//! 4. [`Files`] is a root with an access: [`read`], [`mod@write`], [`change`] (directories, moving, removing), [`list`],
//!    [`glob`], [`grep`], [`watch`].
//! 5. [`snapshot`] keeps all files of a root as they are, and brings them back.
//!
//! Everything here blocks, and nothing waits: FIFOs, devices and sockets are looked at and never opened. No async
//! runtime, no wire.

pub mod access;
pub mod change;
pub mod error;
pub mod glob;
pub mod grep;
mod ignored;
pub mod list;
pub mod meta;
pub mod path;
pub mod read;
pub mod root;
pub mod snapshot;
mod walk;
pub mod watch;
pub mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use access::{Access, Denial, Mode, Place, Rules};
pub use error::{Error, Result};
pub use meta::{Kind, Meta};
pub use path::Rel;
pub use root::Root;

/// What one request may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is written.
    pub file_bytes: u64,
    /// Entries one listing or search looks at.
    pub visits: usize,
    /// How long one listing or search goes on.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 4 << 30, visits: 1_000_000, patience: Duration::from_secs(10) }
    }
}

/// The files of a root, as far as somebody may use them.
#[derive(Clone)]
pub struct Files {
    root: Arc<Root>,
    access: Arc<dyn Access>,
    limits: Limits,
    /// Where the root is; only for those who give and take absolute paths.
    base: PathBuf,
}

impl Files {
    pub fn new(root: Arc<Root>, access: Arc<dyn Access>, limits: Limits) -> Result<Self> {
        let base = root.real_path()?;
        Ok(Self { root, access, limits, base })
    }

    /// The same files for somebody else, such as one whose write to a single place was approved.
    #[must_use]
    pub fn with_access(&self, access: Arc<dyn Access>) -> Self {
        Self { access, ..self.clone() }
    }

    /// Where the root is.
    pub fn base(&self) -> &Path {
        &self.base
    }

    fn may_read(&self, place: &Path) -> Result<()> {
        self.access.may_read(&Place::new(&self.base, place)).map_err(|denial| denial.at(place))
    }

    fn may_write(&self, place: &Path) -> Result<()> {
        self.access.may_write(&Place::new(&self.base, place)).map_err(|denial| denial.at(place))
    }

    /// All of them; else why not the first that may not.
    fn may_write_all(&self, places: impl IntoIterator<Item = PathBuf>) -> Result<()> {
        let mut refused = None;
        for place in places {
            if let Err(error) = self.may_write(&place) {
                refused.get_or_insert(error);
                if !self.access.wants_more() {
                    break;
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }
}
