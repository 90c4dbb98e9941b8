//! What can go wrong with the store, as its callers tell it apart.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Cloned to everyone whose write was in the same commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no room; the next write tries again.
    #[error("there is no room on the disk for the store")]
    Full,
    /// The disk refused for another reason; the next write tries again.
    #[error("the store cannot be read or written: {0}")]
    Io(String),
    #[error("another process uses the store in {}", .0.display())]
    Locked(PathBuf),
    #[error("{} was written by a newer version: it has format {found}, this program knows {known}", .path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    /// The file is damaged. The writer moves it aside and begins another.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// A record of this id is there already.
    #[error("{0} is in the store already")]
    Exists(String),
    #[error("the store is closed")]
    Closed,
    /// A mistake of ours, or a record that cannot be read.
    #[error("the store failed: {0}")]
    Internal(String),
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// For logs and tests; it does not change.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Io(_) => "io",
            Self::Locked(_) => "locked",
            Self::Newer { .. } => "newer",
            Self::Corrupt(_) => "corrupt",
            Self::Exists(_) => "exists",
            Self::Closed => "closed",
            Self::Internal(_) => "internal",
        }
    }

    /// Nothing can be written at the moment: the wire says `STORAGE_FULL`.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Full | Self::Io(_) | Self::Corrupt(_) | Self::Closed)
    }

    /// Whether it says something of the whole transaction, and not of one write alone.
    pub(crate) fn ends_transaction(&self) -> bool {
        matches!(self, Self::Full | Self::Io(_) | Self::Corrupt(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::DatabaseBusy,
            ) => Self::Io(text),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(text),
            _ => Self::Internal(text),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(error.to_string()),
        }
    }
}
