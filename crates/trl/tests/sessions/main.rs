//! Sessions and executions as a client sees them: creation, environment, life and end, queue, output.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod create;
mod direct;
mod disconnect;
mod environment;
mod executions;
mod lifecycle;
mod output;
mod queue;

/// Not in remote runtimes: the daemon's own memory is looked at.
mod local {
    mod soak;
}

/// Not in containers: an engine there may open more files than the daemon.
mod outside_containers {
    mod descriptors;
}

use trl_testkit::{Builder, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}
