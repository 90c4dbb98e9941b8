//! An agent for tests: it speaks the Agent Client Protocol for real and does what the message says, line by line. It has no model.
//! What it understands stands at the head of `fixtures/agent.py`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::Daemon;

const PROGRAM: &str = include_str!("../fixtures/agent.py");

/// Writes a case of the operator's whose agent that is, with these flags, and these further lines.
pub fn case(daemon: &Daemon, id: &str, flags: &[&str], more: &str) {
    let dir = daemon.dir();
    dir.dir("config/trl/cases");
    let program = dir.program("fake-agent", PROGRAM);
    let store = dir.dir("agent-store").display().to_string();
    let command: Vec<&str> = [&[program.as_str()], flags].concat();
    let agent = json!({"command": command, "env": {"FAKE_AGENT_STORE": store}});
    let path = dir.file(&format!("config/trl/cases/{id}.yaml"), format!("agent: {agent}\n{more}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("chmod");
}

/// What came of a message.
#[derive(Debug)]
pub struct Told {
    pub message_id: String,
    /// Of `agent.update`, in order.
    pub updates: Vec<Value>,
    /// `agent.done`.
    pub done: Value,
}

impl Told {
    /// All text of its answer.
    pub fn text(&self) -> String {
        let said = self.of("text").into_iter().map(|update| update["text"].as_str().expect("text"));
        said.collect()
    }

    /// The updates of a kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().map(|push| &push["update"]).filter(|update| update["kind"] == kind).collect()
    }

    pub fn reason(&self) -> &str {
        self.done["stop_reason"].as_str().expect("a reason")
    }
}

/// A message on its way.
#[derive(Debug)]
pub struct Telling {
    pub message_id: String,
    pub stream_id: String,
    pub updates: Vec<Value>,
}

impl Telling {
    pub fn send(client: &mut Client, session: &Value, message: &str) -> Self {
        let params = json!({"session_id": session["session_id"], "message": message});
        Self::of(&client.ok("agent.send_message", params))
    }

    pub fn follow(client: &mut Client, params: Value) -> Self {
        Self::of(&client.ok("agent.follow", params))
    }

    fn of(reply: &Value) -> Self {
        let text =
            |name: &str| reply[name].as_str().unwrap_or_else(|| panic!("no {name}: {reply}")).to_string();
        Self { message_id: text("message_id"), stream_id: text("stream_id"), updates: Vec::new() }
    }

    /// The next push of it.
    fn step(&mut self, client: &mut Client) -> Option<Value> {
        let id = self.stream_id.clone();
        let mut push = client.recv_where(|m| m["params"]["stream_id"] == *id);
        let params = push["params"].take();
        if push["method"] == "agent.done" {
            return Some(params);
        }
        let before = self.updates.last().map(|last| last["seq"].as_u64().expect("a number"));
        if let Some(before) = before {
            assert_eq!(params["seq"], before + 1, "updates have no gaps");
        }
        self.updates.push(params);
        None
    }

    /// Waits for an update of this kind.
    pub fn wait(&mut self, client: &mut Client, kind: &str) -> Value {
        loop {
            if let Some(done) = self.step(client) {
                panic!("over without {kind}: {done}; {:?}", self.updates);
            }
            let last = &self.updates.last().expect("just pushed")["update"];
            if last["kind"] == kind {
                return last.clone();
            }
        }
    }

    /// To its end.
    pub fn finish(mut self, client: &mut Client) -> Told {
        loop {
            if let Some(done) = self.step(client) {
                return Told { message_id: self.message_id, updates: self.updates, done };
            }
        }
    }
}

/// Sends a message and waits for its end.
pub fn tell(client: &mut Client, session: &Value, message: &str) -> Told {
    Telling::send(client, session, message).finish(client)
}
