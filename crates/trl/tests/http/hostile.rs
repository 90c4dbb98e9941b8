//! Connections without a token that try to take every place.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use trl_testkit::{
    Builder, Daemon, Http, Reply, Rounds, Scratch, Shell, WebSocket, available, eventually, json,
};

use crate::{builder, operator};

/// Of 8 places: 2 for strangers, 1 for processes of sessions, 5 for holders of tokens.
const FEW: usize = 16;

/// One of the ways to hold a connection without a token.
type Hold = fn(&Http) -> TcpStream;

fn silent(http: &Http) -> TcpStream {
    http.tcp()
}

fn slow_head(http: &Http) -> TcpStream {
    let mut wire = http.tcp();
    let _ = wire.write_all(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    wire
}

fn wrong_token(http: &Http) -> TcpStream {
    let mut wire = http.tcp();
    let head = http.with_token("wrong").head("GET", "/metrics", &[]);
    let _ = wire.write_all(head.as_bytes());
    wire
}

fn body_never_sent(http: &Http) -> TcpStream {
    let mut wire = http.tcp();
    let headers = [("Content-Type", "application/json"), ("Content-Length", "1000")];
    let _ = wire.write_all(http.head("POST", "/rpc", &headers).as_bytes());
    wire
}

/// Asks for the largest answer there is without a token, and never reads it.
fn deaf(http: &Http) -> TcpStream {
    let mut wire = http.tcp();
    let head = http.head("GET", "/openapi.json", &[]);
    let _ = wire.write_all(head.repeat(2).as_bytes());
    wire
}

const HOLDS: [Hold; 5] = [silent, slow_head, wrong_token, body_never_sent, deaf];

/// Sends a request on a connection that stays open, and reads its answer to the end. None if it is closed instead.
fn ask_again(wire: &mut TcpStream, head: &str, last: &str) -> Option<String> {
    wire.write_all(head.as_bytes()).ok()?;
    let (mut text, mut chunk) = (String::new(), [0; 4096]);
    while !text.ends_with(last) {
        let n = wire.read(&mut chunk).ok().filter(|n| *n > 0)?;
        text += &String::from_utf8_lossy(&chunk[..n]);
    }
    Some(text)
}

fn health(wire: &mut TcpStream, http: &Http) -> Option<String> {
    ask_again(wire, &http.head("GET", "/healthz", &[]), "\"ok\"}")
}

fn ping(wire: &mut TcpStream, http: &Http) -> Option<String> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "system.ping"}).to_string();
    let length = body.len().to_string();
    let headers = [("Content-Type", "application/json"), ("Content-Length", length.as_str())];
    ask_again(wire, &(http.head("POST", "/rpc", &headers) + &body), "}}")
}

#[test]
fn held_connections_lock_nobody_out() {
    for hold in HOLDS {
        let daemon = builder().set("wire", "max_connections", FEW).set("http", "auth_failures", 1000).start();
        let http = operator(&daemon);
        let held: Vec<_> = (0..20).map(|_| hold(&daemon.http())).collect();
        assert_eq!(http.get("/metrics").status, 200);
        assert_eq!(daemon.http().get("/healthz").status, 200, "nor another without a token");
        drop(held);
    }
}

#[test]
fn endless_new_connections_lock_nobody_out() {
    let daemon = builder().start();
    let (http, strangers) = (operator(&daemon), daemon.http());
    let _held: Vec<_> = (0..300).map(|n| HOLDS[n % 2](&strangers)).collect();
    for round in Rounds::new(20) {
        let _before: Vec<_> = (0..20).map(|_| silent(&strangers)).collect();
        let mut wire = http.connect();
        wire.write_all(http.head("GET", "/metrics", &[]).as_bytes()).expect("the daemon reads");
        let _behind: Vec<_> = (0..100).map(|_| silent(&strangers)).collect();
        assert_eq!(Reply::try_read(wire).map(|reply| reply.status), Some(200), "round {round}");
    }
}

#[test]
fn connections_of_holders_stay_open() {
    let daemon = builder().set("wire", "max_connections", FEW).start();
    let http = operator(&daemon);
    let mut kept = http.tcp();
    assert!(ping(&mut kept, &http).is_some());
    let mut ws = WebSocket::with_token(&daemon.http(), &daemon.operator_token()).expect("a web socket");
    let running = http.ok("exec.stream", json!({"command": "echo up; sleep 1000"}));
    let mut stream = http.send("GET", running["events"].as_str().expect("a path"), &[], b"");
    assert_eq!(stream.event().expect("the first piece").data["data"], "up\n");
    for hold in HOLDS {
        let held: Vec<_> = (0..20).map(|_| hold(&daemon.http())).collect();
        assert!(ping(&mut kept, &http).is_some());
        drop(held);
    }
    ws.ok("exec.cancel", json!({"execution_id": running["execution_id"]}));
    let mut rest = std::iter::from_fn(|| stream.event());
    assert!(rest.any(|event| event.name == "exit"), "the stream goes on to its end");
}

