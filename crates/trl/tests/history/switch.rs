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
    let daemon = builder().http().start();
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

/// Each miss that the log tells of is in the figures behind the hit rate, and no other.
#[test]
fn every_logged_miss_is_counted() {
    let mut daemon = builder().start();
    let id = create(&mut daemon.client(), json!({}));
    run(&mut daemon.client(), &id, "true");
    super::history(&mut daemon.client(), json!({}));
    daemon.kill9();
    let earlier = daemon.log().matches("runtime.cache.miss").count();
    daemon.relaunch();
    let mut client = daemon.client();
    client.call("session.info", json!({"session_id": "s-nothere2"})).unwrap_err();
    client.ok("session.get", json!({"session_id": id}));
    run(&mut client, &id, "true");
    let stats = client.ok("system.stats", json!({}));
    let logged = daemon.log().matches("runtime.cache.miss").count() - earlier;
    assert!(logged >= 2, "{}", daemon.log());
    assert_eq!(stats["session_misses"], logged, "{}", daemon.log());
    assert!(stats["session_hits"].as_u64().unwrap() > 0, "{stats}");
}

/// The fields of the last line of the log about this.
fn logged(log: &str, event: &str, fields: &[&str]) {
    let line = log.lines().rfind(|line| line.contains(&format!("{event}: ")));
    let line = line.unwrap_or_else(|| panic!("no {event} in\n{log}"));
    for field in fields {
        assert!(line.contains(&format!(" {field}=")), "{field} is not in {line}");
    }
}

#[test]
fn every_event_of_the_runtime_is_in_the_log_with_its_fields_and_counted() {
    let mut daemon = builder().http().set("cases", "default", "\"base\"").start();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().file("config/trl/cases/base.yaml", "approval: {default: ask}\n");
    let (mut client, mut operator) = (daemon.client(), daemon.operator());
    let id = create(&mut client, json!({}));
    let mut watcher = daemon.client();
    watcher.ok("session.events", json!({"session_id": id}));
    let ask = json!({"session_id": id, "command": "true", "approval": "return"});
    let asked = client.ok("exec.run", ask);
    assert_eq!(watcher.event("hitl.requested")["request_id"], asked["request_id"]);
    let http = daemon.http().with_token(&daemon.operator_token());
    let figure = |name: &str| {
        let text = http.get("/metrics").text();
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_string);
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .rsplit(' ')
            .next()
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    assert_eq!((figure("trl_requests_pending"), figure("trl_session_runtimes")), (1.0, 1.0));
    let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
    let answer =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve"});
    operator.ok("hitl.respond", answer);
    assert_eq!(watcher.event("hitl.resolved")["state"], "approved");
    assert_eq!(watcher.event("exec.finished")["execution_id"], asked["execution_id"]);
    let counted = ["trl_requests_pending", "trl_requests_answered_total", "trl_approval_wait_seconds_count"];
    assert_eq!(counted.map(&figure), [0.0, 1.0, 1.0]);
    figure("trl_execution_build_us_total");
    client.call("session.info", json!({"session_id": "s-nothere2"})).unwrap_err();
    assert!(figure("trl_session_hits_total") + figure("trl_session_misses_total") >= 1.0);

    let log = daemon.log();
    logged(&log, "runtime.session.ready", &["sessionId", "caseId"]);
    logged(&log, "runtime.execution.start", &["sessionId", "executionId"]);
    logged(&log, "runtime.execution.end", &["sessionId", "durationMs", "status"]);
    logged(&log, "runtime.hitl.pending", &["requestId", "actionType", "sessionId"]);
    logged(&log, "runtime.hitl.resolved", &["requestId", "actionType", "state"]);
    logged(&log, "runtime.cache.miss", &["sessionId", "what", "found"]);
    logged(&log, "runtime.fallback.defaultConfig", &["sessionId", "reason"]);
    daemon.stop();
}
