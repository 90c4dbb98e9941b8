//! Turning to another session, and watching one.

use serde_json::json;

use super::{builder, create, daemon, run};

#[test]
fn with_close_on_switch_the_session_that_was_left_is_closed_when_idle() {
    let daemon = builder().set("sessions", "close_on_switch", true).start();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["session.ended"]}));
    let mut client = daemon.client();
    let first = create(&mut client, json!({}));
    let busy = create(&mut client, json!({}));
    assert_eq!(watcher.event("session.ended")["session_id"], first);
    let other = daemon.operator().ok("session.create", json!({"working_dir": "/"}))["session_id"].clone();

    let waiting =
        client.send("exec.run", json!({"session_id": busy, "command": "read x", "open_stdin": true}));
    let mut steering = daemon.client();
    let running = loop {
        let info = steering.ok("session.info", json!({"session_id": busy}));
        if info["state"] == "running" && info["running"].is_object() {
            break info["running"]["execution_id"].clone();
        }
    };
    assert_eq!(steering.ok("session.get", json!({"session_id": first}))["state"], "ready");
    assert_eq!(steering.ok("session.info", json!({"session_id": busy}))["state"], "running");
    assert_eq!(
        steering.ok("session.info", json!({"session_id": other}))["state"],
        "ready",
        "another's stays"
    );
    steering.ok("exec.input", json!({"execution_id": running, "data": "\n"}));
    client.reply(waiting).unwrap();

    steering.ok("session.close", json!({"session_id": first}));
    assert_eq!(watcher.event("session.ended")["session_id"], first);
    steering.ok("session.get", json!({"session_id": first}));
    let ended = watcher.event("session.ended");
    assert_eq!((&ended["session_id"], &ended["state"]), (&json!(busy), &json!("closed")));
}

#[test]
fn session_events_are_the_events_of_one_session() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (one, other) = (create(&mut client, json!({})), create(&mut client, json!({})));
    let mut watcher = daemon.client();
    watcher.refused("INVALID_PARAMS", "session.events", json!({}));
    watcher.ok("session.events", json!({"session_id": one, "kinds": ["exec.finished"]}));
    run(&mut client, &other, "true");
    run(&mut client, &one, "true");
    assert_eq!(watcher.event("exec.finished")["session_id"], one);
}

#[test]
fn figures_and_log_tell_of_the_runtime() {
    let daemon = builder().http().set("log", "level", "\"debug\"").start();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    run(&mut client, &id, "true");
    super::history(&mut client, json!({}));
    let stats = client.ok("system.stats", json!({}));
    assert_eq!((&stats["resident_sessions"], &stats["execution_builds"]), (&json!(1), &json!(1)));
    assert!(stats["execution_build_us"].as_u64().unwrap() > 0);
    assert!(stats["records_written"].as_u64().unwrap() >= 3, "{stats}");
    assert_eq!((&stats["records_failed"], &stats["records_dropped"]), (&json!(0), &json!(0)));
    let log = daemon.log();
    for event in ["runtime.session.ready", "runtime.execution.start", "runtime.execution.end"] {
        let line = log.lines().find(|line| line.contains(event)).unwrap_or_else(|| panic!("no {event}"));
        assert!(line.contains(&id), "{line}");
    }
}
