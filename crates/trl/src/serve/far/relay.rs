//! `trl stdio --resume KEY`: from stdin and stdout to the engine of a link, which is started when it is not there.
//!
//! 1. It connects to the engine's socket, and says in one byte what comes ([`Way`]).
//! 2. Pipes and sockets are handed to the engine, which then reads and writes them itself: one process less to wake for
//!    every message, both ways. The relay waits for the end, since its own is what its starter goes by.
//! 3. Anything else is relayed by two threads that read and write: nothing is looked at, nothing is kept.
//!
//! The end of either side is the end of the relay. The engine stays, for its grace.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use rustix::io::{read, retry_on_intr, write};
use trl_client::TOKEN_VARIABLE;
use trl_link::Key;
use trl_sys::{machine, places, rights};

use super::{ServeError, socket_of};
use crate::client::last_words;
use crate::config::Config;

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
    places::check_socket(&socket)?;
    let stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(_) => {
            let spawned = (starter == Starter::Relay).then(|| spawn(config, key)).transpose();
            meet(spawned.map_err(ServeError::io("starting the engine"))?, &socket)?
        }
    };
    go_between(stream).map_err(ServeError::io("relaying"))
}

/// How the bytes of a connection come to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By the two descriptors that come with this.
    Handed,
    /// Over the socket itself.
    Relayed,
}

impl Way {
    pub(super) fn of_byte(byte: u8) -> Option<Self> {
        [Self::Handed, Self::Relayed].into_iter().find(|way| way.byte() == byte)
    }

    fn byte(self) -> u8 {
        match self {
            Self::Handed => b'h',
            Self::Relayed => b'r',
        }
    }
}

fn go_between(mut stream: UnixStream) -> io::Result<()> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let ends = [stdin.as_fd(), stdout.as_fd()];
    if ends.iter().all(can_be_waited_for) {
        rights::send(&stream, Way::Handed.byte(), &ends)?;
        // Nothing is ever said there: this is its end.
        return stream.read(&mut [0]).map(drop);
    }
    rights::send(&stream, Way::Relayed.byte(), &[])?;
    pump(stream)
}

/// A file or a terminal is no stream, or may be somebody else's as well.
fn can_be_waited_for(fd: &BorrowedFd<'_>) -> bool {
    let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
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
    // Not by its name: another gateway may have put a copy in its place meanwhile.
    let mut command = Command::new(machine::own_program()?);
    command.arg0(std::env::args_os().next().unwrap_or_else(|| "trl".into()));
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
