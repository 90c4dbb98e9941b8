//! Runtimes, in the real daemon: listed, asked, added, chosen by their labels, drained, removed, and there again after a
//! restart. Each is another engine of the same binary on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod access;
mod cli;
mod cuts;
mod failures;
mod files;
mod going;
mod known;
mod kubernetes;
mod placing;
mod restart;

use trl_testkit::{Builder, Client, Daemon, Value, json};

/// An engine whose daemon was killed is gone soon, and one that is not there is not waited for.
fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).set("runtimes", "grace_s", 1).set(
        "runtimes",
        "connect_s",
        20,
    )
}

fn daemon() -> Daemon {
    builder().start()
}

fn session_in(client: &mut Client, runtime: Value) -> Value {
    client.ok("session.create", json!({"runtime": runtime, "working_dir": "/"}))
}

fn names(client: &mut Client) -> Vec<String> {
    let list = client.ok("runtime.list", json!({}));
    let name = |runtime: &Value| runtime["name"].as_str().unwrap().to_string();
    list["runtimes"].as_array().unwrap().iter().map(name).collect()
}

fn get(client: &mut Client, name: &str) -> Value {
    client.ok("runtime.get", json!({"name": name}))
}

fn output(client: &mut Client, session: &Value, command: &str) -> String {
    let run = client.ok("exec.run", json!({"session_id": session["session_id"], "command": command}));
    run["stdout"].as_str().unwrap().trim_end().to_string()
}

fn state(client: &mut Client, session: &Value) -> String {
    let info = client.ok("session.info", json!({"session_id": session["session_id"]}));
    info["state"].as_str().unwrap().to_string()
}
