//! Terminals as a client of the socket sees them: what reaches the program, what comes back, and how it all ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod destroy;
mod end;
mod input;
mod life;
mod programs;
mod recording;
mod size;
mod start;

/// Not for remote runtimes: the daemon does not know the processes of a remote session and rejects them all.
mod local {
    mod inside;
}

use trl_testkit::{Builder, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).set("terminals", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}
