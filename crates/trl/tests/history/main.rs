//! What outlives the daemon: sessions, and the history of what they ran.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod fallback;
mod full;
mod pages;
mod restart;
mod roles;
mod secrets;
mod switch;

use serde_json::{Value, json};
use trl_testkit::{Builder, Client, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

/// Newest first. Whatever happened before is committed then: a crash does not undo it.
fn history(client: &mut Client, params: Value) -> Vec<Value> {
    client.ok("session.history", params)["entries"].as_array().unwrap().clone()
}

fn commands(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["command"].as_str().unwrap()).collect()
}

fn create(client: &mut Client, params: Value) -> String {
    let base = json!({"shell": "/bin/sh", "working_dir": "/"});
    let made = client.ok("session.create", trl_testkit::merged(base, params));
    made["session_id"].as_str().unwrap().to_string()
}

fn run(client: &mut Client, session: &str, command: &str) -> Value {
    client.ok("exec.run", json!({"session_id": session, "command": command}))
}

fn ids(list: &Value) -> Vec<&str> {
    let mut ids: Vec<&str> =
        list["sessions"].as_array().unwrap().iter().map(|s| s["session_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}
