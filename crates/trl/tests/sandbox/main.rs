//! The sandbox: what gets out of it (nothing), what works inside, what is said about it.
//!
//! - [`escapes`]: each of [`rows`] is an attempt by a real program that works without a sandbox. - [`bombs`]: what only
//!   limits hold. - [`works`]: what people run. What was seen of all these is in `docs/sandbox.md` ([`document`]).
//! - [`git`]: ordinary jobs of git inside, and what leads the user's git to other programs.
//! - [`again`]: what one sandbox leaves behind for the next. - [`races`]: what one does while another begins or ends.
//! - [`wire`]: asking for a sandbox, and who may ask for which. - [`denial`]: what a result says of a refusal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod again;
mod bombs;
mod denial;
mod document;
mod escapes;
mod git;
mod races;
mod rows;
mod stage;
mod wire;
mod works;

use trl_testkit::{Builder, Daemon, json};

/// What no sandbox gets to see, in the daemon's environment.
const SECRET: &str = "hunter2-in-the-environment";

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).env("AWS_SECRET_ACCESS_KEY", SECRET)
}

fn daemon() -> Daemon {
    builder().start()
}

/// Parameters of a session in a directory of the daemon's, which it makes.
fn in_workspace(daemon: &Daemon, name: &str, sandbox: trl_testkit::Value) -> trl_testkit::Value {
    daemon.dir().dir(name);
    json!({"working_dir": daemon.dir().text(name), "sandbox": sandbox})
}
