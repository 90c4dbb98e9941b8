//! What becomes of a request between the question and the answer, and of its execution.

use serde_json::json;

use super::{RULES, daemon, next_request, shell, subscribe, write_rules};

/// As the others, and one more.
fn forbid(daemon: &trl_testkit::Daemon) {
    write_rules(daemon, &format!("{RULES}- deny: [id]\n  reason: nobody is asked for\n"));
}

#[test]
fn a_rule_that_came_meanwhile_ends_the_request_whatever_a_person_says() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let waiting = session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
    let request = next_request(&mut operator);
    forbid(&daemon);
    let answer =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
    let refused = operator.refused("APPROVAL_DENIED", "hitl.respond", answer.clone());
    assert!(refused.detail("rule").as_str().unwrap().contains("id"), "{:?}", refused.json);
    assert_eq!(refused.detail("state"), "rejected");
    assert_eq!(refused.hint.as_deref(), Some("nobody is asked for"));
    let told = session.client().reply(waiting).unwrap_err();
    assert_eq!(
        (told.code.as_str(), told.message.as_str()),
        ("APPROVAL_DENIED", "a rule forbids the command")
    );
    assert_eq!(told.detail("reason"), "nobody is asked for");

    let settled = operator.ok("hitl.get", json!({"request_id": request["request_id"]}));
    assert_eq!(settled["state"], "rejected");
    assert_eq!(settled["resolution"]["by"], json!(null));
    operator.refused("ALREADY_RESOLVED", "hitl.respond", answer);
    assert_eq!(session.run("echo on").stdout, b"on\n");
}

#[test]
fn the_same_holds_for_what_an_earlier_daemon_was_asked() {
    for mode in ["return", "wait"] {
        let mut daemon = daemon();
        let mut operator = subscribe(&daemon);
        let mut session = shell(&daemon);
        let id = session.id.clone();
        session.client().send("exec.run", json!({"session_id": id, "command": "id -u", "approval": mode}));
        let request = next_request(&mut operator);
        daemon.kill9();
        forbid(&daemon);
        daemon.relaunch();
        let mut operator = daemon.operator();
        let answer =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
        operator.refused("APPROVAL_DENIED", "hitl.respond", answer.clone());
        operator.refused("ALREADY_RESOLVED", "hitl.respond", answer);
    }
}

#[test]
fn the_result_of_an_execution_says_what_became_of_its_request() {
    let mut daemon = daemon();
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let ask = json!({"session_id": id, "command": "id -u", "approval": "return"});
    let execution = session.client().ok("exec.run", ask)["execution_id"].clone();
    let result =
        |client: &mut trl_testkit::Client| client.call("exec.result", json!({"execution_id": execution}));
    assert_eq!(result(session.client()).unwrap()["status"], "waiting_hitl");
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    assert_eq!(result(&mut client).unwrap()["status"], "waiting_hitl");

    let mut operator = daemon.operator();
    let request = operator.ok("hitl.list", json!({}))["requests"][0].clone();
    super::answer(&mut operator, &request, json!({"decision": "reject", "reason": "not today"}));
    for _ in 0..2 {
        let told = result(&mut client).unwrap_err();
        assert_eq!((told.code.as_str(), told.detail("reason")), ("APPROVAL_DENIED", &json!("not today")));
        assert_eq!(told.detail("request_id"), &request["request_id"]);
        daemon.stop();
        daemon.relaunch();
        client = daemon.client();
    }
    let listed = client.ok("exec.list", json!({}));
    assert_eq!(listed["executions"], json!([]));
}

#[test]
fn what_was_refused_is_remembered_by_the_daemon_that_asked() {
    let daemon = daemon();
    let mut operator = daemon.operator();
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let ask = json!({"session_id": id, "command": "id -u", "approval": "return"});
    let asked = session.client().ok("exec.run", ask);
    let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
    super::answer(&mut operator, &request, json!({"decision": "reject", "reason": "not today"}));
    let told = json!({"execution_id": asked["execution_id"]});
    let refused = session.client().refused("APPROVAL_DENIED", "exec.result", told);
    assert_eq!(refused.hint.as_deref(), Some("not today"));
    assert_eq!(session.client().ok("exec.list", json!({"session_id": id}))["executions"], json!([]));
}

#[test]
fn what_was_allowed_for_a_session_holds_after_a_crash_and_ends_with_it() {
    let mut daemon = daemon();
    let mut operator = daemon.operator();
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let ask = json!({"session_id": id, "command": "id -u", "approval": "return"});
    let asked = session.client().ok("exec.run", ask);
    let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
    super::answer(&mut operator, &request, json!({"decision": "approve", "scope": "session"}));
    session.client().ok("exec.wait", json!({"execution_id": asked["execution_id"]}));
    let other = shell(&daemon).id.clone();
    // what is told of the past is on the disk
    daemon.client().ok("session.history", json!({}));
    let run = |id: &str, command: &str| json!({"session_id": id, "command": command, "approval": "fail"});
    for crash in [true, false] {
        if crash {
            daemon.kill9();
        } else {
            daemon.stop();
        }
        daemon.relaunch();
        let mut client = daemon.client();
        client.ok("session.get", json!({"session_id": id}));
        client.ok("session.get", json!({"session_id": other}));
        client.ok("exec.run", run(&id, "id -u"));
        // nothing more, and for nobody else
        client.refused("APPROVAL_REQUIRED", "exec.run", run(&id, "uname"));
        client.refused("APPROVAL_REQUIRED", "exec.run", run(&other, "id -u"));
    }
    // a rule that forbids it is stronger
    forbid(&daemon);
    daemon.client().refused("APPROVAL_DENIED", "exec.run", run(&id, "id -u"));
}

#[test]
fn a_session_that_has_to_be_asked_about_waits_returns_or_fails() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    let odd = |mode: &str| json!({"shell": "/bin/sh", "env": {"LD_PRELOAD": "/x.so"}, "approval": mode});
    client.refused("APPROVAL_REQUIRED", "session.create", odd("fail"));
    assert_eq!(operator.ok("hitl.list", json!({}))["requests"], json!([]));

    let told = client.ok("session.create", odd("return"));
    assert_eq!(told["state"], "waiting_hitl");
    let request = next_request(&mut operator);
    assert_eq!(request["request_id"], told["request_id"]);
    client.refused("SESSION_NOT_FOUND", "session.info", json!({"session_id": told["session_id"]}));
    super::approve(&mut operator, &request);
    trl_testkit::eventually("it is made", || {
        client
            .call("session.info", json!({"session_id": told["session_id"]}))
            .is_ok_and(|s| s["state"] != "creating")
    });

    let waiting = client.send("session.create", odd("wait"));
    let request = next_request(&mut operator);
    super::answer(&mut operator, &request, json!({"decision": "reject"}));
    assert_eq!(client.reply(waiting).unwrap_err().code, "APPROVAL_DENIED");
}
