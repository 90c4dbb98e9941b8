//! The HTTP door: every route, and every attack it has a defence against.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod cuts;
mod events;
mod floods;
mod hostile;
mod limits;
mod origin;
mod ownership;
mod roles;
mod routes;
mod rpc;
mod scenarios;
mod terminals;
mod tokens;
mod ui;
mod unix;
mod ws;

use trl_testkit::{Builder, Daemon, Http, json};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6).http()
}

fn daemon() -> Daemon {
    builder().start()
}

/// The door, as the operator.
fn operator(daemon: &Daemon) -> Http {
    daemon.http().with_token(&daemon.operator_token())
}

/// The door, with a fresh token of this role.
fn with_role(daemon: &Daemon, role: &str) -> Http {
    let made = daemon.token(role, json!({}));
    daemon.http().with_token(made["token"].as_str().expect("a token"))
}
