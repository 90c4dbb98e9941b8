//! Processes as macOS shows them: `proc_pidinfo` and its kin.
//!
//! There is no descriptor that holds a process: between looking at a start time and the signal, a pid may become another's.

use std::ffi::{OsStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal};

use super::sysctl;
use crate::tree::{Proc, Stat};

/// Of `waitid`: there is one kind of children.
pub(crate) const OF_ANY_KIND: c_int = 0;

/// One of the structs the kernel has about a process; None when there is no such process, or it is not ours to see.
///
/// # Safety
/// `T` is the struct of `flavor`, and all zero is a value of it.
pub(super) unsafe fn info<T>(pid: i32, flavor: c_int, argument: u64) -> Option<T> {
    let mut found = MaybeUninit::<T>::zeroed();
    let size = c_int::try_from(size_of::<T>()).ok()?;
    // SAFETY: the kernel writes at most `size` bytes to a live value of that size, which is zero before.
    unsafe {
        let got = libc::proc_pidinfo(pid, flavor, argument, found.as_mut_ptr().cast(), size);
        (got == size).then(|| found.assume_init())
    }
}

pub(super) fn bsd(pid: i32) -> Option<libc::proc_bsdinfo> {
    /// The dead that nobody has collected, too.
    const WITH_ZOMBIES: u64 = 1;
    // SAFETY: all fields are plain numbers and bytes.
    unsafe { info(pid, libc::PROC_PIDTBSDINFO, WITH_ZOMBIES) }
}

/// None when there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    let found = bsd(pid)?;
    let state = match found.pbi_status {
        libc::SRUN => b'R',
        libc::SSTOP => b'T',
        libc::SZOMB => b'Z',
        _ => b'S',
    };
    let start = found.pbi_start_tvsec.wrapping_mul(1_000_000).wrapping_add(found.pbi_start_tvusec);
    Some(Stat { state, ppid: found.pbi_ppid.cast_signed(), group: found.pbi_pgid.cast_signed(), start })
}

/// A list of pids that `ask` fills in: given a buffer and its bytes it says how many it knows.
fn pids(ask: impl Fn(*mut c_void, c_int) -> c_int) -> Option<Vec<i32>> {
    /// Who comes between the two calls has room.
    const MORE: usize = 64;
    let count = usize::try_from(ask(std::ptr::null_mut(), 0)).ok()?;
    let mut list = vec![0i32; count + MORE];
    let bytes = c_int::try_from(list.len() * size_of::<i32>()).ok()?;
    let count = usize::try_from(ask(list.as_mut_ptr().cast(), bytes)).ok()?;
    list.truncate(count);
    list.retain(|pid| *pid > 0);
    Some(list)
}

/// Children forked by the process's first thread: children belong to no thread here.
pub fn children_of_main_thread(pid: i32) -> Vec<i32> {
    children(pid)
}

/// Children forked by any of its threads.
pub fn children(pid: i32) -> Vec<i32> {
    // SAFETY: the kernel writes at most as many bytes as it is told to a buffer of that size.
    pids(|buffer, bytes| unsafe { libc::proc_listchildpids(pid, buffer, bytes) }).unwrap_or_default()
}

/// No list says of itself that it is whole.
pub(crate) fn children_if_told(_: i32) -> Option<Vec<i32>> {
    None
}

/// The children of one process, to be looked at again and again.
#[derive(Debug)]
pub struct ChildrenOf {
    pid: i32,
}

impl ChildrenOf {
    pub fn open(pid: i32) -> Option<Self> {
        stat(pid).map(|_| Self { pid })
    }

    /// None when the process is gone.
    pub fn glance(&self) -> Option<Vec<i32>> {
        stat(self.pid).map(|_| children(self.pid))
    }
}

/// Every process that can be seen.
pub fn everybody() -> Option<impl Iterator<Item = i32>> {
    // SAFETY: the kernel writes at most as many bytes as it is told to a buffer of that size.
    pids(|buffer, bytes| unsafe { libc::proc_listallpids(buffer, bytes) }).map(Vec::into_iter)
}

