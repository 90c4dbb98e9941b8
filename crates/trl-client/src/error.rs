//! Everything that can go wrong between a client and the daemon, with what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use trl_proto::{ExecutionId, RequestId, SessionId};
use trl_sys::places::{DirFault, PathTooLong};

use crate::values::Finished;

/// Why there is no answer, or none that was hoped for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("no daemon is running at {}", socket.display())]
    NotRunning { socket: PathBuf },
    /// Others can reach into the directory of the socket, so it may be anybody's.
    #[error("not using the socket directory {}: {fault}", dir.display())]
    SocketDir { dir: PathBuf, fault: DirFault },
    #[error("may not connect to {}: permission denied", socket.display())]
    Denied { socket: PathBuf },
    #[error("cannot connect to {}: {source}", socket.display())]
    Connect { socket: PathBuf, source: io::Error },
    #[error(transparent)]
    SocketPath(#[from] PathTooLong),
    /// It owes an answer at once, and gives none.
    #[error("the daemon has not answered {method} within {} s", within.as_secs())]
    Silent { method: String, within: Duration, pid: Option<i32> },
    #[error("the daemon is {theirs} (protocol {their_protocol}), this is {ours} (protocol {our_protocol})")]
    Skew { theirs: String, their_protocol: u32, ours: &'static str, our_protocol: u32 },
    /// There is none, or it cannot be read.
    #[error("the operator token: {0}")]
    Token(String),
    /// Whether what was asked has been done is not known.
    #[error("the daemon ended the connection")]
    Lost,
    #[error("the daemon's answer to {method} is not understood: {source}")]
    BadReply { method: String, source: io::Error },
    #[error("the parameters of {method} are not valid JSON: {source}")]
    BadParams { method: String, source: io::Error },
    /// The daemon's own words.
    #[error("{0}")]
    Refused(trl_proto::Error),
    /// With `Approval::Return`: it is done when a person has said yes.
    #[error("a person is asked first: {request_id}")]
    Pending { request_id: RequestId, session_id: Option<SessionId>, execution_id: Option<ExecutionId> },
    /// By [`Finished::check`].
    #[error("{}", .0.summary())]
    Failed(Box<Finished>),
}

impl ClientError {
    /// What to do about it, if anything is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotRunning { .. } => "start one with `trl serve`",
            Self::SocketDir { fault: DirFault::Open { .. }, .. } => "if it is yours, `chmod 700` it",
            Self::SocketDir { .. } | Self::SocketPath(_) => {
                "name another socket with --socket or TRL_SOCKET_PATH"
            }
            Self::Denied { .. } => {
                "the socket belongs to another user; name yours with --socket or TRL_SOCKET_PATH"
            }
            Self::Silent { pid: Some(pid), .. } => {
                return Some(format!("it may be stopped, or its machine overloaded; its process is {pid}"));
            }
            Self::Silent { pid: None, .. } => "it may be stopped, or its machine overloaded",
            Self::Skew { .. } => "restart the daemon with this version: `trl stop`, then `trl serve`",
            Self::Token(_) => "the daemon writes operator.token when it starts; TRL_AUTH_TOKEN overrides it",
            Self::Refused(error) => return error.hint.clone(),
            Self::Pending { .. } => "`trl approve`, or the web page; `Approvals::wait` waits for the answer",
            Self::Connect { .. }
            | Self::Lost
            | Self::BadReply { .. }
            | Self::BadParams { .. }
            | Self::Failed(_) => return None,
        };
        Some(hint.into())
    }
}
