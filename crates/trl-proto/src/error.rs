//! Every way a request can be refused: a stable code, a message for people, a hint on what to do.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::untrusted::Untrusted;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Stable codes: clients branch on them, so they are never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ErrorCode {
    SessionNotFound,
    SessionBusy,
    SessionClosed,
    SessionTerminated,
    ExecutionNotFound,
    TerminalNotFound,
    RequestNotFound,
    MaxSessionsReached,
    SessionLimitExceeded,
    ResourcePressure,
    LimitExceeded,
    StorageFull,
    ShellNotFound,
    ShellStartFailed,
    WorkingDirInvalid,
    InvalidParams,
    UnknownMethod,
    PayloadTooLarge,
    AuthFailed,
    Forbidden,
    FileNotFound,
    FileOutsideWorkspace,
    ApprovalRequired,
    ApprovalDenied,
    ApprovalExpired,
    AlreadyResolved,
    SecretsRequired,
    CaseNotFound,
    CaseInvalid,
    SandboxDenied,
    SandboxUnavailable,
    CheckpointNotFound,
    CheckpointCorrupt,
    RuntimeNotFound,
    RuntimeUnavailable,
    AgentUnavailable,
    MessageNotFound,
    ShuttingDown,
    InternalError,
}

impl ErrorCode {
    /// The number JSON-RPC wants: its own where it has one, else the server range.
    pub fn json_rpc(self) -> i32 {
        match self {
            Self::UnknownMethod => -32601,
            Self::InvalidParams => -32602,
            Self::InternalError => -32603,
            _ => -32000,
        }
    }
}

/// Characters of a message or a hint at most.
const LONGEST: usize = 4000;

fn fit(text: &str) -> String {
    Untrusted::new(text).most(LONGEST).to_string()
}

/// A refusal as clients see it. The inside cause goes to the log, not here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: ErrorCode,
    pub message: String,
    /// What the caller can do about it.
    pub hint: Option<String>,
    /// Further facts, such as `stderr` of a shell that did not start.
    pub details: Map<String, Value>,
}

impl Error {
    /// A message may quote what anybody wrote: it becomes one line of bounded length with nothing unseen in it.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: fit(&message.into()), hint: None, details: Map::new() }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InternalError, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(fit(&hint.into()));
        self
    }

    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_bounded_line() {
        let error = Error::invalid(format!("no `\x1b[2J\n{}`", "x".repeat(9000))).hint("try\r`\u{202e}`");
        assert!(error.message.starts_with("no `⟨U+001B⟩[2J⟨U+000A⟩xxx"), "{}", error.message);
        assert!(error.message.chars().count() <= LONGEST + 3);
        assert_eq!(error.hint.as_deref(), Some("try⟨U+000D⟩`⟨U+202E⟩`"));
    }
}
