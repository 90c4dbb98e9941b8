//! The file behind a log: unlinked at birth, capped, gone with the log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

#[derive(Debug)]
pub struct Spill {
    file: File,
    len: u64,
    cap: u64,
}

impl Spill {
    /// An unnamed file in `dir`, readable by its owner only.
    pub fn create(dir: &Path, cap: u64) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Self { file: File::from(file), len: 0, cap })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Keeps as much of `bytes` as the cap (or the disk) allows; after the first refusal it takes no more, so what
    /// it holds is one range without holes.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.cap - self.len).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        if self.file.write_all_at(part, self.len).is_err() {
            self.cap = self.len;
            return;
        }
        self.len += part.len() as u64;
        if part.len() < bytes.len() {
            self.cap = self.len;
        }
    }

    pub(super) fn read(&self, from: u64, limit: usize) -> Vec<u8> {
        let len = usize::try_from(self.len.saturating_sub(from)).unwrap_or(usize::MAX).min(limit);
        let mut bytes = vec![0; len];
        match self.file.read_exact_at(&mut bytes, from) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }
}
