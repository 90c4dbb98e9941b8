//! Commands that have to be approved: by the person at the client, or by anybody else.

use serde_json::{Value, json};
use trl_testkit::Daemon;

use super::{Client, daemon};

fn with_rules() -> Daemon {
    let daemon = daemon();
    write_rules(&daemon);
    daemon
}

pub(super) fn write_rules(daemon: &Daemon) {
    let rules = "default: allow\nrules:\n- ask: [touch]\n- deny: [rm]\n  reason: nothing is removed here\n";
    std::fs::write(daemon.dir().join("config/trl/approvals.yaml"), rules).unwrap();
}

pub(super) fn touch(daemon: &Daemon) -> (String, Value) {
    let file = daemon.dir().text("touched");
    (file.clone(), json!({"cmd": format!("touch {file}")}))
}

#[test]
fn a_client_that_can_ask_its_user_does() {
    let daemon = with_rules();
    let (file, command) = touch(&daemon);
    let mut client = Client::introduced(&daemon, json!({"elicitation": {}}));
    for (answer, exists) in [
        (json!({"action": "decline"}), false),
        (json!({"action": "accept", "content": {"decision": "do not run it"}}), false),
        (json!({"action": "accept", "content": {"decision": "run it"}}), true),
    ] {
        let shown = command["cmd"].as_str().unwrap().to_string();
        client.answers = Box::new(move |asked| {
            assert!(asked["message"].as_str().unwrap().contains(&shown), "{asked}");
            answer.clone()
        });
        let (text, done) = client.call("exec_command", command.clone());
        assert_eq!(std::path::Path::new(&file).exists(), exists, "{text}");
        match exists {
            true => assert_eq!(done["exit_code"], 0),
            false => assert_eq!(done["code"], "APPROVAL_DENIED", "{text}"),
        }
    }
    let (text, _) = client.call("exec_command", json!({"cmd": "rm x"}));
    assert!(text.contains("nothing is removed here"), "{text}");
}

#[test]
fn a_user_who_says_nothing_leaves_it_to_others() {
    let daemon = with_rules();
    let (file, command) = touch(&daemon);
    let mut client = Client::introduced(&daemon, json!({"elicitation": {}}));
    client.answers = Box::new(|_| json!({"action": "cancel"}));
    let (_, pending) = client.call("exec_command", command);
    approve_elsewhere(&daemon, &pending);
    let (_, done) = client.call("wait", json!({"execution_id": pending["execution_id"]}));
    assert_eq!(done["exit_code"], 0);
    assert!(std::path::Path::new(&file).exists());
}

#[test]
fn a_client_that_cannot_ask_is_told_to_wait() {
    let daemon = with_rules();
    let (_, command) = touch(&daemon);
    let mut client = Client::introduced(&daemon, json!({}));
    let (text, pending) = client.call("exec_command", command);
    assert_eq!(pending["status"], "waiting_hitl");
    assert!(text.starts_with("approval_pending"), "{text}");
    // no waiting is longer than it says
    let (_, still) = client.call("wait", json!({"execution_id": pending["execution_id"], "timeout_ms": 300}));
    assert_eq!(still["status"], "waiting_hitl");
    approve_elsewhere(&daemon, &pending);
    let (_, done) = client.call("wait", json!({"execution_id": pending["execution_id"]}));
    assert_eq!(done["exit_code"], 0);
}

pub(super) fn approve_elsewhere(daemon: &Daemon, pending: &Value) {
    let mut operator = daemon.operator();
    let request = operator.ok("hitl.get", json!({"request_id": pending["request_id"]}));
    let answer =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
    operator.ok("hitl.respond", answer);
}

/// Where nothing is remembered the call ends with the question, and comes again with the answer.
#[test]
fn a_call_comes_again_with_the_answer() {
    let daemon = with_rules();
    let (file, command) = touch(&daemon);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let mut first = Client::start(&daemon);
    let mut call = json!({"name": "exec_command", "arguments": command, "_meta": meta});
    let asked = first.request("tools/call", call.clone()).unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["approval"];
    assert!(question["params"]["message"].as_str().unwrap().contains(&file), "{question}");
    first.leave();
    // another process will do
    let mut second = Client::start(&daemon);
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "run it"}}});
    let done = second.request("tools/call", call).unwrap();
    assert_eq!(done["structuredContent"]["exit_code"], 0, "{done}");
    assert!(std::path::Path::new(&file).exists());
}

/// A yes that its bearer may not give is no failure of the command: it waits for somebody who may.
#[test]
fn an_answer_that_is_not_taken_leaves_it_to_others() {
    let daemon = with_rules();
    let (file, command) = touch(&daemon);
    let token = daemon.token("agent", json!({}))["token"].as_str().unwrap().to_string();
    let mut client = Client::introduced_with(&daemon, json!({"elicitation": {}}), &token);
    client.answers = Box::new(|_| json!({"action": "accept", "content": {"decision": "run it"}}));
    let (text, pending) = client.call("exec_command", command);
    assert!(text.starts_with("approval_pending"), "{text}");
    assert!(!std::path::Path::new(&file).exists());
    approve_elsewhere(&daemon, &pending);
    let (_, done) = client.call("wait", json!({"execution_id": pending["execution_id"]}));
    assert_eq!(done["exit_code"], 0);
}
