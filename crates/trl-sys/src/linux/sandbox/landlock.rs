//! Landlock: which files, which TCP ports, and whom a program may signal.
//!
//! A rule is about a directory and everything below it, now and later. Nothing can be taken out of it again, so a
//! denied place below one that is allowed is left out by allowing, one by one, what stands beside it.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Net, Plan, check, place};

/// Versions of the kernel's interface that brought what matters here.
pub(super) const WITH_TRUNCATE: i32 = 3;
const WITH_TCP: i32 = 4;
const WITH_DEVICES: i32 = 5;
pub(super) const WITH_SCOPES: i32 = 6;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// All that the first version knows: the above and making, removing and renaming.
const FIRST: u64 = (1 << 13) - 1;
const REFER: u64 = 1 << 13;
/// Character and block devices are made by nobody inside.
const MAKE_DEVICES: u64 = 1 << 6 | 1 << 11;

const OF_A_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const TO_READ: u64 = EXECUTE | READ_FILE | READ_DIR;
const TO_OPEN: u64 = READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV;

const BIND_TCP_CONNECT_TCP: u64 = 3;
const ABSTRACT_SOCKETS_SIGNALS: u64 = 3;

/// The kernel's `landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    net: u64,
    scoped: u64,
}

/// The kernel's `landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    access: u64,
    parent: i32,
}

/// The kernel's version of Landlock, 0 where there is none.
pub fn abi() -> i32 {
    crate::kernel::landlock_abi().and_then(|abi| i32::try_from(abi).ok()).unwrap_or(0)
}

fn known(abi: i32) -> u64 {
    let mut all = FIRST;
    for (since, right) in [(2, REFER), (WITH_TRUNCATE, TRUNCATE), (WITH_DEVICES, IOCTL_DEV)] {
        if abi >= since {
            all |= right;
        }
    }
    all
}

/// Restricts this process and all it will start; returns the version it did so with.
pub(super) fn restrict(plan: &Plan, own_terminals: bool, own_memory: bool) -> Result<i32, i32> {
    let abi = abi();
    if abi < 1 {
        return Err(libc::EOPNOTSUPP);
    }
    let known = known(abi);
    let rules = Rules { fd: create(plan.net, abi, known)?, known, deny: paths(&plan.deny) };
    for (list, access) in
        [(&plan.read, TO_READ), (&plan.write, known & !MAKE_DEVICES & !IOCTL_DEV), (&plan.open, TO_OPEN)]
    {
        paths(list).iter().try_for_each(|path| rules.allow(path, access))?;
    }
    if own_terminals {
        rules.add(Path::new("/dev/pts"), TO_OPEN)?;
        // where it is a link, it leads there
        rules.add(Path::new("/dev/ptmx"), TO_OPEN)?;
    }
    if own_memory {
        rules.add(Path::new(super::mounts::SHARED_MEMORY), known & !MAKE_DEVICES & !IOCTL_DEV)?;
    }
    // SAFETY: a descriptor of ours and no flags.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.fd.as_raw_fd(), 0) })?;
    Ok(abi)
}

fn paths(list: &[Vec<u8>]) -> Vec<PathBuf> {
    list.iter().map(|bytes| PathBuf::from(std::ffi::OsStr::from_bytes(bytes))).collect()
}

fn create(net: Net, abi: i32, known: u64) -> Result<OwnedFd, i32> {
    let attributes = Ruleset {
        files: known,
        net: if net == Net::None && abi >= WITH_TCP { BIND_TCP_CONNECT_TCP } else { 0 },
        scoped: if abi >= WITH_SCOPES { ABSTRACT_SOCKETS_SIGNALS } else { 0 },
    };
    // A kernel that does not know a field wants to be told of a struct that ends before it.
    let size = match abi {
        WITH_SCOPES.. => 24,
        WITH_TCP.. => 16,
        _ => 8usize,
    };
    // SAFETY: a live struct of at least `size` bytes, read by the kernel; the new descriptor is nobody else's.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0))?;
        Ok(OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)))
    }
}

struct Rules {
    fd: OwnedFd,
    known: u64,
    deny: Vec<PathBuf>,
}

impl Rules {
    /// What is denied is left out, unless it is named itself.
    fn allow(&self, path: &Path, access: u64) -> Result<(), i32> {
        if self.deny.iter().all(|denied| denied == path || !denied.starts_with(path)) {
            return self.add(path, access);
        }
        let Ok(entries) = std::fs::read_dir(path) else { return Ok(()) };
        for entry in entries.flatten() {
            // What a link leads to is allowed where it stands, or not at all.
            let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
            let entry = entry.path();
            if !is_link && !self.deny.contains(&entry) {
                self.allow(&entry, access)?;
            }
        }
        Ok(())
    }

    fn add(&self, path: &Path, access: u64) -> Result<(), i32> {
        const PATH_BENEATH: u32 = 1;
        // Not there, or not for this user, or not what it was: then not allowed.
        let Ok(place) = place(path) else { return Ok(()) };
        let is_dir = rustix::fs::fstat(&place).is_ok_and(|s| s.st_mode & libc::S_IFMT == libc::S_IFDIR);
        let fitting = if is_dir { access } else { access & OF_A_FILE };
        let rule = Beneath { access: fitting & self.known, parent: place.as_raw_fd() };
        // SAFETY: descriptors of ours and a live struct that the kernel reads.
        let added = unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, self.fd.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
        };
        check(added).map(drop)
    }
}
