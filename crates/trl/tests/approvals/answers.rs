use std::sync::mpsc;

use serde_json::json;

use super::{answer, approve, daemon, next_request, shell, subscribe};

#[test]
fn the_first_answer_counts_and_the_second_hears_of_it() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
    let request = next_request(&mut operator);
    let (told, hears) = mpsc::channel();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (told, daemon, request) = (told.clone(), &daemon, &request);
            scope.spawn(move || {
                let decision = if n % 2 == 0 { "approve" } else { "reject" };
                let params = json!({
                    "request_id": request["request_id"], "digest": request["digest"], "decision": decision,
                });
                told.send(daemon.operator().call("hitl.respond", params)).unwrap();
            });
        }
    });
    drop(told);
    let answers: Vec<_> = hears.into_iter().collect();
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 1);
    for late in answers.into_iter().filter_map(Result::err) {
        assert_eq!(late.code, "ALREADY_RESOLVED");
        assert_eq!(late.detail("by"), "operator");
        assert!(late.detail("resolved_at").is_string());
    }
}

#[test]
fn an_answer_is_to_what_was_seen() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
    let request = next_request(&mut operator);
    let to = |more: serde_json::Value| {
        let mut params =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    operator.refused("INVALID_PARAMS", "hitl.respond", to(json!({"digest": "another"})));
    operator.refused("INVALID_PARAMS", "hitl.respond", to(json!({"decision": "reject", "scope": "once"})));
    operator.refused("INVALID_PARAMS", "hitl.respond", to(json!({"command": "id", "scope": "session"})));
    operator.refused("REQUEST_NOT_FOUND", "hitl.respond", to(json!({"request_id": "r-aaaaaaaaaa"})));
    let error = operator.refused("APPROVAL_DENIED", "hitl.respond", to(json!({"command": "rm -rf /"})));
    assert!(format!("{error:?}").contains("nothing is removed"), "{error:?}");
    approve(&mut operator, &request);
    assert_eq!(session.client().reply(sent).unwrap()["exit_code"], 0);
}

#[test]
fn a_yes_for_the_session_is_not_asked_again_there() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": "date -u"}));
    let request = next_request(&mut operator);
    assert!(request["segments"][0]["would_allow"].as_str().unwrap().starts_with("date"));
    answer(&mut operator, &request, json!({"decision": "approve", "scope": "session"}));
    session.client().reply(sent).unwrap();
    assert_eq!(session.run("date -u").code, 0);
    let mut other = shell(&daemon);
    let params = json!({"session_id": other.id, "command": "date -u", "approval": "fail"});
    other.client().refused("APPROVAL_REQUIRED", "exec.run", params);
}

#[test]
fn always_is_for_every_session_and_outlives_the_daemon() {
    let mut daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": "date -u"}));
    let request = next_request(&mut operator);
    answer(&mut operator, &request, json!({"decision": "approve", "scope": "always"}));
    session.client().reply(sent).unwrap();
    assert_eq!(shell(&daemon).run("date -u").code, 0);
    drop((session, operator));
    daemon.stop();
    daemon.relaunch();
    assert_eq!(shell(&daemon).run("date -u").code, 0);
}

#[test]
fn what_a_person_writes_in_its_place_is_run() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
    let request = next_request(&mut operator);
    let settled = answer(&mut operator, &request, json!({"decision": "approve", "command": "printf edited"}));
    assert_eq!(settled["resolution"]["command"], "printf edited");
    let done = session.client().reply(sent).unwrap();
    assert_eq!(done["stdout"], "edited");
    let list = operator.ok("exec.list", json!({"session_id": id}));
    assert_eq!(list["executions"][0]["command"], "printf edited");
}
