//! Placeholder until the server is here.

use crate::config::Config;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("the server is not built in")]
    Missing,
}

impl ServeError {
    pub(crate) fn hint(&self) -> Option<&str> {
        None
    }
}

pub(crate) fn daemon(_config: Config) -> Result<(), ServeError> {
    Err(ServeError::Missing)
}

pub(crate) fn stdio(_config: Config) -> Result<(), ServeError> {
    Err(ServeError::Missing)
}

pub(crate) fn hidden_entry() {}
