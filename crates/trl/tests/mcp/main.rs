//! Tools for a model, asked for as its client does: `trl mcp` on two pipes with a real daemon behind it, the daemon itself
//! at `/mcp` ([`http`]), and both by a client that others wrote ([`clients`]).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod approvals;
mod arguments;
mod clients;
mod http;
mod lines;
mod tools;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use trl_testkit::{Builder, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

fn with_http() -> Daemon {
    builder().http().start()
}

/// How a client answers when it is asked something.
type Answers = Box<dyn FnMut(&Value) -> Value>;

/// A client of the protocol up to 2025-11-25: it introduces itself once.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    sent: u64,
    answers: Answers,
    /// What came without being asked for.
    heard: Vec<Value>,
}

impl Client {
    fn start(daemon: &Daemon) -> Self {
        Self::of(daemon, daemon.command())
    }

    fn of(daemon: &Daemon, mut command: Command) -> Self {
        command
            .arg("--socket")
            .arg(daemon.socket())
            .arg("mcp")
            .current_dir(daemon.dir().join(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout, sent: 0, answers: Box::new(|_| panic!("asked")), heard: Vec::new() }
    }

    fn introduced(daemon: &Daemon, capabilities: Value) -> Self {
        Self::start(daemon).introduce(capabilities)
    }

    /// The same with this token.
    fn introduced_with(daemon: &Daemon, capabilities: Value, token: &str) -> Self {
        let mut command = daemon.command();
        command.env("TRL_AUTH_TOKEN", token);
        Self::of(daemon, command).introduce(capabilities)
    }

    fn introduce(self, capabilities: Value) -> Self {
        let mut client = self;
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let reply = client.request("initialize", hello).unwrap();
        assert_eq!(
            (&reply["serverInfo"]["name"], &reply["protocolVersion"]),
            (&json!("trl"), &json!("2025-06-18"))
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended");
        serde_json::from_str(&line).unwrap()
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.sent += 1;
        let id = self.sent;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            match (message.get("method").is_some(), message.get("id")) {
                (true, Some(asked)) => {
                    let result = (self.answers)(&message["params"]);
                    self.send(&json!({"jsonrpc": "2.0", "id": asked, "result": result}));
                }
                (true, None) => self.heard.push(message),
                (false, _) => {
                    assert_eq!(message["id"], id);
                    return match message.get("error") {
                        Some(error) => Err(error.clone()),
                        None => Ok(message["result"].clone()),
                    };
                }
            }
        }
    }

    /// The text and the structure of what a tool says.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).unwrap();
        let text = result["content"][0]["text"].as_str().unwrap().to_string();
        (text, result["structuredContent"].clone())
    }

    /// Goes, and waits until the server has too.
    fn leave(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}
