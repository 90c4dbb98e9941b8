//! The operating system as TRL needs it: FIFOs, process trees, keepers, limits. All unsafe code lives here.
//!
//! 1. [`zygote`] is a small single-threaded process the daemon starts once; it forks a [`keeper`] per session.
//! 2. A keeper adopts every orphan of its session, spawns programs, reports exits, and kills all below it when
//!    the daemon lets go of its end of the link ([`link`] is what they say to each other).
//! 3. [`tree`] finds and signals everything below a process without ever hitting a recycled pid; [`lineage`] proves what a
//!    process is below.
//! 4. [`fifo`], [`pty`], [`tty`], [`poller`], [`cwd`], [`limits`], [`machine`], [`signal`], [`stream`],
//!    [`rights`], [`handover`] and [`harden`] are thin safe names for system calls.
//! 5. [`kernel`] says what this machine can do, [`cgroup`] makes control groups, [`tally`] counts without them.
//! 6. [`helper`] starts the few programs that threads of the daemon use themselves.
//! 7. [`sandbox`] is a boundary around one program, which that carries out itself before its exec.
//! 8. [`files`] and [`changes`] are what other crates ask of a file system beyond `open`.
//! 9. [`places`] is where the daemon and its clients meet: default paths of a user, and which directories can be trusted.
//!
//! `os` is the room of the system this is built for: each has the same names (docs/design/0012-another-system.md).
//!
//! It knows nothing of sessions, shells or the wire.

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod os;
#[cfg(target_os = "macos")]
#[path = "macos/mod.rs"]
mod os;

pub use os::{cwd, sched};

pub mod cgroup;
pub mod changes;
pub mod fifo;
pub mod files;
pub mod handover;
pub mod harden;
pub mod helper;
pub mod keeper;
pub mod kernel;
pub mod limits;
pub mod lineage;
pub mod link;
pub mod machine;
pub mod pinned;
pub mod places;
pub mod poller;
pub mod pty;
pub mod reap;
mod removal;
pub mod rights;
pub mod sandbox;
pub mod signal;
mod spawn;
pub mod stream;
pub mod tally;
pub mod tree;
pub mod tty;
pub mod zygote;
