//! Tokens and tickets: made, used, ended.

use std::os::unix::fs::MetadataExt;

use trl_testkit::websocket::Arrived;
use trl_testkit::{Attached, Daemon, Value, WebSocket, eventually, json};

use crate::{builder, daemon, operator, with_role};

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn status(daemon: &Daemon, token: &str) -> u16 {
    daemon.http().with_token(token).post("/rpc", &json!({"id": 1, "method": "system.ping"})).status
}

#[test]
fn without_a_token_nothing_is_open() {
    let daemon = daemon();
    let http = daemon.http();
    for (verb, path) in [
        ("POST", "/rpc"),
        ("POST", "/api/tickets"),
        ("GET", "/metrics"),
        ("GET", "/api/executions/e-abcdefghij/events"),
    ] {
        let reply = http.ask(verb, path, &[("Content-Type", "application/json")], b"");
        assert_eq!((reply.status, reply.code().as_str()), (401, "AUTH_FAILED"), "{path}");
        assert!(reply.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
    }
    assert_eq!(WebSocket::open(&http, "/ws/rpc", &[]).err(), Some(401));
}

#[test]
fn a_wrong_token_is_refused() {
    let daemon = builder().set("http", "auth_failures", 1000).start();
    let right = daemon.operator_token();
    for wrong in ["x", &right[1..], &format!("{right}0"), &right.to_uppercase()] {
        assert_eq!(status(&daemon, wrong), 401, "{wrong}");
    }
    for header in ["Bearer", "Basic dXNlcjpwYXNz", &right] {
        let reply = daemon.http().ask("GET", "/metrics", &[("Authorization", header)], b"");
        assert_eq!(reply.status, 401, "{header}");
    }
    assert_eq!(status(&daemon, &right), 200);
    assert!(!daemon.log().contains(&right));
}

#[test]
fn a_token_has_its_role_on_every_transport() {
    let daemon = daemon();
    for role in ["agent", "viewer", "operator"] {
        let made = daemon.token(role, json!({}));
        let token = text(&made["token"]);
        let http = daemon.http().with_token(token);
        assert_eq!(http.ok("system.info", json!({}))["role"], role);
        let mut ws = WebSocket::with_token(&daemon.http(), token).expect("a web socket");
        assert_eq!(ws.ok("system.info", json!({}))["role"], role);
        let mut socket = daemon.client();
        assert_eq!(socket.ok("system.auth", json!({"token": token}))["role"], role);
        assert_eq!(socket.ok("system.info", json!({}))["role"], role);
    }
}

#[test]
fn a_revoked_token_ends_with_its_connections() {
    let daemon = daemon();
    let made = daemon.token("agent", json!({}));
    let token = text(&made["token"]);
    let mut ws = WebSocket::with_token(&daemon.http(), token).expect("a web socket");
    ws.ok("system.ping", json!({}));
    let mut socket = daemon.client();
    socket.ok("system.auth", json!({"token": token}));
    let http = daemon.http().with_token(token);
    let started = http.ok("exec.stream", json!({"command": "sleep 1000"}));
    let mut events = http.send("GET", text(&started["events"]), &[], b"");
    assert_eq!(operator(&daemon).ok("token.revoke", json!({"token_id": made["token_id"]}))["revoked"], true);
    assert_eq!(status(&daemon, token), 401);
    let (code, reason) = ws.read().expect_err("closed");
    assert_eq!((code, reason.contains("token")), (1008, true), "{reason}");
    assert!(socket.read_line().is_none(), "the socket is closed too");
    assert!(std::iter::from_fn(|| events.event()).all(|event| event.name != "exit"), "and the events");
    assert_eq!(
        operator(&daemon).refused("token.revoke", json!({"token_id": made["token_id"]})),
        "INVALID_PARAMS"
    );
}

#[test]
fn a_revoked_token_types_into_no_terminal() {
    let daemon = daemon();
    let made = daemon.token("agent", json!({}));
    let token = text(&made["token"]);
    let http = daemon.http().with_token(token);
    let id = http.ok("terminal.create", json!({"argv": ["cat"]}))["terminal_id"].clone();
    let path = format!("/ws/terminal/{}", text(&id));
    let mut rich = Attached::open(&daemon.http(), token, text(&id), "client=c");
    let auth = format!("Bearer {token}");
    let mut plain =
        WebSocket::open(&daemon.http(), &path, &[("Authorization", &auth)]).expect("a web socket");
    let ticket = http.post("/api/tickets", &json!({})).json()["ticket"].clone();
    let origin = format!("http://{}", daemon.http().authority());
    let by_ticket = format!("{path}?ticket={}", text(&ticket));
    let mut page = WebSocket::open(&daemon.http(), &by_ticket, &[("Origin", &origin)]).expect("a web socket");
    rich.input(b"before\n");
    rich.until_text("before\r\nbefore");
    operator(&daemon).ok("token.revoke", json!({"token_id": made["token_id"]}));
    while rich.closed.is_none() {
        rich.take();
    }
    assert_eq!(rich.closed.as_ref().unwrap().0, 1008);
    for ws in [&mut plain, &mut page] {
        let code = loop {
            if let Arrived::Closed(code, _) = ws.arrive() {
                break code;
            }
        };
        assert_eq!(code, 1008);
    }
}

#[test]
fn a_token_expires_by_itself() {
    let daemon = builder().set("http", "auth_failures", 100_000).start();
    let made = daemon.token("agent", json!({"expires_in_s": 2.5}));
    let token = text(&made["token"]);
    let ws = WebSocket::with_token(&daemon.http(), token);
    eventually("it has expired", || status(&daemon, token) == 401);
    if let Ok(mut ws) = ws {
        assert_eq!(ws.read().expect_err("closed").0, 1008);
    }
}

#[test]
fn tokens_outlive_the_daemon_as_digests() {
    let mut daemon = daemon();
    let made = daemon.token("viewer", json!({"name": "the ci"}));
    let token = text(&made["token"]).to_string();
    let path = daemon.dir().join("home/.local/share/trl/tokens.json");
    let kept = std::fs::read_to_string(&path).expect("a file of tokens");
    assert!(kept.contains("the ci") && !kept.contains(&token[4..]), "{kept}");
    assert_eq!(std::fs::metadata(&path).expect("the file").mode() & 0o777, 0o600);
    assert!(!daemon.log().contains(&token[4..]));
    assert!(daemon.stop().success());
    daemon.relaunch();
    assert_eq!(status(&daemon, &token), 200);
    let listed = operator(&daemon).ok("token.list", json!({}));
    assert_eq!((&listed["tokens"][0]["name"], listed["tokens"][0].get("token")), (&json!("the ci"), None));
    assert!(listed["tokens"][0]["last_used_at"].is_string());
    assert!(!listed.to_string().contains("sha256"));
}

#[test]
fn a_ticket_opens_one_web_socket() {
    let daemon = builder().set("http", "auth_failures", 1000).start();
    let http = daemon.http();
    let own = format!("http://{}", http.authority());
    let reply = with_role(&daemon, "viewer").post("/api/tickets", &json!({}));
    assert_eq!(reply.status, 201);
    assert_eq!(reply.json()["expires_in_s"], 30);
    let path = format!("/ws/rpc?ticket={}", text(&reply.json()["ticket"]));
    // Whoever can leave Origin out can send a token.
    assert_eq!(WebSocket::open(&http, &path, &[]).err(), Some(403));
    let mut ws = WebSocket::open(&http, &path, &[("Origin", &own)]).expect("a web socket");
    assert_eq!(ws.ok("system.info", json!({}))["role"], "viewer");
    assert_eq!(ws.call("exec.run", json!({"command": "true"})).unwrap_err().code, "FORBIDDEN");
    assert_eq!(WebSocket::open(&http, &path, &[("Origin", &own)]).err(), Some(401), "used");
    assert_eq!(WebSocket::open(&http, "/ws/rpc?ticket=tkt_0", &[("Origin", &own)]).err(), Some(401));
    // It is for WebSockets only, and is no token.
    let ticket = text(&operator(&daemon).post("/api/tickets", &json!({})).json()["ticket"]).to_string();
    assert_eq!(http.get(&format!("/metrics?ticket={ticket}")).status, 401);
    assert_eq!(status(&daemon, &ticket), 401);
}

#[test]
fn a_ticket_is_not_good_for_long() {
    let daemon = builder().set("http", "ticket_ttl_s", 0).start();
    let own = format!("http://{}", daemon.http().authority());
    let ticket = text(&operator(&daemon).post("/api/tickets", &json!({})).json()["ticket"]).to_string();
    let opened = WebSocket::open(&daemon.http(), &format!("/ws/rpc?ticket={ticket}"), &[("Origin", &own)]);
    assert_eq!(opened.err(), Some(401));
}

#[test]
fn system_auth_raises_only_with_a_valid_token() {
    let daemon = daemon();
    let made = daemon.token("viewer", json!({}));
    let open = || WebSocket::with_token(&daemon.http(), text(&made["token"])).expect("a web socket");
    let mut wrong = open();
    assert_eq!(wrong.call("system.auth", json!({"token": "nonsense"})).unwrap_err().code, "AUTH_FAILED");
    assert_eq!(wrong.ok("system.info", json!({}))["role"], "viewer");
    let mut late = open();
    late.ok("system.ping", json!({}));
    assert!(late.call("system.auth", json!({"token": daemon.operator_token()})).is_err());
    assert_eq!(late.ok("system.info", json!({}))["role"], "viewer");
    let mut right = open();
    assert_eq!(right.ok("system.auth", json!({"token": daemon.operator_token()}))["role"], "operator");
    assert_eq!(right.ok("system.info", json!({}))["role"], "operator");
}

#[test]
fn system_auth_is_no_way_round_the_limit() {
    let daemon = builder().set("http", "auth_failures", 3).env("TRL_AUTH_TOKEN", "hunter2").start();
    let mut client = daemon.client();
    client.authenticate("hunter2");
    let made = client.ok("token.create", json!({"name": "t", "role": "viewer"}));
    let mut ws = WebSocket::with_token(&daemon.http(), text(&made["token"])).expect("a web socket");
    for guess in ["a", "b", "c"] {
        assert_eq!(ws.call("system.auth", json!({"token": guess})).unwrap_err().code, "AUTH_FAILED");
    }
    let error = ws.call("system.auth", json!({"token": "hunter2"})).unwrap_err();
    assert!(error.message.contains("too many"), "{}", error.message);
    assert_eq!(ws.ok("system.info", json!({}))["role"], "viewer");
    assert_eq!(status(&daemon, "hunter2"), 429);
}

#[test]
fn the_command_line_makes_lists_and_revokes() {
    let daemon = daemon();
    let trl = |args: &[&str]| {
        let mut command = daemon.command();
        command.arg("--socket").arg(daemon.socket()).arg("token").args(args);
        let output = command.output().expect("trl runs");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (made, token) = trl(&["new", "ci", "--role", "viewer", "--expires", "1h"]);
    assert!(made && token.starts_with("trl_") && token.trim().len() == 68, "{token}");
    assert_eq!(status(&daemon, token.trim()), 200);
    assert!(trl(&["new", "bot", "--max-sessions", "2", "--runtime", "host"]).0);
    assert!(!trl(&["new", "odd", "--role", "viewer", "--max-sessions", "2"]).0, "ceilings are for agents");
    let (_, listed) = trl(&["ls"]);
    assert!(
        listed.contains("ci") && listed.contains("viewer") && listed.contains("max_sessions=2"),
        "{listed}"
    );
    assert!(!listed.contains(token.trim()));
    assert!(trl(&["rm", "ci"]).0 && !trl(&["rm", "ci"]).0);
    assert_eq!(status(&daemon, token.trim()), 401);
}
