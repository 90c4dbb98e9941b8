//! A command whose output is watched while it runs: the event source that replaces sleeping.
//!
//! Every push is checked as it comes: its offset is where the last one ended, unless it names the gap.

use serde_json::{Value, json};

use crate::client::bytes_of;
use crate::session::{Run, Session};

#[derive(Debug)]
pub struct Streaming<'s> {
    session: &'s mut Session,
    pub execution_id: String,
    pub stream_id: String,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The push `exec.exit`, once it came.
    exit: Option<Value>,
}

impl<'s> Streaming<'s> {
    pub(crate) fn of(session: &'s mut Session, started: &Value) -> Self {
        let text =
            |key: &str| started[key].as_str().unwrap_or_else(|| panic!("no {key} in {started}")).to_string();
        Self {
            execution_id: text("execution_id"),
            stream_id: text("stream_id"),
            session,
            stdout: Vec::new(),
            stderr: Vec::new(),
            exit: None,
        }
    }

    /// Takes one push of this stream.
    fn step(&mut self) {
        let id = self.stream_id.as_str();
        let message = self.session.client().recv_where(|m| m["params"]["stream_id"] == id);
        let params = &message["params"];
        match message["method"].as_str() {
            Some("exec.exit") => self.exit = Some(params.clone()),
            Some("exec.output") => {
                let into = if params["stream"] == "stderr" { &mut self.stderr } else { &mut self.stdout };
                assert!(params.get("gap").is_none(), "the reader fell behind: {params:.200}");
                assert_eq!(params["offset"], into.len(), "a push begins where the last one ended");
                into.extend_from_slice(&bytes_of(params, "data"));
            }
            other => panic!("unexpected push {other:?}"),
        }
    }

    /// Waits until stdout contains `needle`.
    pub fn wait_stdout(&mut self, needle: &str) {
        while !contains(&self.stdout, needle.as_bytes()) {
            assert!(
                self.exit.is_none(),
                "ended without {needle:?}: {:?}",
                String::from_utf8_lossy(&self.stdout)
            );
            self.step();
        }
    }

    pub fn input(&mut self, data: &str) {
        let params = json!({"execution_id": self.execution_id, "data": data});
        self.session.client().ok("exec.input", params);
    }

    pub fn close_input(&mut self) {
        let params = json!({"execution_id": self.execution_id, "close": true});
        self.session.client().ok("exec.input", params);
    }

    pub fn cancel(&mut self) -> Value {
        let params = json!({"execution_id": self.execution_id});
        self.session.client().ok("exec.cancel", params)
    }

    pub fn signal(&mut self, signal: &str) -> Value {
        let params = json!({"execution_id": self.execution_id, "signal": signal});
        self.session.client().ok("exec.signal", params)
    }

    pub fn has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// Asks the daemon whether it still runs.
    pub fn status(&mut self) -> String {
        let params = json!({"execution_id": self.execution_id});
        let reply = self.session.client().ok("exec.result", params);
        reply["status"].as_str().expect("a status").to_string()
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Run {
        loop {
            match self.exit.take() {
                Some(json) => return Run::with_text(json, self.stdout, self.stderr),
                None => self.step(),
            }
        }
    }
}

fn contains(hay: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || hay.windows(needle.len()).any(|w| w == needle)
}
