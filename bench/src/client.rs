//! A small blocking client: one connection, one request at a time.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trl_proto::exec::{CancelParams, RunParams, RunResult};
use trl_proto::session::{CreateParams, DestroyParams, Destroyed, Renewal, SessionInfo};
use trl_proto::{Method, SessionId, TerminalId, terminal};

/// Room for a whole push, so that most lines are found without moving bytes.
const READ_BYTES: usize = 256 << 10;
/// Nothing measured here is silent for so long; a daemon that hangs must not hang the measurement.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines of a stream, borrowed from one buffer.
pub(crate) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; READ_BYTES], start: 0, end: 0 }
    }

    /// The next line without its newline.
    pub(crate) fn next(&mut self) -> Result<&[u8]> {
        let mut scanned = self.start;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[scanned..self.end]) {
                let line = self.start..scanned + length;
                self.start = line.end + 1;
                return Ok(&self.buffer[line]);
            }
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            scanned = self.end;
            if self.end == self.buffer.len() {
                self.buffer.resize(self.end * 2, 0);
            }
            let read = self.from.read(&mut self.buffer[self.end..]);
            match read.context("the daemon does not answer")? {
                0 => bail!("the daemon closed the connection"),
                read => self.end += read,
            }
        }
    }
}

#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: &'a P,
}

#[derive(Deserialize)]
struct Answer<'a> {
    /// Absent in a push.
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Waits by poll, as every event-driven client does. A thread that sleeps in `read` is woken once for nothing when the
/// daemon takes the request: the kernel tells everybody who sleeps on the socket that there is room again.
struct Polled(UnixStream);

impl Read for Polled {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let patience = Timespec::try_from(PATIENCE).ok();
        if poll(&mut [PollFd::new(&self.0, PollFlags::IN)], patience.as_ref())? == 0 {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.0.read(buf)
    }
}

pub(crate) struct Client {
    lines: Lines<Polled>,
    to: UnixStream,
    last_id: u64,
    line: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let to = UnixStream::connect(socket).with_context(|| socket.display().to_string())?;
        to.set_read_timeout(Some(PATIENCE))?;
        to.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { lines: Lines::new(Polled(to.try_clone()?)), to, last_id: 0, line: vec![] })
    }

    pub(crate) fn call<T: DeserializeOwned>(&mut self, method: Method, params: &impl Serialize) -> Result<T> {
        self.send(method, params)?;
        self.answer()
    }

    /// A request whose answer is asked for later.
    pub(crate) fn send(&mut self, method: Method, params: &impl Serialize) -> Result<()> {
        self.last_id += 1;
        self.line.clear();
        let call = Call { jsonrpc: "2.0", id: self.last_id, method: method.name(), params };
        serde_json::to_writer(&mut self.line, &call)?;
        self.line.push(b'\n');
        Ok(self.to.write_all(&self.line)?)
    }

    /// The answer to the last request; pushes before it are dropped.
    pub(crate) fn answer<T: DeserializeOwned>(&mut self) -> Result<T> {
        loop {
            let answer: Answer<'_> = serde_json::from_slice(self.lines.next()?)?;
            if answer.id == Some(self.last_id) {
                if let Some(error) = answer.error {
                    bail!("the daemon refused: {}", error.get());
                }
                let result = answer.result.context("an answer has a result or an error")?;
                return Ok(serde_json::from_str(result.get())?);
            }
        }
    }

    /// The next line, whatever it is.
    pub(crate) fn next_line(&mut self) -> Result<&[u8]> {
        self.lines.next()
    }

    pub(crate) fn create(&mut self, shell: &str, renewal: Renewal) -> Result<SessionId> {
        self.create_with(CreateParams {
            shell: Some(shell.into()),
            renewal: Some(renewal),
            ..CreateParams::default()
        })
    }

    pub(crate) fn create_with(&mut self, params: CreateParams) -> Result<SessionId> {
        let info: SessionInfo = self.call(Method::SessionCreate, &params)?;
        Ok(info.session_id)
    }

    /// A program on a terminal.
    pub(crate) fn terminal(&mut self, argv: &[String]) -> Result<TerminalId> {
        let params =
            terminal::CreateParams { argv: Some(argv.to_vec()), ..terminal::CreateParams::default() };
        let info: terminal::TerminalInfo = self.call(Method::TerminalCreate, &params)?;
        Ok(info.terminal_id)
    }

    pub(crate) fn end_terminal(&mut self, terminal: &TerminalId) -> Result<()> {
        let params = terminal::DestroyParams { terminal_id: terminal.clone(), grace_s: None };
        self.call::<serde_json::Value>(Method::TerminalDestroy, &params).map(drop)
    }

    pub(crate) fn destroy(&mut self, session: &SessionId) -> Result<()> {
        let params = DestroyParams { session_id: session.clone(), force: Some(true) };
        self.call::<Destroyed>(Method::SessionDestroy, &params).map(drop)
    }

    /// Runs a command that must succeed.
    pub(crate) fn run(&mut self, session: &SessionId, command: &str) -> Result<RunResult> {
        let done: RunResult = self.call(Method::ExecRun, &run_params(session, command))?;
        ensure!(done.outcome.exit_code == 0, "{command:?}: {:?} {}", done.outcome, done.stderr);
        Ok(done)
    }

    /// Kills what `session` runs.
    pub(crate) fn cancel(&mut self, session: &SessionId) -> Result<()> {
        let params = CancelParams {
            session_id: Some(session.clone()),
            signal: Some("KILL".into()),
            grace_s: Some(0.0),
            ..CancelParams::default()
        };
        self.call::<serde_json::Value>(Method::ExecCancel, &params).map(drop)
    }
}

pub(crate) fn run_params(session: &SessionId, command: &str) -> RunParams {
    RunParams { session_id: Some(session.clone()), command: command.into(), ..RunParams::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `step` bytes at a time, as a socket may.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn lines_survive_any_split_and_any_length() {
        let long = "x".repeat(READ_BYTES + 100);
        let text = format!("a\n\n{long}\nb\n");
        for step in [1, 3, 1 << 20] {
            let mut lines = Lines::new(Drip(text.as_bytes(), step));
            for expected in ["a", "", &long, "b"] {
                assert!(lines.next().unwrap() == expected.as_bytes());
            }
            assert!(lines.next().is_err());
        }
    }
}
