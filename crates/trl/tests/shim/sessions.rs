//! One session for all commands that name it.

use std::io::{BufRead, BufReader, Write};
use std::process::Command;

use trl_testkit::{Daemon, Value, json};

use super::{bash, daemon, ok, said, shim};

fn inside(daemon: &Daemon, key: &str, text: &str) -> Command {
    let mut command = bash(daemon, text);
    command.env("TRL_SH_SESSION", key);
    command
}

fn named(daemon: &Daemon, key: &str) -> Vec<Value> {
    let list = daemon.client().ok("session.list", json!({"name": key}));
    list["sessions"].as_array().unwrap().clone()
}

#[test]
fn state_stays_from_command_to_command() {
    let daemon = daemon();
    assert_eq!(ok(&mut inside(&daemon, "work", "cd /usr; X=1; f() { echo f $X; }")), "");
    assert_eq!(ok(&mut inside(&daemon, "work", "pwd; f")), "/usr\nf 1\n");
    assert_eq!(ok(&mut inside(&daemon, "other", "echo ${X-none}")), "none\n");
    assert_eq!(named(&daemon, "work").len(), 1);
    // an exit is that command's, and the session is as it was
    assert_eq!(said(&mut inside(&daemon, "work", "X=2; exit 4")).code, Some(4));
    assert_eq!(ok(&mut inside(&daemon, "work", "echo $X")), "1\n");
    // the same session by any other way
    let id = named(&daemon, "work")[0]["session_id"].clone();
    let run = daemon.client().ok("exec.run", json!({"session_id": id, "command": "X=3"}));
    assert_eq!(run["exit_code"], 0);
    assert_eq!(ok(&mut inside(&daemon, "work", "echo $X")), "3\n");
}

#[test]
fn arguments_input_and_signals_work_there_too() {
    let daemon = daemon();
    let mut command = inside(&daemon, "work", "echo \"$1|$2\"");
    assert_eq!(ok(command.args(["name", "a b", "c'd"])), "a b|c'd\n");
    let file = daemon.dir().file("in", "one\ntwo\n");
    let mut reads = inside(&daemon, "work", "read a; cat");
    assert_eq!(ok(reads.stdin(std::fs::File::open(file).unwrap())), "two\n");
    assert_eq!(ok(&mut inside(&daemon, "work", "echo $a")), "one\n");
    // What says so is what is interrupted: bash itself forgets an interrupt in a child that it is about to replace.
    let mut child = inside(&daemon, "work", "sh -c 'echo up; exec sleep 1000'").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    trl_testkit::process::signal(child.id().cast_signed(), rustix::process::Signal::INT);
    let status = child.wait().unwrap();
    assert!(!status.success(), "{status}");
    assert_eq!(ok(&mut inside(&daemon, "work", "echo $a")), "one\n");
}

/// What is one command's alone is not left behind for the next, and what is for one shell is not read by another.
#[test]
fn arguments_are_one_commands_and_another_shell_is_not_the_sessions() {
    let daemon = daemon();
    ok(&mut inside(&daemon, "work", "cd /usr; X=1"));
    assert_eq!(
        ok(inside(&daemon, "work", "echo \"$0|$*|$PWD\"").args(["zero", "a", "b"])),
        "zero|a b|/usr\n"
    );
    assert_eq!(ok(&mut inside(&daemon, "work", "echo $#$X")), "01\n");
    let mut zsh = shim(&daemon, "zsh");
    zsh.args(["-c", "a=(x y); echo $a[1] ${X-none}"]).env("TRL_SH_SESSION", "work");
    assert_eq!(ok(&mut zsh), "x none\n");
    assert_eq!(named(&daemon, "work").len(), 1);
}

/// Nobody waits for anybody, and nobody is turned away.
#[test]
fn what_comes_while_it_is_busy_runs_beside_it() {
    let daemon = daemon();
    ok(&mut inside(&daemon, "work", "cd /usr; X=1"));
    let (read, mut write) = std::io::pipe().unwrap();
    let mut busy = inside(&daemon, "work", "echo up; read line; echo $line $X").stdin(read).spawn().unwrap();
    let mut out = BufReader::new(busy.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    // where the session is, with the caller's variables
    assert_eq!(ok(inside(&daemon, "work", "pwd; echo ${X-none}").env("Y", "1")), "/usr\nnone\n");
    let beside: Vec<_> =
        (0..8).map(|i| inside(&daemon, "work", &format!("echo {i}")).spawn().unwrap()).collect();
    for (i, child) in beside.into_iter().enumerate() {
        assert_eq!(super::heard(&child.wait_with_output().unwrap()).out, format!("{i}\n"));
    }
    write.write_all(b"end\n").unwrap();
    line.clear();
    out.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), busy.wait().unwrap().code()), ("end 1\n", Some(0)));
}

#[test]
fn many_at_once_make_one_session() {
    let daemon = daemon();
    let all: Vec<_> = (0..12).map(|_| inside(&daemon, "crowd", "echo here").spawn().unwrap()).collect();
    for child in all {
        assert_eq!(super::heard(&child.wait_with_output().unwrap()).out, "here\n");
    }
    assert_eq!(named(&daemon, "crowd").len(), 1);
}

/// Options that a running shell would keep, and files, have a shell of their own.
#[test]
fn what_cannot_run_in_a_session_runs_beside_it() {
    let daemon = daemon();
    ok(&mut inside(&daemon, "work", "X=1"));
    let mut strict = shim(&daemon, "bash");
    strict.args(["-euo", "pipefail", "-c", "echo ${X-none}; false; echo not here"]);
    let strict = said(strict.env("TRL_SH_SESSION", "work"));
    assert_eq!((strict.code, strict.out.as_str()), (Some(1), "none\n"));
    assert!(!ok(&mut inside(&daemon, "work", "false; echo $X $-")).contains('e'));
}

#[test]
fn a_closed_one_is_opened_again() {
    let daemon = daemon();
    ok(inside(&daemon, "work", "X=1").env("API_TOKEN", "s"));
    let id = named(&daemon, "work")[0]["session_id"].clone();
    daemon.operator().ok("session.close", json!({"session_id": id}));
    assert_eq!(ok(inside(&daemon, "work", "echo $X $API_TOKEN").env("API_TOKEN", "s")), "1 s\n");
    assert_eq!(named(&daemon, "work")[0]["session_id"], id);
}
