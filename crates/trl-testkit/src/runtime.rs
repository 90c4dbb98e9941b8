//! Where the sessions of a test's daemon live: here, or, with `TRL_TEST_RUNTIME` in the environment, in a runtime elsewhere.
//! The same tests hold in all of them. And further runtimes, for tests about those: [`Daemon::relay`].

use std::path::Path;

use serde_json::{Value, json};

use crate::Daemon;

/// A kind of runtime that tests can be run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    /// Any program that gives a byte stream.
    Command,
}

/// Names the runtime tests are to be run in.
const VARIABLE: &str = "TRL_TEST_RUNTIME";

/// None: here.
pub fn usual() -> Option<Usual> {
    match std::env::var(VARIABLE).ok()?.as_str() {
        "" | "host" => None,
        "command" => Some(Usual::Command),
        other => panic!("{VARIABLE}={other} is no runtime that tests know"),
    }
}

/// The name of the runtime that sessions have which name none.
pub fn name() -> &'static str {
    usual().map_or("host", |_| "far")
}

/// What an engine elsewhere is started with.
pub(crate) struct Far<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) config: &'a str,
    /// The daemon's own place; the engine's socket is in another one below it.
    pub(crate) dir: &'a Path,
}

impl Far<'_> {
    /// What leads to an engine of this name, whose socket directory is its own, as it would be elsewhere.
    fn argv(&self, name: &str) -> Vec<String> {
        let text = |path: &Path| path.to_str().expect("a UTF-8 path").to_string();
        let socket = text(&self.dir.join(name).join("trl.sock"));
        let words = ["--socket", &socket, "--config", self.config, "stdio", "--resume", "{key}"];
        std::iter::once(text(self.binary)).chain(words.map(String::from)).collect()
    }

    /// Section, key and value.
    pub(crate) fn settings(&self, kind: Usual) -> Vec<(&'static str, &'static str, String)> {
        let Usual::Command = kind;
        let argv = format!("{:?}", self.argv("far"));
        vec![
            ("sessions", "runtime", "'far'".into()),
            // A daemon that is killed leaves its engine behind for so long, and tests look for what is left.
            ("runtimes", "grace_s", "1".into()),
            ("runtimes.far", "kind", "'command'".into()),
            ("runtimes.far", "argv", argv),
        ]
    }
}

impl Daemon {
    /// `kind` and `argv` of a runtime.
    pub fn relay(&self, name: &str) -> Value {
        let command = self.command();
        let (binary, config) = (Path::new(command.get_program()), self.dir().text("config/trl/config.toml"));
        let far = Far { binary, config: &config, dir: self.runtime_dir() };
        json!({"kind": "command", "argv": far.argv(name)})
    }

    /// Has the operator add one, with further parameters of `runtime.add`.
    pub fn add_relay(&self, name: &str, extra: Value) -> Value {
        let params = crate::merged(self.relay(name), crate::merged(json!({"name": name}), extra));
        self.operator().ok("runtime.add", params)
    }
}
