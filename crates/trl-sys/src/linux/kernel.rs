//! What Linux can do here.

use std::fs;
use std::io;

use rustix::process::{PidfdFlags, getpid, pidfd_open};

use crate::kernel::Presence;

/// The version of Landlock's interface; None without Landlock.
pub fn landlock_abi() -> Option<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no attributes, so a null pointer of size 0 is what it wants.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    u32::try_from(abi).ok().filter(|abi| *abi > 0)
}

/// What a seccomp filter may decide: `errno`, `user_notif`, ... None without seccomp filters.
pub fn seccomp_actions() -> Option<Vec<String>> {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").ok()?;
    Some(actions.split_whitespace().map(String::from).collect())
}

/// Whether processes without privileges may make user namespaces, as far as the settings say.
pub fn user_namespaces() -> Presence {
    let setting = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match setting("/proc/sys/user/max_user_namespaces") {
        None => Presence::Absent,
        Some(0) => Presence::Denied,
        Some(_) if crate::machine::effective_uid() == 0 => Presence::Present,
        // Debian's switch, then Ubuntu's.
        Some(_) if setting("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) => Presence::Denied,
        Some(_) if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) => {
            Presence::Denied
        }
        Some(_) => Presence::Present,
    }
}

/// Whether this process, or one of its children, may have mounts of its own.
pub fn mount_namespaces() -> Presence {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    if capabilities >> CAP_SYS_ADMIN & 1 == 1 { Presence::Present } else { user_namespaces() }
}

pub fn pidfd() -> Presence {
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => Presence::Present,
        Err(rustix::io::Errno::NOSYS) => Presence::Absent,
        Err(_) => Presence::Denied,
    }
}

pub fn io_uring() -> Presence {
    // SAFETY: with no entries and a null pointer the kernel refuses before it touches memory.
    let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 0u32, std::ptr::null_mut::<u8>()) };
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::ENOSYS) if made < 0 => Presence::Absent,
        Some(libc::EPERM) if made < 0 => Presence::Denied,
        _ => Presence::Present,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers() {
        assert!(crate::kernel::release().chars().next().is_some_and(|c| c.is_ascii_digit()));
        assert_eq!(pidfd(), Presence::Present, "this program cannot do without");
        // Whatever they are: asking is harmless.
        let _ = (landlock_abi(), seccomp_actions(), user_namespaces(), mount_namespaces(), io_uring());
    }
}
