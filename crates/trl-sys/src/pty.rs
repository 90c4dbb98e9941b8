//! Pseudo-terminals: the daemon holds the master, a program has the other side as its controlling terminal.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use rustix::termios::{InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Winsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Without a descriptor to watch for room, it is looked for this often.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

/// The daemon's side of one pseudo-terminal, inside an async runtime.
#[derive(Debug)]
pub struct Master {
    fd: Arc<Owned>,
    /// Watches for room, only while there was none: every read of the program's side makes some, and wakes whoever
    /// watches.
    room: Option<AsyncFd<Arc<Owned>>>,
    /// The other side, held so that a program that closes and opens it does not look like the end.
    peer: Option<OwnedFd>,
}

/// Always the same descriptor, which it owns.
#[derive(Debug)]
struct Owned(OwnedFd);

impl AsRawFd for Owned {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// What a read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Bytes(usize),
    Nothing,
    /// Nobody has the other side, and everything written there has been read.
    End,
}

impl Master {
    pub fn open(size: Size) -> io::Result<Self> {
        let (fd, peer) = crate::os::pty::open()?;
        // erasing a character of several bytes is one keystroke
        let mut modes = rustix::termios::tcgetattr(&peer)?;
        modes.input_modes |= InputModes::IUTF8;
        rustix::termios::tcsetattr(&peer, OptionalActions::Now, &modes)?;
        let master = Self { fd: Arc::new(Owned(fd)), room: None, peer: Some(peer) };
        master.resize(size)?;
        Ok(master)
    }

    /// The path a program opens.
    pub fn device(&self) -> io::Result<Vec<u8>> {
        Ok(rustix::pty::ptsname(&self.fd.0, Vec::new())?.into_bytes())
    }

    /// Programs on the other side hear of it by SIGWINCH.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize { ws_col: size.cols, ws_row: size.rows, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(rustix::termios::tcsetwinsize(&self.fd.0, size)?)
    }

    /// The process group that has the keyboard.
    pub fn foreground(&self) -> Option<Pid> {
        let mut group: libc::pid_t = 0;
        // SAFETY: the kernel writes one pid to a live integer.
        let got = unsafe { libc::ioctl(self.fd.0.as_raw_fd(), libc::TIOCGPGRP as _, &mut group) };
        (got == 0).then(|| Pid::from_raw(group)).flatten()
    }

    /// Where in `bytes` the last key stands that interrupts, quits or stops whoever has the keyboard; what was typed
    /// before it, and not read yet, goes with it.
    pub fn interrupt_in(&self, bytes: &[u8]) -> Option<usize> {
        // Ordinary keys are not asked about: nobody interrupts with a letter.
        if !bytes.iter().any(u8::is_ascii_control) {
            return None;
        }
        let modes = rustix::termios::tcgetattr(&self.fd.0).ok()?;
        let signals = modes.local_modes.contains(LocalModes::ISIG);
        if !signals || modes.local_modes.contains(LocalModes::NOFLSH) {
            return None;
        }
        let keys = [SpecialCodeIndex::VINTR, SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP];
        // a key that is 0 is none
        let keys = keys.map(|key| modes.special_codes[key]);
        bytes.iter().rposition(|b| *b != 0 && keys.contains(b))
    }

    /// Whether what was typed piles up already before a program that does not read; the kernel takes 4 KiB in.
    pub fn has_backlog(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| rustix::io::ioctl_fionread(peer).is_ok_and(|n| n > 2048))
    }

    /// Drops what was typed and the program has not read.
    pub fn forget_input(&self) {
        if let Some(peer) = &self.peer {
            // it fails only once nobody would read it
            let _ = rustix::termios::tcflush(peer, QueueSelector::IFlush);
        }
    }

    /// From here on the end shows as soon as no program has the other side.
    pub fn let_go_of_peer(&mut self) {
        self.peer = None;
    }

    /// Hears when there is something to read, on the runtime this is called in.
    pub fn listen(&self) -> io::Result<Ear> {
        Ok(Ear(watch(&self.fd, Interest::READABLE)?))
    }

    /// What can be read by whoever asks, wherever.
    pub fn source(&self) -> Source {
        Source(Arc::clone(&self.fd))
    }

    /// After a write that found no room, resolves when there is some. Cancel-safe.
    pub async fn writable(&self) {
        let Some(room) = &self.room else { return tokio::time::sleep(LOOK_AGAIN).await };
        match room.writable().await {
            Ok(mut guard) => guard.retain_ready(),
            Err(_) => std::future::pending().await,
        }
    }

    /// How many bytes were taken; none when there is no room.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = |fd: &Arc<Owned>| Ok(rustix::io::write(&fd.0, bytes)?);
        let done = match &self.room {
            Some(room) => room.try_io(Interest::WRITABLE, write),
            None => write(&self.fd),
        };
        match done {
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                if self.room.is_none() {
                    // A descriptor of its own: one can be watched once only.
                    let second = self.fd.0.try_clone().map(|fd| Arc::new(Owned(fd)));
                    self.room = second.and_then(|fd| watch(&fd, Interest::WRITABLE)).ok();
                }
                Ok(0)
            }
            other => {
                self.room = None;
                other
            }
        }
    }
}

