//! The socket: envelopes, refusals, slow and vanishing clients, who may do what, streams and events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod access;
mod envelope;
mod events;
mod pressure;
mod socket;
mod stream;

/// Not for remote runtimes: the daemon does not know the processes of a remote session and rejects them all.
mod local {
    mod escape;
    mod inside;
    mod outsiders;
}

/// Words that start a program as if the kernel were older: it names no peers and no parents of processes.
fn on_an_older_kernel(dir: &Scratch) -> Vec<String> {
    let script = dir.file("older_kernel.py", include_str!("older_kernel.py"));
    vec!["/usr/bin/python3".into(), script]
}

use trl_testkit::{Builder, Daemon, Scratch};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}
