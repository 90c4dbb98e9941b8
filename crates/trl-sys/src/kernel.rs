//! What this kernel can do: each answer comes from asking for the thing itself, without having it.

pub use crate::os::kernel::{
    io_uring, landlock_abi, mount_namespaces, pidfd, seccomp_actions, user_namespaces,
};

/// Whether a part of the kernel can be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Present,
    /// It is there, and not for us.
    Denied,
    Absent,
}

/// The release, such as `6.12.1`.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
