//! `exec.start` and the calls that go with it: fresh processes on pipes and on terminals, and commands of sessions, are one
//! kind of thing that any of the calls may be about.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod input;
mod start;
mod tty;
mod wait;

use serde_json::{Value, json};
use trl_testkit::{Builder, Client, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).set("terminals", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

/// Starts it and comes back as soon as may be.
fn start(client: &mut Client, mut params: Value) -> (String, Value) {
    params["yield_ms"] = json!(250);
    let progress = client.ok("exec.start", params);
    (progress["execution_id"].as_str().unwrap().to_string(), progress)
}

/// The same, told once it has begun: on a busy machine, or elsewhere, that takes a while.
fn start_and_begin(client: &mut Client, params: Value) -> (String, Value) {
    let (id, mut progress) = start(client, params);
    while progress["status"] == "queued" {
        progress = client.ok("exec.wait", json!({"execution_id": id, "timeout_s": 0.25}));
    }
    (id, progress)
}

/// Everything a wait tells, from call to call, until `until` ends it.
fn wait(client: &mut Client, execution: &str, until: Value) -> Value {
    client.ok("exec.wait", json!({"execution_id": execution, "until": until, "timeout_s": 60}))
}
