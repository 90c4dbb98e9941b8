//! What Linux can do, and this kernel cannot.

use crate::kernel::Presence;

pub fn landlock_abi() -> Option<u32> {
    None
}

pub fn seccomp_actions() -> Option<Vec<String>> {
    None
}

pub fn user_namespaces() -> Presence {
    Presence::Absent
}

pub fn mount_namespaces() -> Presence {
    Presence::Absent
}

pub fn pidfd() -> Presence {
    Presence::Absent
}

pub fn io_uring() -> Presence {
    Presence::Absent
}
