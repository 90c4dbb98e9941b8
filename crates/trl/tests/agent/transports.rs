//! The same over HTTP, with tokens, and who may do what.

use serde_json::{Value, json};
use trl_testkit::Daemon;
use trl_testkit::agent::{case, tell};

use super::{builder, daemon, session};

fn over_http() -> Daemon {
    let daemon = builder().http().start();
    case(&daemon, "coder", &[], "");
    daemon
}

/// All events of a message, by their names, ids and data.
fn events(daemon: &Daemon, token: &str, path: &str, since: Option<&str>) -> Vec<(String, String, Value)> {
    let http = daemon.http().with_token(token);
    let headers: Vec<(&str, &str)> = since.iter().map(|id| ("Last-Event-ID", *id)).collect();
    let mut reply = http.send("GET", path, &headers, b"");
    assert_eq!(reply.status, 200, "{}", reply.text());
    let mut found = Vec::new();
    while let Some(event) = reply.event() {
        if !event.is_comment {
            found.push((event.name, event.id, event.data));
        }
    }
    found
}

#[test]
fn over_http_a_message_is_events_that_can_be_taken_up_again() {
    let daemon = over_http();
    let token = daemon.token("agent", json!({}))["token"].as_str().unwrap().to_string();
    let http = daemon.http().with_token(&token);
    let dir = daemon.dir().dir("work").display().to_string();
    let session = http.ok("session.create", json!({"case_id": "coder", "working_dir": dir}));
    let sent = http.ok(
        "agent.send_message",
        json!({"session_id": session["session_id"], "message": "mode a\nmode b\nsay hi"}),
    );
    let path = sent["events"].as_str().unwrap();
    let all = events(&daemon, &token, path, None);
    let (last, updates) = all.split_last().unwrap();
    assert_eq!((last.0.as_str(), &last.2["stop_reason"]), ("done", &json!("end_turn")));
    assert_eq!(last.1, format!("{}.done", updates.len() + 1));
    assert!(
        updates.iter().enumerate().all(|(n, (name, id, _))| name == "update" && *id == (n + 1).to_string())
    );
    assert_eq!(updates.last().unwrap().2["update"], json!({"kind": "text", "text": "hi"}));
    assert_eq!(events(&daemon, &token, path, Some("2")).len(), all.len() - 2);
    let over = http.ask("GET", path, &[("Last-Event-ID", last.1.as_str())], b"");
    assert_eq!(over.status, 204);
}

#[test]
fn who_may_not_see_a_session_neither_speaks_nor_listens_to_its_agent() {
    let daemon = over_http();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let id = &session["session_id"];
    let told = tell(&mut client, &session, "say hi");
    let stranger = daemon.token("agent", json!({}))["token"].as_str().unwrap().to_string();
    let http = daemon.http().with_token(&stranger);
    for (method, params) in [
        ("agent.send_message", json!({"session_id": id, "message": "say x"})),
        ("agent.stop", json!({"session_id": id})),
        ("agent.history", json!({"session_id": id})),
        ("agent.follow", json!({"session_id": id})),
    ] {
        assert_eq!(http.refused(method, params), "FORBIDDEN", "{method}");
    }
    let path = format!("/api/sessions/{}/messages/{}/events", id.as_str().unwrap(), told.message_id);
    assert_eq!(http.get(&path).status, 403);
    let viewer = daemon.token("viewer", json!({}))["token"].as_str().unwrap().to_string();
    let viewer = daemon.http().with_token(&viewer);
    assert_eq!(
        viewer.refused("agent.send_message", json!({"session_id": id, "message": "say x"})),
        "FORBIDDEN"
    );
    assert_eq!(viewer.ok("agent.history", json!({"session_id": id}))["messages"][0]["text"], "say hi");
}

#[test]
fn nothing_inside_a_session_sends_it_messages() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let id = session["session_id"].as_str().unwrap();
    let call = format!(
        "{} --socket {} call agent.send_message '{{\"session_id\":\"{id}\",\"message\":\"say x\"}}'",
        env!("CARGO_BIN_EXE_trl"),
        daemon.socket().display()
    );
    let run = client.ok("exec.run", json!({"session_id": id, "command": call}));
    assert!(run["stderr"].as_str().unwrap().contains("FORBIDDEN"), "{run}");
    let told = tell(&mut client, &session, &format!("run {call}"));
    assert!(told.text().contains("FORBIDDEN"), "{}", told.text());
}
