//! A runtime that is on this machine, too: another engine of the same binary, behind a link.

use serde_json::{Value, json};

use crate::Daemon;

impl Daemon {
    /// `kind` and `argv` of such a runtime. Its engine has a socket directory of its own, as it would elsewhere.
    pub fn relay(&self, name: &str) -> Value {
        let binary = self.command().get_program().to_str().expect("a UTF-8 path").to_string();
        let socket = self.runtime_dir().join(name).join("trl.sock");
        let config = self.dir().text("config/trl/config.toml");
        json!({"kind": "command", "argv": [
            binary, "--socket", socket.to_str(), "--config", config, "stdio", "--resume", "{key}",
        ]})
    }

    /// Has the operator add one, with further parameters of `runtime.add`.
    pub fn add_relay(&self, name: &str, extra: Value) -> Value {
        let params = crate::merged(self.relay(name), crate::merged(json!({"name": name}), extra));
        self.operator().ok("runtime.add", params)
    }
}
