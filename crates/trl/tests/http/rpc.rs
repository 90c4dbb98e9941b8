//! `POST /rpc`: every method, both envelopes, batches.

use trl_testkit::{bytes_of, eventually, json};

use crate::{daemon, operator};

#[test]
fn a_session_lives_from_request_to_request() {
    let daemon = daemon();
    let http = operator(&daemon);
    let id = http.ok("session.create", json!({"working_dir": "/"}))["session_id"].clone();
    http.ok("exec.run", json!({"session_id": id, "command": "cd /usr; x=kept"}));
    let run = http.ok("exec.run", json!({"session_id": id, "command": "echo $PWD $x; exit 3"}));
    assert_eq!((run["stdout"].as_str(), run["exit_code"].as_i64()), (Some("/usr kept\n"), Some(3)));
    let output = http.ok("exec.output", json!({"execution_id": run["execution_id"]}));
    assert_eq!(bytes_of(&output, "data"), b"/usr kept\n");
    assert_eq!(http.ok("session.list", json!({}))["sessions"][0]["owner"], "operator");
    http.ok("session.destroy", json!({"session_id": id}));
}

#[test]
fn both_envelopes_are_understood() {
    let daemon = daemon();
    let http = operator(&daemon);
    let plain =
        http.post("/rpc", &json!({"id": "a", "method": "exec.run", "params": {"command": "echo hi"}}));
    assert_eq!(plain.json()["data"]["stdout"], "hi\n");
    assert_eq!((&plain.json()["id"], &plain.json()["ok"]), (&json!("a"), &json!(true)));
    let refused = http.post("/rpc", &json!({"id": "a", "method": "exec.nope"}));
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (200, &json!("UNKNOWN_METHOD")));
    let told = http.post("/rpc", &json!({"jsonrpc": "2.0", "method": "system.ping"}));
    assert_eq!((told.status, told.body.len()), (204, 0), "a notification has no reply");
}

#[test]
fn a_batch_is_answered_in_order() {
    let daemon = daemon();
    let call = |id: u64, command: &str| json!({"jsonrpc": "2.0", "id": id, "method": "exec.run", "params": {"command": command}});
    let batch = json!([call(1, "sleep 0.2; echo one"), call(2, "echo two"), {"jsonrpc": "2.0", "id": 3, "method": "x"}, 7]);
    let reply = operator(&daemon).post("/rpc", &batch);
    let replies = reply.json();
    assert_eq!(replies.as_array().map(Vec::len), Some(4));
    assert_eq!(replies[0]["result"]["stdout"], "one\n");
    assert_eq!(replies[1]["result"]["stdout"], "two\n");
    assert_eq!(replies[2]["error"]["code"], -32601);
    assert_eq!(replies[3]["error"]["code"], -32600);
}

#[test]
fn what_is_no_request_is_refused_with_its_status() {
    let daemon = daemon();
    let http = operator(&daemon);
    let json_type = [("Content-Type", "application/json; charset=utf-8")];
    for body in [&b"{"[..], b"[]", b"\xff\xfe", b"3", b"{\"jsonrpc\":\"2.0\"}"] {
        let reply = http.ask("POST", "/rpc", &json_type, body);
        assert_eq!(reply.status, 400, "{body:?}");
        assert!(reply.json().get("error").is_some());
    }
    let body = br#"{"id":1,"method":"system.ping"}"#;
    assert_eq!(http.ask("POST", "/rpc", &json_type, body).status, 200);
    for kind in
        ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
    {
        assert_eq!(http.ask("POST", "/rpc", &[("Content-Type", kind)], body).status, 415, "{kind}");
    }
}

#[test]
fn pushes_are_elsewhere() {
    let daemon = daemon();
    let http = operator(&daemon);
    let started = http.ok("exec.stream", json!({"command": "echo out; echo err >&2; exit 4"}));
    let url = started["events"].as_str().expect("a place to read on").to_string();
    let mut reply = http.send("GET", &url, &[], b"");
    let last = std::iter::from_fn(|| reply.event()).last().expect("an end");
    assert_eq!((last.name.as_str(), &last.data["exit_code"]), ("exit", &json!(4)));
    assert_eq!(http.refused("events.subscribe", json!({})), "INVALID_PARAMS");
    assert_eq!(http.refused("system.auth", json!({"token": daemon.operator_token()})), "AUTH_FAILED");
}

#[test]
fn a_client_that_goes_takes_only_what_it_said_it_would() {
    let daemon = daemon();
    let http = operator(&daemon);
    let ids: Vec<_> = ["cancel", "continue"]
        .iter()
        .map(|what| {
            let id = http.ok("session.create", json!({}))["session_id"].clone();
            let params = json!({"session_id": id, "command": "sleep 1000", "on_disconnect": what});
            let body = json!({"id": 1, "method": "exec.run", "params": params}).to_string();
            let length = body.len().to_string();
            let head = http.head(
                "POST",
                "/rpc",
                &[("Content-Type", "application/json"), ("Content-Length", &length)],
            );
            let mut wire = http.connect();
            std::io::Write::write_all(&mut wire, (head + &body).as_bytes()).expect("the daemon reads");
            eventually("it runs", || {
                http.ok("session.info", json!({"session_id": id}))["state"] == "running"
            });
            drop(wire);
            id
        })
        .collect();
    eventually("the first is cancelled", || {
        http.ok("session.info", json!({"session_id": ids[0]}))["state"] == "idle"
    });
    assert_eq!(http.ok("session.info", json!({"session_id": ids[1]}))["state"], "running");
    let ended = http.ok("exec.cancel", json!({"session_id": ids[1]}));
    assert_eq!(ended["cancelled"], true);
}
