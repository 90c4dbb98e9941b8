//! Namespaces: everything read-only but what may be written, names that stay as they are, a loopback of its own.
//!
//! The mounts are seen by the program and what it starts, and go with the last of them. Nothing is mounted anywhere
//! that others see, and no directory is made to mount something on but those of [`super::protect`].
//!
//! Landlock alone would leave three things open: it knows nothing of modes, owners and times; it cannot take a place out
//! of a directory that may be written; and its network rules are about ports, not about hosts.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::protect::{Kind, is_gone};
use super::{Net, Protected, check, place, spot};

const OPEN_TREE_CLONE: u32 = 1;
const AT_RECURSIVE: i32 = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: u32 = 4;
const MOVE_MOUNT_T_EMPTY_PATH: u32 = 0x40;
const MOUNT_ATTR_RDONLY: u64 = 1;

/// The kernel's `mount_attr`.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Leaves the daemon's namespaces: as root just so, else as the root of a user namespace in which there is only this user.
pub(super) fn separate(net: Net) -> Result<(), i32> {
    let network = if net == Net::Loopback { libc::CLONE_NEWNET } else { 0 };
    let flags = libc::CLONE_NEWNS | libc::CLONE_NEWIPC | network;
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: integers only.
    let unshare = |flags| check(libc::c_long::from(unsafe { libc::unshare(flags) })).map(drop);
    if uid == 0 && unshare(flags).is_ok() {
        return Ok(());
    }
    unshare(flags | libc::CLONE_NEWUSER)?;
    map_ids(uid, gid).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
}

/// The user and the group are called what they are called outside; there are no others.
fn map_ids(uid: u32, gid: u32) -> std::io::Result<()> {
    // The keeper's memory is closed to everybody, and so are these files. This process has nothing to hide any more: it is
    // a copy, and about to become another program.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1\n"))
}

/// A new network has a loopback that is down.
pub(super) fn raise_loopback() -> Result<(), i32> {
    // SAFETY: the socket is checked and then owned; the request is a live struct with a terminated name.
    unsafe {
        let fd =
            check(libc::c_long::from(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)))?;
        let socket = OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1));
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = libc::c_char::from_ne_bytes(*b"l");
        request.ifr_name[1] = libc::c_char::from_ne_bytes(*b"o");
        request.ifr_ifru.ifru_flags =
            libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
        check(libc::c_long::from(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request)))
            .map(drop)
    }
}

