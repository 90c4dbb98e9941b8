//! A program whose stdin and stdout are the stream. It ends when they do, or is killed.
//!
//! Whoever starts a process stands still until that has begun. So it is done on another thread, and when many links were cut at
//! once, a few at a time: requests of other runtimes do not wait for it.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Semaphore;
use trl_proto::Error;
use trl_sys::helper::Helper;
use trl_sys::stream;

use super::{Connection, Reader, Writer};
use crate::runtime::far::unavailable;

/// Of what it says beside the stream, the last so much is kept.
const MOST_SAID: usize = 4096;
/// A program whose stream has ended says why at once, if at all.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Started at a time: enough for every processor of a gateway, and far from the threads it may have.
const AT_ONCE: usize = 4;
static STARTING: Semaphore = Semaphore::const_new(AT_ONCE);

#[derive(Debug)]
pub struct Program {
    _process: Process,
    pub(super) stdout: Receiver,
    stderr: Stderr,
}

/// Killed when dropped, wherever that is.
#[derive(Debug)]
struct Process(Option<Helper>);

/// What it says beside the stream.
#[derive(Debug)]
struct Stderr {
    pipe: Receiver,
    /// The last of it.
    said: Vec<u8>,
}

impl Stderr {
    /// To its end. Given up at any time, nothing is lost.
    async fn hear(&mut self) {
        let mut piece = [0; 1024];
        while let Ok(bytes @ 1..) = self.pipe.read(&mut piece).await {
            self.said.extend_from_slice(&piece[..bytes]);
            self.said.drain(..self.said.len().saturating_sub(MOST_SAID));
        }
    }

    /// Somebody the program started may hold it open for longer than that lives.
    async fn last_words(&mut self) -> String {
        let _ = tokio::time::timeout(LAST_WORDS, self.hear()).await;
        String::from_utf8_lossy(&self.said).trim().to_string()
    }
}

/// What a program said from its start to its end.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) stdout: String,
    /// The last of it.
    pub(super) stderr: String,
}

/// The program as a stream both ways.
pub(super) async fn connect(words: &[String]) -> Result<Connection, Error> {
    let started = Program::start(words, Stdio::piped()).await;
    let (program, stdin) = started.map_err(|why| unavailable("connect", &why))?;
    let writer = stdin.ok_or_else(|| unavailable("connect", "it has no pipe"))?;
    Ok(Connection { reader: Reader::Program(program), writer: Writer::Program(writer) })
}

/// What it says, given a file or nothing to read. The error is for people: it could not be started.
pub(super) async fn run(words: &[String], stdin: Option<File>) -> Result<Said, String> {
    let (mut program, _) = Program::start(words, stdin.map_or_else(Stdio::null, Stdio::from)).await?;
    let mut said = Vec::new();
    let heard = tokio::select! {
        heard = program.stdout.read_to_end(&mut said) => heard,
        never = async { program.stderr.hear().await; std::future::pending::<Infallible>().await } => match never {},
    };
    heard.map_err(|e| e.to_string())?;
    let stderr = program.stderr.last_words().await;
    Ok(Said { stdout: String::from_utf8_lossy(&said).into_owned(), stderr })
}

impl Program {
    async fn start(words: &[String], stdin: Stdio) -> Result<(Self, Option<stream::Writer>), String> {
        let (program, rest) = words.split_first().ok_or("there is no program")?;
        let mut command = Command::new(program);
        command.args(rest).current_dir("/").stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"TRL_"))
        {
            // What is meant for this daemon is not for that one.
            command.env_remove(name);
        }
        let started = Self::spawn(command).await;
        started.map_err(|e| format!("{program} cannot be started: {e}"))
    }

    async fn spawn(mut command: Command) -> io::Result<(Self, Option<stream::Writer>)> {
        let turn = STARTING.acquire().await.map_err(io::Error::other)?;
        let starting =
            tokio::task::spawn_blocking(move || Helper::spawn(&mut command).map(|h| Process(Some(h))));
        let mut process = starting.await??;
        drop(turn);
        let no_pipe = || io::Error::other("it has no pipes");
        let helper = process.0.as_mut().ok_or_else(no_pipe)?;
        let stdin = helper.take_stdin().map(|pipe| stream::Writer::of(OwnedFd::from(pipe))).transpose()?;
        let stdout = Receiver::from_owned_fd(OwnedFd::from(helper.take_stdout().ok_or_else(no_pipe)?))?;
        let pipe = Receiver::from_owned_fd(OwnedFd::from(helper.take_stderr().ok_or_else(no_pipe)?))?;
        let stderr = Stderr { pipe, said: Vec::new() };
        Ok((Self { _process: process, stdout, stderr }, stdin))
    }

    pub(super) async fn last_words(&mut self) -> String {
        self.stderr.last_words().await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Waited for elsewhere: it may take a moment to be gone.
        if let Some(mut helper) = self.0.take() {
            helper.kill();
            tokio::task::spawn_blocking(move || drop(helper));
        }
    }
}
