//! Where a process is, as the kernel calls it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::procs;

/// The directory of process `pid`. Whether another name leads there cannot be asked without a file system that may make us
/// wait, so what it `said` counts only if it is the kernel's own name.
pub fn of(pid: i32, _said: &[u8]) -> Option<PathBuf> {
    // SAFETY: all fields are plain numbers and bytes.
    let paths = unsafe { procs::info::<libc::proc_vnodepathinfo>(pid, libc::PROC_PIDVNODEPATHINFO, 0) }?;
    let bytes: Vec<u8> = paths
        .pvi_cdir
        .vip_path
        .as_flattened()
        .iter()
        .map(|b| b.cast_unsigned())
        .take_while(|b| *b != 0)
        .collect();
    (!bytes.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&bytes)))
}