/// Reads what programs have written.
#[derive(Debug)]
pub struct Source(Arc<Owned>);

impl Source {
    pub fn read(&self, buf: &mut [u8]) -> Read {
        found(rustix::io::read(&self.0.0, buf).map_err(io::Error::from))
    }
}

/// Hears when there is something to read.
#[derive(Debug)]
pub struct Ear(AsyncFd<Arc<Owned>>);

impl Ear {
    /// Resolves when there is something to read. Cancel-safe.
    pub async fn readable(&self) {
        match self.0.readable().await {
            Ok(mut guard) => guard.retain_ready(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Like [`Source::read`]; when there was nothing, it listens on.
    pub fn read(&self, buf: &mut [u8]) -> Read {
        found(self.0.try_io(Interest::READABLE, |fd| Ok(rustix::io::read(&fd.0, &mut *buf)?)))
    }
}

fn found(read: io::Result<usize>) -> Read {
    match read {
        Ok(0) => Read::End,
        Ok(n) => Read::Bytes(n),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Read::Nothing,
        // EIO: the last program has closed it
        Err(_) => Read::End,
    }
}

fn watch(fd: &Arc<Owned>, interest: Interest) -> io::Result<AsyncFd<Arc<Owned>>> {
    // SAFETY: it owns its descriptor, never gives it away, and always shows the same one.
    Ok(unsafe { AsyncFd::register_with_interest(Arc::clone(fd), interest) }?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SIZE: Size = Size { cols: 80, rows: 24 };

    async fn read_all(ear: &Ear) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buf = [0; 4096];
        loop {
            ear.readable().await;
            match ear.read(&mut buf) {
                Read::Bytes(n) => all.extend_from_slice(&buf[..n]),
                Read::Nothing => {}
                Read::End => return all,
            }
        }
    }

    #[tokio::test]
    async fn the_end_shows_only_when_we_too_have_let_go() {
        let mut master = Master::open(SIZE).unwrap();
        let device = String::from_utf8(master.device().unwrap()).unwrap();
        let mut program = std::fs::OpenOptions::new().write(true).open(&device).unwrap();
        program.write_all(b"one").unwrap();
        drop(program);
        let ear = master.listen().unwrap();
        ear.readable().await;
        let mut buf = [0; 64];
        assert_eq!(ear.read(&mut buf), Read::Bytes(3));
        assert_eq!(ear.read(&mut buf), Read::Nothing, "held: not the end");
        let mut program = std::fs::OpenOptions::new().write(true).open(&device).unwrap();
        program.write_all(b"two").unwrap();
        drop(program);
        master.let_go_of_peer();
        assert_eq!(read_all(&ear).await, b"two");
    }

    #[tokio::test]
    async fn a_program_learns_the_size() {
        let master = Master::open(Size { cols: 91, rows: 17 }).unwrap();
        let device = String::from_utf8(master.device().unwrap()).unwrap();
        let size = rustix::termios::tcgetwinsize(std::fs::File::open(device).unwrap()).unwrap();
        assert_eq!((size.ws_col, size.ws_row), (91, 17));
    }
}
