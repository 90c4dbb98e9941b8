//! The socket: a private directory, a lock that one daemon holds, an address nobody else listens on.
//!
//! 1. [`Claim::take`] gets the lock, waits for one that is ending, or says who has it.
//! 2. [`Claim::listen`] binds the address; [`Claim::adopt`] takes a socket that a service manager has bound.
//! 3. [`Claim::keep`] looks after it: a socket that somebody removed is bound again. A daemon nobody can reach is one
//!    nobody can use or stop, and its lock keeps others away.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener as StdListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;
use trl_sys::places;

use super::ServeError;

/// The right to listen on a socket, held until the daemon ends.
pub(crate) struct Claim {
    socket: PathBuf,
    /// Locked; the lock goes with the process, whatever ends it. Holds our pid, for people.
    lock: File,
    /// The socket as it was bound.
    bound: Option<FileId>,
    binder: Binder,
    /// The socket is gone and could not be made again; said once.
    complained: bool,
}

/// Who made the socket; only what this daemon made is removed at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binder {
    Daemon,
    /// It listens there whether or not a daemon runs.
    ServiceManager,
}

impl Claim {
    pub(crate) fn take(socket: &Path, binder: Binder) -> Result<Self, ServeError> {
        places::check_socket(socket)?;
        check_place(socket)?;
        let lock = take_lock(socket, binder, HANDOVER)?;
        Ok(Self { socket: socket.into(), lock, bound: None, binder, complained: false })
    }

    /// Listens on what is bound already.
    pub(crate) fn adopt(&mut self, listener: StdListener) -> Result<UnixListener, ServeError> {
        self.bound = FileId::at(&self.socket);
        let adopted = listener.set_nonblocking(true).and_then(|()| UnixListener::from_std(listener));
        adopted.map_err(ServeError::io(format!("listening on {}", self.socket.display())))
    }

    /// Binds; a stale socket of a dead daemon is replaced.
    pub(crate) fn listen(&mut self) -> Result<UnixListener, ServeError> {
        remove_socket(&self.socket);
        let bind = || -> io::Result<(UnixListener, FileId)> {
            let listener = UnixListener::bind(&self.socket)?;
            fs::set_permissions(&self.socket, fs::Permissions::from_mode(0o600))?;
            Ok((listener, FileId::of(&fs::symlink_metadata(&self.socket)?)))
        };
        let what = format!("listening on {}", self.socket.display());
        let (listener, id) = bind().map_err(ServeError::io(what))?;
        (self.bound, self.binder) = (Some(id), Binder::Daemon);
        Ok(listener)
    }

    /// A new listener, if the path does not lead to the old one any more.
    pub(crate) fn keep(&mut self) -> Option<UnixListener> {
        if self.is_ours() {
            self.keep_lock();
            return None;
        }
        match self.regain() {
            Ok(listener) => {
                tracing::warn!("the socket was removed; it is there again");
                self.complained = false;
                Some(listener)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.complained, true) {
                    tracing::error!(%error, "the socket was removed and cannot be made again");
                }
                None
            }
        }
    }

    fn is_ours(&self) -> bool {
        self.bound.is_some() && FileId::at(&self.socket) == self.bound
    }

    /// When the lock file went too, another daemon may hold the one that is there now.
    fn regain(&mut self) -> Result<UnixListener, ServeError> {
        if !self.holds_lock() {
            self.lock = take_lock(&self.socket, Binder::Daemon, Duration::ZERO)?;
        }
        self.listen()
    }

    fn holds_lock(&self) -> bool {
        let held = self.lock.metadata().ok().map(|meta| FileId::of(&meta));
        FileId::at(&lock_path(&self.socket)) == held
    }

    /// The lock file was removed, but the socket is ours: so is the lock, unless somebody is just trying to get it.
    fn keep_lock(&mut self) {
        if self.holds_lock() {
            return;
        }
        let again = open_lock(&self.socket).and_then(|lock| {
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            write_pid(lock, std::process::id())
        });
        match again {
            Ok(lock) => self.lock = lock,
            Err(error) => tracing::debug!(%error, "the lock file was removed and cannot be made again yet"),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_ours() && self.binder == Binder::Daemon {
            remove_socket(&self.socket);
        }
    }
}

/// How long a daemon that is ending may hold the lock after its socket is gone.
const HANDOVER: Duration = Duration::from_secs(5);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Takes the lock beside the socket, and makes what is missing on the way to it. Waits for `patience` while the lock is held by
/// a daemon that does not answer: one that is ending, or one that is starting.
fn take_lock(socket: &Path, binder: Binder, patience: Duration) -> Result<File, ServeError> {
    let dir = socket.parent().filter(|d| !d.as_os_str().is_empty());
    let dir = dir.ok_or_else(|| ServeError::SocketDir(format!("{} has no directory", socket.display())))?;
    make_private(dir)?;
    let doing = |what: &str| ServeError::io(format!("{what} {}", lock_path(socket).display()));
    let mut lock = open_lock(socket).map_err(doing("opening"))?;
    let start = Instant::now();
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if start.elapsed() >= patience || UnixStream::connect(socket).is_ok() {
            return Err(ServeError::AlreadyRunning { socket: socket.into(), pid: read_pid(&mut lock) });
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    if binder == Binder::Daemon
        && let Ok(other) = UnixStream::connect(socket)
    {
        // Its lock file was removed, and this one is new. It says who is there, like the one before.
        let pid = trl_sys::stream::peer_pid(&other);
        pid.and_then(|pid| write_pid(lock, pid).ok());
        return Err(ServeError::AlreadyRunning { socket: socket.into(), pid });
    }
    write_pid(lock, std::process::id()).map_err(doing("writing"))
}

fn open_lock(socket: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(0o600).open(lock_path(socket))
}

fn write_pid(mut lock: File, pid: u32) -> io::Result<File> {
    lock.set_len(0)?;
    writeln!(lock, "{pid}")?;
    Ok(lock)
}

/// Tells one file from another at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    dev: u64,
    ino: u64,
}

impl FileId {
    fn of(meta: &fs::Metadata) -> Self {
        Self { dev: meta.dev(), ino: meta.ino() }
    }

    fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|meta| Self::of(&meta))
    }
}

/// Only a socket may be replaced by ours.
pub(super) fn check_place(socket: &Path) -> Result<(), ServeError> {
    match fs::symlink_metadata(socket) {
        Ok(meta) if !meta.file_type().is_socket() => Err(ServeError::InTheWay(socket.into())),
        _ => Ok(()),
    }
}

/// Whatever else stands at the path is not ours.
pub(super) fn remove_socket(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
        let _ = fs::remove_file(path);
    }
}

fn lock_path(socket: &Path) -> PathBuf {
    socket.with_extension("lock")
}

fn read_pid(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

pub(super) fn make_private(dir: &Path) -> Result<(), ServeError> {
    if fs::symlink_metadata(dir).is_err() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(ServeError::io(format!("making {}", dir.display())))?;
    }
    places::check_private_dir(dir, places::user_id())
        .map_err(|fault| ServeError::SocketDir(format!("{}: {fault}", dir.display())))
}
