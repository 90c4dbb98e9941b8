//! The session directory: private, in memory where possible, everything a shell and the daemon share.
//!
//! | name | what |
//! |---|---|
//! | `c0` `c1` `c2` | FIFOs daemon to shell, one per slot: the shell in one, its clone in another, the third for the next |
//! | `s` | FIFO shell to daemon: reports |
//! | `l0` `l1` `l2` | the loop text of each slot |
//! | `u` | the command: one file, written anew for each (a FIFO where files would reach a disk) |
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
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use trl_sys::fifo;

use super::feed::Feeder;
use super::kind::Kind;
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
    /// Open for good: making and removing a file per command would cost more than anything else here.
    command: Option<CommandFile>,
    /// What only clones need is there, too.
    complete: bool,
}

impl Files {
    /// Fills a directory with all that outlives a command.
    pub fn create(kind: Kind, base: PathBuf, medium: Medium) -> io::Result<Self> {
        let files =
            Self { paths: Paths::new(kind, base.clone()), base, medium, command: None, complete: false };
        files.furnish()?;
        Ok(files)
    }

    fn furnish(&self) -> io::Result<()> {
        let kind = self.paths.kind;
        for name in
            ["c0", "c1", "c2", "s", "n", "o", "e"].into_iter().chain(kind.dumps_often().then_some("d"))
        {
            match fifo::make(&self.at(name)) {
                // One that is there already may be just what a shell is about to open.
                Err(_) if fs::symlink_metadata(self.at(name)).is_ok_and(|m| m.file_type().is_fifo()) => {}
                Err(_) => self.renew_fifo(name)?,
                Ok(()) => {}
            }
        }
        self.write_loop(0)
    }

    fn write_loop(&self, slot: usize) -> io::Result<()> {
        self.write(&format!("l{slot}"), script::text(self.paths.kind, &self.paths, slot).as_bytes())
    }

    /// The rest, which can wait until the session is up.
    pub fn complete(&mut self) -> io::Result<()> {
        if !self.complete {
            self.write_loop(1)?;
            self.write_loop(2)?;
            self.write("h", b"")?;
            self.complete = true;
        }
        Ok(())
    }

    /// Only the streams, for a direct command.
    pub fn create_bare(kind: Kind, base: PathBuf, medium: Medium) -> io::Result<Self> {
        let files =
            Self { paths: Paths::new(kind, base.clone()), base, medium, command: None, complete: false };
        for name in ["o", "e", "i"] {
            fifo::make(&files.at(name))?;
        }
        Ok(files)
    }

    /// Puts back what is missing; `make` makes the directory.
    pub fn mend(&mut self, make: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<()> {
        self.command = None;
        if !self.base.is_dir() {
            make()?;
        }
        self.furnish()?;
        self.complete = false;
        self.complete()
    }

    /// Whether the texts are all there.
    pub fn has_texts(&self) -> bool {
        let names: &[&str] = if self.complete { &["h", "l0", "l1", "l2"] } else { &["l0"] };
        names.iter().all(|name| self.at(name).is_file())
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
        let written = self.create_new(name)?.write_all(bytes);
        if written.is_err() {
            self.remove(name);
        }
        written
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

    /// The command's text for the shell to source. Nobody reads the text of the one before any more: a shell is done
    /// with its file when it reports, and what it forked has parsed its part.
    pub fn deliver_command(&mut self, command: &str) -> io::Result<Option<Feeder>> {
        let text = [command.as_bytes(), self.paths.kind.after_command().as_bytes()].concat();
        if !self.holds_files() {
            return self.deliver("u", &text);
        }
        let mut file = match self.command.take().filter(CommandFile::is_in_place) {
            Some(file) => file,
            None => CommandFile { file: self.create_new("u")?, len: 0 },
        };
        // a file that could not be written whole is not kept
        file.write(&text)?;
        self.command = Some(file);
        Ok(None)
    }

    /// The command has ended: its text goes when there is time.
    pub fn forget_command(&mut self) {
        if !self.holds_files() {
            self.remove("u");
        }
    }

    /// There is time.
    pub fn wipe_command(&mut self) {
        if let Some(file) = &mut self.command
            && file.write(b"").is_err()
        {
            self.command = None;
            self.remove("u");
        }
    }

    fn holds_files(&self) -> bool {
        // fish sources no FIFO
        self.medium == Medium::Memory || self.paths.kind == Kind::Fish
    }

    /// Text for a shell to source: a file in memory, or a FIFO where a file would reach a disk.
    pub fn deliver(&self, name: &str, bytes: &[u8]) -> io::Result<Option<Feeder>> {
        if self.holds_files() {
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

/// A file whose content is replaced in place.
#[derive(Debug)]
struct CommandFile {
    file: fs::File,
    len: usize,
}

impl CommandFile {
    /// Nobody has removed it, or put another in its place.
    fn is_in_place(&self) -> bool {
        self.file.metadata().is_ok_and(|m| m.nlink() > 0)
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all_at(text, 0)?;
        if text.len() < self.len {
            self.file.set_len(text.len() as u64)?;
        }
        self.len = text.len();
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}
