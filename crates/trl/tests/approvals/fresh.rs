//! Fresh processes and terminals are asked about before they start.

use serde_json::json;
use trl_testkit::eventually;

use super::{answer, approve, daemon, next_request, subscribe};

#[test]
fn a_fresh_process_waits_without_holding_up_the_call() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    assert_eq!(client.ok("exec.start", json!({"command": "echo free"}))["stdout"], "free\n");
    client.refused("APPROVAL_DENIED", "exec.start", json!({"argv": ["rm", "x"]}));
    client.refused("APPROVAL_REQUIRED", "exec.start", json!({"argv": ["id"], "approval": "fail"}));
    let started = client.ok("exec.start", json!({"argv": ["id", "-u"], "yield_ms": 250}));
    assert_eq!(started["status"], "waiting_hitl");
    let request = next_request(&mut operator);
    assert_eq!(started["request_id"], request["request_id"]);
    approve(&mut operator, &request);
    let done = client.ok("exec.wait", json!({"execution_id": started["execution_id"]}));
    assert_eq!((&done["status"], &done["exit_code"]), (&json!("done"), &json!(0)));
}

#[test]
fn its_text_can_be_edited_and_its_wait_cancelled() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    let start = json!({"command": "id -u", "approval": "return"});
    let started = client.ok("exec.start", start.clone());
    let request = next_request(&mut operator);
    answer(&mut operator, &request, json!({"decision": "approve", "command": "printf other"}));
    let done = client.ok("exec.wait", json!({"execution_id": started["execution_id"]}));
    assert_eq!(done["stdout"], "other");
    let started = client.ok("exec.start", start);
    let cancelled = client.ok("exec.cancel", json!({"execution_id": started["execution_id"]}));
    assert_eq!(cancelled["cancelled"], true);
    let request = next_request(&mut operator);
    assert_eq!(operator.ok("hitl.wait", json!({"request_id": request["request_id"]}))["state"], "cancelled");
}

#[test]
fn a_terminal_is_asked_about_once_for_all_that_is_typed() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    client.refused("APPROVAL_REQUIRED", "terminal.create", json!({"argv": ["bash"], "approval": "fail"}));
    let sent = client.send("terminal.create", json!({"argv": ["bash", "--norc"]}));
    let request = next_request(&mut operator);
    assert!(request["terminal_id"].as_str().unwrap().starts_with("t-"));
    approve(&mut operator, &request);
    let terminal = client.reply(sent).unwrap();
    assert_eq!(terminal["terminal_id"], request["terminal_id"]);
    let sent = client.send("terminal.create", json!({"argv": ["bash", "--norc"]}));
    let request = next_request(&mut operator);
    answer(&mut operator, &request, json!({"decision": "reject"}));
    assert_eq!(client.reply(sent).unwrap_err().code, "APPROVAL_DENIED");
    let started = client.ok("exec.start", json!({"argv": ["bash"], "tty": true, "yield_ms": 250}));
    assert_eq!(started["status"], "waiting_hitl");
    let request = next_request(&mut operator);
    approve(&mut operator, &request);
    let running = json!({"execution_id": started["execution_id"]});
    eventually("its terminal is open", || client.ok("exec.result", running.clone())["status"] == "running");
    client.ok("exec.input", json!({"execution_id": started["execution_id"], "data": "exit 3\n"}));
    let done = client.ok("exec.wait", json!({"execution_id": started["execution_id"]}));
    assert_eq!(done["exit_code"], 3);
}

#[test]
fn a_session_is_asked_about_when_what_it_is_made_of_could_get_round_the_rules() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let victim = daemon.dir().file("victim", "precious");
    let mut client = daemon.client();
    client.refused("APPROVAL_DENIED", "session.create", json!({"argv": ["rm", &victim]}));
    let evil = daemon.dir().program("sh", "#!/bin/sh\nrm -f victim\n");
    let odd = [
        json!({"argv": ["touch", "x"]}),
        json!({"shell": "/bin/bash", "env": {"PATH": "/tmp"}}),
        json!({"shell": "/bin/bash", "secret_env": {"LD_PRELOAD": "/tmp/x.so"}}),
        json!({"env": {"GIT_CONFIG_COUNT": "1"}}),
        json!({"shell": evil}),
    ];
    for params in odd {
        let sent = client.send("session.create", params.clone());
        let request = next_request(&mut operator);
        answer(&mut operator, &request, json!({"decision": "reject"}));
        assert_eq!(client.reply(sent).unwrap_err().code, "APPROVAL_DENIED", "{params}");
    }
    client.ok("session.create", json!({"shell": "/bin/bash", "env": {"LANG": "C.UTF-8"}}));
    let text = json!({"command": "echo x", "shell": evil, "approval": "fail"});
    client.refused("APPROVAL_REQUIRED", "exec.start", text);
    let secret = json!({"argv": ["echo"], "secret_env": {"LD_PRELOAD": "/tmp/x.so"}, "approval": "fail"});
    client.refused("APPROVAL_REQUIRED", "exec.start", secret);
    assert_eq!(client.ok("exec.start", json!({"argv": ["echo", "x"]}))["stdout"], "x\n");
    assert!(std::path::Path::new(&victim).exists());
}

#[test]
fn the_doctor_is_not_asked_about() {
    let daemon = daemon();
    assert!(daemon.operator().ok("system.doctor", json!({})).is_object());
}
