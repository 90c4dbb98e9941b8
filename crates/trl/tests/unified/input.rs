use serde_json::json;

use super::{daemon, start, wait};

#[test]
fn input_with_a_yield_tells_what_came_of_it() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "while read x; do echo \"<$x>\"; done; exit 9"}));
    let typed = client.ok("exec.input", json!({"execution_id": id, "data": "a\n", "yield_ms": 250}));
    assert_eq!(typed["written_bytes"], 2);
    assert_eq!(typed["progress"]["status"], "running");
    let mut told = typed["progress"]["stdout"].as_str().unwrap().to_string();
    let last = client.ok("exec.input", json!({"execution_id": id, "close": true, "yield_ms": 30000}));
    told += last["progress"]["stdout"].as_str().unwrap();
    assert_eq!((told.as_str(), &last["progress"]["exit_code"]), ("<a>\n", &json!(9)));
    // a poll of one that has ended tells that again
    let poll = client.ok("exec.input", json!({"execution_id": id, "yield_ms": 30000}));
    assert_eq!((&poll["progress"]["exit_code"], &poll["progress"]["stdout"]), (&json!(9), &json!("")));
    client.refused("EXECUTION_NOT_FOUND", "exec.input", json!({"execution_id": id, "data": "late"}));
}

#[test]
fn input_of_one_id_is_taken_once_and_its_reply_can_be_had_again() {
    for tty in [false, true] {
        let daemon = daemon();
        let mut client = daemon.client();
        let command = "stty -echo 2>/dev/null; echo up; while read x; do echo \"<$x>\"; done";
        let (id, _) = start(&mut client, json!({"command": command, "tty": tty}));
        wait(&mut client, &id, json!({"pattern": "up"}));
        let params = json!({"execution_id": id, "data": "a\n", "input_id": "i1"});
        client.ok("exec.input", params.clone());
        let first = wait(&mut client, &id, json!({"pattern": "<a>"}));
        assert!(first["stdout"].as_str().unwrap().contains("<a>"));
        let again = {
            let mut params = params.clone();
            params["yield_ms"] = json!(250);
            client.ok("exec.input", params)
        };
        assert!(again["progress"]["stdout"].as_str().unwrap().contains("<a>"), "tty {tty}: {again}");
        client.ok("exec.input", json!({"execution_id": id, "data": "b\n", "input_id": "i2"}));
        wait(&mut client, &id, json!({"pattern": "<b>"}));
        let all = client.ok("exec.output", json!({"execution_id": id}))["data"].to_string();
        assert_eq!(all.matches("<a>").count(), 1, "{all}");
        client.ok("exec.cancel", json!({"execution_id": id}));
    }
}

#[test]
fn another_input_of_the_same_id_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "while read x; do echo \"<$x>\"; done"}));
    client.ok("exec.input", json!({"execution_id": id, "data": "a\n", "input_id": "i"}));
    for other in [json!({"data": "b\n"}), json!({"data": "a\n", "close": true})] {
        let mut params = json!({"execution_id": id, "input_id": "i"});
        params.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        let error = client.refused("INVALID_PARAMS", "exec.input", params);
        assert!(error.message.contains("input_id"), "{}", error.message);
    }
    let again = client.ok("exec.input", json!({"execution_id": id, "data": "a\n", "input_id": "i"}));
    assert_eq!(again["written_bytes"], 2);
    client.ok("exec.input", json!({"execution_id": id, "close": true}));
    assert_eq!(wait(&mut client, &id, json!({}))["stdout"], "<a>\n");
}

#[test]
fn input_that_waits_is_not_said_to_be_taken_when_it_is_sent_again() {
    let daemon = daemon();
    let mut client = daemon.client();
    let dir = daemon.dir().path();
    let (id, _) = start(&mut client, json!({"command": "mkfifo f; read go <f; wc -c", "working_dir": dir}));
    let large = "x".repeat(1 << 20);
    let in_time = json!({"execution_id": id, "data": large, "input_id": "i", "yield_ms": 250});
    for _ in 0..2 {
        assert_eq!(client.ok("exec.input", in_time.clone())["written_bytes"], 0);
    }
    let waits = json!({"execution_id": id, "data": large, "input_id": "i"});
    let waiting = client.send("exec.input", waits);
    daemon.client().ok("exec.run", json!({"command": "echo >f", "working_dir": dir}));
    assert_eq!(client.reply(waiting).unwrap()["written_bytes"], 1 << 20);
    client.ok("exec.input", json!({"execution_id": id, "close": true}));
    assert_eq!(wait(&mut client, &id, json!({}))["stdout"], "1048576\n", "once");
}

#[test]
fn input_nobody_reads_holds_no_call_up() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(
        &mut client,
        json!({"command": "mkfifo f; read go <f; wc -c", "working_dir": daemon.dir().path()}),
    );
    let large = "x".repeat(1 << 20);
    let typed =
        client.ok("exec.input", json!({"execution_id": id, "data": large, "close": true, "yield_ms": 250}));
    assert_eq!((&typed["written_bytes"], &typed["progress"]["status"]), (&json!(0), &json!("running")));
    client.ok("exec.run", json!({"command": "echo >f", "working_dir": daemon.dir().path()}));
    let done = wait(&mut client, &id, json!({}));
    assert_eq!(done["stdout"], "1048576\n", "what stood in line was read");
}
