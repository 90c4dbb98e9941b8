//! A session that is one direct command instead of a shell.

use trl_testkit::{Run, Value, bytes_of, eventually, json, procs_matching, sleeper};

use crate::daemon;

#[test]
fn it_talks_by_input_and_output_and_ends_with_its_command() {
    let daemon = daemon();
    let mut client = daemon.client();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({}));
    let argv = ["sh", "-c", "echo ready; read x; echo got $x; exit 4"];
    let made = client.ok("session.create", json!({"argv": argv, "working_dir": "/usr"}));
    let execution = made["execution_id"].as_str().expect("its one execution").to_string();
    eventually("it is ready", || {
        let part = client.ok("exec.output", json!({"execution_id": execution}));
        bytes_of(&part, "data") == b"ready\n"
    });
    client.ok("exec.input", json!({"execution_id": execution, "data": "hello\n"}));
    assert_eq!(watcher.event("exec.finished")["exit_code"], 4);
    let run = Run::of(client.ok("exec.result", json!({"execution_id": execution})));
    assert_eq!((run.out(), run.code), ("ready\ngot hello\n".to_string(), 4));
    watcher.event("session.ended");
    let info = client.ok("session.info", json!({"session_id": made["session_id"]}));
    assert_eq!(info["state"], "terminated");
    assert!(info["ended"].is_string(), "{info}");
}

#[test]
fn arguments_are_not_shell_text() {
    let daemon = daemon();
    let mut client = daemon.client();
    let argv = ["printf", "[%s]", "a b", "$HOME", "'q'", ""];
    let made = client.ok("session.create", json!({"argv": argv}));
    let id = &made["execution_id"];
    let mut result = Value::Null;
    eventually("it ended", || {
        result = client.ok("exec.result", json!({"execution_id": id}));
        result["status"] == "done"
    });
    assert_eq!(result["stdout"], "[a b][$HOME]['q'][]");
}

#[test]
fn it_takes_no_further_commands_and_dies_on_destroy() {
    let daemon = daemon();
    let mut client = daemon.client();
    let sleeper = sleeper();
    let argv: Vec<&str> = sleeper.split(' ').collect();
    let made = client.ok("session.create", json!({"argv": argv}));
    let id = &made["session_id"];
    assert!(client.call("exec.run", json!({"session_id": id, "command": "true"})).is_err());
    client.ok("session.destroy", json!({"session_id": id}));
    assert!(procs_matching(&sleeper).is_empty());
}

#[test]
fn a_missing_program_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let refused =
        client.call("session.create", json!({"argv": ["/nonexistent/p"]})).expect_err("no such program");
    assert!(matches!(refused.code.as_str(), "SHELL_NOT_FOUND" | "SHELL_START_FAILED"), "{}", refused.json);
    client.refused("INVALID_PARAMS", "session.create", json!({"argv": []}));
}
