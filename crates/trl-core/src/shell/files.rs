//! The session directory: private, in memory where possible, everything a shell and the daemon share.
//!
//! | name | what |
//! |---|---|
//! | `c0` `c1` `c2` | FIFOs daemon to shell, one per slot: the shell in one, its clone in another, the third for the next |
//! | `s` | FIFO shell to daemon: reports |
//! | `l0` `l1` `l2` | the loop text of each slot |
//! | `u` | the command, a new file per execution (a FIFO where files would reach a disk) |
//! | `o` `e` | FIFOs: stdout and stderr of the running command |
//! | `b` `i` | stdin as a file (given bytes) or as a FIFO (open stdin) |
//! | `w` `x` | the wrapper of a command with its own environment or directory |
//! | `r` | `return N`: sets `$?` without a fork |
//! | `n` | FIFO: the shell's own stdout outside commands |
//! | `d` `t` | FIFO and file of a text snapshot |
//! | `h` | nothing, to be sourced |
//!
//! Paths, not inherited descriptors: a shell cannot name all descriptors, users close them, and every child would
//! inherit them.

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use trl_sys::fifo;

use super::feed::Feeder;
use super::kind::{Kind, Survival};
use super::{quote::quote, script};

/// The paths as words of shell text.
#[derive(Debug, Clone)]
pub struct Paths {
    kind: Kind,
    base: PathBuf,
}

impl Paths {
    pub fn new(kind: Kind, base: PathBuf) -> Self {
        Self { kind, base }
    }

    fn word(&self, name: &str) -> String {
        quote(self.kind, &self.base.join(name).display().to_string())
    }

    pub(super) fn control(&self, slot: usize) -> String {
        self.word(&format!("c{slot}"))
    }
    pub(super) fn script(&self, slot: usize) -> String {
        self.word(&format!("l{slot}"))
    }
    pub(super) fn reports(&self) -> String {
        self.word("s")
    }
    pub(super) fn command(&self) -> String {
        self.word("u")
    }
    pub(super) fn stdout(&self) -> String {
        self.word("o")
    }
    pub(super) fn stderr(&self) -> String {
        self.word("e")
    }
    pub fn stdin_file(&self) -> String {
        self.word("b")
    }
    pub fn stdin_fifo(&self) -> String {
        self.word("i")
    }
    pub(super) fn wrapper(&self) -> String {
        self.word("w")
    }
    pub(super) fn inner(&self) -> String {
        self.word("x")
    }
    pub(super) fn nothing(&self) -> String {
        self.word("h")
    }
    pub(super) fn carry(&self) -> String {
        self.word("r")
    }
    pub(super) fn dump(&self) -> String {
        self.word("d")
    }
    pub(super) fn snapshot(&self) -> String {
        self.word("t")
    }
}

/// Whether command text may stand in a file for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    Memory,
    /// Text and stdin pass through FIFOs and never touch the disk.
    Disk,
}

#[derive(Debug)]
pub struct Files {
    base: PathBuf,
    pub medium: Medium,
    pub paths: Paths,
    /// The next command's file, made while there was time.
    next_command: Option<fs::File>,
}

impl Files {
    /// Fills a directory with all that outlives a command.
    pub fn create(kind: Kind, base: PathBuf, medium: Medium) -> io::Result<Self> {
        let files = Self { paths: Paths::new(kind, base.clone()), base, medium, next_command: None };
        files.furnish()?;
        Ok(files)
    }

    fn furnish(&self) -> io::Result<()> {
        let kind = self.paths.kind;
        let dump = kind.survival() == Survival::Snapshot || kind.rebase_after().is_some();
        for name in ["c0", "c1", "c2", "s", "n", "o", "e"].into_iter().chain(dump.then_some("d")) {
            // One that is there already may be just what a shell is about to open.
            if !fs::symlink_metadata(self.at(name)).is_ok_and(|m| m.file_type().is_fifo()) {
                self.renew_fifo(name)?;
            }
        }
        self.write("h", b"")?;
        for slot in 0..3 {
            self.write(&format!("l{slot}"), script::text(kind, &self.paths, slot).as_bytes())?;
        }
        Ok(())
    }

    /// Only the streams, for a direct command.
    pub fn create_bare(kind: Kind, base: PathBuf, medium: Medium) -> io::Result<Self> {
        let files = Self { paths: Paths::new(kind, base.clone()), base, medium, next_command: None };
        for name in ["o", "e", "i"] {
            fifo::make(&files.at(name))?;
        }
        Ok(files)
    }

    /// Puts back what is missing; `make` makes the directory.
    pub fn mend(&mut self, make: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<()> {
        self.next_command = None;
        if !self.base.is_dir() {
            make()?;
        }
        self.furnish()
    }

    /// Whether the texts are all there.
    pub fn has_texts(&self) -> bool {
        ["h", "l0", "l1", "l2"].iter().all(|name| self.at(name).is_file())
    }

    /// Whether a name still leads to what was opened under it.
    pub fn leads_to(&self, name: &str, opened: impl AsFd) -> bool {
        let id = |s: rustix::fs::Stat| (s.st_dev, s.st_ino);
        let (now, then) = (rustix::fs::lstat(self.at(name)), rustix::fs::fstat(opened));
        now.is_ok_and(|now| then.is_ok_and(|then| id(now) == id(then)))
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// A new file: whoever still reads the old one keeps reading the old one.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.create_new(name).and_then(|file| self.fill(name, file, bytes))
    }

    fn create_new(&self, name: &str) -> io::Result<fs::File> {
        let path = self.at(name);
        let create = || fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match create() {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path).and_then(|()| create())
            }
            other => other,
        }
    }

    fn fill(&self, name: &str, mut file: fs::File, bytes: &[u8]) -> io::Result<()> {
        let written = file.write_all(bytes);
        if written.is_err() {
            self.remove(name);
        }
        written
    }

    /// Makes the next command's file; the old one's text goes.
    pub fn prepare_command(&mut self) {
        self.next_command = match self.medium {
            Medium::Memory => self.create_new("u").ok(),
            Medium::Disk => None,
        };
    }

    /// The command's text for the shell to source.
    pub fn deliver_command(&mut self, bytes: &[u8]) -> io::Result<Option<Feeder>> {
        match self.next_command.take() {
            Some(file) if file.metadata()?.nlink() == 0 => Err(io::ErrorKind::NotFound.into()),
            Some(file) => self.fill("u", file, bytes).map(|()| None),
            None => self.deliver("u", bytes),
        }
    }

    /// Text for a shell to source: a file in memory, or a FIFO where a file would reach a disk.
    pub fn deliver(&self, name: &str, bytes: &[u8]) -> io::Result<Option<Feeder>> {
        // fish sources no FIFO
        if self.medium == Medium::Memory || self.paths.kind == Kind::Fish {
            return self.write(name, bytes).map(|()| None);
        }
        self.renew_fifo(name)?;
        let mut feeder = Feeder::open(&self.at(name))?;
        drop(feeder.write(bytes.to_vec()));
        feeder.close();
        Ok(Some(feeder))
    }

    pub fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.at(name));
    }

    /// A new FIFO under an old name; holders of the old one keep it.
    pub fn renew_fifo(&self, name: &str) -> io::Result<()> {
        self.remove(name);
        fifo::make(&self.at(name))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}
