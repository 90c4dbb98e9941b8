//! Changes of directories, as inotify notes them.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::files::link_to;
use crate::changes::{Happened, Noted};

const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

/// Directories that are watched. Its descriptor is readable when something was noted.
#[derive(Debug)]
pub struct Changes {
    inotify: OwnedFd,
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl Changes {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { inotify: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)? })
    }

    /// By the descriptor: whatever has that name by now, this is the directory that was found. `NOSPC` when there are too
    /// many.
    pub fn add(&self, dir: impl AsFd) -> Result<i32, Errno> {
        inotify::add_watch(&self.inotify, link_to(dir.as_fd()), EVENTS)
    }

    pub fn remove(&self, watch: i32) {
        let _ = inotify::remove_watch(&self.inotify, watch);
    }

    /// What was noted so far, `most` of it at most, and whether the kernel has left something out.
    pub fn take(&self, most: usize) -> Result<(Vec<Noted>, bool), Errno> {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let (mut noted, mut overflow) = (Vec::new(), false);
        // Whoever changes things without end gets an end here; the rest is for the next time.
        while noted.len() < most {
            match reader.next() {
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => overflow = true,
                Ok(event) => {
                    let name: Option<OsString> =
                        event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_os_string());
                    noted.push(Noted {
                        watch: event.wd(),
                        happened: happened(event.events()),
                        name: name.unwrap_or_default(),
                        is_dir: event.events().contains(ReadFlags::ISDIR),
                    });
                }
            }
        }
        Ok((noted, overflow))
    }
}

fn happened(flags: ReadFlags) -> Happened {
    match () {
        () if flags.contains(ReadFlags::IGNORED) => Happened::Ended,
        () if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) => Happened::Created,
        () if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) => Happened::Removed,
        () => Happened::Modified,
    }
}
