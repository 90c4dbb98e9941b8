use serde_json::json;

use super::{approve, daemon, next_request, shell, subscribe, with_rules};

#[test]
fn without_rules_nobody_is_asked() {
    let daemon = super::builder().start();
    let mut session = shell(&daemon);
    assert_eq!(session.run("rm -f nothing; id -u >/dev/null").code, 0);
    assert_eq!(daemon.operator().ok("hitl.list", json!({}))["requests"], json!([]));
}

#[test]
fn what_is_allowed_runs_and_what_is_denied_does_not() {
    let daemon = daemon();
    let mut session = shell(&daemon);
    assert_eq!(session.run("echo hello").out(), "hello\n");
    let id = session.id.clone();
    let error = session.client().refused(
        "APPROVAL_DENIED",
        "exec.run",
        json!({"session_id": id, "command": "rm -rf /tmp/x"}),
    );
    assert!(format!("{error:?}").contains("nothing is removed here"), "{error:?}");
    assert_eq!(session.run("echo still here").out(), "still here\n");
    let audit = daemon.operator().ok("hitl.audit", json!({}));
    assert_eq!(audit["entries"][0]["what"], "denied");
    assert_eq!(audit["entries"][0]["command"], "rm -rf /tmp/x");
}

#[test]
fn a_caller_may_return_or_fail_in_place_of_waiting() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let fail = json!({"session_id": id, "command": "id -u", "approval": "fail"});
    let error = session.client().refused("APPROVAL_REQUIRED", "exec.run", fail);
    assert_eq!(error.detail("segments")[0]["verdict"], "ask");
    let back =
        session.client().ok("exec.run", json!({"session_id": id, "command": "id -u", "approval": "return"}));
    assert_eq!(back["state"], "waiting_hitl");
    let request = next_request(&mut operator);
    assert_eq!(back["request_id"], request["request_id"]);
    let result = operator.ok("exec.result", json!({"execution_id": back["execution_id"]}));
    assert_eq!(result["status"], "waiting_hitl");
    approve(&mut operator, &request);
    let done = operator.ok("exec.wait", json!({"execution_id": back["execution_id"]}));
    assert_eq!((&done["reason"], &done["exit_code"]), (&json!("exit"), &json!(0)));
    // with what it returned for gone, the session is free
    assert_eq!(session.run("echo on").out(), "on\n");
}

#[test]
fn what_stands_behind_a_held_command_runs_after_it() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let client = session.client();
    let first = client.send("exec.run", json!({"session_id": id, "command": "sleep 0.2; echo first"}));
    let request = next_request(&mut operator);
    approve(&mut operator, &request);
    let second = client.send("exec.run", json!({"session_id": id, "command": "id -u", "queue": true}));
    let third = client.send("exec.run", json!({"session_id": id, "command": "echo third", "queue": true}));
    assert_eq!(client.reply(first).unwrap()["stdout"], "first\n");
    let request = next_request(&mut operator);
    assert_eq!(request["command"], "id -u");
    approve(&mut operator, &request);
    assert_eq!(client.reply(second).unwrap()["exit_code"], 0);
    assert_eq!(client.reply(third).unwrap()["stdout"], "third\n");
}

#[test]
fn nobody_in_time_is_a_no() {
    let daemon = with_rules("default: ask\ntimeout_s: 0.3\n");
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let params = json!({"session_id": id, "command": "id -u"});
    session.client().refused("APPROVAL_EXPIRED", "exec.run", params);
    let request = next_request(&mut operator);
    assert_eq!(request["state"], "expired");
    let late =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
    operator.refused("APPROVAL_EXPIRED", "hitl.respond", late);
    assert_eq!(operator.ok("session.info", json!({"session_id": id}))["state"], "idle");
}

#[test]
fn a_held_command_can_be_cancelled_and_ends_with_its_session() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    for way in ["exec.cancel", "session.close", "session.destroy"] {
        let mut session = shell(&daemon);
        let id = session.id.clone();
        let sent = session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
        let request = next_request(&mut operator);
        operator.ok(way, json!({"session_id": id}));
        let done = session.client().reply(sent).unwrap();
        assert_eq!((&done["cancelled"], &done["exit_code"]), (&json!(true), &json!(130)), "{way}");
        let settled = operator.ok("hitl.wait", json!({"request_id": request["request_id"]}));
        assert_eq!(settled["state"], "cancelled", "{way}");
        let answer =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
        operator.refused("ALREADY_RESOLVED", "hitl.respond", answer);
    }
}

#[test]
fn a_stream_hears_of_the_request_and_of_the_no() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let started = session.client().ok("exec.stream", json!({"session_id": id, "command": "id -u"}));
    let request = next_request(&mut operator);
    assert_eq!(started["request_id"], request["request_id"]);
    super::answer(&mut operator, &request, json!({"decision": "reject", "reason": "not today"}));
    let push = session.client().push("exec.refused");
    assert_eq!(
        (&push["error"]["code"], &push["error"]["hint"]),
        (&json!("APPROVAL_DENIED"), &json!("not today"))
    );
}

/// Not in containers: a container is an approval boundary, and the test expects none.
mod outside_containers {
    use super::*;

    #[test]
    fn a_command_waits_for_its_answer_and_the_session_says_so() {
        let daemon = daemon();
        let mut operator = subscribe(&daemon);
        let mut session = shell(&daemon);
        let id = session.id.clone();
        let sent = session.client().send("exec.run", json!({"session_id": id, "command": "touch made; pwd"}));
        let request = next_request(&mut operator);
        assert_eq!(request["command"], "touch made; pwd");
        assert_eq!(request["state"], "pending");
        assert_eq!(request["approval_boundary"], "advisory");
        assert_eq!(request["session_id"], id.as_str());
        let info = operator.ok("session.info", json!({"session_id": id}));
        assert_eq!(info["state"], "waiting_hitl");
        assert_eq!(info["pending_requests"], json!([request["request_id"]]));
        for queue in [false, true] {
            let params = json!({"session_id": id, "command": "echo no", "queue": queue});
            operator.refused("SESSION_BUSY", "exec.run", params);
        }
        operator.refused("SESSION_BUSY", "session.reset", json!({"session_id": id}));
        let settled = approve(&mut operator, &request);
        assert_eq!(
            (&settled["state"], &settled["resolution"]["by"]),
            (&json!("approved"), &json!("operator"))
        );
        let done = session.client().reply(sent).unwrap();
        assert_eq!(done["exit_code"], 0);
        let info = operator.ok("session.info", json!({"session_id": id}));
        assert_eq!((&info["state"], &info["pending_requests"]), (&json!("idle"), &json!([])));
    }
}
