//! The fake model: `xtask/agents/fake-model.mjs`, a process of the test's own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub(crate) struct Model {
    child: Child,
    port: u64,
    log: PathBuf,
}

impl Model {
    pub(crate) fn start(log: &Path) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/agents/fake-model.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .arg(log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).expect("its first line");
        let port = serde_json::from_str::<Value>(&line).expect("JSON")["port"].as_u64().expect("a port");
        Self { child, port, log: log.into() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What it was asked, in which dialect, and what it answered.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.log().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The first call of a tool that it answered with: dialect, and the tool as the agent calls it.
    pub(crate) fn first_call(&self) -> (String, String) {
        let requests = self.requests();
        let found = requests.iter().find(|request| request["answer"]["call"].is_object());
        let found = found.unwrap_or_else(|| panic!("the model called no tool: {}", self.log()));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        (text(&found["dialect"]), text(&found["answer"]["call"]["name"]))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
