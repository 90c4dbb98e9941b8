//! What is known of runtimes, and how they are asked.

use rustix::process::Signal;
use trl_testkit::process::{below, signal};
use trl_testkit::{Daemon, eventually, json};

use crate::{builder, daemon, get, names, output, session_in};

#[test]
fn this_machine_is_one_and_others_are_added() {
    let daemon = daemon();
    let mut operator = daemon.operator();
    assert_eq!(names(&mut operator), ["host"]);
    let host = get(&mut operator, "host");
    assert_eq!(
        (&host["kind"], &host["state"], &host["configured"]),
        (&json!("host"), &json!("up"), &json!(true))
    );
    let added = daemon.add_relay("box", json!({"labels": {"gpu": "no"}}));
    assert_eq!((&added["state"], &added["configured"]), (&json!("idle"), &json!(false)));
    assert_eq!(names(&mut operator), ["host", "box"]);
    let session = session_in(&mut operator, json!("box"));
    assert_eq!(session["runtime"], "box");
    let there = get(&mut operator, "box");
    assert_eq!((&there["state"], &there["sessions"]), (&json!("up"), &json!(1)));
    assert_eq!(there["engine"]["version"], host["engine"]["version"]);
    assert_ne!(there["engine"]["pid"], host["engine"]["pid"]);
    operator.refused("RUNTIME_NOT_FOUND", "runtime.get", json!({"name": "bx"}));
}

#[test]
fn the_sessions_of_each_are_counted_and_listed() {
    let daemon = daemon();
    daemon.add_relay("box", json!({}));
    let mut client = daemon.client();
    let (here, there) = (session_in(&mut client, json!("host")), session_in(&mut client, json!("box")));
    client.ok("terminal.create", json!({"working_dir": "/"}));
    assert_eq!(get(&mut client, "host")["sessions"], 2);
    assert_eq!(get(&mut client, "box")["sessions"], 1);
    for (runtime, session) in [("host", &here), ("box", &there)] {
        let list = client.ok("session.list", json!({"runtime": runtime}));
        assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
        assert_eq!(list["sessions"][0]["session_id"], session["session_id"]);
    }
    assert_eq!(client.ok("session.list", json!({"runtime": "none"}))["sessions"], json!([]));
    client.ok("session.destroy", json!({"session_id": here["session_id"]}));
    client.ok("session.close", json!({"session_id": there["session_id"]}));
    assert_eq!(get(&mut client, "host")["sessions"], 1);
    assert_eq!(get(&mut client, "box")["sessions"], 0);
}

#[test]
fn health_is_what_the_engine_answers() {
    let daemon = builder().set("runtimes", "connect_s", 1).start();
    daemon.add_relay("box", json!({}));
    let dead = json!({"name": "dead", "kind": "command", "argv": ["sh", "-c", "echo no way >&2; exit 1"]});
    let mut operator = daemon.operator();
    operator.ok("runtime.add", dead);
    let health = operator.ok("runtime.health", json!({"name": "box"}));
    assert_eq!((&health["healthy"], &health["name"]), (&json!(true), &json!("box")));
    assert!(health["round_trip_us"].as_u64().unwrap() > 0, "{health}");
    assert_eq!(get(&mut operator, "box")["state"], "up");
    let health = operator.ok("runtime.health", json!({"name": "dead"}));
    assert_eq!((&health["healthy"], &health["trouble"]), (&json!(false), &json!("no way")));
    assert_eq!(operator.ok("runtime.health", json!({"name": "host"}))["healthy"], true);
    operator.refused("RUNTIME_NOT_FOUND", "runtime.health", json!({"name": "none"}));
}

#[test]
fn what_makes_no_sense_is_not_added() {
    let daemon = daemon();
    let mut operator = daemon.operator();
    let argv = json!(["true"]);
    for wrong in [
        json!({"kind": "command", "argv": argv}),
        json!({"name": "host", "kind": "command", "argv": argv}),
        json!({"name": "a b", "kind": "command", "argv": argv}),
        json!({"name": "x", "kind": "host"}),
        json!({"name": "x", "kind": "command"}),
        json!({"name": "x", "kind": "command", "argv": argv, "image": "alpine"}),
        json!({"name": "x", "kind": "command", "argv": argv, "weight": 0}),
        json!({"name": "x", "kind": "command", "argv": argv, "unknown": 1}),
        json!({"name": "x", "kind": "boat"}),
    ] {
        operator.refused("INVALID_PARAMS", "runtime.add", wrong);
    }
    daemon.add_relay("box", json!({}));
    operator.refused(
        "INVALID_PARAMS",
        "runtime.add",
        json!({"name": "box", "kind": "command", "argv": argv}),
    );
    assert_eq!(names(&mut operator), ["host", "box"]);
}

#[test]
fn figures_and_the_doctor_know_of_them() {
    let daemon = builder().http().start();
    daemon.add_relay("box", json!({}));
    let mut client = daemon.operator();
    let session = session_in(&mut client, json!("box"));
    cut_link(&daemon);
    assert_eq!(output(&mut client, &session, "echo on"), "on");
    eventually("the new connection is counted", || get(&mut client, "box")["reconnects"] == 1);
    let stats = client.ok("system.stats", json!({}));
    assert_eq!(stats["runtimes"], json!({"idle": 0, "connecting": 0, "up": 2, "waiting": 0, "draining": 0}));
    assert_eq!(stats["runtime_sessions"], json!({"host": 0, "box": 1}));
    assert_eq!(stats["runtime_reconnects"], 1);
    let text = daemon.http().with_token(&daemon.operator_token()).get("/metrics").text();
    for line in [
        "trl_runtimes{state=\"up\"} 2",
        "trl_runtime_sessions{runtime=\"box\"} 1",
        "trl_runtime_reconnects_total 1",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in {text}");
    }
    let rows = client.ok("system.doctor", json!({}))["rows"].clone();
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "runtimes").unwrap();
    assert_eq!((&row["status"], &row["value"]), (&json!("info"), &json!("this machine, box (up)")));
}

/// Kills the program that the link goes through; the engine stays.
fn cut_link(daemon: &Daemon) {
    let is_relay = |line: &str| line.contains("stdio --resume") && !line.contains("--engine-of-link");
    let relay = below(daemon.pid()).into_iter().find(|process| is_relay(&process.cmdline)).expect("a relay");
    signal(relay.pid, Signal::KILL);
}
