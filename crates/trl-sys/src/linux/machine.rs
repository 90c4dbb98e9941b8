//! Facts about this process and this machine, read from /proc.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

fn field_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

/// Resident memory of this process.
pub fn rss_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    field_kib(&status, "VmRSS").unwrap_or(0) * 1024
}

pub fn thread_count() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    field_kib(&status, "Threads").unwrap_or(0)
}

/// What this machine calls itself.
pub fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_string()).unwrap_or_default()
}

pub fn open_fds() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |dir| dir.count() as u64)
}

/// Memory new work could use without swapping; None where the kernel does not say.
pub fn available_memory_bytes() -> Option<u64> {
    // the line is among the first; reading the file in the small steps of read_to_string takes ten calls
    let mut buf = [0; 512];
    let len = fs::File::open("/proc/meminfo").and_then(|mut file| file.read(&mut buf)).ok()?;
    Some(field_kib(&String::from_utf8_lossy(&buf[..len]), "MemAvailable")? * 1024)
}

/// Whether files there live in memory and never reach a disk (swap aside).
pub fn is_in_memory(dir: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    // the field's type differs from system to system
    rustix::fs::statfs(dir)
        .is_ok_and(|fs| u64::try_from(fs.f_type).is_ok_and(|t| [TMPFS, RAMFS].contains(&t)))
}

/// The program this process runs, by a name that leads there even when its file was replaced.
pub fn own_program() -> io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

/// Where its file is.
pub fn own_file() -> io::Result<PathBuf> {
    fs::read_link("/proc/self/exe")
}

/// The path that this program was started by, as the kernel was given it: a link stays a link. Relative to the directory then.
pub fn started_by() -> Option<PathBuf> {
    let path = rustix::param::linux_execfn().to_bytes();
    (!path.is_empty()).then(|| OsStr::from_bytes(path).into())
}

/// Which start of the machine this is; empty where nobody says.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_string()).unwrap_or_default()
}

/// Which processes this one sees: equal for those that see the same.
pub fn process_namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|at| at.display().to_string()).unwrap_or_default()
}
