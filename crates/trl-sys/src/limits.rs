//! Descriptor limits: the daemon uses all it may, its children get what they would have had.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// RLIMIT_NOFILE before and after raising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// For children: (soft, hard) as the daemon found them.
    pub original: (u64, u64),
    /// What the daemon may open now.
    pub usable: u64,
}

/// Raises the soft limit to the hard one.
pub fn raise_open_files() -> OpenFiles {
    let found = getrlimit(Resource::Nofile);
    let hard = found.maximum;
    let original = (found.current.unwrap_or(u64::MAX), hard.unwrap_or(u64::MAX));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard }).is_ok();
    OpenFiles { original, usable: if raised { original.1 } else { original.0 } }
}
