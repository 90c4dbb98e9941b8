//! What waits outlives the daemon, whatever ends it.

use serde_json::json;

use super::{daemon, next_request, shell, subscribe};

#[test]
fn a_request_is_still_there_after_a_crash_and_after_an_orderly_end() {
    for crash in [true, false] {
        let mut daemon = daemon();
        let request = {
            let mut operator = subscribe(&daemon);
            let mut session = shell(&daemon);
            let id = session.id.clone();
            session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
            next_request(&mut operator)
        };
        if crash {
            daemon.kill9();
        } else {
            daemon.stop();
        }
        daemon.relaunch();
        let mut operator = daemon.operator();
        let waiting = operator.ok("hitl.list", json!({}));
        assert_eq!(waiting["requests"], json!([request]), "crash: {crash}");
        // whoever waited is gone: the yes is kept for the session, and counts once
        let answer =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
        assert_eq!(operator.ok("hitl.respond", answer.clone())["state"], "approved");
        daemon.kill9();
        daemon.relaunch();
        let mut operator = daemon.operator();
        operator.refused("ALREADY_RESOLVED", "hitl.respond", answer);
        assert_eq!(operator.ok("hitl.list", json!({}))["requests"], json!([]));
        let audit = operator.ok("hitl.audit", json!({}));
        let what: Vec<&str> =
            audit["entries"].as_array().unwrap().iter().map(|e| e["what"].as_str().unwrap()).collect();
        assert_eq!(what, ["approved", "requested"], "crash: {crash}");
    }
}

#[test]
fn an_answer_is_on_the_disk_before_anybody_hears_of_it() {
    for place in ["approval.recorded", "approval.announced", "store.request.committed"] {
        let mut daemon = super::builder().env("TRL_FAILPOINT", place).start();
        super::write_rules(&daemon, super::RULES);
        let mut session = shell(&daemon);
        let id = session.id.clone();
        session.client().send("exec.run", json!({"session_id": id, "command": "id -u"}));
        daemon.reap();
        daemon.relaunch();
        let waiting = daemon.operator().ok("hitl.list", json!({}))["requests"].clone();
        assert_eq!(waiting.as_array().unwrap().len(), 1, "{place}: {waiting}");
        assert_eq!(waiting[0]["command"], "id -u");
        daemon.kill9();
    }
}

/// A fresh process has no session to wait in: what it was to be is kept with the question.
#[test]
fn a_fresh_process_that_nobody_waits_for_runs_on_a_yes_after_a_restart() {
    for crash in [true, false] {
        let mut daemon = daemon();
        let mut operator = subscribe(&daemon);
        let dir = daemon.dir().dir("work").display().to_string();
        let start = json!({"command": "id -u >made; echo ran", "approval": "return", "working_dir": dir});
        let asked = daemon.client().ok("exec.start", start);
        let request = next_request(&mut operator);
        if crash {
            daemon.kill9();
        } else {
            daemon.stop();
        }
        daemon.relaunch();
        let mut operator = daemon.operator();
        let answer =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
        operator.ok("hitl.respond", answer);
        let mut agent = daemon.client();
        let id = &asked["execution_id"];
        trl_testkit::eventually("it runs", || agent.call("exec.wait", json!({"execution_id": id})).is_ok());
        let done = agent.ok("exec.result", json!({"execution_id": id}));
        assert_eq!((&done["exit_code"], &done["stdout"]), (&json!(0), &json!("ran\n")), "crash: {crash}");
        assert!(daemon.dir().join("work/made").exists());
    }
}

/// What only its name gives away is no more kept with a question than with the history.
#[test]
fn a_secret_that_only_its_name_gives_away_is_not_kept() {
    let mut daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut session = shell(&daemon);
    let (id, env) = (session.id.clone(), json!({"DB_PASSWORD": "hunter2-password"}));
    let run = json!({"session_id": id, "command": "id hunter2-password", "approval": "return", "env": env});
    session.client().ok("exec.run", run);
    let shown = next_request(&mut operator);
    assert_eq!(shown["command"], "id hunter2-password", "who is asked sees it");
    daemon.kill9();
    daemon.relaunch();
    let mut operator = daemon.operator();
    for kept in ["hitl.list", "hitl.audit"].map(|method| operator.ok(method, json!({})).to_string()) {
        assert!(kept.contains("id ") && !kept.contains("hunter2"), "{kept}");
    }
}
