//! The library for Rust, `trl-client`, against the real daemon.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod approvals;
mod connect;
mod examples;
mod process;
mod run;
mod session;
mod terminal;

use std::time::Duration;

use trl_client::{Builder, Client};
use trl_testkit::Daemon;

/// As long as anything may take.
const PATIENCE: Duration = trl_testkit::PATIENCE;

fn daemon() -> Daemon {
    let builder = trl_testkit::Builder::new(env!("CARGO_BIN_EXE_trl"));
    builder.set("exec", "grace_s", 0.6).set("terminals", "grace_s", 0.6).start()
}

/// Nobody's token, whatever the environment of the test has.
fn agent(daemon: &Daemon) -> Builder {
    Client::builder().socket(daemon.socket()).token("")
}

async fn connect(daemon: &Daemon) -> Client {
    agent(daemon).connect().await.unwrap()
}

async fn operator(daemon: &Daemon) -> Client {
    Client::builder().socket(daemon.socket()).token(daemon.operator_token()).connect().await.unwrap()
}
