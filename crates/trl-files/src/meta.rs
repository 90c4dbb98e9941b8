//! What is known of a file without opening it.

use rustix::fs::{Dev, FileType, Stat};
use trl_sys::files::bits_of;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Symlink,
    /// A FIFO, a socket or a device: named, never opened.
    Other,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Symlink,
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    pub kind: Kind,
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Seconds and nanoseconds since 1970.
    pub modified: (i64, u32),
    pub(crate) id: Id,
    changed: (i64, u32),
}

/// Which file, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    dev: Dev,
    ino: u64,
}

impl Id {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { dev: stat.st_dev, ino: stat.st_ino }
    }
}

impl Meta {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: bits_of(stat),
            modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            id: Id::of(stat),
            changed: (stat.st_ctime, u32::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        }
    }

    /// Another for any other content: a write replaces the file, and whoever writes in place changes its times.
    pub fn version(&self) -> String {
        let Id { dev, ino } = self.id;
        let (seconds, nanoseconds) = self.changed;
        format!("{dev:x}-{ino:x}-{:x}-{seconds:x}.{nanoseconds:x}", self.size)
    }
}
