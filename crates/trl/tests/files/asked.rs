//! Changes to files that the rules do not simply allow.

use std::fs;
use std::path::PathBuf;

use trl_testkit::{Client, Daemon, Value, eventually, json};

use super::{daemon, operator, workspace};

/// A person is asked about `.github`; nobody writes to `locked`.
const RULES: &str =
    "default: allow\nrules:\n- ask: [fs.write .github]\n- deny: [fs.write locked]\n  reason: it is locked\n";

/// With a workspace that has both.
fn careful() -> (Daemon, PathBuf) {
    let daemon = daemon();
    daemon.dir().file("config/trl/approvals.yaml", RULES);
    let dir = workspace(&daemon, "w");
    for name in [".github", "locked"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    (daemon, dir)
}

/// The operator, who hears of every request.
fn watching(daemon: &Daemon) -> Client {
    let mut operator = daemon.operator();
    operator.ok("events.subscribe", json!({"kinds": ["hitl.requested"]}));
    operator
}

fn next_request(operator: &mut Client) -> Value {
    let event = operator.event("hitl.requested");
    operator.ok("hitl.get", json!({"request_id": event["request_id"]}))
}

fn respond(operator: &mut Client, request: &Value, decision: &str) {
    let answer =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": decision});
    operator.ok("hitl.respond", answer);
}

fn file(path: &str) -> Value {
    json!({"workspace_id": "w", "path": path, "data": "on: push\n"})
}

#[test]
fn a_write_waits_for_a_person_and_is_made_on_a_yes() {
    let (daemon, dir) = careful();
    let (mut agent, mut operator) = (daemon.client(), watching(&daemon));
    let waiting = agent.send("fs.write", file(".github/ci.yml"));
    let request = next_request(&mut operator);
    let shown = request["command"].as_str().unwrap();
    let path = dir.join(".github/ci.yml");
    assert!(shown.starts_with(&format!("fs.write {} (9 bytes, sha256 ", path.display())), "{shown}");
    assert_eq!((&request["state"], path.exists()), (&json!("pending"), false));
    respond(&mut operator, &request, "approve");
    assert_eq!(agent.reply(waiting).unwrap()["created"], true);
    assert_eq!(fs::read_to_string(&path).unwrap(), "on: push\n");

    // once is once
    let waiting = agent.send("fs.write", file(".github/ci.yml"));
    let request = next_request(&mut operator);
    respond(&mut operator, &request, "reject");
    assert_eq!(agent.reply(waiting).unwrap_err().code, "APPROVAL_DENIED");
    // what no rule is about is not asked about
    agent.ok("fs.write", file("free"));
}

#[test]
fn nobody_is_asked_about_what_is_forbidden_or_when_that_is_not_wanted() {
    let (daemon, dir) = careful();
    let mut agent = daemon.client();
    let refused = agent.refused("APPROVAL_DENIED", "fs.write", file("locked/f"));
    assert_eq!(refused.hint.as_deref(), Some("it is locked"));
    assert!(refused.detail("rule").as_str().unwrap().contains("locked"));
    for (method, params) in [
        ("fs.mkdir", json!({"path": "locked/d"})),
        ("fs.remove", json!({"path": "locked"})),
        ("fs.move", json!({"path": "locked", "to": "open"})),
    ] {
        agent.refused("APPROVAL_DENIED", method, trl_testkit::merged(json!({"workspace_id": "w"}), params));
    }
    let fail = trl_testkit::merged(file(".github/f"), json!({"approval": "fail"}));
    agent.refused("APPROVAL_REQUIRED", "fs.write", fail);
    assert_eq!(daemon.operator().ok("hitl.list", json!({}))["requests"], json!([]));

    let http = operator(&daemon);
    let put = |path: &str| http.ask("PUT", &format!("/api/workspaces/w/files/{path}"), &[], b"x").status;
    assert_eq!(
        (put("locked/f"), put(".github/f?approval=fail"), put(".github/f?approval=return")),
        (403, 409, 400)
    );
    assert!(fs::read_dir(dir.join(".github")).unwrap().next().is_none());
    assert_eq!(daemon.operator().ok("hitl.audit", json!({}))["entries"][0]["what"], "denied");
}

#[test]
fn whoever_does_not_wait_is_told_of_the_request_and_the_change_is_made_on_a_yes() {
    let (daemon, dir) = careful();
    let (mut agent, mut operator) = (daemon.client(), watching(&daemon));
    let later = trl_testkit::merged(file(".github/ci.yml"), json!({"approval": "return"}));
    let told = agent.ok("fs.write", later);
    assert_eq!(told["state"], "waiting_hitl");
    let request = next_request(&mut operator);
    assert_eq!(told["request_id"], request["request_id"]);
    drop(agent);
    respond(&mut operator, &request, "approve");
    eventually("it is written", || dir.join(".github/ci.yml").exists());
}

#[test]
fn moving_is_asked_about_at_both_ends_and_a_put_waits_too() {
    let (daemon, dir) = careful();
    let mut operator = watching(&daemon);
    fs::write(dir.join(".github/a"), "a").unwrap();
    let mut agent = daemon.client();
    let params = json!({"workspace_id": "w", "path": ".github/a", "to": ".github/b"});
    let moving = agent.send("fs.move", params);
    for name in ["a", "b"] {
        let request = next_request(&mut operator);
        let start = format!("fs.write {} (", dir.join(".github").join(name).display());
        assert!(request["command"].as_str().unwrap().starts_with(&start), "{request}");
        respond(&mut operator, &request, "approve");
    }
    agent.reply(moving).unwrap();
    assert!(dir.join(".github/b").exists());

    let http = super::operator(&daemon);
    let put =
        std::thread::spawn(move || http.ask("PUT", "/api/workspaces/w/files/.github/c", &[], b"put").status);
    let request = next_request(&mut operator);
    assert!(request["command"].as_str().unwrap().ends_with("/.github/c (3 bytes)"));
    respond(&mut operator, &request, "approve");
    assert_eq!(put.join().unwrap(), 201);
    assert_eq!(fs::read(dir.join(".github/c")).unwrap(), b"put");
}

#[test]
fn a_yes_that_came_after_a_crash_lets_the_same_write_through_once() {
    let (mut daemon, dir) = careful();
    let mut agent = daemon.client();
    let session = agent.ok("session.create", json!({"working_dir": dir}))["session_id"].clone();
    let write = json!({"session_id": session, "path": ".github/f", "data": "x"});
    let mut operator = watching(&daemon);
    agent.send("fs.write", write.clone());
    let request = next_request(&mut operator);
    daemon.kill9();
    daemon.relaunch();
    let (mut agent, mut operator) = (daemon.client(), daemon.operator());
    respond(&mut operator, &request, "approve");
    agent.ok("session.get", json!({"session_id": session}));
    let fail = json!({"approval": "fail"});
    let other = trl_testkit::merged(write.clone(), json!({"data": "y", "approval": "fail"}));
    agent.refused("APPROVAL_REQUIRED", "fs.write", other);
    agent.ok("fs.write", write.clone());
    agent.refused("APPROVAL_REQUIRED", "fs.write", trl_testkit::merged(write, fail));
    assert_eq!(fs::read(dir.join(".github/f")).unwrap(), b"x");
}
