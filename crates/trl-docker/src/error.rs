//! What can go wrong, and whose fault it is: nobody is there, somebody else is, or Docker says no.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no Docker here: {} is not there", socket.display())]
    Absent { socket: PathBuf },
    /// Somebody listened once: the daemon has ended.
    #[error("Docker does not run: nobody listens on {}", socket.display())]
    Deserted { socket: PathBuf },
    #[error("this user may not speak to Docker on {}", socket.display())]
    Forbidden { socket: PathBuf },
    #[error("{} is not Docker's: {why}", socket.display())]
    NotDocker { socket: PathBuf, why: String },
    #[error("this Docker speaks version {theirs} of its API, and at least {needed} is needed")]
    TooOld { theirs: String, needed: String },
    /// In Docker's own words.
    #[error("Docker: {message} (HTTP {status})")]
    Api { status: u16, message: String },
    /// It began well; in Docker's own words.
    #[error("the image {image} could not be pulled: {message}")]
    Pull { image: String, message: String },
    #[error("Docker did not finish {what} within {} s", after.as_secs_f64())]
    TimedOut { what: String, after: Duration },
    #[error("the connection to Docker was lost during {what}: {cause}")]
    Lost { what: String, cause: io::Error },
    #[error("Docker's answer to {what} is not understood: {why}")]
    Unexpected { what: String, why: String },
    /// It was not even asked.
    #[error("Docker cannot be asked for this: {0}")]
    Invalid(String),
}

impl Error {
    /// What was named is not there: a container, an image, an exec.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { status: 404, .. })
    }

    /// The name is taken, or the container is not in a state for this.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Api { status: 409, .. })
    }

    pub(crate) fn connecting(socket: &Path, cause: io::Error) -> Self {
        let socket = socket.to_path_buf();
        match cause.kind() {
            io::ErrorKind::NotFound => Self::Absent { socket },
            io::ErrorKind::ConnectionRefused => Self::Deserted { socket },
            io::ErrorKind::PermissionDenied => Self::Forbidden { socket },
            _ => Self::NotDocker { socket, why: cause.to_string() },
        }
    }

    pub(crate) fn lost(what: &str, cause: hyper::Error) -> Self {
        let kind = match &cause {
            cause if cause.is_parse() => io::ErrorKind::InvalidData,
            cause if cause.is_incomplete_message() => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::Other,
        };
        Self::Lost { what: what.into(), cause: io::Error::new(kind, told(&cause)) }
    }

    pub(crate) fn unexpected(what: &str, why: impl ToString) -> Self {
        Self::Unexpected { what: what.into(), why: why.to_string() }
    }
}

/// An error with its causes, which its own text leaves out.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
