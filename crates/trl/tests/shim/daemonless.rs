//! Where no daemon is, and where one has us in its hands already.

use std::process::Command;

use trl_testkit::{Daemon, Shell, eventually, json};

use super::{bash, daemon, links, ok, said};

fn elsewhere(daemon: &Daemon, text: &str) -> Command {
    let mut command = bash(daemon, text);
    // nobody could be started there either
    command.env("TRL_SOCKET_PATH", daemon.dir().file("no-dir", "") + "/trl.sock");
    command
}

#[test]
fn without_a_daemon_it_fails_and_runs_nothing() {
    let daemon = daemon();
    let touched = daemon.dir().join("touched");
    let said = said(&mut elsewhere(&daemon, &format!("touch {}", touched.display())));
    assert_eq!((said.code, said.out.as_str()), (Some(126), ""));
    assert!(said.err.starts_with("trl: ") && !touched.exists(), "{said:?}");
}

#[test]
fn the_real_shell_goes_on_alone_when_that_is_said() {
    let daemon = daemon();
    let text = "echo $1 $BASH_VERSION | cut -c1; exit 5";
    let mut command = elsewhere(&daemon, text);
    let first = said(command.args(["name", "x"]).env("TRL_SH_FALLBACK", "1"));
    assert_eq!((first.code, first.out.as_str()), (Some(5), "x\n"));
    assert!(first.err.contains("going on with /bin/bash alone"), "{first:?}");
    let mut quiet = elsewhere(&daemon, text);
    assert_eq!(said(quiet.env("TRL_SH_FALLBACK", "1").env("TRL_SH_QUIET", "1")).err, "");
    let mut named = daemon.command();
    named.env("TRL_SOCKET_PATH", daemon.dir().text("no-dir/trl.sock")).args([
        "sh",
        "--fallback",
        "-c",
        "exit 6",
    ]);
    assert_eq!(said(&mut named).code, Some(6));
    // a refusal is no reason to go on without
    let mut wrong = bash(&daemon, "echo not here");
    let wrong = said(wrong.env("TRL_SH_FALLBACK", "1").env("TRL_SH_CASE", "no-such-case"));
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(126), ""), "{wrong:?}");
    let mut wrong = bash(&daemon, "echo not here");
    let wrong = said(wrong.env("TRL_SH_FALLBACK", "1").env("TRL_AUTH_TOKEN", "no-such-token"));
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(126), ""), "{wrong:?}");
}

#[test]
fn a_daemon_is_started_when_there_is_none() {
    let daemon = daemon();
    let dir = daemon.dir().dir("fresh");
    std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let socket = dir.join("trl.sock");
    let mut command = bash(&daemon, "echo hi");
    command.env("TRL_SOCKET_PATH", &socket).env("XDG_DATA_HOME", daemon.dir().dir("fresh-data"));
    assert_eq!(ok(&mut command), "hi\n");
    let mut client = trl_testkit::Client::connect(&socket);
    client.authenticate(&daemon.operator_token());
    let pid = client.ok("system.info", json!({}))["pid"].as_i64().unwrap();
    client.ok("system.shutdown", json!({}));
    eventually("it is gone", || !socket.exists());
    trl_testkit::wait_gone(i32::try_from(pid).unwrap());
}

/// Links that stand first in PATH, inside and outside: one command is one execution.
#[test]
fn inside_a_session_it_is_the_real_shell() {
    let daemon = daemon();
    let path = format!("{}:/usr/bin:/bin", links(&daemon).display());
    let text = "bash -c 'sh -c \"echo deep \\$0; zsh -c true\"; exit 3'";
    let outer = said(bash(&daemon, text).env("PATH", &path));
    assert_eq!((outer.code, outer.out.as_str()), (Some(3), "deep sh\n"), "{outer:?}");
    let count = || daemon.client().ok("exec.list", json!({}))["executions"].as_array().unwrap().len();
    assert_eq!(count(), 1);
    // nor does it need to find the daemon from there
    let mut session = daemon.session(Shell::Bash);
    let run = session.run(&format!("PATH={path} bash -c 'echo in; exit 4'"));
    assert_eq!((run.code, run.stdout.as_slice()), (4, &b"in\n"[..]));
    assert_eq!(count(), 2);
}
