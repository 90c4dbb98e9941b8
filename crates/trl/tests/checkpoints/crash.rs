//! States outlive the daemon, and a command that waited for a person begins from its own.

use std::fs;

use trl_testkit::{Client, Daemon, PATIENCE, Session, Shell, Value, comes_true, eventually, json};

use crate::{builder, data_dir, keep};

const RULES: &str = "default: allow\nrules:\n- ask: [printenv, id, export]\n";

fn with_rules() -> Daemon {
    let daemon = builder().start();
    write_rules(&daemon);
    daemon
}

fn write_rules(daemon: &Daemon) {
    fs::write(daemon.dir().join("config/trl/approvals.yaml"), RULES).unwrap();
}

/// Has a command asked about that shows the state; gives the request.
fn ask(operator: &mut Client, session: &mut Session, command: &str) -> Value {
    let params = json!({"session_id": session.id, "command": command, "approval": "return"});
    session.client().ok("exec.run", params);
    let event = operator.event("hitl.requested");
    operator.ok("hitl.get", json!({"request_id": event["request_id"]}))
}

/// Runs a command once it was approved. The rules ask about `export`, so that state comes about this way.
fn approved(operator: &mut Client, session: &mut Session, command: &str) {
    operator.ok("events.subscribe", json!({"kinds": ["hitl.requested"]}));
    let request = ask(operator, session, command);
    operator.ok("hitl.respond", answer(&request));
    printed(operator, &request["execution_id"]);
}

fn answer(request: &Value) -> Value {
    json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"})
}

/// What an execution printed, once it is over.
fn printed(client: &mut Client, execution: &Value) -> Value {
    let mut entry = Value::Null;
    let done = comes_true(PATIENCE, &mut || {
        let history = client.ok("session.history", json!({}));
        let entries = history["entries"].as_array().unwrap().clone();
        entry = entries.into_iter().find(|e| e["execution_id"] == *execution).unwrap_or_default();
        entry["status"] == "done"
    });
    assert!(done, "{entry}");
    entry["stdout"]["head"].clone()
}

#[test]
fn a_killed_daemon_leaves_the_newest_state_and_says_what_is_missing() {
    let mut daemon = builder().set("checkpoints", "interval_s", 0.05).start();
    let mut session = daemon.session(Shell::Bash);
    let id = session.id.clone();
    session.run("cd /usr; x=(1 'two words'); f() { echo f; }; exec 7</dev/null; MY_TOKEN=tok-12345678");
    let list = || daemon.client().ok("checkpoint.list", json!({"session_id": id}));
    eventually("it is on disk", || list()["checkpoints"][0]["commands"] == 1);
    let kept = list()["checkpoints"][0].clone();
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    assert_eq!(client.ok("checkpoint.list", json!({"session_id": id}))["checkpoints"][0], kept);
    let opened = client.ok("session.get", json!({"session_id": id}));
    assert_eq!((&opened["state"], opened.get("pid")), (&json!("ready"), None), "nothing is started");
    let from = &opened["restored_from"];
    assert_eq!(from["checkpoint_id"], kept["checkpoint_id"]);
    let missing = from["not_restored"].to_string();
    assert!(missing.contains("\"7\"") && missing.contains("MY_TOKEN"), "{missing}");
    let command = "pwd; echo \"${x[1]}\"; f; echo ${MY_TOKEN-none}";
    let result = client.ok("exec.run", json!({"session_id": id, "command": command}));
    assert_eq!(result["stdout"], "/usr\ntwo words\nf\nnone\n");
}

#[test]
fn a_command_that_waits_begins_from_its_own_state_after_a_crash() {
    for crash in [true, false] {
        let mut daemon = with_rules();
        let request = {
            let mut operator = daemon.operator();
            operator.ok("events.subscribe", json!({"kinds": ["hitl.requested"]}));
            let mut session = daemon.session_with(Shell::Bash, json!({"env": {"GREETING": "hello"}}));
            session.run("cd /usr");
            let request = ask(&mut operator, &mut session, "printenv GREETING PWD");
            let list = operator.ok("checkpoint.list", json!({"session_id": session.id}));
            let kept = &list["checkpoints"][0];
            assert_eq!((&kept["origin"], &kept["commands"]), (&json!("approval"), &json!(1)));
            assert_eq!(kept["pending_requests"], json!([request["request_id"]]));
            assert!(kept["last_execution_id"].is_string(), "{kept}");
            request
        };
        if crash {
            daemon.kill9();
        } else {
            daemon.stop();
        }
        daemon.relaunch();
        let mut operator = daemon.operator();
        assert_eq!(operator.ok("hitl.respond", answer(&request))["state"], "approved");
        let out = printed(&mut operator, &request["execution_id"]);
        assert_eq!(out, "hello\n/usr\n", "crash: {crash}");
        let info = operator.ok("session.info", json!({"session_id": request["session_id"]}));
        assert_eq!(info["restored_from"]["not_restored"], json!([]));
    }
}

