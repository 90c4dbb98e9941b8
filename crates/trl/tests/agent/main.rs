//! Messages to the agents of sessions, in the real daemon. The agent is a real process that speaks the Agent Client Protocol and
//! has no model: `trl-testkit/fixtures/agent.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod cli;
mod faults;
mod hands;
mod history;
mod messages;
mod people;
mod stopping;
mod transports;

use serde_json::{Value, json};
use trl_testkit::agent::case;
use trl_testkit::{Builder, Client, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl"))
        .set("exec", "grace_s", 0.6)
        .set("agents", "stop_grace_s", 30)
        .set("agents", "start_s", 600)
}

/// With the case `coder`, whose agent is the fake one.
fn daemon() -> Daemon {
    daemon_with("")
}

fn daemon_with(more: &str) -> Daemon {
    let daemon = builder().start();
    case(&daemon, "coder", &[], more);
    daemon
}

/// A session of the case, in a workspace of its own.
fn session(daemon: &Daemon, client: &mut Client) -> Value {
    let dir = daemon.dir().dir("work").display().to_string();
    client.ok("session.create", json!({"case_id": "coder", "working_dir": dir, "shell": "/bin/sh"}))
}

fn info(client: &mut Client, session: &Value) -> Value {
    client.ok("session.info", json!({"session_id": session["session_id"]}))
}

fn state(client: &mut Client, session: &Value) -> String {
    info(client, session)["state"].as_str().unwrap().to_string()
}

fn agent_state(client: &mut Client, session: &Value) -> String {
    info(client, session)["agent"]["state"].as_str().unwrap().to_string()
}

/// The request that is asked next, as an operator sees it.
fn next_request(operator: &mut Client) -> Value {
    let event = operator.event("hitl.requested");
    operator.ok("hitl.get", json!({"request_id": event["request_id"]}))
}

fn subscribe(daemon: &Daemon) -> Client {
    let mut operator = daemon.operator();
    operator.ok("events.subscribe", json!({}));
    operator
}

fn answer(operator: &mut Client, request: &Value, decision: &str) -> Value {
    let (id, digest) = (&request["request_id"], &request["digest"]);
    operator.ok("hitl.respond", json!({"request_id": id, "digest": digest, "decision": decision}))
}
