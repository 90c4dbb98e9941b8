//! Programs that take too much, in real sessions and terminals: each is contained and named, and nobody else suffers.
//!
//! The same holds with control groups of version 1 or 2 and without any, so these tests run as root, as an ordinary user,
//! and in a virtual machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod asking;
mod bombs;
mod pressure;
mod terminals;

/// Not for remote runtimes: the tests look for keepers and control groups below this daemon.
mod local {
    mod leavings;
}

use trl_testkit::{Builder, Daemon, Session, Shell, Value, json};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

/// A session with these limits.
fn session(daemon: &Daemon, limits: Value) -> Session {
    daemon.session_with(Shell::Dash, json!({"limits": limits}))
}

/// What holds sessions to their limits here: `cgroup2`, `cgroup1` or `rlimits`.
fn backend(daemon: &Daemon) -> String {
    let mut session = session(daemon, json!({"pids": 50}));
    let backend = session.info()["limits"]["backend"].as_str().expect("a backend").to_string();
    session.destroy();
    backend
}

const MIB: u64 = 1 << 20;

/// `b 0 SECONDS`: each makes two more until it may not. Far more than any test allows, and yet no more than a machine
/// survives, should nobody stop it; the last of them stay for so long.
const FORK_BOMB: &str = "b() { [ $1 -lt 9 ] || exec sleep $2; b $(($1+1)) $2 & b $(($1+1)) $2 & wait; }";
