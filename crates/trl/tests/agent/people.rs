//! Permissions: an agent asks, a person answers.

use serde_json::json;
use trl_testkit::agent::{Telling, tell};

use super::{agent_state, answer, daemon, info, next_request, session, state, subscribe};

#[test]
fn a_permission_waits_for_a_person_and_the_agent_hears_the_answer() {
    let daemon = daemon();
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    for (decision, scope, option) in
        [("approve", None, "yes"), ("approve", Some("session"), "ever"), ("reject", None, "no")]
    {
        let mut telling = Telling::send(&mut client, &session, "ask Push to main\nsay after");
        let asked = telling.wait(&mut client, "permission");
        let request = next_request(&mut operator);
        assert_eq!(asked["request_id"], request["request_id"]);
        assert_eq!(
            (&asked["title"], &asked["options"][0]["kind"]),
            (&json!("Push to main"), &json!("allow_once"))
        );
        assert_eq!(request["command"], "other: Push to main\n{\"what\":\"Push to main\"}");
        assert_eq!(
            (&request["scopes"], &request["permission"]["message_id"]),
            (&json!(["once", "session"]), &json!(telling.message_id))
        );
        trl_testkit::eventually("it waits", || state(&mut operator, &session) == "waiting_hitl");
        assert_eq!(agent_state(&mut operator, &session), "waiting");
        assert_eq!(info(&mut operator, &session)["pending_requests"], json!([request["request_id"]]));
        let mut params =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": decision});
        if let Some(scope) = scope {
            params["scope"] = json!(scope);
        }
        operator.ok("hitl.respond", params);
        let told = telling.finish(&mut client);
        assert_eq!(told.text(), format!("answer: {option}after"));
        assert_eq!(told.of("permission_resolved")[0]["option_id"], option);
        assert_eq!(state(&mut operator, &session), "idle");
    }
}

#[test]
fn agents_answer_no_requests_and_nobody_edits_them() {
    let daemon = daemon();
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let telling = Telling::send(&mut client, &session, "ask Push");
    let request = next_request(&mut operator);
    let say = |more: serde_json::Value| {
        let base =
            json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
        trl_testkit::merged(base, more)
    };
    client.refused("FORBIDDEN", "hitl.respond", say(json!({})));
    operator.refused("INVALID_PARAMS", "hitl.respond", say(json!({"command": "something else"})));
    operator.refused("INVALID_PARAMS", "hitl.respond", say(json!({"scope": "always"})));
    operator.ok("hitl.respond", say(json!({})));
    assert_eq!(telling.finish(&mut client).text(), "answer: yes");
}

#[test]
fn a_request_outlives_the_daemon_and_its_answer_is_given_when_the_agent_asks_again() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let mut operator = subscribe(&daemon);
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "say before\nask Push to main\nsay after");
    telling.wait(&mut client, "permission");
    let request = next_request(&mut operator);
    let interrupted = telling.message_id.clone();
    daemon.kill9();
    daemon.relaunch();

    let (mut client, mut operator) = (daemon.client(), daemon.operator());
    let history = client.ok("agent.history", json!({"session_id": session["session_id"]}));
    let message = &history["messages"][0];
    assert_eq!(
        (&message["message_id"], &message["stop_reason"]),
        (&json!(interrupted), &json!("interrupted"))
    );
    assert_eq!(message["state"], "done");
    let pending = operator.ok("hitl.list", json!({}));
    assert_eq!(pending["requests"][0]["request_id"], request["request_id"], "it is still there");
    answer(&mut operator, &request, "approve");
    let told = tell(&mut client, &session, "ask Push to main\nsay after");
    assert_eq!((told.reason(), told.text().as_str()), ("end_turn", "answer: yesafter"));
    assert!(told.of("permission").is_empty(), "nobody is asked twice");
    // The yes was for once.
    let mut operator = subscribe(&daemon);
    let telling = Telling::send(&mut client, &session, "ask Push to main");
    let again = next_request(&mut operator);
    answer(&mut operator, &again, "reject");
    assert_eq!(telling.finish(&mut client).text(), "answer: no");
}

#[test]
fn a_daemon_that_ends_in_order_leaves_the_request_too() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "ask Push");
    telling.wait(&mut client, "permission");
    assert!(daemon.stop().success());
    daemon.relaunch();
    let (mut client, mut operator) = (daemon.client(), daemon.operator());
    let history = client.ok("agent.history", json!({"session_id": session["session_id"]}));
    assert_eq!(history["messages"][0]["stop_reason"], "interrupted");
    assert_eq!(operator.ok("hitl.list", json!({}))["requests"].as_array().unwrap().len(), 1);
}

/// `order` asks with an empty input, and says before or after it what for.
fn is_asked_about_all_that_is_said(order: &str) {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let mut operator = subscribe(&daemon);
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, &format!("{order} make test"));
    telling.wait(&mut client, "permission");
    let request = next_request(&mut operator);
    assert_eq!(request["command"], "execute: a tool\n{\"cmd\":\"make test\"}");
    daemon.kill9();
    daemon.relaunch();

    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    answer(&mut operator, &request, "approve");
    let telling = Telling::send(&mut client, &session, &format!("{order} make clean"));
    let other = next_request(&mut operator);
    answer(&mut operator, &other, "reject");
    assert_eq!(telling.finish(&mut client).text(), "answer: no", "the yes was for something else");
    let told = tell(&mut client, &session, &format!("{order} make test"));
    assert_eq!(told.text(), "answer: yes");
    assert!(told.of("permission").is_empty(), "nobody is asked twice");
}

#[test]
fn a_person_sees_what_the_agent_said_of_its_tool_before_and_a_kept_yes_is_for_that_alone() {
    is_asked_about_all_that_is_said("tersely");
}

#[test]
fn a_person_sees_what_the_agent_says_of_its_tool_only_after_it_has_asked() {
    is_asked_about_all_that_is_said("early");
}

#[test]
fn a_tool_that_takes_nothing_is_asked_about_all_the_same() {
    let daemon = daemon();
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let telling = Telling::send(&mut client, &session, "bare Tidy up");
    let request = next_request(&mut operator);
    assert_eq!(request["command"], "other: Tidy up\n{}");
    answer(&mut operator, &request, "approve");
    assert_eq!(telling.finish(&mut client).text(), "answer: yes");
}

#[test]
fn a_message_is_stopped_while_its_question_is_kept_back() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "say now\nbare Tidy up");
    telling.wait(&mut client, "text");
    let stopped = client.ok("agent.stop", json!({"session_id": session["session_id"]}));
    assert_eq!(stopped["stopped"], true);
    assert_eq!(telling.finish(&mut client).reason(), "cancelled");
    assert_eq!(daemon.operator().ok("hitl.list", json!({}))["requests"], json!([]));
}
