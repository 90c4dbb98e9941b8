//! Everything that can go wrong between a command and the daemon, with what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::paths::{DirFault, PathTooLong};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("no daemon is running at {}", socket.display())]
    NotRunning { socket: PathBuf },
    #[error("not using the socket directory {}: {fault}", dir.display())]
    SocketDir { dir: PathBuf, fault: DirFault },
    #[error("may not connect to {}: permission denied", socket.display())]
    Denied { socket: PathBuf },
    #[error("cannot connect to {}: {source}", socket.display())]
    Connect { socket: PathBuf, source: io::Error },
    #[error("the daemon did not start: {0}")]
    DidNotStart(String),
    #[error("no daemon is at {}, and inside a session no variable says where it is", socket.display())]
    InsideSession { socket: PathBuf },
    #[error(transparent)]
    SocketPath(#[from] PathTooLong),
    #[error("the daemon has not answered {method} within {} s", within.as_secs())]
    Silent { method: String, within: Duration, pid: Option<i32> },
    #[error("the daemon is {theirs} (protocol {their_protocol}), this is {ours} (protocol {our_protocol})")]
    Skew { theirs: String, their_protocol: u32, ours: &'static str, our_protocol: u32 },
    #[error("the operator token: {0}")]
    Token(String),
    #[error("the daemon ended the connection")]
    Lost,
    #[error("the daemon's answer to {method} is not understood: {source}")]
    BadReply { method: String, source: serde_json::Error },
    #[error("cannot write the parameters of {method} as JSON: {source}")]
    BadParams { method: String, source: serde_json::Error },
    /// The daemon's own words.
    #[error("{0}")]
    Refused(trl_proto::Error),
}

impl ClientError {
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotRunning { .. } => "start one with `trl serve`",
            Self::SocketDir { fault: DirFault::Open { .. }, .. } => "if it is yours, `chmod 700` it",
            Self::SocketDir { .. } => "name another socket with --socket or TRL_SOCKET_PATH",
            Self::Denied { .. } => "the socket belongs to another user; name yours with --socket",
            Self::DidNotStart(_) => "`trl serve` in the foreground shows why",
            Self::InsideSession { .. } => {
                "name the daemon's socket with --socket, or give the session TRL_SOCKET_PATH (`session new --env`)"
            }
            Self::SocketPath(_) => "name another socket with --socket or TRL_SOCKET_PATH",
            Self::Silent { pid: Some(pid), .. } => {
                return Some(format!("it may be stopped, or its machine overloaded; its process is {pid}"));
            }
            Self::Silent { pid: None, .. } => "it may be stopped, or its machine overloaded",
            Self::Skew { .. } => "restart the daemon with this version: `trl stop`, then `trl serve`",
            Self::Token(_) => "the daemon writes operator.token when it starts; TRL_AUTH_TOKEN overrides it",
            Self::Refused(error) => return error.hint.clone(),
            Self::Connect { .. } | Self::Lost | Self::BadReply { .. } | Self::BadParams { .. } => {
                return None;
            }
        };
        Some(hint.into())
    }
}
