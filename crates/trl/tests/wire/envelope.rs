//! Both envelopes, and every way a line can be wrong.

use trl_testkit::{Client, Shell, Value, json};

use crate::{builder, daemon};

fn next_json(client: &mut Client) -> Value {
    serde_json::from_slice(&client.read_line().expect("a line")).expect("JSON")
}

fn assert_usable(client: &mut Client) {
    assert!(client.ok("system.ping", json!({}))["uptime_s"].is_u64());
}

#[test]
fn json_rpc_echoes_its_id() {
    let daemon = daemon();
    let mut client = daemon.client();
    for id in ["7", "\"seven\"", "-1", "9007199254740993", "\"\\u00e9\""] {
        client.write_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"system.ping"}}"#));
        let reply = next_json(&mut client);
        assert_eq!(reply["id"], serde_json::from_str::<Value>(id).expect("an id"));
        assert_eq!(reply["jsonrpc"], "2.0");
        assert_eq!(reply["result"]["protocol"], 1);
        assert!(reply["result"]["version"].is_string());
    }
}

#[test]
fn the_plain_envelope_has_its_own_shape() {
    let daemon = daemon();
    let mut client = daemon.client();
    client.write_line(r#"{"id":"1","method":"system.ping","params":{}}"#);
    let reply = next_json(&mut client);
    assert_eq!((&reply["id"], &reply["ok"]), (&json!("1"), &json!(true)));
    assert!(
        reply["data"]["uptime_s"].is_u64() && reply.get("error").is_none() && reply.get("jsonrpc").is_none()
    );
    client.write_line(r#"{"id":"2","method":"session.info","params":{"session_id":"s-zzzzzzzz"}}"#);
    let reply = next_json(&mut client);
    assert_eq!((&reply["ok"], &reply["error"]["code"]), (&json!(false), &json!("SESSION_NOT_FOUND")));
    assert!(reply["error"]["message"].is_string() && reply.get("data").is_none());
}

#[test]
fn plain_clients_know_neither_ready_nor_base64() {
    let daemon = daemon();
    let mut client = daemon.client();
    let made = client.plain_call("session.create", json!({"shell": "/bin/sh"})).expect("a session");
    assert_eq!(made["state"], "idle");
    let id = &made["session_id"];
    let info = client.ok("session.info", json!({"session_id": id}));
    assert_eq!(info["state"], "ready", "told per request, not per connection");
    let params = json!({"session_id": id, "command": "printf 'a\\377b\\303\\251'"});
    let run = client.plain_call("exec.run", params.clone()).expect("a result");
    assert_eq!(
        (&run["stdout"], &run["stdout_encoding"]),
        (&json!("a\u{fffd}b\u{e9}"), &json!("utf-8-lossy"))
    );
    let run = client.ok("exec.run", params);
    assert_eq!(run["stdout_encoding"], "base64");
    assert_eq!(trl_testkit::bytes_of(&run, "stdout"), b"a\xffb\xc3\xa9");
}

#[test]
fn a_batch_is_answered_as_one() {
    let daemon = daemon();
    let mut client = daemon.client();
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "system.ping"},
        {"jsonrpc": "2.0", "method": "system.ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "no.such"},
        17,
    ]);
    client.write_line(&batch.to_string());
    let reply = next_json(&mut client);
    let replies = reply.as_array().expect("an array");
    assert_eq!(replies.len(), 3, "{reply}");
    let of = |id: Value| replies.iter().find(|r| r["id"] == id).unwrap_or_else(|| panic!("no reply to {id}"));
    assert!(of(json!(1))["result"].is_object());
    assert_eq!(of(json!(2))["error"]["data"]["code"], "UNKNOWN_METHOD");
    assert_eq!(of(Value::Null)["error"]["code"], -32600);
    assert_usable(&mut client);
}

#[test]
fn a_notification_gets_no_answer_but_is_carried_out() {
    let daemon = daemon();
    let mut client = daemon.client();
    client.write_line(r#"{"jsonrpc":"2.0","method":"session.create","params":{"name":"quiet"}}"#);
    client.write_line(r#"{"jsonrpc":"2.0","method":"no.such"}"#);
    client.write_line(r#"{"jsonrpc":"2.0","id":5,"method":"system.ping"}"#);
    assert_eq!(next_json(&mut client)["id"], 5);
    trl_testkit::eventually("the session is there", || {
        client.ok("session.list", json!({}))["sessions"][0]["name"] == "quiet"
    });
}

#[test]
fn malformed_lines_are_answered_and_forgotten() {
    let daemon = daemon();
    let mut client = daemon.client();
    let lines: [&[u8]; 11] = [
        b"nonsense",
        b"{\"jsonrpc\":\"2.0\",\"id\":1",
        b"[]",
        b"3",
        b"{\"jsonrpc\":\"2.0\",\"id\":1}",
        b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"system.ping\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"system.ping\"}",
        b"{\"id\":true,\"method\":\"system.ping\"}",
        b"{\"id\":[1],\"method\":\"system.ping\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"system.ping\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}",
    ];
    for line in lines {
        client.write_raw(&[line, b"\n"].concat());
        let reply = next_json(&mut client);
        let told = String::from_utf8_lossy(line).into_owned();
        assert!(reply["error"].is_object(), "{told}: {reply}");
        assert!(!reply["id"].is_boolean(), "{told}: {reply}");
        assert_usable(&mut client);
    }
}

#[test]
fn a_line_over_the_cap_keeps_the_connection() {
    let daemon = builder().set("wire", "max_line_bytes", 65536).start();
    let mut client = daemon.client();
    for size in [65_536, 70_000, 5_000_000] {
        let text = "x".repeat(size);
        client.write_line(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"exec.run","params":{{"command":"{text}"}}}}"#
        ));
        let reply = next_json(&mut client);
        assert_eq!(reply["error"]["data"]["code"], "PAYLOAD_TOO_LARGE", "{size}");
        assert_eq!(reply["id"], 1, "{size}");
        assert_usable(&mut client);
    }
    // Just below it is fine.
    let command = format!(": {}", "x".repeat(60_000));
    let run = client.ok("exec.run", json!({"command": command}));
    assert_eq!(run["exit_code"], 0);
}

