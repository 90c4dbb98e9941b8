//! The terminal this process runs in, given to somebody else's program for a while.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, QueueSelector, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::pty::Size;

/// Raw until it is dropped: every key arrives as it is.
#[derive(Debug)]
pub struct Tty {
    fd: AsyncFd<Owned>,
    before: Termios,
    raw: Termios,
}

#[derive(Debug)]
struct Owned(OwnedFd);

impl AsRawFd for Owned {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Tty {
    /// Must be called within a runtime. Opened anew, so that nobody else's reads stop blocking.
    pub fn take() -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = rustix::fs::open("/dev/tty", flags, Mode::empty())?;
        let before = rustix::termios::tcgetattr(&fd)?;
        let mut raw = before.clone();
        raw.make_raw();
        let interest = Interest::READABLE | Interest::WRITABLE;
        // SAFETY: it owns its descriptor, never gives it away, and always shows the same one.
        let fd = unsafe { AsyncFd::register_with_interest(Owned(fd), interest) };
        let tty = Self { fd: fd.map_err(io::Error::from)?, before, raw };
        tty.retake()?;
        Ok(tty)
    }

    /// Raw once more, after a shell had it while we were stopped.
    pub fn retake(&self) -> io::Result<()> {
        Ok(rustix::termios::tcsetattr(&self.fd.get_ref().0, OptionalActions::Now, &self.raw)?)
    }

    /// What was typed. Cancel-safe.
    pub async fn read(&self) -> io::Result<Vec<u8>> {
        let mut buf = [0; 4096];
        loop {
            let mut ready = self.fd.readable().await?;
            match ready.try_io(|fd| Ok(rustix::io::read(&fd.get_ref().0, &mut buf)?)) {
                Ok(Ok(0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(Ok(n)) => return Ok(buf[..n].to_vec()),
                Ok(Err(e)) => return Err(e),
                Err(_) => {}
            }
        }
    }

    /// Shows as much as there is room for, and says how much that was. Cancel-safe.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.writable().await?;
            if let Ok(written) = ready.try_io(|fd| Ok(rustix::io::write(&fd.get_ref().0, bytes)?)) {
                return written;
            }
        }
    }

    pub fn size(&self) -> Option<Size> {
        let size = rustix::termios::tcgetwinsize(&self.fd.get_ref().0).ok()?;
        Some(Size { cols: size.ws_col, rows: size.ws_row })
    }

    /// Forgets what was typed and not read yet.
    pub fn discard(&self) -> io::Result<()> {
        Ok(rustix::termios::tcflush(&self.fd.get_ref().0, QueueSelector::IFlush)?)
    }

    /// As it was before.
    pub fn restore(&self) {
        let _ = rustix::termios::tcsetattr(&self.fd.get_ref().0, OptionalActions::Now, &self.before);
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.restore();
    }
}
