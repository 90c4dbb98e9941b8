//! How a command fails: one line on stderr, a hint if there is one, and an exit code.

use std::io;
use std::process::ExitCode;

use trl_proto::Untrusted;

use super::print;
use crate::client::{ClientError, ReachError};
use crate::config::ConfigError;
use crate::serve::ServeError;

/// 128 + SIGPIPE: what a shell reports for a program whose reader went away.
pub(super) const READER_GONE: u8 = 141;

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Client(#[from] ReachError),
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(error.into())
    }
}

impl Failure {
    /// What the daemon says is one line, whatever it quotes; a file of settings is quoted by its lines.
    fn words(&self) -> String {
        match self {
            Self::Client(error) => Untrusted::new(&error.to_string()).to_string(),
            other => other.to_string(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Client(error) => error.hint(),
            Self::Serve(error) => error.hint(),
            Self::Config(_) | Self::Usage(_) | Self::Io(_) => None,
        }
    }

    /// The stable code of a refusal, for people who look it up.
    fn code(&self) -> Option<String> {
        match self {
            Self::Client(ReachError::Client(ClientError::Refused(error))) => {
                let name = error.details.get("code").cloned().or(serde_json::to_value(error.code).ok())?;
                name.as_str().map(|name| format!(" ({name})"))
            }
            _ => None,
        }
    }

    /// Says what went wrong; `code` is the exit code for trouble of this command.
    pub(super) fn report(&self, code: u8) -> ExitCode {
        if matches!(self, Self::Io(e) if e.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::from(READER_GONE);
        }
        let mut text = format!("trl: {}{}\n", self.words(), self.code().unwrap_or_default());
        if let Some(hint) = self.hint() {
            text.push_str(&format!("hint: {}\n", Untrusted::new(&hint)));
        }
        print::notes(&text);
        ExitCode::from(code)
    }
}
