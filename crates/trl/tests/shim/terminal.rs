//! A person at a terminal, who types `bash -c vim`.

use std::io::{Read, Write};
use std::process::{Child, Stdio};

use trl_testkit::{Daemon, json};

use super::{links, there};

/// We, on a terminal that script(1) makes; what it shows comes through a pipe.
fn on_terminal(daemon: &Daemon, text: &str) -> Child {
    on_terminal_of(daemon, "cols 91 rows 17", text)
}

fn on_terminal_of(daemon: &Daemon, size: &str, text: &str) -> Child {
    let mut command = there(daemon, "/usr/bin/script");
    let line = format!("stty {size}; exec {} -c '{text}'", links(daemon).join("bash").display());
    command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
    command.stdin(Stdio::piped()).spawn().unwrap()
}

fn until(out: &mut impl Read, wanted: &str) -> String {
    let mut seen = Vec::new();
    let mut one = [0];
    while !String::from_utf8_lossy(&seen).contains(wanted) {
        assert!(out.read(&mut one).unwrap() > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.push(one[0]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn it_has_a_terminal_of_that_size_and_keys_are_its_own() {
    let daemon = daemon();
    let mut child =
        on_terminal(&daemon, "test -t 0 -a -t 1 -a -t 2 && stty size; read -p name: n; echo hi $n; exit 7");
    let mut out = child.stdout.take().unwrap();
    let mut keys = child.stdin.take().unwrap();
    assert!(until(&mut out, "name:").contains("17 91"));
    keys.write_all(b"x\x7fyou\r").unwrap();
    until(&mut out, "hi you");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let list = daemon.client().ok("exec.list", json!({}));
    assert!(list["executions"][0]["terminal_id"].is_string(), "{list}");
}

/// Terminals that programs make often have no size, and some have one that is none.
#[test]
fn a_terminal_of_no_size_will_do() {
    let daemon = daemon();
    for (size, shown) in
        [("cols 0 rows 0", "24 80"), ("cols 1 rows 1", "1 2"), ("cols 3000 rows 40", "40 1000")]
    {
        let mut child = on_terminal_of(&daemon, size, "stty size");
        assert!(until(&mut child.stdout.take().unwrap(), "\n").contains(shown), "{size}");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn an_interrupt_is_a_key() {
    let daemon = daemon();
    let mut child =
        on_terminal(&daemon, "trap \"echo heard; exit 5\" INT; echo up; while :; do sleep 0.05; done");
    let mut out = child.stdout.take().unwrap();
    let mut keys = child.stdin.take().unwrap();
    until(&mut out, "up");
    keys.write_all(b"\x03").unwrap();
    until(&mut out, "heard");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

fn daemon() -> Daemon {
    super::daemon()
}