#[test]
fn where_people_are_asked_the_state_is_on_the_disk_ahead_of_the_next_question() {
    let mut daemon = with_rules();
    let request = {
        let mut operator = daemon.operator();
        let mut session = daemon.session(Shell::Bash);
        let id = session.id.clone();
        let list = || daemon.client().ok("checkpoint.list", json!({"session_id": id}));
        approved(&mut operator, &mut session, "export GREETING=hello");
        session.run("cd /usr");
        eventually("it is on disk", || list()["checkpoints"][0]["commands"] == 2);
        let kept = list();
        assert_eq!(kept["checkpoints"][0]["origin"], "approval");
        let request = ask(&mut operator, &mut session, "printenv GREETING PWD");
        assert_eq!(list(), kept, "no other is made");
        request
    };
    daemon.kill9();
    daemon.relaunch();
    let mut operator = daemon.operator();
    assert_eq!(operator.ok("hitl.respond", answer(&request))["state"], "approved");
    assert_eq!(printed(&mut operator, &request["execution_id"]), "hello\n/usr\n");
}

#[test]
fn when_nobody_is_asked_any_more_no_state_is_kept_ahead() {
    const MOST_AHEAD: u64 = 8;
    let daemon = with_rules();
    let mut session = daemon.session(Shell::Bash);
    let id = session.id.clone();
    let list = || daemon.client().ok("checkpoint.list", json!({"session_id": id}));
    approved(&mut daemon.operator(), &mut session, "export X=1");
    for commands in 1..=MOST_AHEAD {
        eventually("it is on disk", || list()["checkpoints"][0]["commands"] == commands);
        session.run("cd /usr");
    }
    for _ in 0..4 {
        list();
        session.run("cd /usr");
    }
    keep(&mut session);
    let kept = list()["checkpoints"].as_array().unwrap().clone();
    let ahead = kept.iter().filter(|c| c["origin"] == "approval").map(|c| c["commands"].as_u64().unwrap());
    assert_eq!(ahead.max(), Some(MOST_AHEAD), "{kept:?}");
}

#[test]
fn a_state_that_a_command_is_to_begin_from_is_not_pushed_out() {
    let mut daemon = builder().set("checkpoints", "keep", 1).start();
    write_rules(&daemon);
    let (id, awaited) = {
        let mut operator = daemon.operator();
        operator.ok("events.subscribe", json!({"kinds": ["hitl.requested"]}));
        let mut session = daemon.session(Shell::Bash);
        session.run("cd /usr");
        ask(&mut operator, &mut session, "printenv PWD");
        let list = operator.ok("checkpoint.list", json!({"session_id": session.id}));
        (session.id.clone(), list["checkpoints"][0]["checkpoint_id"].clone())
    };
    daemon.kill9();
    daemon.relaunch();
    let mut operator = daemon.operator();
    operator.ok("events.subscribe", json!({"kinds": ["hitl.requested"]}));
    operator.ok("hitl.list", json!({}));
    operator.ok("session.get", json!({"session_id": id}));
    for dir in ["/", "/usr", "/tmp"] {
        operator.ok("exec.run", json!({"session_id": id, "command": format!("cd {dir}")}));
        let params = json!({"session_id": id, "command": "id -u", "approval": "return"});
        let asked = operator.ok("exec.run", params);
        let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
        operator.ok("hitl.respond", answer(&request));
        printed(&mut operator, &request["execution_id"]);
    }
    let left = || {
        let list = daemon.client().ok("checkpoint.list", json!({"session_id": id}));
        list["checkpoints"].as_array().unwrap().clone()
    };
    // the newest may still give way to one made ahead of the next question
    eventually("the others are gone, this one is not", || {
        let left = left();
        left.len() == 2 && left[1]["checkpoint_id"] == awaited
    });
}

