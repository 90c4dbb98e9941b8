//! This program in place of a shell: beside the real one, word for word, and where it must differ.
//!
//! - [`alike`]: the same words to both, the same end and the same bytes. - [`streams`]: what goes in and out. - [`signals`].
//! - [`surroundings`]: variables, directory, which shell. - [`sessions`]: one session for many commands. - [`daemonless`]:
//!   no daemon, and inside of one. - [`boundary`]: rules and sandboxes. - [`terminal`]: a person sits there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod alike;
mod boundary;
mod daemonless;
mod sessions;
mod signals;
mod streams;
mod surroundings;
mod terminal;

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use trl_testkit::{Builder, Daemon};

const SHELLS: [&str; 4] = ["sh", "dash", "bash", "zsh"];

fn builder() -> Builder {
    Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.6)
}

fn daemon() -> Daemon {
    builder().start()
}

/// Where links to this program have the names of shells.
fn links(daemon: &Daemon) -> PathBuf {
    let dir = daemon.dir().dir("links");
    for name in SHELLS {
        if !dir.join(name).exists() {
            symlink(env!("CARGO_BIN_EXE_trl"), dir.join(name)).unwrap();
        }
    }
    dir
}

/// `program` with the environment of somebody who has this daemon, in a directory of its own.
fn there(daemon: &Daemon, program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    let known = daemon.command();
    let known = known.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.env_clear().envs(known).env("TRL_SOCKET_PATH", daemon.socket());
    command.current_dir(daemon.dir().dir("here"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// We, called as that shell.
fn shim(daemon: &Daemon, shell: &str) -> Command {
    there(daemon, links(daemon).join(shell))
}

/// `bash -c TEXT`.
fn bash(daemon: &Daemon, text: &str) -> Command {
    let mut command = shim(daemon, "bash");
    command.args(["-c", text]);
    command
}

/// How it ended and what it said.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    code: Option<i32>,
    signal: Option<i32>,
    out: String,
    err: String,
}

fn heard(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        code: output.status.code(),
        signal: output.status.signal(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

fn said(command: &mut Command) -> Said {
    heard(&command.output().expect("it runs"))
}

/// The output of what must work.
fn ok(command: &mut Command) -> String {
    let said = said(command);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    said.out
}
