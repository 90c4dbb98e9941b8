//! Where the sessions of a test's daemon live: here, or, with `TRL_TEST_RUNTIME` in the environment, in a runtime elsewhere.
//! The same tests hold in all of them.

use std::path::Path;

use crate::Scratch;

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
    pub(crate) dir: &'a Scratch,
}

impl Far<'_> {
    /// Section, key and value.
    pub(crate) fn settings(&self, kind: Usual) -> Vec<(&'static str, &'static str, String)> {
        let binary = self.binary.display();
        let (socket, config) = (self.dir.text("far/trl.sock"), self.config);
        let Usual::Command = kind;
        let argv = format!(
            "[{binary:?}, '--socket', {socket:?}, '--config', {config:?}, 'stdio', '--resume', '{{key}}']",
            binary = binary.to_string()
        );
        vec![
            ("sessions", "runtime", "'far'".into()),
            // A daemon that is killed leaves its engine behind for so long, and tests look for what is left.
            ("runtimes", "grace_s", "1".into()),
            ("runtimes.far", "kind", "'command'".into()),
            ("runtimes.far", "argv", argv),
        ]
    }
}