/// Sends `signal` to this process. False when it is gone.
pub fn signal(target: Proc, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(target.pid) else { return false };
    stat(target.pid).is_some_and(|s| s.start == target.start)
        && rustix::process::kill_process(pid, signal).is_ok()
}

/// A handle that becomes readable when the process ends; None when it is gone already.
pub fn end_of(pid: i32) -> Option<OwnedFd> {
    let set = kqueue().ok()?;
    fcntl_setfd(&set, FdFlags::CLOEXEC).ok()?;
    let filter = EventFilter::Proc { pid: Pid::from_raw(pid)?, flags: ProcessEvents::EXIT };
    let change = Event::new(filter, EventFlags::ADD, std::ptr::null_mut());
    let mut none: [MaybeUninit<Event>; 0] = [];
    // SAFETY: no descriptor is named.
    unsafe { kevent(&set, &[change], &mut none, Some(Duration::ZERO)) }.ok()?;
    Some(set)
}

/// Whether a process calls itself a keeper: in its arguments, for it has no other name of its own.
pub fn is_keeper(pid: i32) -> bool {
    arguments(pid).starts_with(crate::keeper::PROCESS_NAME.to_bytes())
}

/// Its command line, a NUL behind each argument.
pub fn arguments(pid: i32) -> Vec<u8> {
    sysctl::arguments(pid).and_then(|area| arguments_in(&area)).unwrap_or_default()
}

/// Behind their number, the path of the program and some NULs.
fn arguments_in(area: &[u8]) -> Option<Vec<u8>> {
    let (count, rest) = area.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let rest = &rest[rest.iter().position(|b| *b == 0)?..];
    let rest = &rest[rest.iter().position(|b| *b != 0)?..];
    Some(rest.split_inclusive(|b| *b == 0).take(count).flatten().copied().collect())
}

/// Numbers of what it has open.
pub(super) fn open_numbers(pid: i32) -> Vec<i32> {
    /// More than a process that is asked about has.
    const MOST: usize = 4096;
    let mut list: Vec<libc::proc_fdinfo> = Vec::with_capacity(MOST);
    let bytes = c_int::try_from(MOST * size_of::<libc::proc_fdinfo>()).unwrap_or(0);
    // SAFETY: the kernel writes at most `bytes` to a buffer of that size, and says how many; so many structs are there.
    unsafe {
        let got = libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, list.as_mut_ptr().cast(), bytes);
        list.set_len((usize::try_from(got).unwrap_or(0) / size_of::<libc::proc_fdinfo>()).min(MOST));
    }
    list.iter().map(|entry| entry.proc_fd).collect()
}

/// The kernel's `vnode_fdinfowithpath`: how it was opened, then what it is.
#[repr(C)]
struct OpenFile {
    flags: u32,
    status: u32,
    offset: i64,
    kind: i32,
    guard: u32,
    file: libc::vnode_info_path,
}

/// What it has open, by number and name. What is no file has no name.
pub fn descriptors(pid: i32) -> impl Iterator<Item = (u32, PathBuf)> {
    open_numbers(pid).into_iter().filter_map(move |fd| {
        let name = name_of(pid, fd).unwrap_or_default();
        Some((u32::try_from(fd).ok()?, name))
    })
}

fn name_of(pid: i32, fd: i32) -> Option<PathBuf> {
    const WITH_PATH: c_int = 2;
    let mut found = MaybeUninit::<OpenFile>::zeroed();
    let size = c_int::try_from(size_of::<OpenFile>()).ok()?;
    // SAFETY: the kernel writes at most `size` bytes to a live value of that size; all zero is a value of it.
    let found = unsafe {
        let got = libc::proc_pidfdinfo(pid, fd, WITH_PATH, found.as_mut_ptr().cast(), size);
        (got == size).then(|| found.assume_init())?
    };
    let path = found.file.vip_path.as_flattened().iter().map(|b| b.cast_unsigned());
    let bytes: Vec<u8> = path.take_while(|b| *b != 0).collect();
    Some(PathBuf::from(OsStr::from_bytes(&bytes)))
}

/// Another process's limits are not shown.
pub fn limits(_: i32) -> Vec<String> {
    Vec::new()
}
