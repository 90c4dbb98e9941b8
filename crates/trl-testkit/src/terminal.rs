//! A client with one terminal: typing, looking, waiting.

use serde_json::{Value, json};

use crate::client::{Client, RpcError, bytes_of};
use crate::eventually;

#[derive(Debug)]
pub struct Terminal {
    pub id: String,
    client: Client,
}

impl Terminal {
    /// Creates a terminal with these parameters over a connection of its own.
    pub fn create(mut client: Client, params: Value) -> Self {
        let made = client.ok("terminal.create", params);
        let id = made["terminal_id"].as_str().expect("a terminal_id").to_string();
        Self { id, client }
    }

    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// A method about this terminal, which must succeed.
    pub fn ok(&mut self, method: &str, extra: Value) -> Value {
        let params = crate::merged(json!({"terminal_id": self.id}), extra);
        self.client.ok(method, params)
    }

    pub fn call(&mut self, method: &str, extra: Value) -> Result<Value, RpcError> {
        let params = crate::merged(json!({"terminal_id": self.id}), extra);
        self.client.call(method, params)
    }

    pub fn info(&mut self) -> Value {
        self.ok("terminal.get", json!({}))
    }

    pub fn pid(&mut self) -> i32 {
        let pid = self.info()["pid"].as_i64().expect("a live program has a pid");
        crate::shared::as_known_here(i32::try_from(pid).expect("a pid"))
    }

    pub fn input(&mut self, text: &str) {
        self.ok("terminal.input", json!({"data": text}));
    }

    /// Types `text` and Enter.
    pub fn enter(&mut self, text: &str) {
        self.input(&format!("{text}\r"));
    }

    /// What a person would see, with its trailing blanks.
    pub fn screen(&mut self) -> String {
        self.ok("terminal.screen", json!({}))["text"].as_str().expect("a text").to_string()
    }

    /// The rows that are not blank, without trailing blanks.
    pub fn lines(&mut self) -> Vec<String> {
        let rows = self.screen();
        rows.lines().map(|row| row.trim_end().to_string()).filter(|row| !row.is_empty()).collect()
    }

    /// Waits until this stands somewhere on the screen.
    pub fn wait(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} is shown"), |screen| screen.contains(text));
    }

    /// Waits until a row is exactly this.
    pub fn wait_line(&mut self, line: &str) {
        let is_it = |screen: &str| screen.lines().any(|row| row.trim_end() == line);
        self.wait_until(&format!("the line {line:?} is shown"), is_it);
    }

    pub fn wait_until(&mut self, what: &str, fact: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let came = crate::comes_true(crate::PATIENCE, &mut || {
            last = self.screen();
            fact(&last)
        });
        assert!(came, "never came true: {what}; on the screen:\n{last}");
    }

    /// Waits for the end; what is then known of it.
    pub fn ended(&mut self) -> Value {
        let mut info = Value::Null;
        eventually("the terminal's program ends", || {
            info = self.info();
            info["state"] == "exited"
        });
        info
    }

    /// Bytes that draw its whole state.
    pub fn snapshot(&mut self) -> Vec<u8> {
        bytes_of(&self.ok("terminal.snapshot", json!({})), "data")
    }

    pub fn destroy(&mut self) -> Value {
        self.ok("terminal.destroy", json!({}))
    }
}
