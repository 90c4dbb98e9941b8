//! The files of workspaces and sessions, on every transport and by everybody who might want them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod access;
mod asked;
mod cli;
mod http;
mod races;
mod wire;

use std::path::PathBuf;

use trl_testkit::{Builder, Daemon, Http, Value, json};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).http()
}

fn daemon() -> Daemon {
    builder().start()
}

fn operator(daemon: &Daemon) -> Http {
    daemon.http().with_token(&daemon.operator_token())
}

/// The door with a fresh token of this role and these ceilings; the token itself.
fn token(daemon: &Daemon, role: &str, extra: Value) -> (Http, String) {
    let made = daemon.token(role, extra);
    let token = made["token"].as_str().expect("a token").to_string();
    (daemon.http().with_token(&token), token)
}

/// A workspace in a directory of the test's, and that directory.
fn workspace(daemon: &Daemon, id: &str) -> PathBuf {
    let dir = daemon.dir().dir(&format!("ws-{id}"));
    daemon.operator().ok("workspace.create", json!({"workspace_id": id, "dir": dir}));
    dir
}
