//! Where the sessions of a test's daemon live: here, or, with `TRL_TEST_RUNTIME` in the environment, in a runtime elsewhere.
//! The same tests hold in all of them. And further runtimes, for tests about those: [`Daemon::relay`].
//!
//! Each daemon has its own place elsewhere, which has the daemon's environment: so its engine has the same settings, and
//! its files are where tests look for them.
//!
//! - `command`: our program is started here, by a word of the settings.
//! - `ssh`: an [`Sshd`], which is there in a few milliseconds. What was copied there lies on one shelf for all.
//! - `docker`: a container of the run's own Docker ([`crate::shared`]), with all directories of this machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::shared::Slot;
use crate::{Daemon, Leash, Sshd};

/// A kind of runtime that tests can be run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    /// Any program that gives a byte stream.
    Command,
    Ssh,
    Docker,
}

/// Names the runtime tests are to be run in.
const VARIABLE: &str = "TRL_TEST_RUNTIME";

/// None: here.
pub fn usual() -> Option<Usual> {
    match std::env::var(VARIABLE).ok()?.as_str() {
        "" | "host" => None,
        "command" => Some(Usual::Command),
        "ssh" => Some(Usual::Ssh),
        "docker" => Some(Usual::Docker),
        other => panic!("{VARIABLE}={other} is no runtime that tests know"),
    }
}

/// The name of the runtime that sessions have which name none.
pub fn name() -> &'static str {
    usual().map_or("host", |_| "far")
}

/// The place of one daemon's sessions that is not here.
#[derive(Debug)]
pub(crate) enum Elsewhere {
    Command,
    Ssh(Sshd),
    Docker(Slot),
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
}

impl Elsewhere {
    /// The place of a daemon with this environment, and so many descriptors.
    pub(crate) fn prepare(
        binary: &Path,
        environment: &[(String, String)],
        open_files: Option<u32>,
    ) -> Option<Self> {
        let missing = |what: &str| -> ! { panic!("{VARIABLE} asks for {what}, which this machine has not") };
        Some(match usual()? {
            Usual::Command => Self::Command,
            Usual::Ssh => {
                let home = environment.iter().find(|(name, _)| name == "HOME").expect("a home");
                share_shelf(binary, Path::new(&home.1));
                // What a login adds to the environment, a daemon has not.
                let files = open_files.map(|most| format!("; ulimit -n {most}")).unwrap_or_default();
                let login = format!("unset LOGNAME SHELL MAIL{files}");
                Self::Ssh(Sshd::start_with(environment, &login).unwrap_or_else(|| missing("sshd")))
            }
            Usual::Docker => Self::Docker(Slot::take(environment).unwrap_or_else(|| missing("dockerd"))),
        })
    }

    /// Section, key and value.
    pub(crate) fn settings(&self, far: &Far<'_>) -> Vec<(&'static str, &'static str, String)> {
        let of = |key, value: Value| ("runtimes.far", key, value.to_string());
        let own = match self {
            Self::Command => vec![of("kind", json!("command")), of("argv", json!(far.argv("far")))],
            Self::Ssh(sshd) => vec![
                of("kind", json!("ssh")),
                of("target", json!(sshd.target())),
                of("options", json!(sshd.options())),
            ],
            Self::Docker(slot) => vec![
                of("kind", json!("docker")),
                of("container", json!(slot.container())),
                of("socket", json!(slot.socket())),
            ],
        };
        let usual = [
            ("sessions", "runtime", "'far'".into()),
            // A daemon that is killed leaves its engine behind for so long, and tests look for what is left.
            ("runtimes", "grace_s", "1".into()),
            // A login, or a process in a container, takes long on a machine on which much else is tested.
            ("runtimes", "connect_s", "60".into()),
        ];
        usual.into_iter().chain(own).collect()
    }
}

/// A program is copied to a machine once, and each of these homes would be another machine.
fn share_shelf(binary: &Path, home: &Path) {
    let shelf = binary.with_file_name("shelf-of-tests");
    fs::create_dir_all(&shelf).expect("a directory");
    fs::create_dir_all(home.join(".cache/trl")).expect("a directory");
    symlink(shelf, home.join(".cache/trl/bin")).expect("a link");
}

impl Daemon {
    /// `kind` and `argv` of a runtime.
    pub fn relay(&self, name: &str) -> Value {
        let command = self.command();
        let (binary, config) = (Path::new(command.get_program()), self.dir().text("config/trl/config.toml"));
        let far = Far { binary, config: &config, dir: self.runtime_dir() };
        json!({"kind": "command", "argv": far.argv(name)})
    }

    /// A link to an engine of this name that is in the test's hands, and the runtime that it leads to.
    pub fn add_leash(&self, name: &str) -> Leash {
        let relay = self.relay(name);
        let words: Vec<String> = serde_json::from_value(relay["argv"].clone()).expect("words");
        let words: Vec<String> = words[..words.len() - 2].to_vec();
        let binary = self.command().get_program().to_os_string();
        let environment = self.environment_elsewhere();
        let leash = Leash::to(move || {
            let mut command = std::process::Command::new(&binary);
            command.env_clear().envs(environment.clone()).current_dir("/").args(&words[1..]);
            command
        });
        let spec = json!({"name": name, "kind": "command", "argv": leash.argv()});
        self.operator().ok("runtime.add", spec);
        leash
    }

    /// Has the operator add one, with further parameters of `runtime.add`.
    pub fn add_relay(&self, name: &str, extra: Value) -> Value {
        let params = crate::merged(self.relay(name), crate::merged(json!({"name": name}), extra));
        self.operator().ok("runtime.add", params)
    }
}
