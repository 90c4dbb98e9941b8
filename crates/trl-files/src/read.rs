//! Looking at files and reading them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{OFlags, fstat, readlinkat};

use crate::Files;
use crate::error::{Error, Result};
use crate::meta::{Kind, Meta};
use crate::path::Rel;
use crate::root::Last;

/// A regular file, open for reading. Its place may be another file's by now; this stays the one that was found.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    pub place: PathBuf,
    pub meta: Meta,
}

/// One thing, as it is named: a link is a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub place: PathBuf,
    pub meta: Meta,
    /// What a link says, wherever that leads.
    pub target: Option<PathBuf>,
}

/// Some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// How large the file was.
    pub size: u64,
    pub version: String,
}

impl Files {
    pub fn stat(&self, path: &Rel) -> Result<Seen> {
        let found = self.root.find(path, Last::Keep)?;
        self.may_read(&found.place)?;
        let target = match found.meta.kind {
            Kind::Symlink => {
                let text = readlinkat(&found.fd, "", Vec::new()).map_err(Error::at(&found.place))?;
                Some(PathBuf::from(os_string(text.into_bytes())))
            }
            _ => None,
        };
        Ok(Seen { place: found.place, meta: found.meta, target })
    }

    /// What a path leads to in the end: a directory, or a file.
    pub fn kind(&self, path: &Rel) -> Result<Kind> {
        let found = self.root.find(path, Last::Follow)?;
        self.may_read(&found.place)?;
        Ok(found.meta.kind)
    }

    pub fn open(&self, path: &Rel) -> Result<Opened> {
        let found = self.root.find(path, Last::Follow)?;
        self.may_read(&found.place)?;
        let file = found.open_file(OFlags::RDONLY)?;
        let meta = Meta::of(&fstat(&file).map_err(Error::at(&found.place))?);
        Ok(Opened { file, place: found.place, meta })
    }

    /// At most `limit` bytes from `offset`; fewer only at the end.
    pub fn read(&self, path: &Rel, offset: u64, limit: usize) -> Result<Piece> {
        let Opened { file, place, meta } = self.open(path)?;
        let left = usize::try_from(meta.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; limit.min(left)];
        let read = fill(&file, &mut bytes, offset).map_err(|e| Error::io(&place, e))?;
        bytes.truncate(read);
        Ok(Piece { bytes, size: meta.size, version: meta.version() })
    }
}

fn os_string(bytes: Vec<u8>) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// Reads until the buffer is full or the file ends.
pub fn fill(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}
