//! What the machine itself can do: the pipe, the spawn, the copy.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Another process that sends back each byte: the cheapest possible request.
pub(crate) struct Peer {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Peer {
    pub(crate) fn start() -> Result<Self> {
        Self::of(Command::new(std::env::current_exe()?).arg("--peer"))
    }

    /// Anything that does the same.
    pub(crate) fn of(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().context("piped")?;
        let from = child.stdout.take().context("piped")?;
        Ok(Self { child, to, from })
    }

    pub(crate) fn round_trip(&mut self) -> Result<()> {
        self.to.write_all(b"x")?;
        Ok(self.from.read_exact(&mut [0])?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other end of [`Peer`].
pub(crate) fn be_the_peer() -> Result<()> {
    let (from, to) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut byte = [0u8];
    while rustix::io::read(from, &mut byte)? == 1 {
        rustix::io::write(to, &byte)?;
    }
    Ok(())
}

/// One command in a new shell, both streams through pipes, as every tool without sessions does it.
pub(crate) fn spawn(shell: &str, command: &str) -> Result<()> {
    let done = Command::new(shell).args(["-c", command]).stdin(Stdio::null()).output()?;
    ensure!(done.status.success(), "{shell} -c {command:?}: {}", done.status);
    Ok(())
}

/// Runs `command` and reads its output from the pipe into nothing; bytes read.
pub(crate) fn copy(command: &str) -> Result<u64> {
    let mut child =
        Command::new("dash").args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut from = child.stdout.take().context("piped")?;
    let mut buffer = vec![0u8; 64 << 10];
    let mut total = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => break,
            n => total += n as u64,
        }
    }
    ensure!(child.wait()?.success(), "{command:?} failed");
    Ok(total)
}
