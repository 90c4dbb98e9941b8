//! What the system notes of directories: names that come, go and change in them.

use std::ffi::OsString;

pub use crate::os::changes::Changes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    Created,
    Modified,
    Removed,
    /// The directory is watched no longer.
    Ended,
}

/// One thing that was noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// As [`Changes::add`] named the directory.
    pub watch: i32,
    pub happened: Happened,
    /// Empty for the directory itself.
    pub name: OsString,
    pub is_dir: bool,
}
