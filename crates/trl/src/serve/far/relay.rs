//! `trl stdio --resume KEY`: from stdin and stdout to the engine of a link, which is started when it is not there.
//!
//! Two threads that read and write: nothing is looked at, nothing is kept, and the end of either side is the end of the
//! relay. The engine stays, for its grace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::{read, retry_on_intr, write};
use trl_link::Key;

use super::{ServeError, socket_of};
use crate::client::last_words;
use crate::config::{Config, TOKEN_VARIABLE};
use crate::paths;

/// An engine is there within milliseconds; a machine that swaps may need longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the one that stays may take after the other has ended.
const AFTER_EXIT: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(2);
const BUFFER: usize = 64 * 1024;

/// Who starts the engine when it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starter {
    Relay,
    /// It is process 1 of a container, and about to be there.
    Other,
}

pub(crate) fn relay(config: &Config, key: Key, starter: Starter) -> Result<(), ServeError> {
    let socket = socket_of(config, key);
    paths::check_socket(&socket)?;
    let stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(_) => {
            let spawned = (starter == Starter::Relay).then(|| spawn(config, key)).transpose();
            meet(spawned.map_err(ServeError::io("starting the engine"))?, &socket)?
        }
    };
    pump(stream).map_err(ServeError::io("relaying"))
}

fn meet(mut engine: Option<Child>, socket: &Path) -> Result<UnixStream, ServeError> {
    let (mut deadline, mut ended) = (Instant::now() + PATIENCE, None);
    loop {
        if let Ok(stream) = UnixStream::connect(socket) {
            return Ok(stream);
        }
        // Another relay may have started one at the same time, which stays, and is waited for.
        if ended.is_none()
            && let Some(engine) = &mut engine
            && let Ok(Some(status)) = engine.try_wait()
        {
            ended = Some(last_words(engine).unwrap_or_else(|| status.to_string()));
            deadline = deadline.min(Instant::now() + AFTER_EXIT);
        }
        if Instant::now() >= deadline {
            let why = ended.unwrap_or_else(|| format!("it does not answer after {} s", PATIENCE.as_secs()));
            return Err(ServeError::io("starting the engine")(io::Error::other(why)));
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
}

/// It has the environment of whoever logged in, and nothing of their files but the place where errors are read.
fn spawn(config: &Config, key: Key) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["stdio", "--engine-of-link", "--resume", &key.to_string(), "--socket"]).arg(&config.socket);
    if let Some(file) = &config.file {
        command.arg("--config").arg(file);
    }
    command.env_remove(TOKEN_VARIABLE).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
}

fn pump(stream: UnixStream) -> io::Result<()> {
    let out = stream.try_clone()?;
    std::thread::spawn(move || {
        let _ = copy(io::stdin().as_fd(), stream.as_fd());
        // Whoever started this is gone, or has all it wanted.
        std::process::exit(0);
    });
    copy(out.as_fd(), io::stdout().as_fd())
}

fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let mut rest = match retry_on_intr(|| read(from, &mut buffer[..]))? {
            0 => return Ok(()),
            bytes => &buffer[..bytes],
        };
        while !rest.is_empty() {
            let written = retry_on_intr(|| write(to, rest))?;
            rest = &rest[written..];
        }
    }
}
