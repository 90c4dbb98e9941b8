//! A small client of Docker's Engine API over its Unix socket: containers, images, and programs inside of containers.
//!
//! ```text
//!  Docker ── a call ─▶ wire: connect, ping (is it Docker? which version?), one request ─▶ dockerd
//!                       └── exec: the connection is taken over ─▶ Attached: stdin, demultiplexed stdout, last words
//! ```
//!
//! 1. [`Docker::at`] names a socket. Nothing is kept open and nothing remembered between calls: a daemon that was
//!    replaced is spoken to in its own version.
//! 2. Each call is one connection, driven by the call itself: there are no tasks, and a call that is dropped is over.
//! 3. Each call has to be done within [`Docker::within`], [`PATIENCE`] unless told; [`Docker::pull`] has to go on.
//!
//! - [`container`]: create, start, inspect, list, remove. - [`image`]: is it there, and pull. - [`archive`]: files into a
//!   container. - [`exec`]: a program in one, and [`attached`]: its streams. - [`error`]: what can go wrong.
//!
//! It does not log in to registries, and does not know what TRL does with a container.

pub mod archive;
pub mod attached;
pub mod container;
mod demux;
pub mod error;
pub mod exec;
pub mod image;
mod upload;
pub mod version;
mod wire;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use archive::{Archive, Meta};
pub use attached::{Attached, Input, Output};
pub use container::{Access, Container, Created, Limits, Listed, Mount, Network, Status, Wanted};
pub use error::{Error, Result};
pub use exec::Exec;
pub use image::{Image, Progress};
pub use version::Version;

/// Where Docker listens unless it is told otherwise.
pub const SOCKET: &str = "/var/run/docker.sock";

/// How long a call may take unless it is told otherwise: a busy disk makes a start or a removal take ten seconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A Docker daemon, by its socket.
#[derive(Debug, Clone)]
pub struct Docker {
    socket: PathBuf,
    patience: Duration,
}

impl Docker {
    /// Nothing is asked of it yet.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), patience: PATIENCE }
    }

    /// The same daemon, for calls that may take this long.
    #[must_use]
    pub fn within(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_can_be_made_from_any_task() {
        fn is_send(_: impl Send) {}
        let docker = Docker::at(SOCKET);
        is_send(docker.create(&Wanted::default()));
        is_send(docker.put_archive("c", "/", Archive::new()));
        is_send(docker.pull("i", drop));
        is_send(docker.exec("c", &Exec::default()));
        is_send(docker.exit_code("e"));
    }
}
