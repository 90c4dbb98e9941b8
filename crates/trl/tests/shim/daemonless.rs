//! Where no daemon is, and where one has us in its hands already.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trl_testkit::{Daemon, Shell, eventually, json};

use super::{bash, daemon, links, ok, said, there};

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

/// `program -c TEXT` as a program starts it that hands on no more than where files of its user are.
fn scrubbed(daemon: &Daemon, program: impl AsRef<Path>, text: &str) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .env_clear()
        .env("HOME", daemon.dir().dir("bare-home"))
        .env("TMPDIR", daemon.dir().dir("bare-tmp"));
    command.current_dir(daemon.dir().dir("here")).args(["-c", text]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Links made for this daemon.
fn installed(daemon: &Daemon) -> PathBuf {
    let dir = daemon.dir().join("installed");
    ok(there(daemon, env!("CARGO_BIN_EXE_trl")).args(["sh", "--install"]).arg(&dir));
    dir
}

/// What a daemon started with the scrubbed environment would have made.
fn traces(daemon: &Daemon) -> Vec<PathBuf> {
    let dirs = ["bare-home", "bare-tmp"].map(|name| std::fs::read_dir(daemon.dir().dir(name)).unwrap());
    dirs.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// A daemon of the developer's own, which nothing here may reach.
fn usual_place_is_taken() -> bool {
    Path::new(&format!("/run/user/{}", rustix::process::geteuid().as_raw())).exists()
}

#[test]
fn installed_links_find_their_daemon() {
    let daemon = daemon();
    let dir = installed(&daemon);
    assert_eq!(ok(&mut scrubbed(&daemon, dir.join("bash"), "echo hi")), "hi\n");
    // By a name alone, by a relative one, and once more over what is there.
    let by_path = format!("PATH={}; bash -c 'echo found'", dir.display());
    assert_eq!(ok(&mut scrubbed(&daemon, "/bin/sh", &by_path)), "found\n");
    let from_there = format!("cd {}; ./dash -c 'echo near'", installed(&daemon).display());
    assert_eq!(ok(&mut scrubbed(&daemon, "/bin/sh", &from_there)), "near\n");
    let ran = daemon.client().ok("exec.list", json!({}))["executions"].as_array().unwrap().len();
    assert_eq!((ran, traces(&daemon)), (3, vec![]));
}

#[test]
fn installed_links_refuse_without_their_daemon() {
    let mut daemon = daemon();
    let bash = installed(&daemon).join("bash");
    daemon.stop();
    let touched = daemon.dir().join("touched");
    let said = said(&mut scrubbed(&daemon, &bash, &format!("touch {}", touched.display())));
    assert_eq!((said.code, said.out.as_str()), (Some(126), ""));
    assert!(said.err.contains("the daemon that this shell was installed for does not answer at"), "{said:?}");
    assert!(!touched.exists() && traces(&daemon).is_empty(), "{:?}", traces(&daemon));
}

#[test]
fn a_scrubbed_environment_starts_no_daemon() {
    if usual_place_is_taken() {
        return eprintln!("skipped: a daemon of this user's own may be running");
    }
    let daemon = daemon();
    let touched = daemon.dir().join("touched");
    let said =
        said(&mut scrubbed(&daemon, links(&daemon).join("bash"), &format!("touch {}", touched.display())));
    assert_eq!((said.code, said.out.as_str()), (Some(126), ""));
    assert!(said.err.contains("none is started without XDG_RUNTIME_DIR or TRL_CONFIG"), "{said:?}");
    assert!(!touched.exists() && traces(&daemon).is_empty(), "{:?}", traces(&daemon));
}

#[test]
fn install_replaces_links_alone() {
    let daemon = daemon();
    daemon.dir().dir("installed");
    let file = daemon.dir().file("installed/bash", "precious");
    let mut install = there(&daemon, env!("CARGO_BIN_EXE_trl"));
    let said = said(install.args(["sh", "--install"]).arg(daemon.dir().join("installed")));
    assert_eq!(said.code, Some(126));
    assert!(said.err.contains("installed/bash: this is not a link"), "{said:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "precious");
}
