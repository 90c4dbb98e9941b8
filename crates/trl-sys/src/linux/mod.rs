//! Linux: all that the rest of this crate asks of it by the same names as of any other system.

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
pub(crate) mod title;
pub(crate) mod usage;
