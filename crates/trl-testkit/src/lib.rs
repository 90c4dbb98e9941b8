//! What black-box tests need around the real binary: a daemon in a directory of its own, a client, and eyes on `/proc`.
//!
//! 1. [`Daemon`] starts `trl serve` in a temporary directory and, when dropped, checks that nothing of it is left.
//! 2. [`Client`] speaks both envelopes over its socket, blocking, with a deadline on every wait.
//! 3. [`Session`] is a client with one session: `run` a command, or `stream` one and wait for what it prints.
//!    [`Terminal`] is one with a terminal: type, look, wait for what is shown.
//! 4. [`Http`] asks over HTTP, byte by byte where a test wants that; [`WebSocket`] converses; [`Attached`] sits beside a terminal.
//! 5. [`Proxy`] stands between a client and a daemon and loses connections.
//! 6. [`Dockerd`] is a Docker daemon of the test's own, [`Sshd`] a machine to log in to, [`Registry`] a place to pull an
//!    image from, [`Wire`] a network that can be cut.
//! 7. [`runtime`]: engines elsewhere, which in tests are on this machine, too; [`Leash`]: a link to one that is cut where a test says.
//! 8. [`agent`]: an agent without a model.
//! 9. [`process`] looks at processes; [`shell`] finds shells; [`random`] gives repeatable randomness; [`rounds`] repeats,
//!    a few times or for a minute.
//!
//! It knows the wire and nothing of the inside. It has no async runtime, so a test reads top to bottom. Nothing here
//! sleeps to synchronise: waits are for a line, a readable descriptor or, where no event exists, for [`eventually`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test kit fails by panicking

pub mod agent;
pub mod attached;
pub mod client;
pub mod daemon;
pub mod dockerd;
pub mod http;
pub mod leash;
pub mod net;
pub mod process;
pub mod proxy;
pub mod random;
pub mod registry;
pub mod rounds;
pub mod runtime;
pub mod scratch;
pub mod session;
pub(crate) mod shared;
pub mod shell;
pub mod sshd;
pub mod streaming;
pub mod terminal;
pub mod websocket;

use std::time::{Duration, Instant};

pub use attached::{Attached, memmem};
pub use client::{Client, RpcError, bytes_of};
pub use daemon::{Builder, Daemon};
pub use dockerd::Dockerd;
pub use http::{Http, Reply, SseEvent};
pub use leash::{Leash, Way};
pub use net::Wire;
pub use process::{descendants, procs_matching, sleeper, wait_gone};
pub use proxy::Proxy;
pub use random::Random;
pub use registry::Registry;
pub use rounds::Rounds;
pub use scratch::Scratch;
pub use serde_json::{Value, json};
pub use session::{Run, Session};
pub use shell::Shell;
pub use sshd::Sshd;
pub use streaming::Streaming;
pub use terminal::Terminal;
pub use websocket::WebSocket;

/// How long any single wait may take before it counts as "never": far beyond what a loaded machine needs, and below the
/// hard limit the test runner puts on a test.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Waits for a fact that no event announces. Panics with `what` when it does not come true.
pub fn eventually(what: &str, mut fact: impl FnMut() -> bool) {
    assert!(comes_true(PATIENCE, &mut fact), "never came true: {what}");
}

/// As [`eventually`], but answers instead of panicking.
pub fn comes_true(within: Duration, fact: &mut dyn FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if fact() {
            return true;
        }
        if start.elapsed() > within {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Is `what` here? A missing thing skips a test on a person's machine and fails it in CI, where all must be installed.
pub fn available(what: &str, here: bool) -> bool {
    if !here {
        assert!(!in_ci(), "{what} is missing, and CI must have it");
        eprintln!("SKIPPED: {what} is missing on this machine");
    }
    here
}

pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| v == "true")
}

/// `base` with the members of `extra` on top.
pub fn merged(mut base: Value, extra: Value) -> Value {
    if let (Some(into), Value::Object(from)) = (base.as_object_mut(), extra) {
        into.extend(from);
    }
    base
}