/// Everything below the root becomes read-only, for whoever looks from here; `writable` stays as it is.
pub(super) fn make_read_only(writable: &[Vec<u8>]) -> Result<(), i32> {
    // First of all nothing that is done here may be seen outside.
    let private = Attributes { propagation: libc::MS_PRIVATE, ..Attributes::default() };
    set(libc::AT_FDCWD, c"/", AT_RECURSIVE, &private)?;
    let mut kept = Vec::new();
    for path in writable.iter().map(|path| Path::new(OsStr::from_bytes(path))) {
        match place(path) {
            Ok(place) => kept.push((path, copy(&place)?)),
            Err(libc::ENOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    set(libc::AT_FDCWD, c"/", AT_RECURSIVE, &READ_ONLY)?;
    // One inside another is put there after it.
    kept.sort_by_key(|(path, _)| path.as_os_str().len());
    kept.iter().try_for_each(|(path, tree)| put_over(tree, &place(path)?))
}

const READ_ONLY: Attributes =
    Attributes { set: MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };

/// Pseudo-terminals of its own: those outside are other people's keyboards.
pub(super) fn renew_terminals() -> Result<(), i32> {
    let fresh = new_file_system(c"devpts", &[(c"ptmxmode", c"0666"), (c"mode", c"0600")])?;
    put_over(&fresh, &place(Path::new("/dev/pts"))?)?;
    let maker = copy(&place(Path::new("/dev/pts/ptmx"))?)?;
    match place(Path::new("/dev/ptmx")) {
        Ok(old) => put_over(&maker, &old),
        // A link to the one that is there now.
        Err(libc::ELOOP) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Shared memory of its own. What is `kept` of the old stays where it was.
pub(super) fn renew_memory(kept: &[Vec<u8>]) -> Result<(), i32> {
    let shared = Path::new(SHARED_MEMORY);
    let kept = kept.iter().map(|path| Path::new(OsStr::from_bytes(path))).filter(|p| p.starts_with(shared));
    let kept = kept.map(|path| Ok((path, copy(&place(path)?)?))).collect::<Result<Vec<_>, i32>>()?;
    let fresh = new_file_system(c"tmpfs", &[(c"size", c"256m"), (c"mode", c"1777")])?;
    put_over(&fresh, &place(shared)?)?;
    for (path, tree) in kept {
        fs::create_dir_all(path).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
        put_over(&tree, &place(path)?)?;
    }
    Ok(())
}

pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// A file system nobody else has, mounted nowhere yet.
fn new_file_system(kind: &CStr, settings: &[(&CStr, &CStr)]) -> Result<OwnedFd, i32> {
    const CLOSE_ON_EXEC: u32 = 1;
    const SET_STRING: u32 = 1;
    const CREATE: u32 = 6;
    const NO_SET_UID: u32 = 2;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: C strings and integers; the new descriptors are nobody else's.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOSE_ON_EXEC))?;
        let context = OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1));
        let configure = |command: u32, key: *const libc::c_char, value: *const libc::c_char| {
            check(libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), command, key, value, 0)).map(drop)
        };
        settings.iter().try_for_each(|(key, value)| configure(SET_STRING, key.as_ptr(), value.as_ptr()))?;
        configure(CREATE, none, none)?;
        let fd = check(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOSE_ON_EXEC, NO_SET_UID))?;
        Ok(OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)))
    }
}

/// Names that stay as they are. What has something mounted on it cannot be renamed or removed, so each directory on the
/// way to such a name gets itself mounted on it. What is gone since it was found was moved by somebody who may write there.
pub(super) fn protect(protected: &Protected) -> Result<(), i32> {
    for (path, kind) in &protected.places {
        let place = match spot(path) {
            Ok(place) => place,
            Err(errno) if is_gone(errno) => continue,
            Err(errno) => return Err(errno.raw_os_error()),
        };
        match keep(&place, *kind) {
            // It was removed between the two steps.
            Err(libc::ENOENT) => {}
            // Older kernels mount nothing on a link.
            Err(libc::EINVAL | libc::ELOOP) if is_link(&place) => {}
            kept => kept?,
        }
    }
    Ok(())
}

fn keep(place: &OwnedFd, kind: Kind) -> Result<(), i32> {
    let tree = copy(place)?;
    if kind == Kind::Frozen {
        set(tree.as_raw_fd(), c"", libc::AT_EMPTY_PATH | AT_RECURSIVE, &READ_ONLY)?;
    }
    put_over(&tree, place)
}

fn is_link(place: &OwnedFd) -> bool {
    rustix::fs::fstat(place).is_ok_and(|s| s.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

fn set(at: i32, path: &CStr, flags: i32, attributes: &Attributes) -> Result<(), i32> {
    // SAFETY: a C string and a live struct of the size given; the kernel reads both.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<Attributes>(),
        )
    };
    check(done).map(drop)
}

/// What is at a place with all that is mounted below, mounted nowhere yet.
fn copy(place: &OwnedFd) -> Result<OwnedFd, i32> {
    let flags = OPEN_TREE_CLONE
        | AT_RECURSIVE.cast_unsigned()
        | libc::AT_EMPTY_PATH.cast_unsigned()
        | libc::O_CLOEXEC.cast_unsigned();
    // SAFETY: a descriptor of ours, a C string and integers; the new descriptor is nobody else's.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_open_tree, place.as_raw_fd(), c"".as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)))
    }
}

fn put_over(tree: &OwnedFd, place: &OwnedFd) -> Result<(), i32> {
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: descriptors of ours, C strings and integers.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            place.as_raw_fd(),
            c"".as_ptr(),
            flags,
        )
    };
    check(done).map(drop)
}