#[test]
fn requests_without_token_prolong_nothing() {
    let daemon = builder().set("http", "request_timeout_s", 0.4).start();
    let http = daemon.http();
    let mut wire = http.tcp();
    while health(&mut wire, &http).is_some() {}
    // Neither does a token that is not valid any more.
    let made = daemon.token("viewer", json!({}));
    let viewer = http.with_token(made["token"].as_str().expect("a token"));
    let mut wire = http.tcp();
    assert!(ping(&mut wire, &viewer).is_some_and(|text| text.contains("uptime_s")));
    daemon.operator().ok("token.revoke", json!({"token_id": made["token_id"]}));
    while health(&mut wire, &http).is_some() {}
}

#[test]
fn slow_answer_to_stranger_is_finished() {
    let daemon = builder().set("http", "request_timeout_s", 0.4).start();
    let http = daemon.http();
    let whole = http.get("/openapi.json").body;
    let mut wire = http.tcp();
    let close = http.head("GET", "/openapi.json", &[("Connection", "close")]);
    wire.write_all(close.as_bytes()).expect("the daemon reads");
    wire.shutdown(Shutdown::Write).expect("a socket");
    let mut text = Vec::new();
    wire.read_to_end(&mut text).expect("it is closed");
    assert!(text.ends_with(&whole));
}

#[test]
fn idle_holder_makes_room_busy_one_not() {
    let daemon = builder().set("wire", "max_connections", FEW).start();
    let http = operator(&daemon);
    let idle: Vec<_> = (0..5)
        .map(|_| {
            let mut wire = http.tcp();
            assert!(ping(&mut wire, &http).is_some());
            wire
        })
        .collect();
    let mut busy: Vec<_> = (0..5)
        .map(|_| WebSocket::with_token(&daemon.http(), &daemon.operator_token()).expect("a web socket"))
        .collect();
    for mut wire in idle {
        let mut rest = Vec::new();
        assert_eq!(wire.read_to_end(&mut rest).expect("it was closed for another"), 0);
    }
    let refused = http.get("/metrics");
    assert_eq!((refused.status, refused.code().as_str()), (503, "RESOURCE_PRESSURE"));
    assert!(refused.json()["error"]["hint"].as_str().expect("a hint").contains("wire.max_connections"));
    assert_eq!(daemon.http().get("/healthz").status, 200);
    assert!(busy.iter_mut().all(|ws| ws.ok("system.ping", json!({})).is_object()));
    busy.pop();
    eventually("the place is free", || http.get("/metrics").status == 200);
}

/// A daemon with an HTTP server at a `unix:` address, and few places.
fn at_unix_address(dir: &Scratch) -> Daemon {
    let address = format!("unix:{}", dir.text("d/http.sock"));
    let builder = Builder::new(env!("CARGO_BIN_EXE_trl")).arg("--http").arg(&address);
    builder.set("wire", "max_connections", FEW).start()
}

#[test]
fn processes_of_sessions_lock_nobody_out() {
    let curl = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !available("curl", curl) {
        return;
    }
    let dir = Scratch::new();
    let daemon = at_unix_address(&dir);
    let held: Vec<_> = (0..20).map(|_| daemon.http().connect()).collect();
    assert_eq!(daemon.http().ok("system.info", json!({}))["role"], "agent");
    drop(held);
    // Each of these waits for the command that has started it, and so is in flight for as long as that likes.
    let mut session = daemon.session(Shell::Dash);
    let queued = json!({"id": 1, "method": "exec.run", "params": {
        "session_id": session.id, "command": "true", "queue": true,
    }});
    let ask = format!(
        "curl -sS -o /dev/null -w '%{{http_code}}\\n' --unix-socket {} -H 'Content-Type: application/json' -d '{queued}' \
         http://localhost/rpc >> {} 2>&1 &",
        dir.text("d/http.sock"),
        dir.text("codes"),
    );
    session.start(&format!("for n in $(seq 20); do {ask} done; sleep 1000"), json!({}));
    let codes = || std::fs::read_to_string(dir.join("codes")).unwrap_or_default();
    eventually("all but those with a place are refused", || codes().lines().count() >= 12);
    let http = operator(&daemon);
    assert_eq!(http.get("/metrics").status, 200);
    assert_eq!(daemon.http().ok("system.info", json!({}))["role"], "agent");
    assert!(codes().contains("503"), "{}", codes());
}
