//! The file behind a log: made when first needed, unlinked at birth, capped, gone with the log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::Mode;

use crate::seats::{Seat, Seats};

#[derive(Debug)]
pub struct Spill {
    dir: Arc<Path>,
    seats: Seats,
    /// With its place among the descriptors the daemon may have.
    file: Option<(File, Seat)>,
    len: u64,
    cap: u64,
}

impl Spill {
    /// A file in `dir`, readable by its owner only, for at most `cap` bytes.
    pub fn new(dir: Arc<Path>, cap: u64, seats: Seats) -> Self {
        Self { dir, seats, file: None, len: 0, cap }
    }

    /// Another one, for as much as this one may still take.
    pub(super) fn rest(&self) -> Self {
        Self::new(Arc::clone(&self.dir), self.cap - self.len, self.seats.clone())
    }

    fn open(dir: &Path) -> io::Result<File> {
        Ok(File::from(trl_sys::files::unlinked(dir, Mode::RUSR | Mode::WUSR)?))
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Keeps as much of `bytes` as the cap (or the disk) allows; after the first refusal it takes no more, so what
    /// it holds is one range without holes.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.cap - self.len).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        if let Err(e) = self.write(part) {
            tracing::warn!(dir = %self.dir.display(), error = %e, "output could not be spilled");
            self.cap = self.len;
            return;
        }
        self.len += part.len() as u64;
        if part.len() < bytes.len() {
            self.cap = self.len;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            let seat = self.seats.take().ok_or(rustix::io::Errno::MFILE)?;
            self.file = Some((Self::open(&self.dir)?, seat));
        }
        self.file.as_ref().map_or(Ok(()), |(file, _)| file.write_all_at(bytes, self.len))
    }

    pub(super) fn read(&self, from: u64, limit: usize) -> Vec<u8> {
        let len = usize::try_from(self.len.saturating_sub(from)).unwrap_or(usize::MAX).min(limit);
        let mut bytes = vec![0; len];
        match &self.file {
            Some((file, _)) if file.read_exact_at(&mut bytes, from).is_ok() => bytes,
            _ => Vec::new(),
        }
    }
}
