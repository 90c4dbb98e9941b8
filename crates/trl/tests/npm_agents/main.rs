//! Agents that others wrote, from npm, with the real daemon and a fake model: no account, no network.
//!
//! ```text
//!  agent from npm ── model's dialect, loopback ──▶ xtask/agents/fake-model.mjs
//!       │ MCP, or the Agent Client Protocol                (a script in place of a model)
//!       └──────────────▶ trl ──▶ the command
//! ```
//!
//! 1. [`tools`]: the agent runs by itself and is told to run a command with TRL's tools, connected with the very lines of
//!    docs/integrations.md. What counts is what the daemon knows of the command, and what the agent says in the end.
//! 2. [`conversation`]: the agent is that of a session, and asks a person in the middle; also over the daemon's death.
//!
//! They are run by `cargo xtask test npm-agents`, which gets the agents; for all others they are ignored.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod conversation;
mod model;
mod tools;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use trl_testkit::{Builder, Daemon};

use self::model::Model;

/// Where programs of ordinary users are; Node is among them.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A daemon, a model, and a directory to work in. What is dropped first stands first.
struct World {
    model: Model,
    daemon: Daemon,
}

impl World {
    fn new() -> Self {
        let path = format!("{}:{SYSTEM_PATH}", programs().display());
        let daemon = Builder::new(env!("CARGO_BIN_EXE_trl"))
            .at_the_usual_place()
            .set("agents", "start_s", 600)
            .env("PATH", &path)
            .start();
        symlink(env!("CARGO_BIN_EXE_trl"), daemon.dir().join("bin/trl")).unwrap();
        daemon.dir().dir("work");
        let model = Model::start(&daemon.dir().join("model.log"));
        Self { model, daemon }
    }

    /// A file of the project that the agent works on.
    fn project_file(&self, name: &str, content: &str) {
        self.daemon.dir().file(&format!("work/{name}"), content);
    }

    fn project(&self) -> String {
        self.daemon.dir().text("work")
    }

    /// What the daemon knows of a command; None when it did not run it.
    fn ran(&self, order: &Order) -> Option<serde_json::Value> {
        let list = self.daemon.operator().ok("exec.list", json!({}));
        let found = list["executions"].as_array().unwrap().iter().find(|e| e["command"] == *order.command);
        found.cloned()
    }

    /// It ran here, well, and once.
    fn assert_ran(&self, order: &Order) {
        let Some(found) = self.ran(order) else {
            panic!("{} did not run; {}", order.command, self.model.log())
        };
        assert_eq!((&found["status"], &found["exit_code"]), (&json!("done"), &json!(0)), "{found}");
    }
}

/// What an agent is told to do. What it prints is not in its words, so whoever quotes it has run it.
struct Order {
    command: String,
    prints: String,
}

impl Order {
    fn number(number: u32) -> Self {
        Self { command: format!("echo $(({number} * 1000 + 1))-seen"), prints: format!("{number}001-seen") }
    }

    /// In words that the fake model understands.
    fn words(&self) -> String {
        format!("Use trl's exec_command to run: {}", self.command)
    }
}

/// The programs of the agents.
fn programs() -> PathBuf {
    let dir =
        std::env::var_os("TRL_AGENTS_DIR").expect("TRL_AGENTS_DIR, which cargo xtask test npm-agents sets");
    Path::new(&dir).join("node_modules/.bin")
}

/// Nothing but this machine can be reached: an agent that needs a network fails. OpenCode would try for a while.
const NO_NETWORK: [(&str, &str); 4] = [
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("NO_PROXY", "127.0.0.1,localhost"),
];

/// OpenCode's settings with the fake model, and these further ones.
fn opencode(model: &Model, more: serde_json::Value) -> String {
    let provider = json!({"fake": {
        "npm": "@ai-sdk/openai-compatible",
        "name": "a fake model",
        "options": {"baseURL": format!("{}/v1", model.url()), "apiKey": "none"},
        "models": {"fake": {"name": "fake"}},
    }});
    trl_testkit::merged(more, json!({"provider": provider, "model": "fake/fake"})).to_string()
}

/// Gemini CLI's settings with a key that nobody looks at, and these further ones; the project is trusted.
fn gemini_home(world: &World, more: serde_json::Value) {
    let dir = world.daemon.dir();
    dir.dir("home/.gemini");
    let key = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    dir.file("home/.gemini/settings.json", trl_testkit::merged(more, key).to_string());
    dir.file("home/.gemini/trustedFolders.json", json!({world.project(): "TRUST_FOLDER"}).to_string());
}
