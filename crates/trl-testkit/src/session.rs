//! A client with one session: the everyday verbs of a test.

use serde_json::{Value, json};

use crate::client::{Client, RpcError, bytes_of};
use crate::streaming::Streaming;
use crate::{eventually, merged};

/// Long enough that only a command that hangs is ended by it; short enough to be a result before [`crate::PATIENCE`].
pub const HANGS_AFTER_S: f64 = 30.0;

/// What `exec.run` answered, with its text as bytes.
#[derive(Debug, Clone)]
pub struct Run {
    pub execution_id: String,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: i64,
    pub timed_out: bool,
    pub cancelled: bool,
    /// `kept`, `rolled_back` or `reset`.
    pub shell_state: String,
    pub json: Value,
}

impl Run {
    /// From a result with its text.
    pub fn of(json: Value) -> Self {
        let (stdout, stderr) = (bytes_of(&json, "stdout"), bytes_of(&json, "stderr"));
        Self::with_text(json, stdout, stderr)
    }

    /// From a result without text (`exec.exit`) and text gathered elsewhere.
    pub fn with_text(json: Value, stdout: Vec<u8>, stderr: Vec<u8>) -> Self {
        let text =
            |key: &str| json[key].as_str().unwrap_or_else(|| panic!("no {key} in {json:.300}")).to_string();
        let flag = |key: &str| json[key].as_bool().unwrap_or_else(|| panic!("no {key} in {json:.300}"));
        Self {
            execution_id: text("execution_id"),
            stdout,
            stderr,
            code: json["exit_code"].as_i64().unwrap_or_else(|| panic!("no exit_code in {json:.300}")),
            timed_out: flag("timed_out"),
            cancelled: flag("cancelled"),
            shell_state: text("shell_state"),
            json,
        }
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

#[derive(Debug)]
pub struct Session {
    pub id: String,
    client: Client,
    /// Default `timeout_s` of `run`, so that a hang is a result that says so.
    pub hangs_after_s: f64,
}

impl Session {
    /// Creates a session with these parameters over a connection of its own.
    pub fn create(mut client: Client, params: Value) -> Self {
        let made = client.ok("session.create", params);
        let id = made["session_id"].as_str().expect("a session_id").to_string();
        Self { id, client, hangs_after_s: HANGS_AFTER_S }
    }

    /// A session that is there already.
    pub fn known(client: Client, id: &str) -> Self {
        Self { id: id.into(), client, hangs_after_s: HANGS_AFTER_S }
    }

    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    fn params(&self, command: &str, extra: Value) -> Value {
        let base = json!({"session_id": self.id, "command": command, "timeout_s": self.hangs_after_s});
        merged(base, extra)
    }

    pub fn run(&mut self, command: &str) -> Run {
        self.run_with(command, json!({}))
    }

    /// `run` with further parameters of `exec.run`. Panics when the request is refused.
    pub fn run_with(&mut self, command: &str, extra: Value) -> Run {
        self.try_run(command, extra).unwrap_or_else(|e| panic!("{command:.80} refused: {}", e.json))
    }

    pub fn try_run(&mut self, command: &str, extra: Value) -> Result<Run, RpcError> {
        let id = self.start(command, extra);
        self.finish(id)
    }

    /// Sends `exec.run` and returns the request's id.
    pub fn start(&mut self, command: &str, extra: Value) -> u64 {
        let params = self.params(command, extra);
        self.client.send("exec.run", params)
    }

    /// Waits for the reply to [`Session::start`].
    pub fn finish(&mut self, request: u64) -> Result<Run, RpcError> {
        self.client.reply(request).map(Run::of)
    }

    /// Starts a command whose output is pushed as it comes.
    pub fn stream(&mut self, command: &str, extra: Value) -> Streaming<'_> {
        let params = self.params(command, extra);
        let started = self.client.ok("exec.stream", params);
        Streaming::of(self, &started)
    }

    pub fn info(&mut self) -> Value {
        let id = self.id.clone();
        self.client.ok("session.info", json!({"session_id": id}))
    }

    pub fn state(&mut self) -> String {
        self.info()["state"].as_str().expect("a state").to_string()
    }

    /// The shell's process.
    pub fn pid(&mut self) -> i32 {
        let pid = self.info()["pid"].as_i64().expect("a live shell has a pid");
        crate::shared::as_known_here(i32::try_from(pid).expect("a pid"))
    }

    /// The execution that is running, once one is.
    pub fn running(&mut self) -> String {
        let mut found = None;
        eventually("the session runs a command", || {
            found = self.info()["running"]["execution_id"].as_str().map(str::to_string);
            found.is_some()
        });
        found.expect("just found")
    }

    pub fn destroy(&mut self) {
        let id = self.id.clone();
        let gone = self.client.ok("session.destroy", json!({"session_id": id}));
        assert_eq!(gone["state"], "terminated");
    }

    /// What an execution wrote to a stream from `since` on, as far as it is there now.
    pub fn output(&mut self, execution_id: &str, stream: &str, since: u64) -> Vec<u8> {
        let params = json!({"execution_id": execution_id, "stream": stream, "since": since});
        bytes_of(&self.client.ok("exec.output", params), "data")
    }
}
