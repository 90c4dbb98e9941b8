//! One process, held by a pidfd: by whom it was started, as long as it lives.
//!
//! The kernel says so itself since Linux 6.13. Before that /proc does, by pid: what it says is true of the process that is held
//! if that has not ended by then, since a pid belongs to a process until its end.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::ioctl::{self, Updater, opcode};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::procs;
use crate::lineage::Unproven;

/// A process that is never mistaken for a later owner of its pid.
#[derive(Debug)]
pub struct Held {
    pid: i32,
    handle: OwnedFd,
}

impl Held {
    /// Whoever has this pid now.
    pub fn of(pid: i32) -> Option<Self> {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, handle })
    }

    /// The process that connected to this socket, whose pid the kernel gave as `pid`. Before Linux 6.5 it is whoever has that
    /// pid now.
    pub fn peer(socket: impl AsFd, pid: i32) -> Option<Self> {
        match peer_handle(socket) {
            Ok(handle) => Some(Self { pid, handle }),
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Self::of(pid),
            Err(_) => None,
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the pid is still this process's.
    pub fn is_alive(&self) -> bool {
        !self.has_ended()
    }

    /// The pid of its parent at this moment; 0 where there is none in our pid namespace.
    pub(crate) fn parent(&self) -> Result<i32, Unproven> {
        if self.pid == 1 {
            return Ok(0);
        }
        if let Some(parent) = self.info().map(|info| info.ppid).filter(|parent| *parent > 0) {
            return Ok(parent);
        }
        let found = procs::stat(self.pid).filter(|_| procs::shows_our_namespace());
        if self.has_ended() {
            return Err(Unproven::Ended);
        }
        found.map(|stat| stat.ppid).ok_or(Unproven::Hidden)
    }

    /// Work that the kernel does for a process in a thread of its own has no parent either, and says nothing of that process.
    pub(crate) fn is_of_the_kernel(&self) -> bool {
        self.pid != 1 && procs::is_kernel_thread(self.pid)
    }

    pub(crate) fn names_its_parent(&self) -> bool {
        self.info().is_some()
    }

    fn has_ended(&self) -> bool {
        let mut asked = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut asked, Some(&Timespec::default())) != Ok(0)
    }

    fn info(&self) -> Option<Info> {
        const GET_INFO: ioctl::Opcode = opcode::read_write::<Info>(0xff, 11);
        let mut info = Info::default();
        // SAFETY: PIDFD_GET_INFO takes a pointer to this struct, reads its `mask` and writes no more than the size that is
        // part of its number; the struct is plain numbers and lives through the call.
        unsafe { ioctl::ioctl(&self.handle, Updater::<GET_INFO, Info>::new(&mut info)) }.ok()?;
        Some(info)
    }
}

/// The first version of the kernel's `struct pidfd_info`.
#[repr(C)]
#[derive(Debug, Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    pid: i32,
    tgid: i32,
    ppid: i32,
    /// Users and groups, and room.
    rest: [u32; 9],
}

fn peer_handle(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut handle: libc::c_int = -1;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `len` bytes to a live number of that size.
    let got = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERPIDFD, (&raw mut handle).cast(), &mut len)
    };
    match got {
        // SAFETY: the call succeeded, so this is a descriptor that it has made for us.
        0 => Ok(unsafe { OwnedFd::from_raw_fd(handle) }),
        _ => Err(io::Error::last_os_error()),
    }
}
