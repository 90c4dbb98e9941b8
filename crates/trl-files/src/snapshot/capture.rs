//! Taking a snapshot: files go into one `git fast-import`, which takes bytes and names as they are.
//!
//! A file is announced with its size and then sent. When it turns out to have changed meanwhile, what was sent stays
//! without a name, and the file is sent again.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fstat, readlinkat};

use super::about::About;
use super::git::{self, Git, Running};
use super::stored::Stored;
use super::survey::{Survey, survey};
use super::{Caps, Fault, Taken};
use crate::Files;
use crate::error::{Error, Result};
use crate::meta::{Kind, Meta};
use crate::read::fill;

const BUFFER: usize = 256 << 10;
/// How often a file is read that somebody writes.
const TRIES: usize = 3;
/// Where the files are in a snapshot, and what is known beyond them.
pub(super) const FILES: &str = "files";
pub(super) const ABOUT: &str = "about";

pub(super) fn take(git: &Git, files: &Files, caps: Caps) -> Result<Taken> {
    let Survey { found, ignored, skipped } = survey(files)?;
    if found.len() > caps.files {
        return Err(Fault::TooMuch { what: "files", most: caps.files as u64 }.into());
    }
    let id = git::new_id()?;
    let import = git.start(&["fast-import", "--quiet", "--done", "--depth=0"])?;
    let mut capture = Capture::new(files, caps, import);
    capture.skipped = skipped;
    for (place, kind) in found {
        match capture.keep(&place, kind) {
            Ok(Some(why)) => capture.skipped.push((place, why)),
            Ok(None) => {}
            // Not the file's fault: git is gone, or there is too much.
            Err(e @ (Error::Snapshot(_) | Error::Full)) => return Err(e),
            // It went meanwhile, so it is not there.
            Err(Error::NotFound { .. }) => {}
            Err(e) => capture.skipped.push((place, e.to_string())),
        }
    }
    let (count, bytes) = (capture.tree.len(), capture.bytes);
    let skipped = capture.commit(&git::reference(&id)?, &ignored)?;
    // It says so itself whether it is there.
    Stored::open(git, &id)?;
    Ok(Taken { id, files: count, bytes, skipped })
}

struct Capture<'a> {
    files: &'a Files,
    caps: Caps,
    import: Running,
    /// Git's mode and our number of what was sent.
    tree: Vec<(PathBuf, &'static str, usize)>,
    about: About,
    skipped: Vec<(PathBuf, String)>,
    sent: usize,
    bytes: u64,
    buffer: Vec<u8>,
}

impl<'a> Capture<'a> {
    fn new(files: &'a Files, caps: Caps, import: Running) -> Self {
        Self {
            files,
            caps,
            import,
            tree: Vec::new(),
            about: About::default(),
            skipped: Vec::new(),
            sent: 0,
            bytes: 0,
            buffer: vec![0; BUFFER],
        }
    }

    /// Why it was left out, if it was.
    fn keep(&mut self, place: &Path, kind: Kind) -> Result<Option<String>> {
        let found = self.files.root.at(place)?;
        if found.meta.kind != kind {
            return Ok(Some("became something else while it was read".into()));
        }
        if kind == Kind::Symlink {
            let target = readlinkat(&found.fd, "", Vec::new()).map_err(Error::at(place))?;
            self.count(target.as_bytes().len() as u64)?;
            let mark = self.announce(target.as_bytes().len() as u64)?;
            self.import.say(target.as_bytes())?;
            self.import.say(b"\n")?;
            self.tree.push((place.into(), "120000", mark));
            return Ok(None);
        }
        let file = found.open_file(OFlags::RDONLY)?;
        for _ in 0..TRIES {
            let meta = Meta::of(&fstat(&file).map_err(Error::at(place))?);
            if meta.size > self.caps.file_bytes {
                return Ok(Some(format!("has more than {} bytes", self.caps.file_bytes)));
            }
            self.count(meta.size)?;
            let mark = self.send(place, &file, meta.size).inspect_err(|_| self.bytes -= meta.size)?;
            let after = Meta::of(&fstat(&file).map_err(Error::at(place))?);
            if after.version() == meta.version() {
                let mode = if meta.mode & 0o100 == 0 { "100644" } else { "100755" };
                self.about.note_mode(place, meta.mode);
                self.tree.push((place.into(), mode, mark));
                return Ok(None);
            }
            self.bytes -= meta.size;
        }
        Ok(Some("changed again and again while it was read".into()))
    }

    fn count(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        match self.bytes > self.caps.bytes {
            true => Err(Fault::TooMuch { what: "bytes", most: self.caps.bytes }.into()),
            false => Ok(()),
        }
    }

    fn announce(&mut self, bytes: u64) -> Result<usize> {
        self.sent += 1;
        self.import.say(format!("blob\nmark :{}\ndata {bytes}\n", self.sent).as_bytes())?;
        Ok(self.sent)
    }

    /// As many bytes as were announced, whatever the file has by now.
    fn send(&mut self, place: &Path, file: &File, bytes: u64) -> Result<usize> {
        let mark = self.announce(bytes)?;
        let mut done = 0;
        let mut failed = None;
        while done < bytes {
            let want = usize::try_from(bytes - done).unwrap_or(BUFFER).min(BUFFER);
            let read = match fill(file, &mut self.buffer[..want], done) {
                Ok(read) => read,
                Err(e) => {
                    failed = Some(Error::io(place, e));
                    0
                }
            };
            self.buffer[read..want].fill(0);
            self.import.say(&self.buffer[..want])?;
            done += want as u64;
        }
        self.import.say(b"\n")?;
        failed.map_or(Ok(mark), Err)
    }

    /// Gives what was sent its names; what was left out.
    fn commit(mut self, reference: &str, ignored: &[PathBuf]) -> Result<Vec<(PathBuf, String)>> {
        let passed = self.skipped.iter().map(|(place, _)| place).chain(ignored);
        passed.for_each(|place| self.about.pass(place));
        let about = self.about.to_text();
        let mark = self.announce(about.len() as u64)?;
        let mut order = format!("{about}\ncommit {reference}\ncommitter trl <trl> 0 +0000\ndata 0\n");
        let mut name = |mode: &str, mark: usize, path: &Path| {
            let _ = writeln!(order, "M {mode} :{mark} {}", quoted(path));
        };
        name("100644", mark, Path::new(ABOUT));
        for (place, mode, mark) in &self.tree {
            name(mode, *mark, &Path::new(FILES).join(place));
        }
        order.push_str("done\n");
        self.import.say(order.as_bytes())?;
        self.import.finish()?;
        Ok(self.skipped)
    }
}

/// As git reads any bytes.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                text.push(char::from(*byte))
            }
            other => {
                // Writing to a string does not fail.
                let _ = write!(text, "\\{other:03o}");
            }
        }
    }
    text.push('"');
    text
}