#[test]
fn secrets_that_are_in_no_checkpoint_are_asked_for_before_a_yes_counts() {
    let mut daemon = with_rules();
    let request = {
        let mut operator = daemon.operator();
        let mut session = daemon.session_with(Shell::Bash, json!({"secret_env": {"DB_PASS": "hunter22-db"}}));
        approved(&mut operator, &mut session, "export MY_TOKEN=hunter22-shell");
        ask(&mut operator, &mut session, "printenv MY_TOKEN DB_PASS")
    };
    daemon.kill9();
    daemon.relaunch();
    let mut operator = daemon.operator();
    let refused = operator.refused("SECRETS_REQUIRED", "hitl.respond", answer(&request));
    assert_eq!(refused.detail("names"), &json!(["DB_PASS", "MY_TOKEN"]));
    let session = &request["session_id"];
    let secrets = json!({"DB_PASS": "again-db-1", "MY_TOKEN": "again-shell-1"});
    operator.ok("session.get", json!({"session_id": session, "secret_env": secrets}));
    assert_eq!(operator.ok("hitl.respond", answer(&request))["state"], "approved");
    assert_eq!(printed(&mut operator, &request["execution_id"]), "[redacted]\n[redacted]\n");
    let info = operator.ok("session.info", json!({"session_id": session}));
    assert_eq!(info["restored_from"]["not_restored"], json!([]));
}

#[test]
fn nobody_is_asked_before_the_state_is_on_the_disk() {
    for (place, asked) in [("checkpoint.written", 0), ("checkpoint.saved", 0), ("approval.recorded", 1)] {
        let mut daemon = builder().env("TRL_FAILPOINT", place).start();
        write_rules(&daemon);
        let mut session = daemon.session(Shell::Bash);
        let id = session.id.clone();
        session.run("cd /usr");
        // where it was is on record as well, once that is written down
        session.client().ok("session.history", json!({}));
        session
            .client()
            .send("exec.run", json!({"session_id": id, "command": "id -u", "approval": "return"}));
        daemon.reap();
        daemon.relaunch();
        let mut operator = daemon.operator();
        let waiting = operator.ok("hitl.list", json!({}))["requests"].as_array().unwrap().len();
        assert_eq!(waiting, asked, "{place}");
        let list = operator.ok("checkpoint.list", json!({"session_id": id}));
        assert_eq!(list["corrupt"], json!([]), "{place}");
        assert_eq!(list["checkpoints"].as_array().unwrap().len(), usize::from(place != "checkpoint.written"));
        operator.ok("session.get", json!({"session_id": id}));
        let result = operator.ok("exec.run", json!({"session_id": id, "command": "echo $PWD"}));
        assert_eq!(result["stdout"], "/usr\n", "{place}");
        daemon.kill9();
    }
}

#[test]
fn without_room_for_the_state_nobody_is_asked() {
    let daemon = with_rules();
    let mut session = daemon.session(Shell::Bash);
    session.run("cd /usr");
    // nothing can be made below a file
    fs::write(data_dir(&daemon).join("workspaces"), "").unwrap();
    let params = json!({"session_id": session.id, "command": "id -u", "approval": "return"});
    session.client().refused("INTERNAL_ERROR", "exec.run", params);
    assert_eq!(daemon.operator().ok("hitl.list", json!({}))["requests"], json!([]));
    assert_eq!(session.run("echo $PWD").out(), "/usr\n");
    let id = session.id.clone();
    session.client().refused("STORAGE_FULL", "session.close", json!({"session_id": id}));
    session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(session.run("echo $PWD").out(), "/usr\n", "it was in memory");
}

#[test]
fn nothing_is_left_of_a_session_that_is_destroyed_or_deleted() {
    let daemon = builder().start();
    for (method, closed) in [
        ("session.destroy", false),
        ("session.destroy", true),
        ("session.delete", false),
        ("session.delete", true),
    ] {
        let mut session = daemon.session(Shell::Dash);
        let id = session.id.clone();
        session.run("x=1");
        keep(&mut session);
        let dir = data_dir(&daemon).join("workspaces").join(&id);
        assert!(dir.exists());
        if closed {
            session.client().ok("session.close", json!({"session_id": id}));
        }
        session.client().ok(method, json!({"session_id": id}));
        assert!(!dir.exists(), "{method} of a closed one: {closed}");
    }
}

#[test]
fn labels_are_searched_for_secrets() {
    let daemon = builder().start();
    let mut session = daemon.session_with(Shell::Dash, json!({"secret_env": {"S": "hunter22-value"}}));
    let params = json!({"session_id": session.id, "label": "before hunter22-value"});
    let made = session.client().ok("checkpoint.create", params);
    assert_eq!(made["label"], "before [redacted]");
}
