//! Checkpoints as a client sees them: what a state holds, where it is kept, what comes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod crash;
mod generated;
mod life;
mod secrets;
mod shells;

/// Not for remote runtimes: checkpoints of remote sessions keep no files (docs/design/0011-runtimes.md).
mod local {
    mod files;
}

use std::path::PathBuf;

use trl_testkit::{Builder, Daemon, Session, Value, json};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

/// Where the daemon keeps what outlives it.
fn data_dir(daemon: &Daemon) -> PathBuf {
    daemon.dir().join("home/.local/share/trl")
}

/// Keeps the session's state; gives the checkpoint's id.
fn keep(session: &mut Session) -> String {
    let params = json!({"session_id": session.id});
    let made = session.client().ok("checkpoint.create", params);
    made["checkpoint_id"].as_str().expect("an id").to_string()
}

fn restore(session: &mut Session, checkpoint: &str) -> Value {
    let params = json!({"session_id": session.id, "checkpoint_id": checkpoint});
    session.client().ok("checkpoint.restore", params)
}

/// What a restore says it could not do, as `what name`.
fn missing(restored: &Value) -> Vec<String> {
    let all = restored["not_restored"].as_array().expect("a list").iter();
    let text = |part: &Value| {
        format!("{} {}", part["what"].as_str().unwrap_or(""), part["name"].as_str().unwrap_or(""))
    };
    all.map(text).collect()
}
