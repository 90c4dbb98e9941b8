//! What a result says of a refusal: proven by the kernel, likely by the command's words, or nothing.

use trl_testkit::{Daemon, Run, Session, Shell, Value, json};

use super::stage::is_root;
use super::{daemon, in_workspace};

fn inside(daemon: &Daemon) -> Session {
    daemon.session_with(Shell::Bash, in_workspace(daemon, "w", json!("workspace-write")))
}

fn denied(run: &Run) -> (Value, Value) {
    (run.json["denied"]["confidence"].clone(), run.json["denied"]["op"].clone())
}

#[test]
fn refused_system_calls_are_proven_even_if_nobody_complains() {
    let daemon = daemon();
    let mut session = inside(&daemon);
    for (command, op) in [
        ("python3 -c 'import socket; socket.socket()'", "network"),
        ("python3 -c 'import socket; socket.socket()' 2>/dev/null", "network"),
        ("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", "unix-socket"),
        ("unshare -Ur true", "namespace"),
        ("unshare -Ur true >/dev/null 2>&1; true", "namespace"),
    ] {
        let run = session.run(command);
        assert_eq!(denied(&run), (json!("proven"), json!(op)), "{command}: {}", run.json);
    }
    // what everybody tries and does without is no news, and neither is what the one before tried
    for command in [
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>/dev/null; true",
        "python3 -c 'import socket; socket.socket()' 2>/dev/null; true",
        "getent hosts localhost",
        "id; false",
        "touch g; chmod 000 g; ls -l g; (exit 1)",
        "false",
    ] {
        assert_eq!(session.run(command).json.get("denied"), None, "{command}");
    }
}

#[test]
fn files_are_likely_with_their_path() {
    let daemon = daemon();
    let mut session = inside(&daemon);
    let file = daemon.dir().file("outside", "text");
    for (command, op) in [
        (format!("cat {file}"), "open"),
        (format!("cat {file} 2>&1"), "open"),
        (format!("touch {file}.new"), "write"),
        (format!("python3 -c 'open(\"{file}\")'"), "open"),
        ("cat ../outside".to_string(), "open"),
        ("mkdir -p .trl; touch .trl/new".to_string(), "write"),
    ] {
        let run = session.run(&command);
        assert_eq!(denied(&run), (json!("likely"), json!(op)), "{command}: {}", run.json);
        assert!(run.json["denied"]["message"].as_str().unwrap().contains("denied") || op == "write");
    }
    let run = session.run(&format!("cat {file}"));
    assert_eq!(run.json["denied"]["path"], json!(file));
}

#[test]
fn ordinary_refusals_are_none() {
    let daemon = daemon();
    let mut session = inside(&daemon);
    for command in [
        "echo 'test sandbox::escape ... FAILED' >&2; exit 1",
        "echo 'git@host: Permission denied (publickey).' >&2; exit 255",
        "echo x >script; ./script",
        "echo x >locked; chmod 000 locked; cat locked >/dev/null || exit 2",
        "cat /nonexistent",
        "false",
    ] {
        let run = session.run(command);
        assert_ne!(run.code, 0, "{command}");
        assert_eq!(run.json.get("denied"), None, "{command}: {}", run.json);
    }
    // a file whose own mode is in the way
    let shadow = session.run("cat /etc/shadow");
    assert_eq!(shadow.json.get("denied").is_some(), is_root(), "{}", shadow.json);
}

#[test]
fn what_is_hidden_is_missed() {
    let daemon = daemon();
    let mut session = inside(&daemon);
    let file = daemon.dir().file("outside", "text");
    for command in [format!("cat {file} 2>/dev/null"), format!("cat {file} || true")] {
        let run = session.run(&command);
        assert_eq!(run.json.get("denied"), None, "{command}: {}", run.json);
    }
}

#[test]
fn who_asks_to_fail_gets_an_error_that_has_it_all() {
    let daemon = daemon();
    let mut session = inside(&daemon);
    let params =
        json!({"session_id": session.id, "command": "echo said; unshare -Ur true", "on_denied": "fail"});
    let error = session.client().refused("SANDBOX_DENIED", "exec.run", params);
    assert_eq!(error.detail("denied")["op"], "namespace");
    let result = session.client().ok("exec.result", json!({"execution_id": error.detail("execution_id")}));
    assert_eq!(result["stdout"], "said\n");
    let fine = json!({"session_id": session.id, "command": "false", "on_denied": "fail"});
    assert_eq!(session.client().ok("exec.run", fine)["exit_code"], 1);
}

#[test]
fn on_a_terminal_the_same_is_said() {
    let daemon = daemon();
    let mut client = daemon.client();
    let file = daemon.dir().file("outside", "text");
    let mut start = |command: &str| {
        let place = in_workspace(&daemon, "w", json!("workspace-write"));
        client.ok("exec.start", trl_testkit::merged(place, json!({"command": command, "tty": true})))
    };
    let proven = start("unshare -Ur true >/dev/null 2>&1; true");
    assert_eq!(
        (&proven["denied"]["confidence"], &proven["denied"]["op"]),
        (&json!("proven"), &json!("namespace"))
    );
    let coloured = format!("exec 2>&1; cat {file} | sed 's/cat/\\x1b[31mcat\\x1b[m/'; exit 1");
    assert_eq!(start(&coloured)["denied"]["path"], json!(file));
    for fine in ["true", "false", "echo 'git@host: Permission denied (publickey).'; exit 255"] {
        assert_eq!(start(fine).get("denied"), None, "{fine}");
    }
}

#[test]
fn without_a_sandbox_nothing_is_said() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Bash);
    let run = session.run("cat /etc/shadow/x; echo 'x: /root/y: Permission denied' >&2; exit 1");
    assert_eq!(run.json.get("denied"), None);
}