#[test]
fn an_unknown_field_is_named_with_its_neighbour() {
    let daemon = daemon();
    let mut client = daemon.client();
    let refused = client.refused("INVALID_PARAMS", "exec.run", json!({"command": "true", "timeout": 3}));
    assert!(
        refused.message.contains("`timeout`") && refused.message.contains("timeout_s"),
        "{}",
        refused.message
    );
    assert_eq!(refused.json["code"], -32602);
    let refused = client.refused("INVALID_PARAMS", "session.create", json!({"workdir": "/"}));
    assert!(
        refused.message.contains("workdir") && refused.message.contains("working_dir"),
        "{}",
        refused.message
    );
    client.refused("INVALID_PARAMS", "exec.run", json!({"command": 3}));
    client.refused("INVALID_PARAMS", "exec.run", json!({}));
    client.refused("INVALID_PARAMS", "exec.run", json!([1, 2]));
    client.refused("INVALID_PARAMS", "exec.run", json!({"command": "true", "timeout_s": -1}));
}

#[test]
fn an_unknown_member_of_the_request_itself_is_refused_too() {
    let daemon = daemon();
    let mut client = daemon.client();
    client.write_line(r#"{"jsonrpc":"2.0","id":4,"method":"session.create","parms":{"name":"x"}}"#);
    let reply = next_json(&mut client);
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(4), &json!(-32600)));
    assert_eq!(reply["error"]["data"]["code"], "INVALID_PARAMS");
    let message = "not a request: unknown field `parms`; did you mean `params`?";
    assert_eq!(reply["error"]["message"], message);
    client.write_line(r#"{"id":"p","method":"system.ping","extra":1}"#);
    let reply = next_json(&mut client);
    assert_eq!((&reply["id"], &reply["ok"]), (&json!("p"), &json!(false)));
    client.write_line(r#"{"jsonrpc":"2.0","id":5,"method":"system.ping","id":6}"#);
    assert_eq!(next_json(&mut client)["error"]["message"], "not a request: duplicate field `id`");
    assert_eq!(client.ok("session.list", json!({}))["sessions"], json!([]), "nothing was carried out");
}

#[test]
fn what_is_wrong_is_named_by_its_place_and_in_words_of_json() {
    let daemon = daemon();
    let mut client = daemon.client();
    for (method, params, message) in [
        ("exec.run", r#"[]"#, "`params` must be an object"),
        ("system.ping", r#""x""#, "`params` must be an object"),
        ("exec.run", r#"{"command":3}"#, "`command` must be a string, not 3"),
        ("exec.run", r#"{"command":"x","timeout_s":"1"}"#, "`timeout_s` must be a number, not a string"),
        ("exec.run", r#"{"command":"x","env":{"A":1}}"#, "`env.A` must be a string, not 1"),
        ("exec.run", r#"{"command":"x","env":{"A":"1","A":"2"}}"#, "`env`: the name `A` is there twice"),
        ("exec.run", r#"{"command":"x","command":"y"}"#, "duplicate field `command`"),
        ("session.info", r#"{"session_id":7}"#, "`session_id` must be a string, not 7"),
        ("session.list", r#"{"state":"idel"}"#, "`state`: unknown value `idel`; did you mean `idle`?"),
        (
            "events.subscribe",
            r#"{"kinds":["exec.finish"]}"#,
            "`kinds.0`: unknown value `exec.finish`; did you mean `exec.finished`?",
        ),
    ] {
        client.write_line(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
        let reply = next_json(&mut client);
        assert_eq!(reply["error"]["message"], message, "{params}");
        assert_eq!(reply["error"]["data"]["code"], "INVALID_PARAMS");
    }
}

#[test]
fn an_unknown_method_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let refused = client.refused("UNKNOWN_METHOD", "exec.rum", json!({}));
    assert_eq!(refused.json["code"], -32601);
    let plain = client.plain_call("exec.rum", json!({})).expect_err("unknown");
    assert_eq!(plain.code, "UNKNOWN_METHOD");
}

#[test]
fn one_connection_does_many_things_at_once() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let slow = session.start("sleep 1000", json!({}));
    assert_usable(session.client());
    let execution = session.running();
    let quick = session.client().ok("exec.run", json!({"command": "echo quick"}));
    assert_eq!(quick["stdout"], "quick\n");
    session.client().ok("exec.cancel", json!({"execution_id": execution}));
    assert!(session.finish(slow).expect("a result").cancelled);
}

#[test]
fn requests_may_come_in_pieces_and_in_heaps() {
    let daemon = daemon();
    let mut client = daemon.client();
    let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": 77, "method": "system.ping"}));
    for byte in line.as_bytes() {
        client.write_raw(&[*byte]);
    }
    assert_eq!(next_json(&mut client)["id"], 77);
    let heap: String = (0..500)
        .map(|i| format!("{}\n", json!({"jsonrpc": "2.0", "id": i, "method": "system.ping"})))
        .collect();
    client.write_raw(heap.as_bytes());
    let mut ids: Vec<u64> = (0..500).map(|_| next_json(&mut client)["id"].as_u64().expect("an id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..500).collect::<Vec<u64>>());
}
