use serde_json::json;

use super::{daemon, start, wait};

#[test]
fn a_pattern_is_found_in_either_stream_and_from_an_offset_on() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(
        &mut client,
        json!({"command": "echo ready 1; echo ready 2 >&2; while read x; do echo ready $x; done"}),
    );
    let found = wait(&mut client, &id, json!({"pattern": "ready \\d", "stream": "stderr"}));
    assert_eq!(found["matched"], json!({"stream": "stderr", "from": 0, "to": 7}));
    let found = wait(&mut client, &id, json!({"pattern": "(?m)^ready 1$"}));
    assert_eq!(found["matched"], json!({"stream": "stdout", "from": 0, "to": 7}));
    client.ok("exec.input", json!({"execution_id": id, "data": "3\n"}));
    let found = wait(&mut client, &id, json!({"pattern": "ready \\d", "since": 8, "stream": "stdout"}));
    assert_eq!(found["matched"], json!({"stream": "stdout", "from": 8, "to": 15}));
}

#[test]
fn silence_and_bytes_end_a_wait() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "seq 1 1000; read x; seq 1 1000; read y"}));
    wait(&mut client, &id, json!({"bytes": 3893}));
    let quiet = wait(&mut client, &id, json!({"idle_ms": 100}));
    assert_eq!((&quiet["reason"], &quiet["status"]), (&json!("idle"), &json!("running")));
    assert_eq!(quiet["next"]["stdout"], 3893);
    let request =
        client.send("exec.wait", json!({"execution_id": id, "until": {"bytes": 3894}, "timeout_s": 60}));
    client.ok("exec.input", json!({"execution_id": id, "data": "\n"}));
    assert_eq!(client.reply(request).unwrap()["reason"], "bytes");
}

#[test]
fn the_end_ends_every_wait_and_is_told_with_all_that_was_written() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "read x; seq 1 200000; exit 4"}));
    let waits: Vec<u64> =
        [json!({"pattern": "never"}), json!({"idle_ms": 600_000}), json!({"bytes": 1u64 << 40})]
            .into_iter()
            .map(|until| {
                client.send("exec.wait", json!({"execution_id": id, "until": until, "timeout_s": 60}))
            })
            .collect();
    client.ok("exec.input", json!({"execution_id": id, "data": "\n"}));
    let mut told = 0;
    for request in waits {
        let waited = client.reply(request).unwrap();
        assert_eq!((&waited["reason"], &waited["exit_code"]), (&json!("exit"), &json!(4)));
        told += waited["stdout"].as_str().unwrap().len();
        if let Some(gap) = waited.get("gap") {
            told +=
                (gap["stdout"]["to"].as_u64().unwrap() - gap["stdout"]["from"].as_u64().unwrap()) as usize;
        }
    }
    assert_eq!(told, 1_288_895, "each byte was told to one of them");
}

#[test]
fn what_cannot_be_waited_for_is_said() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "read x"}));
    for until in [
        json!({"pattern": "("}),
        json!({"exit": true, "bytes": 1}),
        json!({"stream": "tty"}),
        json!({"forever": 1}),
    ] {
        client.refused("INVALID_PARAMS", "exec.wait", json!({"execution_id": id, "until": until}));
    }
    client.refused("EXECUTION_NOT_FOUND", "exec.wait", json!({"execution_id": "e-nope"}));
}

#[test]
fn a_pattern_is_found_in_a_flood() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "read x; seq 1 2000000; echo here it is; read y"}));
    let request = client
        .send("exec.wait", json!({"execution_id": id, "until": {"pattern": "here it is"}, "timeout_s": 120}));
    client.ok("exec.input", json!({"execution_id": id, "data": "\n"}));
    assert_eq!(client.reply(request).unwrap()["reason"], "pattern");
}
