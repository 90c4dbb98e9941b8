//! The command line as people and scripts use it: its words, its codes, and what ^C does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod attach;
mod doctor;
mod exec;
mod help;
mod reach;
mod record;
mod run;
mod serve;
mod session;
mod term;

use std::process::{Command, Output, Stdio};

use trl_testkit::{Builder, Daemon};

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

/// What a command said, and its code.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// The binary, told where the daemon is.
fn command(daemon: &Daemon, args: &[&str]) -> Command {
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn trl(daemon: &Daemon, args: &[&str]) -> Said {
    said(&mut command(daemon, args))
}

fn said(command: &mut Command) -> Said {
    heard(command.output().expect("the binary runs"))
}

fn heard(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().expect("it exits");
    Said { code, out: text(output.stdout), err: text(output.stderr) }
}

/// A command that must work; its output without the last newline.
fn ok(daemon: &Daemon, args: &[&str]) -> String {
    let said = trl(daemon, args);
    assert_eq!(said.code, 0, "trl {args:?}: {said:?}");
    said.out.trim_end().to_string()
}
