//! `trl doctor` and `trl debug bundle`.

use std::fs;
use std::os::unix::fs::MetadataExt;

use trl_testkit::{Scratch, Shell, Value, json};

use crate::{builder, daemon, ok, said, trl};

fn row<'a>(diagnosis: &'a Value, id: &str) -> &'a Value {
    let rows = diagnosis["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id} in {diagnosis}"))
}

#[test]
fn one_screen_says_what_this_machine_can_do() {
    let daemon = daemon();
    let screen = ok(&daemon, &["doctor"]);
    for word in
        ["Kernel", "Landlock", "Control groups", "Limits backend", "Runtime directory", "Approval boundary"]
    {
        assert!(screen.contains(word), "no {word} in\n{screen}");
    }
    let found: Value = serde_json::from_str(&ok(&daemon, &["doctor", "--json"])).expect("JSON");
    assert_eq!(row(&found, "daemon")["status"], "ok");
    assert_eq!(row(&found, "pidfd")["status"], "ok");
    assert_eq!(row(&found, "approval_boundary")["value"], "advisory");
    let store = row(&found, "store");
    assert_eq!(store["status"], "ok", "{store}");
    assert!(store["value"].as_str().expect("a path").contains("store.db: "), "{store}");
    assert!(row(&found, "history")["value"].as_str().expect("a time").starts_with("kept for "));
    assert!(row(&found, "shell.sh")["value"].as_str().expect("a path").starts_with('/'));
    if let Some(bash) = Shell::Bash.program() {
        let value = row(&found, "shell.bash")["value"].as_str().expect("a path");
        assert!(value.contains('.') && value.starts_with('/'), "{value} for {bash:?}");
    }
}

#[test]
fn it_says_what_agents_are_confined_by() {
    let daemon = builder().set("sandbox", "mode", "\"workspace-write\"").start();
    let found: Value = serde_json::from_str(&ok(&daemon, &["doctor", "--json"])).expect("JSON");
    let boundary = row(&found, "approval_boundary");
    assert_eq!(
        (&boundary["status"], &boundary["value"]),
        (&json!("ok"), &json!("enforced: what agents run is in workspace-write"))
    );
    let sandbox = row(&found, "sandbox")["value"].as_str().expect("a backend");
    assert!(sandbox.contains("seccomp") && sandbox.ends_with("usual mode workspace-write"), "{sandbox}");
    // its own look at the machine is outside of it
    assert!(row(&found, "shell.sh")["value"].as_str().expect("a path").starts_with('/'));
}

#[test]
fn without_a_daemon_it_says_so_and_goes_on() {
    let mut daemon = daemon();
    daemon.stop();
    let found: Value = serde_json::from_str(&ok(&daemon, &["doctor", "--json"])).expect("JSON");
    assert_eq!(row(&found, "daemon")["status"], "info");
    assert!(row(&found, "kernel")["value"].is_string());
    assert!(row(&found, "shell.sh")["value"].is_string());
}

#[test]
fn agents_may_ask_and_only_operators_read_the_log() {
    let daemon = daemon();
    let mut agent = daemon.client();
    assert!(agent.ok("system.doctor", json!({}))["rows"].as_array().is_some_and(|rows| rows.len() > 10));
    agent.refused("FORBIDDEN", "system.log", json!({}));
    // it ran a command to find out, which is nobody's business
    assert_eq!(agent.ok("session.list", json!({}))["sessions"], json!([]));
    assert_eq!(agent.ok("exec.list", json!({}))["executions"], json!([]));
    let mut operator = daemon.operator();
    operator.ok("token.create", json!({"name": "x", "role": "viewer"}));
    let log = operator.ok("system.log", json!({"limit": 1}));
    let lines = log["lines"].as_array().expect("lines");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].as_str().expect("text").contains("a token was made"), "{log}");
}

#[test]
fn a_bundle_has_what_helps_and_no_secret() {
    const PLANTED: &str = "planted-secret-4711";
    let daemon = builder()
        .set("log", "level", "\"trace\"")
        .env("MY_API_TOKEN", PLANTED)
        .env("TRL_AUTH_TOKEN", &format!("{PLANTED}-operator-token-of-32-chars"))
        .start();
    let mut session = daemon.session_with(
        Shell::Dash,
        json!({"env": {"PLAIN": PLANTED}, "secret_env": {"HIDDEN": PLANTED}, "name": "a session"}),
    );
    session.run(&format!("echo {PLANTED}; password={PLANTED}"));
    let mut operator = daemon.client();
    operator.authenticate(&format!("{PLANTED}-operator-token-of-32-chars"));
    let token = operator.ok("token.create", json!({"name": "x", "role": "agent"}));
    let token = token["token"].as_str().expect("a token").to_string();
    let mut wrong = daemon.client();
    wrong.refused("AUTH_FAILED", "system.auth", json!({"token": format!("{PLANTED}-wrong")}));

    let scratch = Scratch::new();
    let file = scratch.text("bundle.txt");
    let said_path = ok(&daemon, &["debug", "bundle", "--output", &file]);
    assert!(said_path.contains(&file), "{said_path}");
    let text = fs::read_to_string(&file).expect("a bundle");
    assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o777, 0o600);
    for part in ["== doctor", "== config", "== stats", "== log", "sessions.max", "a token was made"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    for secret in [PLANTED, token.as_str()] {
        assert!(!text.contains(secret), "{secret} in\n{text}");
    }
    let again = trl(&daemon, &["debug", "bundle", "--output", &file]);
    assert_ne!(again.code, 0, "a file that is there stays: {again:?}");
}

#[test]
fn a_bundle_is_made_without_a_daemon_too() {
    let mut daemon = daemon();
    daemon.stop();
    let scratch = Scratch::new();
    let mut command = crate::command(&daemon, &["debug", "bundle"]);
    let done = said(command.current_dir(scratch.path()));
    assert_eq!(done.code, 0, "{done:?}");
    let made = fs::read_dir(scratch.path()).expect("a directory").flatten().next().expect("a bundle");
    assert!(made.file_name().to_string_lossy().starts_with("trl-debug-"));
    assert!(fs::read_to_string(made.path()).expect("text").contains("== config"));
}
