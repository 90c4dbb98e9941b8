//! Where a value came from, and everything that can be wrong with one.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The layer that set a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File {
        path: PathBuf,
        line: usize,
    },
    Env(&'static str),
    /// As typed, with its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// Why the settings could not be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the settings file {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}:{line}: not valid TOML: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("{origin}: unknown setting `{key}`{}", did_you_mean(near.as_deref()))]
    UnknownKey { origin: Origin, key: String, near: Option<String> },
    #[error("{origin}: `{key}` {reason}")]
    BadValue { origin: Origin, key: String, reason: String },
    #[error("`{0}` is not KEY=VALUE")]
    NotAssignment(String),
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
