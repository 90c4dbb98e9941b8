//! FIFOs: the channels between the daemon and a shell.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Dev, Mode, OFlags};

use crate::os::pipes;

/// One page: enough for control messages, and far from an ordinary user's pipe-user-pages-soft.
pub const SMALL: usize = 4096;
/// The kernel's default, and the size output pipes grow to while a command writes a lot.
pub const LARGE: usize = 65536;

/// Makes a FIFO only its owner may use.
pub fn make(path: &Path) -> io::Result<()> {
    pipes::make_fifo(path, Mode::RUSR | Mode::WUSR)
}

/// Both ends at once: never blocks, never sees EOF, and keeps the other side's open from blocking.
pub fn open_both(path: &Path) -> io::Result<OwnedFd> {
    open(path, OFlags::RDWR)
}

/// The read end; EOF shows when no writer is left.
pub fn open_read(path: &Path) -> io::Result<OwnedFd> {
    open(path, OFlags::RDONLY)
}

/// The write end; fails with ENXIO while nobody reads.
pub fn open_write(path: &Path) -> io::Result<OwnedFd> {
    open(path, OFlags::WRONLY)
}

fn open(path: &Path, mode: OFlags) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, mode | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

/// Sets the pipe's capacity. A refusal (the user's pipe budget is used up, or the system has one size) leaves it as it was.
pub fn resize(fd: impl AsFd, bytes: usize) -> bool {
    pipes::resize(fd, bytes)
}

/// Which FIFO this is an end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: Dev,
    inode: u64,
}

pub fn identify(fd: impl AsFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
}

/// Whether both are ends of one FIFO.
pub fn same(one: impl AsFd, other: impl AsFd) -> bool {
    identify(one).is_ok_and(|one| identify(other).is_ok_and(|other| one == other))
}

/// Bytes waiting to be read.
pub fn pending(fd: impl AsFd) -> usize {
    rustix::io::ioctl_fionread(fd).map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// What a look at a read end shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    pub has_bytes: bool,
    pub has_writer: bool,
}

/// Looks at two read ends at once.
pub fn look(first: impl AsFd, second: impl AsFd) -> [Sight; 2] {
    let mut set = [PollFd::new(&first, PollFlags::IN), PollFd::new(&second, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let looked = poll(&mut set, Some(&now)).is_ok();
    set.map(|fd| {
        let seen = fd.revents();
        Sight {
            has_bytes: !looked || seen.contains(PollFlags::IN),
            has_writer: !looked || !seen.contains(PollFlags::HUP),
        }
    })
}

/// Whether anybody holds the read end of this write end.
pub fn has_reader(fd: impl AsFd) -> bool {
    let mut set = [PollFd::new(&fd, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !(poll(&mut set, Some(&now)).is_ok() && set[0].revents().contains(PollFlags::ERR))
}

/// What one read of a non-blocking descriptor found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Bytes(usize),
    /// Nothing now, but a writer is still there.
    Nothing,
    /// Nothing, and nobody who could write.
    NoWriter,
}

pub fn read(fd: impl AsFd, buf: &mut [u8]) -> io::Result<Found> {
    loop {
        return match rustix::io::read(&fd, &mut *buf) {
            Ok(0) => Ok(Found::NoWriter),
            Ok(n) => Ok(Found::Bytes(n)),
            Err(rustix::io::Errno::AGAIN) => Ok(Found::Nothing),
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => Err(e.into()),
        };
    }
}

/// Writes a short control line; a full pipe is an error because nothing sane fills it.
pub fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(&fd, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_tells_a_silent_writer_from_a_gone_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        make(&path).unwrap();
        let reader = open_read(&path).unwrap();
        let mut buf = [0; 8];
        assert_eq!(read(&reader, &mut buf).unwrap(), Found::NoWriter);
        let writer = open_write(&path).unwrap();
        assert_eq!(read(&reader, &mut buf).unwrap(), Found::Nothing);
        assert!(
            look(&reader, &reader)[0] == Sight { has_bytes: false, has_writer: true } && has_reader(&writer)
        );
        assert!(same(&reader, &writer) && !same(&reader, std::io::stdin()));
        write_all(&writer, b"abc").unwrap();
        assert_eq!(pending(&reader), 3);
        assert_eq!(read(&reader, &mut buf).unwrap(), Found::Bytes(3));
        drop(writer);
        assert_eq!(read(&reader, &mut buf).unwrap(), Found::NoWriter);
        assert_eq!(look(&reader, &reader)[1], Sight { has_bytes: false, has_writer: false });
        assert!(resize(&reader, SMALL));
    }
}
