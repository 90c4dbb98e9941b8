//! Ending a message early.

use serde_json::json;
use trl_testkit::agent::{Telling, case, tell};
use trl_testkit::process::is_gone;
use trl_testkit::procs_matching;

use super::{agent_state, builder, daemon, next_request, session, subscribe};

#[test]
fn an_agent_that_stops_when_it_is_asked_to_stays_warm() {
    let daemon = daemon();
    let (mut client, mut other) = (daemon.client(), daemon.client());
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "hang");
    telling.wait(&mut client, "text");
    other.ok("agent.stop", json!({"session_id": session["session_id"]}));
    assert_eq!(telling.finish(&mut client).reason(), "cancelled");
    assert_eq!(agent_state(&mut other, &session), "warm");
    assert_eq!(tell(&mut client, &session, "say on").of("started")[0]["warm"], true);
}

#[test]
fn one_that_does_not_is_killed_with_all_it_started() {
    let daemon = builder().set("agents", "stop_grace_s", 0).start();
    case(&daemon, "coder", &[], "");
    let (mut client, mut other) = (daemon.client(), daemon.client());
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "child 3035\ndeaf");
    let said = telling.wait(&mut client, "text")["text"].as_str().unwrap().to_string();
    let digits: String = said.chars().filter(char::is_ascii_digit).collect();
    let child: i32 = digits.parse().unwrap();
    other.ok("agent.stop", json!({"session_id": session["session_id"]}));
    assert_eq!(telling.finish(&mut client).reason(), "cancelled");
    trl_testkit::eventually("its child is gone", || is_gone(child));
    let program = daemon.dir().text("fake-agent");
    trl_testkit::eventually("it is gone", || procs_matching(&program).is_empty());
    assert_eq!(agent_state(&mut other, &session), "absent");
}

#[test]
fn what_it_asks_for_once_it_is_stopped_it_does_not_get() {
    let daemon = daemon();
    let (mut client, mut other) = (daemon.client(), daemon.client());
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "spite touch made");
    telling.wait(&mut client, "text");
    other.ok("agent.stop", json!({"session_id": session["session_id"]}));
    let told = telling.finish(&mut client);
    assert_eq!(told.reason(), "cancelled");
    assert_eq!(told.text(), "waitingrefused: the message is being stopped");
    let listed = other.ok("exec.list", json!({"session_id": session["session_id"]}));
    assert_eq!(listed["executions"], json!([]));
}

#[test]
fn a_message_that_waits_for_a_person_is_stopped_and_the_question_withdrawn() {
    let daemon = daemon();
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let telling = Telling::send(&mut client, &session, "ask Push\nsay never");
    let request = next_request(&mut operator);
    operator.ok("agent.stop", json!({"session_id": session["session_id"]}));
    let told = telling.finish(&mut client);
    assert_eq!(told.reason(), "cancelled");
    assert_eq!(told.of("permission_resolved")[0]["state"], "cancelled");
    let settled = operator.ok("hitl.wait", json!({"request_id": request["request_id"]}));
    assert_eq!(settled["state"], "cancelled");
}

#[test]
fn a_message_that_waits_for_its_agent_to_start_can_be_stopped() {
    let daemon = builder().start();
    case(&daemon, "coder", &["--silent"], "");
    let (mut client, mut other) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let telling = Telling::send(&mut client, &session, "say hi");
    other.event("agent.started");
    other.ok("agent.stop", json!({"session_id": session["session_id"]}));
    assert_eq!(telling.finish(&mut client).reason(), "cancelled");
    let program = daemon.dir().text("fake-agent");
    trl_testkit::eventually("it is gone", || procs_matching(&program).is_empty());
}

#[test]
fn a_message_that_takes_too_long_is_over_and_says_so() {
    let daemon = builder().set("agents", "stop_grace_s", 0).start();
    case(&daemon, "coder", &[], "");
    let path = daemon.dir().join("config/trl/cases/coder.yaml");
    let text =
        std::fs::read_to_string(&path).unwrap().replacen("{\"command\"", "{\"timeout_s\": 1, \"command\"", 1);
    std::fs::write(&path, text).unwrap();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "deaf");
    assert_eq!((told.reason(), &told.done["error"]["stage"]), ("error", &json!("timeout")));
}
