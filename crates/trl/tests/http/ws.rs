//! `WS /ws/rpc`: the socket's conversation, and clients that behave badly on it.

use trl_testkit::{Value, WebSocket, bytes_of, eventually, json};

use crate::{builder, daemon, operator};

fn open(daemon: &trl_testkit::Daemon) -> WebSocket {
    WebSocket::with_token(&daemon.http(), &daemon.operator_token()).expect("a web socket")
}

#[test]
fn requests_overlap_and_streams_are_pushed() {
    let daemon = daemon();
    let mut ws = open(&daemon);
    let slow = ws.send("exec.run", json!({"command": "sleep 0.3; echo slow"}));
    assert_eq!(ws.ok("exec.run", json!({"command": "echo fast"}))["stdout"], "fast\n");
    let started = ws.ok("exec.stream", json!({"command": "echo out; echo err >&2; exit 5"}));
    assert!(started.get("events").is_none());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while out.len() < 4 || err.len() < 4 {
        let push = ws.push("exec.output");
        assert_eq!(push["stream_id"], started["stream_id"]);
        let into = if push["stream"] == "stdout" { &mut out } else { &mut err };
        into.extend(bytes_of(&push, "data"));
    }
    assert_eq!((out.as_slice(), err.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!(ws.push("exec.exit")["exit_code"], 5);
    assert_eq!(ws.reply(slow).expect("a result")["stdout"], "slow\n");
}

#[test]
fn a_stream_can_be_cancelled() {
    let daemon = daemon();
    let mut ws = open(&daemon);
    let started = ws.ok("exec.stream", json!({"command": "echo up; sleep 1000"}));
    assert_eq!(bytes_of(&ws.push("exec.output"), "data"), b"up\n");
    let ended = ws.ok("exec.cancel", json!({"execution_id": started["execution_id"]}));
    assert_eq!(ended["cancelled"], true);
    assert_eq!(ws.push("exec.exit")["cancelled"], true);
}

#[test]
fn a_large_stream_comes_whole() {
    let daemon = daemon();
    let mut ws = open(&daemon);
    let total = 20_000_000u64;
    ws.ok("exec.stream", json!({"command": format!("head -c {total} /dev/zero"), "timeout_s": 0}));
    let mut next = 0;
    while next < total {
        let push = ws.push("exec.output");
        assert_eq!(push["offset"].as_u64(), Some(next), "no gap for a client that reads");
        next += bytes_of(&push, "data").len() as u64;
    }
    assert_eq!(ws.push("exec.exit")["stdout_bytes"], total);
}

#[test]
fn both_envelopes_batches_and_nonsense() {
    let daemon = daemon();
    let mut ws = open(&daemon);
    let mut ask = |text: &str| {
        ws.write(text).expect("the daemon reads");
        ws.read().expect("an answer")
    };
    assert_eq!(ask(r#"{"id":"p","method":"system.ping"}"#)["ok"], true);
    assert_eq!(
        ask("{\n\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"system.ping\"}\n")["result"]["protocol"],
        1
    );
    assert_eq!(ask("nonsense")["error"]["code"], -32700);
    let batch =
        ask(r#"[{"jsonrpc":"2.0","id":1,"method":"system.ping"},{"jsonrpc":"2.0","id":2,"method":"x"}]"#);
    assert_eq!(batch.as_array().map(Vec::len), Some(2));
    assert_eq!(ask(r#"{"id":"q","method":"system.ping"}"#)["id"], "q");
}

#[test]
fn an_oversized_message_is_refused_with_a_reason() {
    let daemon = builder().set("wire", "max_line_bytes", 10_000).start();
    let mut ws = open(&daemon);
    ws.ok("exec.run", json!({"command": format!("true {}", "x".repeat(9000))}));
    let _ = ws.write(&"x".repeat(20_000));
    assert_eq!(ws.read().expect_err("closed").0, 1009);
    eventually("it is forgotten", || operator(&daemon).ok("system.stats", json!({}))["connections"] == 1);
}

#[test]
fn a_reader_that_does_not_read_is_cut_off_with_a_reason() {
    let daemon = builder().set("wire", "client_buffer_bytes", 1 << 20).start();
    let http = operator(&daemon);
    let run = http.ok("exec.run", json!({"command": "head -c 700000 /dev/zero | tr '\\0' x"}));
    let mut deaf = open(&daemon);
    let request = json!({"id": 1, "method": "exec.result", "params": {"execution_id": run["execution_id"]}});
    for _ in 0..100 {
        if deaf.write(&request.to_string()).is_err() {
            break;
        }
    }
    eventually("it is noticed", || daemon.log().contains("does not read its replies"));
    let (code, reason) = loop {
        match deaf.read() {
            Ok(reply) => assert_eq!(reply["id"], 1),
            Err(why) => break why,
        }
    };
    assert_eq!((code, reason.contains("read")), (1008, true), "{reason}");
    assert_eq!(http.ok("exec.run", json!({"command": "echo fine"}))["stdout"], "fine\n");
}

#[test]
fn a_stream_that_nobody_reads_stops_nothing() {
    let daemon = builder().set("wire", "client_buffer_bytes", 1 << 20).start();
    let mut deaf = open(&daemon);
    deaf.ok("exec.stream", json!({"command": "head -c 100000000 /dev/zero"}));
    let mut watcher = open(&daemon);
    watcher.ok("events.subscribe", json!({"since": 0, "kinds": ["exec.finished"]}));
    assert_eq!(watcher.push("event")["exit_code"], 0);
}

#[test]
fn a_silent_connection_is_asked_for_a_sign_of_life_and_a_dead_one_dropped() {
    let daemon = builder().set("http", "keep_alive_s", 0.2).start();
    let mut alive = open(&daemon);
    let dead = open(&daemon);
    let connections =
        |ws: &mut WebSocket| -> Value { ws.ok("system.stats", json!({}))["connections"].take() };
    // Asking reads, and reading answers the pings; nobody does that for the other.
    eventually("the dead one is dropped", || connections(&mut alive) == 1);
    drop(dead);
    assert_eq!(connections(&mut alive), 1);
}

#[test]
fn the_end_of_the_daemon_is_the_end_of_the_conversation() {
    let mut daemon = daemon();
    let mut ws = open(&daemon);
    let id = ws.send("system.shutdown", json!({}));
    assert!(ws.reply(id).is_ok());
    let (code, _) = loop {
        if let Err(why) = ws.read() {
            break why;
        }
    };
    assert_eq!(code, 1001);
    assert!(daemon.reap().success());
}
