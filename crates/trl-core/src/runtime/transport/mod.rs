//! From a kind of runtime to a byte stream that `trl stdio --resume KEY` is at the other end of.
//!
//! - [`program`]: any program that gives one, which `ssh` is, too. - [`copy`]: getting our own program there first.

mod copy;
mod program;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use trl_link::Key;
use trl_proto::runtime::{Binary, RuntimeKind, RuntimeSpec};
use trl_proto::{Error, ErrorCode};

use self::program::Program;

/// How a runtime is reached.
#[derive(Debug, Clone)]
pub enum Transport {
    Command { argv: Arc<[String]> },
    Ssh { words: Arc<[String]>, binary: Binary },
}

/// A byte stream to an engine.
pub struct Connection {
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub guard: Guard,
}

/// What a connection rests on; it ends with this.
#[derive(Debug)]
pub enum Guard {
    Program(Program),
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.guard)
    }
}

impl Guard {
    /// Which step a failure is one of.
    pub fn stage(&self) -> &'static str {
        "connect"
    }

    /// What was said beside the stream, once that has ended: the reason, if there is one.
    pub async fn last_words(&mut self) -> String {
        match self {
            Self::Program(program) => program.last_words().await,
        }
    }
}

/// Not checked for being there; for making sense.
fn wrong(what: &str) -> Error {
    Error::new(ErrorCode::InvalidParams, format!("a runtime like this {what}"))
}

impl Transport {
    /// None for this machine, which needs none.
    pub fn of(spec: &RuntimeSpec) -> Result<Option<Self>, Error> {
        let set = |name: &'static str, is: bool| is.then_some(name);
        let given: Vec<&str> = [
            set("argv", !spec.argv.is_empty()),
            set("target", spec.target.is_some()),
            set("options", !spec.options.is_empty()),
            set("image", spec.image.is_some()),
            set("container", spec.container.is_some()),
            set("mounts", !spec.mounts.is_empty()),
            set("network", spec.network.is_some()),
            set("user", spec.user.is_some()),
            set("socket", spec.socket.is_some()),
            set("limits", spec.limits.is_some()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let allowed: &[&str] = match spec.kind {
            RuntimeKind::Host => &[],
            RuntimeKind::Command => &["argv"],
            RuntimeKind::Ssh => &["target", "options"],
            RuntimeKind::Docker => &["image", "container", "mounts", "network", "user", "socket", "limits"],
        };
        if let Some(foreign) = given.iter().find(|name| !allowed.contains(name)) {
            return Err(wrong(&format!("has no `{foreign}`")));
        }
        match spec.kind {
            RuntimeKind::Host => Ok(None),
            RuntimeKind::Command if spec.argv.is_empty() => Err(wrong("needs `argv`")),
            RuntimeKind::Command => Ok(Some(Self::Command { argv: spec.argv.clone().into() })),
            RuntimeKind::Ssh => {
                let target =
                    spec.target.as_ref().filter(|target| !target.is_empty() && !target.starts_with('-'));
                let target = target.ok_or_else(|| wrong("needs a `target`, as ssh takes it"))?;
                let words = spec.options.iter().chain([target]).cloned().collect();
                Ok(Some(Self::Ssh { words, binary: spec.binary }))
            }
            RuntimeKind::Docker => Err(wrong("is not there yet")),
        }
    }

    /// Reaches for the engine of a key, which is started there when it is not running.
    pub async fn connect(&self, key: Key) -> Result<Connection, Error> {
        let key = key.to_string();
        match self {
            Self::Command { argv } => {
                let words = argv.iter().map(|word| word.replace("{key}", &key)).collect::<Vec<_>>();
                program::connect(&words)
            }
            Self::Ssh { words, binary } => {
                let path = match binary {
                    Binary::Copy => copy::over_ssh(words).await?,
                    Binary::Installed => "trl".into(),
                };
                program::connect(&ssh(words, &format!("exec {path} stdio --resume {key}")))
            }
        }
    }
}

/// The words that run a command there, which has no single quote in it: whatever shell the user has, `sh` reads it. Nobody
/// is there to be asked for a password, and a dead link is noticed.
fn ssh(words: &[String], command: &str) -> Vec<String> {
    const OPTIONS: [&str; 8] = [
        "ssh",
        "-T",
        "-oBatchMode=yes",
        "-oConnectTimeout=10",
        "-oServerAliveInterval=15",
        "-oServerAliveCountMax=3",
        "-oClearAllForwardings=yes",
        "-oEscapeChar=none",
    ];
    let mut all: Vec<String> = OPTIONS.map(String::from).to_vec();
    all.extend(words.iter().cloned());
    all.extend(["--".into(), format!("sh -c '{command}'")]);
    all
}

/// The labels a runtime has.
pub fn labels(spec: &RuntimeSpec) -> BTreeMap<String, String> {
    spec.labels.clone().unwrap_or_default()
}
