//! Every example runs, in a process of its own, and says what it should. The guide shows a part of the first.

use std::process::Command;

use trl_testkit::Daemon;

use super::daemon;

/// An example as a test, which the tests below start with the variables that it reads.
macro_rules! example {
    ($name:ident) => {
        mod $name {
            include!(concat!("../../../trl-client/examples/", stringify!($name), ".rs"));

            #[test]
            #[ignore = "started by another test, with a daemon"]
            fn runs() {
                main().unwrap();
            }
        }
    };
}

example!(quickstart);
example!(live);
example!(approvals);

/// What it prints; this program's own words are around that.
fn said(daemon: &Daemon, example: &str) -> String {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("examples::{example}::runs"), "--ignored", "--nocapture", "--quiet"])
        .env_remove(trl_client::TOKEN_VARIABLE)
        .env(trl_client::SOCKET_VARIABLE, daemon.socket())
        .env("XDG_CONFIG_HOME", daemon.dir().join("config"))
        .output()
        .unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    said
}

#[test]
fn quickstart_says_what_it_should() {
    let expected =
        "7 hello oops\ntimed out: true after writing \"part\\n\"\nme in /usr\nRolledBack me\nit is gone\n";
    let said = said(&daemon(), "quickstart");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn live_says_what_it_should() {
    let expected =
        "line 1\nline 2\nline 3\nexit Some(4)\nPattern\nanswered at byte Some(6)\nended with 0\n42\n";
    let said = said(&daemon(), "live");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn approvals_says_what_it_should() {
    let daemon = daemon();
    std::fs::write(daemon.dir().join("config/trl/approvals.yaml"), "default: ask\n").unwrap();
    let said = said(&daemon, "approvals");
    assert!(said.contains("echo removed is Pending\nApproved\nended with 0\n"), "{said}");
}

#[test]
fn what_the_guide_shows_is_in_the_example() {
    let guide = include_str!("../../../../docs/guide.md");
    let shown = guide.split_once("```rust\n").unwrap().1.split_once("```").unwrap().0;
    let mut example = include_str!("../../../trl-client/examples/quickstart.rs").lines().map(str::trim);
    for line in shown.lines().filter(|line| !line.is_empty() && !line.starts_with("use ")) {
        assert!(example.any(|there| there == line), "{line}");
    }
}
