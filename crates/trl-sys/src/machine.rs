//! Facts about this process and this machine.

use std::path::Path;

pub use crate::os::machine::{
    available_memory_bytes, boot_id, host_name, is_in_memory, open_fds, own_file, own_program,
    process_namespace, rss_bytes, started_by, thread_count,
};

/// Free bytes where `dir` lives.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let fs = rustix::fs::statvfs(dir).ok()?;
    Some(fs.f_bavail.saturating_mul(fs.f_frsize))
}

/// The user this process acts as.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
