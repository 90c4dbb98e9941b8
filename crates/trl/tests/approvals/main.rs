//! Commands that wait for a person: rules, requests, answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod answers;
mod cases;
mod cli;
mod fresh;
mod later;
mod long;
mod names;
mod painted;
mod pins;
mod requests;
mod restart;
mod roles;
mod shown;
mod state;

use serde_json::{Value, json};
use trl_testkit::{Builder, Client, Daemon, Session, Shell};

/// `echo` runs, `rm` never does, all else is asked about.
const RULES: &str =
    "default: ask\nrules:\n- allow: [echo, 'cd', ':']\n- deny: [rm]\n  reason: nothing is removed here\n";

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).set("terminals", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    with_rules(RULES)
}

fn with_rules(rules: &str) -> Daemon {
    let daemon = builder().start();
    write_rules(&daemon, rules);
    daemon
}

/// In place of those there were, all at once.
fn write_rules(daemon: &Daemon, rules: &str) {
    let file = daemon.dir().join("config/trl/approvals.yaml");
    let fresh = file.with_extension("new");
    std::fs::write(&fresh, rules).unwrap();
    std::fs::rename(fresh, file).unwrap();
}

/// The next request that a client which subscribed hears of.
fn next_request(operator: &mut Client) -> Value {
    let event = operator.event("hitl.requested");
    operator.ok("hitl.get", json!({"request_id": event["request_id"]}))
}

fn subscribe(daemon: &Daemon) -> Client {
    let mut operator = daemon.operator();
    operator.ok("events.subscribe", json!({"kinds": ["hitl.requested", "hitl.resolved", "session.state"]}));
    operator
}

fn approve(operator: &mut Client, request: &Value) -> Value {
    answer(operator, request, json!({"decision": "approve"}))
}

fn answer(operator: &mut Client, request: &Value, mut params: Value) -> Value {
    params["request_id"] = request["request_id"].clone();
    params["digest"] = request["digest"].clone();
    operator.ok("hitl.respond", params)
}

fn shell(daemon: &Daemon) -> Session {
    daemon.session(Shell::Bash)
}
