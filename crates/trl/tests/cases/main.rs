//! Cases, in the real daemon: found, changed while it runs, broken, hostile, not trusted, and held to what they say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod access;
mod cli;
mod hostile;
mod reload;
mod request;
mod trust;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trl_testkit::{Builder, Client, Daemon, Value, json};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    let daemon = builder().start();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().dir("ws/.trl/cases");
    daemon
}

/// A daemon whose sessions have the case `base`, with this text, unless they name another.
fn daemon_with_default(text: &str) -> Daemon {
    let daemon = builder().set("cases", "default", "\"base\"").start();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().dir("ws/.trl/cases");
    case(&daemon, "base", text);
    daemon
}

/// Writes a case of the operator's.
fn case(daemon: &Daemon, id: &str, text: &str) -> String {
    private(&daemon.dir().file(&format!("config/trl/cases/{id}.yaml"), text))
}

/// Writes a case into the workspace.
fn workspace_case(daemon: &Daemon, id: &str, text: &str) -> String {
    private(&daemon.dir().file(&format!("ws/.trl/cases/{id}.yaml"), text))
}

fn private(path: &str) -> String {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("chmod");
    path.to_string()
}

/// The directory of the workspace.
fn workspace(daemon: &Daemon) -> String {
    daemon.dir().text("ws")
}

/// What the session's command prints.
fn output(client: &mut Client, session: &Value, command: &str) -> String {
    let run = client.ok("exec.run", json!({"session_id": session["session_id"], "command": command}));
    run["stdout"].as_str().expect("text").trim_end().to_string()
}
