//! From a kind of runtime to a byte stream that `trl stdio --resume KEY` is at the other end of.
//!
//! ```text
//!  Transport (of a runtime) ── whose, key ─▶ Route (of one engine) ── connect ─▶ Connection (as often as it breaks)
//! ```
//!
//! - [`program`]: any program that gives one, which `ssh` is, too. - [`ssh`]: a machine. - [`docker`]: a container.
//! - [`binary`]: our own program, which both take there first.

mod binary;
mod docker;
mod program;
mod ssh;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use trl_link::Key;
use trl_proto::runtime::{RuntimeKind, RuntimeSpec};
use trl_proto::{Error, ErrorCode};

use self::docker::Docker;
use self::program::Program;
use self::ssh::Ssh;
use super::far::Steps;
pub use docker::Orphans;

/// How a runtime is reached.
#[derive(Debug, Clone)]
pub enum Transport {
    Command { argv: Arc<[String]> },
    Ssh(Arc<Ssh>),
    Docker(Arc<Docker>),
}

/// How many engines a runtime has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engines {
    /// One, for all of its sessions.
    Shared,
    /// One for each session, in a place of its own.
    OneEach,
}

/// The way to one engine.
#[derive(Debug)]
pub enum Route {
    Command(Vec<String>),
    Ssh(Arc<Ssh>, Key),
    Docker(docker::Route),
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Failure {
    /// The next try may be luckier.
    Passing(Error),
    /// The engine is gone for good, with everything it had.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Passing(error)
    }
}

/// A byte stream to an engine. What it rests on ends with it.
#[derive(Debug)]
pub struct Connection {
    pub reader: Reader,
    pub writer: Writer,
}

#[derive(Debug)]
pub enum Reader {
    Program(Program),
    Container(trl_docker::Output),
}

#[derive(Debug)]
pub enum Writer {
    Program(trl_sys::stream::Writer),
    Container(trl_docker::Input),
}

impl Reader {
    /// What was said beside the stream, once that has ended: the reason, if there is one.
    pub async fn last_words(&mut self) -> String {
        match self {
            Self::Program(program) => program.last_words().await,
            Self::Container(output) => output.last_words().trim().to_string(),
        }
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Program(program) => Pin::new(&mut program.stdout).poll_read(cx, buf),
            Self::Container(output) => Pin::new(output).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Writer {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Self::Program(stdin) => Pin::new(stdin).poll_write(cx, bytes),
            Self::Container(input) => Pin::new(input).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Program(stdin) => Pin::new(stdin).poll_flush(cx),
            Self::Container(input) => Pin::new(input).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Program(stdin) => Pin::new(stdin).poll_shutdown(cx),
            Self::Container(input) => Pin::new(input).poll_shutdown(cx),
        }
    }
}

/// Not checked for being there; for making sense.
fn wrong(what: &str) -> Error {
    Error::new(ErrorCode::InvalidParams, format!("a runtime like this {what}"))
}

impl Transport {
    /// None for this machine, which needs none. `gateway` is what containers are known by.
    pub fn of(spec: &RuntimeSpec, gateway: &str) -> Result<Option<Self>, Error> {
        only_what_fits(spec)?;
        Ok(Some(match spec.kind {
            RuntimeKind::Host => return Ok(None),
            RuntimeKind::Command if spec.argv.is_empty() => return Err(wrong("needs `argv`")),
            RuntimeKind::Command => Self::Command { argv: spec.argv.clone().into() },
            RuntimeKind::Ssh => Self::Ssh(Arc::new(Ssh::of(spec)?)),
            RuntimeKind::Docker => Self::Docker(Arc::new(Docker::of(spec, gateway)?)),
        }))
    }

    pub fn engines(&self) -> Engines {
        match self {
            Self::Docker(docker) => docker.engines(),
            Self::Command { .. } | Self::Ssh(_) => Engines::Shared,
        }
    }

    /// The way to the engine of a key, which is for `whose` things where each has its own.
    pub fn route(&self, whose: &str, key: Key) -> Route {
        match self {
            Self::Command { argv } => {
                let key = key.to_string();
                Route::Command(argv.iter().map(|word| word.replace("{key}", &key)).collect())
            }
            Self::Ssh(ssh) => Route::Ssh(Arc::clone(ssh), key),
            Self::Docker(docker) => Route::Docker(docker::Route::new(docker, whose, key)),
        }
    }

    /// What an earlier daemon may have left, where something can be left.
    pub fn orphans(&self) -> Option<Orphans> {
        match self {
            Self::Docker(docker) => docker.orphans(),
            Self::Command { .. } | Self::Ssh(_) => None,
        }
    }

    /// Whether it can be used at all, of one that has no engine as long as nobody needs one.
    pub async fn check(&self) -> Result<(), Error> {
        match self {
            Self::Docker(docker) => docker.check().await,
            Self::Command { .. } | Self::Ssh(_) => Ok(()),
        }
    }
}

impl Route {
    /// Reaches for the engine, which is started there when it is not running.
    pub async fn connect(&self, steps: &Steps) -> Result<Connection, Failure> {
        match self {
            Self::Command(words) => Ok(program::connect(words).await?),
            Self::Ssh(ssh, key) => Ok(ssh.connect(*key, steps).await?),
            Self::Docker(route) => route.connect(steps).await,
        }
    }

    /// Nobody will take this way again: what was made for it is removed.
    pub async fn leave(&self) {
        match self {
            Self::Docker(route) => route.leave().await,
            Self::Command(_) | Self::Ssh(..) => {}
        }
    }
}

/// What is said of a runtime of one kind must not be said of another.
fn only_what_fits(spec: &RuntimeSpec) -> Result<(), Error> {
    let given = [
        ("argv", !spec.argv.is_empty()),
        ("target", spec.target.is_some()),
        ("options", !spec.options.is_empty()),
        ("image", spec.image.is_some()),
        ("container", spec.container.is_some()),
        ("mounts", !spec.mounts.is_empty()),
        ("network", spec.network.is_some()),
        ("user", spec.user.is_some()),
        ("socket", spec.socket.is_some()),
        ("limits", spec.limits.is_some()),
    ];
    let allowed: &[&str] = match spec.kind {
        RuntimeKind::Host => &[],
        RuntimeKind::Command => &["argv"],
        RuntimeKind::Ssh => &["target", "options"],
        RuntimeKind::Docker => &["image", "container", "mounts", "network", "user", "socket", "limits"],
    };
    match given.iter().find(|(name, is_given)| *is_given && !allowed.contains(name)) {
        Some((foreign, _)) => Err(wrong(&format!("has no `{foreign}`"))),
        None => Ok(()),
    }
}

/// The labels a runtime has.
pub fn labels(spec: &RuntimeSpec) -> BTreeMap<String, String> {
    spec.labels.clone().unwrap_or_default()
}
