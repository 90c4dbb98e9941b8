//! Facts about this process and this machine.

use std::io;
use std::path::{Path, PathBuf};

use super::{procs, sysctl};

fn me() -> i32 {
    std::process::id().cast_signed()
}

fn task() -> Option<libc::proc_taskinfo> {
    // SAFETY: all fields are plain numbers.
    unsafe { procs::info(me(), libc::PROC_PIDTASKINFO, 0) }
}

/// Resident memory of this process.
pub fn rss_bytes() -> u64 {
    task().map_or(0, |task| task.pti_resident_size)
}

pub fn thread_count() -> u64 {
    task().map_or(0, |task| u64::try_from(task.pti_threadnum).unwrap_or(0))
}

/// What this machine calls itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub fn open_fds() -> u64 {
    procs::open_numbers(me()).len() as u64
}

/// Memory new work could use without swapping: the kernel's own level, a share of all memory.
pub fn available_memory_bytes() -> Option<u64> {
    let all = sysctl::number(c"hw.memsize")?;
    let percent = sysctl::number(c"kern.memorystatus_level")?.min(100);
    Some(all / 100 * percent)
}

/// Whether files there live in memory and never reach a disk (swap aside).
pub fn is_in_memory(dir: &Path) -> bool {
    let name = rustix::fs::statfs(dir).map(|fs| fs.f_fstypename);
    name.is_ok_and(|name| name.iter().map(|b| b.cast_unsigned()).take_while(|b| *b != 0).eq(*b"tmpfs"))
}

/// The program this process runs. One whose file was replaced is the new one.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Where its file is.
pub fn own_file() -> io::Result<PathBuf> {
    own_program()
}

/// The path that this program was started by, as far as its caller says.
pub fn started_by() -> Option<PathBuf> {
    let called = std::env::args_os().next().map(PathBuf::from)?;
    (called.components().count() > 1).then_some(called)
}

/// Which start of the machine this is; empty where nobody says.
pub fn boot_id() -> String {
    sysctl::text(c"kern.bootsessionuuid").unwrap_or_default()
}

/// Everybody sees the same processes.
pub fn process_namespace() -> String {
    String::new()
}
