//! The bytes of `trl run`: the command's output to our streams, our stdin to the command.
//!
//! Both directions are exact and keep their order. Each waits for the other side: a slow terminal slows the stream
//! down, and a command that does not read its stdin stops us from reading ours.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use trl_client::{Chunk, ClientError, OutputStream, Process};
use trl_proto::exec::{Outcome, Stream};

use super::failure::Failure;

/// What one read of stdin asks for, and so what one `exec.input` carries.
const CHUNK: usize = 64 << 10;
/// What a pipe that has room takes without waiting (PIPE_BUF).
const SURE: usize = 4096;
/// Chunks read ahead of the daemon.
const AHEAD: usize = 2;

/// What the command gets as its stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdin {
    Empty,
    Forwarded,
}

#[derive(Debug, clap::Args)]
pub(super) struct StdinArgs {
    /// Give the command an empty stdin, whatever ours is
    #[arg(short, long)]
    no_stdin: bool,
}

impl StdinArgs {
    /// A terminal is not forwarded: nobody who types `trl run ls` means to give it input.
    pub(super) fn choose(&self) -> Stdin {
        if self.no_stdin || io::stdin().is_terminal() { Stdin::Empty } else { Stdin::Forwarded }
    }
}

/// Why the output did not come to its end.
#[derive(Debug)]
pub(super) enum Broken {
    /// Whoever read our output has gone.
    Reader,
    Failed(Failure),
}

impl From<ClientError> for Broken {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.into())
    }
}

/// Copies what `stream` brings to our streams until the command's end.
pub(super) async fn output(mut stream: OutputStream) -> Result<Outcome, Broken> {
    while let Some(chunk) = stream.next().await? {
        write_chunk(chunk).await?;
    }
    Ok(stream.wait().await?)
}

async fn write_chunk(chunk: Chunk) -> Result<(), Broken> {
    if let Some(gap) = chunk.gap {
        let _unseen = writeln!(io::stderr(), "trl: {} bytes were too fast for us", gap.to - gap.from);
    }
    let Chunk { stream, data, .. } = chunk;
    let written = match is_taken_at_once(stream, &data) {
        true => write(stream, &data),
        false => spawn_blocking(move || write(stream, &data)).await.map_err(io::Error::from).flatten(),
    };
    match written {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Broken::Reader),
        Err(e) => Err(Broken::Failed(e.into())),
    }
}

/// Whether a write of that much cannot block: then no thread is needed for it.
fn is_taken_at_once(stream: Stream, bytes: &[u8]) -> bool {
    bytes.len() <= SURE && is_ready(stream, Some(&Timespec::default()))
}

fn is_ready(stream: Stream, timeout: Option<&Timespec>) -> bool {
    let (out, err) = (io::stdout(), io::stderr());
    let stream = match stream {
        Stream::Stdout | Stream::Tty => out.as_fd(),
        Stream::Stderr => err.as_fd(),
    };
    poll(&mut [PollFd::from_borrowed_fd(stream, PollFlags::OUT)], timeout).is_ok_and(|ready| ready > 0)
}

/// Writes to the stream of ours that `stream` stands for, whoever else made it non-blocking.
pub(super) fn write(stream: Stream, mut bytes: &[u8]) -> io::Result<()> {
    let (out, err) = (io::stdout(), io::stderr());
    while !bytes.is_empty() {
        let written = match stream {
            Stream::Stdout | Stream::Tty => rustix::io::write(&out, bytes),
            Stream::Stderr => rustix::io::write(&err, bytes),
        };
        match written {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => drop(is_ready(stream, None)),
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Copies our stdin to the command until either ends. The command may end first: then nobody wants the rest.
pub(super) async fn input(process: Process) {
    if send_stdin(&process).await.is_ok() {
        let _late = process.close_stdin().await;
    }
}

/// Sends our stdin to its end.
pub(super) async fn send_stdin(process: &Process) -> Result<(), ClientError> {
    let (chunk, mut chunks) = mpsc::channel(AHEAD);
    // A thread of its own: a read of stdin cannot be given up, and must not hold up our end.
    std::thread::spawn(move || read_stdin(&chunk));
    while let Some(bytes) = chunks.recv().await {
        process.write(&bytes).await?;
    }
    Ok(())
}

fn read_stdin(chunk: &mpsc::Sender<Vec<u8>>) {
    let mut stdin = io::stdin().lock();
    loop {
        let mut bytes = vec![0; CHUNK];
        match stdin.read(&mut bytes) {
            Ok(0) => return,
            Ok(length) => bytes.truncate(length),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        if chunk.blocking_send(bytes).is_err() {
            return;
        }
    }
}
