//! Where the daemon of this user is, and the way there.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::UnixStream;
use trl_sys::places::{self, DirFault, Places};

use crate::error::ClientError;

/// Names the socket.
pub const SOCKET_VARIABLE: &str = "TRL_SOCKET_PATH";

/// The socket that [`SOCKET_VARIABLE`] names, else the one in the usual place of this user. Settings files are not read.
pub fn default_socket() -> PathBuf {
    // An empty variable is how shells spell "unset for this command".
    let named = std::env::var_os(SOCKET_VARIABLE).filter(|value| !value.is_empty());
    named.map(PathBuf::from).unwrap_or_else(|| usual().socket)
}

pub(crate) fn usual() -> Places {
    Places::of_user(&|name| std::env::var_os(name), places::user_id())
}

/// Connects to a socket in a directory that only this user can have put it into.
pub async fn open(socket: &Path) -> Result<UnixStream, ClientError> {
    places::check_socket(socket)?;
    let dir = socket.parent().unwrap_or(Path::new("/"));
    match places::check_private_dir(dir, places::user_id()) {
        Ok(()) => {}
        Err(DirFault::Missing) => return Err(ClientError::NotRunning { socket: socket.into() }),
        Err(fault) => return Err(ClientError::SocketDir { dir: dir.into(), fault }),
    }
    UnixStream::connect(socket).await.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ClientError::NotRunning { socket: socket.into() }
        }
        io::ErrorKind::PermissionDenied => ClientError::Denied { socket: socket.into() },
        _ => ClientError::Connect { socket: socket.into(), source },
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use tokio::net::UnixListener;

    use super::*;

    /// A path for a socket in a fresh directory of this mode.
    fn place(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        let socket = dir.path().join("trl.sock");
        (dir, socket)
    }

    #[tokio::test]
    async fn a_missing_or_dead_socket_means_no_daemon() {
        let (_dir, socket) = place(0o700);
        assert!(matches!(open(&socket).await, Err(ClientError::NotRunning { .. })));
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        assert!(matches!(open(&socket).await, Err(ClientError::NotRunning { .. })));
        let nowhere = socket.with_file_name("none").join("trl.sock");
        assert!(matches!(open(&nowhere).await, Err(ClientError::NotRunning { .. })));
    }

    #[tokio::test]
    async fn a_socket_in_an_open_directory_is_not_used() {
        let (_dir, socket) = place(0o770);
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(matches!(open(&socket).await, Err(ClientError::SocketDir { .. })));
    }
}
