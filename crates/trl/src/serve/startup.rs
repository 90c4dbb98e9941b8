//! The socket: a private directory, a lock that one daemon holds, an address nobody else listens on.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;

use super::ServeError;
use crate::paths;

/// The right to listen on a socket, held until the daemon ends.
pub(crate) struct Claim {
    socket: PathBuf,
    /// Locked; the lock goes with the process, whatever ends it.
    _lock: File,
}

impl Claim {
    pub(crate) fn take(socket: &Path) -> Result<Self, ServeError> {
        let dir = socket.parent().filter(|d| !d.as_os_str().is_empty());
        let dir =
            dir.ok_or_else(|| ServeError::SocketDir(format!("{} has no directory", socket.display())))?;
        make_private(dir)?;
        let lock_path = socket.with_extension("lock");
        let lock = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_path)
            .map_err(ServeError::io(format!("opening {}", lock_path.display())))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err()
            || UnixStream::connect(socket).is_ok()
        {
            return Err(ServeError::AlreadyRunning(socket.to_path_buf()));
        }
        Ok(Self { socket: socket.to_path_buf(), _lock: lock })
    }

    /// Binds; a stale socket of a dead daemon is replaced.
    pub(crate) fn listen(&self) -> Result<UnixListener, ServeError> {
        remove_socket(&self.socket);
        let what = format!("listening on {}", self.socket.display());
        let bind = || -> io::Result<UnixListener> {
            let listener = UnixListener::bind(&self.socket)?;
            fs::set_permissions(&self.socket, fs::Permissions::from_mode(0o600))?;
            Ok(listener)
        };
        bind().map_err(ServeError::io(what))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        remove_socket(&self.socket);
    }
}

/// Whatever else stands at the path is not ours.
fn remove_socket(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
        let _ = fs::remove_file(path);
    }
}

fn make_private(dir: &Path) -> Result<(), ServeError> {
    if fs::symlink_metadata(dir).is_err() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(ServeError::io(format!("making {}", dir.display())))?;
    }
    paths::check_private_dir(dir, paths::user_id())
        .map_err(|fault| ServeError::SocketDir(format!("{}: {fault}", dir.display())))
}
