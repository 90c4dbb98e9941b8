//! macOS: what the rest of this crate asks of Linux, as far as this system has it.
//!
//! It is type-checked and was never run. What the system does not have is answered as a Linux kernel without it answers:
//! an error, nothing to show, a layer that is missing. `docs/design/0012-another-system.md` has the table.

pub(crate) mod birth;
pub(crate) mod changes;
pub mod cwd;
pub(crate) mod files;
pub(crate) mod harden;
pub(crate) mod held;
pub(crate) mod kernel;
pub(crate) mod machine;
pub(crate) mod pipes;
pub(crate) mod poller;
pub(crate) mod procs;
pub(crate) mod pty;
pub(crate) mod sandbox;
pub mod sched;
pub(crate) mod signals;
pub(crate) mod sockets;
mod sysctl;
pub(crate) mod title;
pub(crate) mod usage;
