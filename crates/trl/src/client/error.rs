//! Why a command has no daemon: what the client says, and what only a command line can tell.

use std::path::PathBuf;

use trl_client::ClientError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error("the daemon did not start: {0}")]
    DidNotStart(String),
    #[error("no daemon is at {}, and inside a session no variable says where it is", socket.display())]
    InsideSession { socket: PathBuf },
    #[error("the daemon that this shell was installed for does not answer at {}", socket.display())]
    InstalledForAnother { socket: PathBuf },
    #[error("no daemon is at {}, and none is started without XDG_RUNTIME_DIR or TRL_CONFIG", socket.display())]
    ScrubbedEnvironment { socket: PathBuf },
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl ReachError {
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::DidNotStart(_) => Some("`trl serve` in the foreground shows why".into()),
            Self::InsideSession { .. } => Some(
                "name the daemon's socket with --socket, or give the session TRL_SOCKET_PATH (`session new --env`)"
                    .into(),
            ),
            Self::InstalledForAnother { .. } => Some(
                "start that daemon as before, or make the links for another with `trl sh --install DIR`".into(),
            ),
            Self::ScrubbedEnvironment { .. } => Some(
                "start a daemon with `trl serve`, then set TRL_SOCKET_PATH to its socket, or use links that store its socket: \
                 `trl sh --install DIR`"
                    .into(),
            ),
            Self::Client(error) => error.hint(),
        }
    }
}
