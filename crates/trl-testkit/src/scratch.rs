//! A directory for one test: files, FIFOs as gates, and nothing left afterwards.
//!
//! A gate replaces a sleep: the command reads from a FIFO and goes on when the test writes to it, or the other way round.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::PATIENCE;
use crate::process::readable;

#[derive(Debug)]
pub struct Scratch(tempfile::TempDir);

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    pub fn new() -> Self {
        Self::under(&std::env::temp_dir()).expect("a temporary directory")
    }

    /// In memory where the machine has such a place, as a user's runtime directory is.
    pub fn in_memory() -> Self {
        Self::under(Path::new("/dev/shm")).unwrap_or_default()
    }

    /// The name says nothing of TRL: tests look for that name where it must not be.
    fn under(dir: &Path) -> std::io::Result<Self> {
        let private = fs::Permissions::from_mode(0o700);
        tempfile::Builder::new().prefix("tk-").permissions(private).tempdir_in(dir).map(Self)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The path as text, for use inside commands. It needs no quoting.
    pub fn text(&self, name: &str) -> String {
        self.join(name).to_str().expect("a UTF-8 temporary directory").to_string()
    }

    /// A directory of mode 0700.
    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).expect("a directory");
        path
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.join(name), content).expect("a file");
        self.text(name)
    }

    /// An executable file.
    pub fn program(&self, name: &str, text: &str) -> String {
        let path = self.file(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    pub fn fifo(&self, name: &str) -> String {
        trl_sys::fifo::make(&self.join(name)).expect("a FIFO");
        self.text(name)
    }

    /// Lets a command go on that reads from this FIFO, now or later.
    pub fn open_gate(&self, name: &str) -> Gate {
        // Read and write, so that opening never waits for the command.
        let mut gate = fs::OpenOptions::new().read(true).write(true).open(self.join(name)).expect("a FIFO");
        gate.write_all(b"go\n").expect("room for three bytes");
        Gate { _fifo: gate }
    }

    /// The near end of a FIFO that commands write to. Take it before they run.
    pub fn listen(&self, name: &str) -> Signals {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let fifo = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(nonblocking)
            .open(self.join(name))
            .expect("a FIFO");
        Signals { fifo, seen: Vec::new() }
    }
}

/// Keeps the byte in the FIFO until the reader took it.
#[derive(Debug)]
pub struct Gate {
    _fifo: fs::File,
}

/// Lines that a command writes to tell the test how far it is.
#[derive(Debug)]
pub struct Signals {
    fifo: fs::File,
    seen: Vec<u8>,
}

impl Signals {
    /// Waits for the next line and returns it without its newline.
    pub fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.seen.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.seen.drain(..=end).collect();
                return String::from_utf8_lossy(&line).trim_end().to_string();
            }
            assert!(readable(&self.fifo, PATIENCE), "the command never signalled");
            let mut chunk = [0; 512];
            let n = self.fifo.read(&mut chunk).expect("a readable FIFO");
            self.seen.extend_from_slice(&chunk[..n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_gate_lets_a_command_go_on_and_it_answers() {
        let dir = Scratch::new();
        let (go, done) = (dir.fifo("go"), dir.fifo("done"));
        let mut heard = dir.listen("done");
        let script = format!("read x <{go}; echo \"got $x\" >{done}");
        let mut child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let gate = dir.open_gate("go");
        assert_eq!(heard.line(), "got go");
        assert!(child.wait().unwrap().success());
        drop(gate);
    }
}
