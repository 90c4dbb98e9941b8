//! What can go wrong, in the words of whoever asked.

use std::path::Path;

use rustix::io::Errno;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path:?} is not there")]
    NotFound { path: String },
    #[error("{path:?} leads out of the workspace")]
    Outside { path: String },
    /// By the [`crate::Access`].
    #[error("{path:?}: {why}")]
    Denied { path: String, why: String },
    /// By the system: modes, owners, a file system without writing.
    #[error("{path:?}: the system does not permit it")]
    Forbidden { path: String },
    #[error("{path:?} {why}")]
    Invalid { path: String, why: String },
    #[error("{path:?} is there already")]
    Exists { path: String },
    /// It is not what it was when it was last seen.
    #[error("{path:?} was changed by somebody else")]
    Changed { path: String },
    #[error("a file may have {most} bytes at most")]
    TooLarge { most: u64 },
    #[error("there is no room left on the disk")]
    Full,
    #[error(transparent)]
    Snapshot(#[from] crate::snapshot::Fault),
    #[error("{what}: {cause}")]
    Io { what: String, cause: std::io::Error },
}

/// A path for people.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Error {
    pub(crate) fn invalid(path: &Path, why: impl Into<String>) -> Self {
        Self::Invalid { path: shown(path), why: why.into() }
    }

    pub(crate) fn outside(path: &Path) -> Self {
        Self::Outside { path: shown(path) }
    }

    /// What the kernel said about `path`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(Errno) -> Self + '_ {
        move |errno| Self::of(path, errno)
    }

    pub(crate) fn of(path: &Path, errno: Errno) -> Self {
        let path = || shown(path);
        let invalid = |why: &str| Self::Invalid { path: path(), why: why.into() };
        match errno {
            Errno::NOENT => Self::NotFound { path: path() },
            // AGAIN: somebody keeps moving what the path goes through, so nobody can say that it stays inside.
            Errno::XDEV | Errno::AGAIN => Self::Outside { path: path() },
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Forbidden { path: path() },
            Errno::EXIST => Self::Exists { path: path() },
            Errno::NOSPC | Errno::DQUOT => Self::Full,
            Errno::NOTDIR => invalid("goes through something that is no directory"),
            Errno::ISDIR => invalid("is a directory"),
            Errno::LOOP => invalid("goes through too many links, or one that is none of a file system"),
            Errno::NAMETOOLONG => invalid("is too long"),
            Errno::NOTEMPTY => invalid("is not empty"),
            Errno::BUSY => invalid("is in use by the system"),
            Errno::INVAL => invalid("cannot be used like this"),
            other => Self::Io { what: path(), cause: other.into() },
        }
    }

    pub(crate) fn io(path: &Path, cause: std::io::Error) -> Self {
        match Errno::from_io_error(&cause) {
            Some(errno) => Self::of(path, errno),
            None => Self::Io { what: shown(path), cause },
        }
    }
}
