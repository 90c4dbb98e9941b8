//! Who may see, use, add and remove runtimes.

use trl_testkit::{Client, Daemon, Value, json};

use crate::{daemon, get, names, output, session_in};

fn holder(daemon: &Daemon, role: &str, extra: Value) -> Client {
    let token = daemon.token(role, extra)["token"].as_str().unwrap().to_string();
    let mut client = daemon.client();
    client.ok("system.auth", json!({"token": token}));
    client
}

#[test]
fn operators_change_them_and_others_see_no_way_in() {
    let daemon = daemon();
    daemon.add_relay("box", json!({"labels": {"zone": "a"}}));
    let mut agent = holder(&daemon, "agent", json!({}));
    let mut viewer = holder(&daemon, "viewer", json!({}));
    for client in [&mut agent, &mut viewer, &mut daemon.client()] {
        assert_eq!(names(client), ["host", "box"]);
        assert_eq!(client.ok("runtime.health", json!({"name": "box"}))["healthy"], true);
        let seen = get(client, "box");
        let known = ["configured", "kind", "labels", "name", "reconnects", "sessions", "state"];
        let mut fields: Vec<&str> = seen.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, known);
        assert_eq!(client.ok("runtime.list", json!({}))["runtimes"][1], seen);
        client.refused("FORBIDDEN", "runtime.add", json!({"name": "x", "kind": "command", "argv": ["true"]}));
        client.refused("FORBIDDEN", "runtime.remove", json!({"name": "box"}));
    }
    assert!(get(&mut daemon.operator(), "box")["argv"].is_array());
}

#[test]
fn a_token_sees_and_uses_those_below_its_ceiling() {
    let daemon = daemon();
    for name in ["box", "other"] {
        daemon.add_relay(name, json!({}));
    }
    let mut agent = holder(&daemon, "agent", json!({"ceilings": {"runtimes": ["box"]}}));
    assert_eq!(names(&mut agent), ["box"]);
    let stats = agent.ok("system.stats", json!({}));
    assert_eq!(stats["runtime_sessions"], json!({"box": 0}));
    for name in ["other", "host", "none"] {
        agent.refused("FORBIDDEN", "runtime.get", json!({"name": name}));
        agent.refused("FORBIDDEN", "runtime.health", json!({"name": name}));
        agent.refused("FORBIDDEN", "session.create", json!({"runtime": name}));
        agent.refused("FORBIDDEN", "session.list", json!({"runtime": name}));
        agent.refused("FORBIDDEN", "exec.run", json!({"runtime": name, "command": "true"}));
        agent.refused("FORBIDDEN", "exec.start", json!({"runtime": name, "command": "true"}));
    }
    agent.refused("FORBIDDEN", "exec.run", json!({"command": "true"}));
    let session = session_in(&mut agent, json!("box"));
    assert_eq!(output(&mut agent, &session, "echo here"), "here");
    agent.ok("exec.run", json!({"command": "true", "runtime": "box", "working_dir": "/"}));
    let rows = agent.ok("system.doctor", json!({}))["rows"].clone();
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "runtimes").unwrap();
    assert_eq!(row["value"], "this machine, box (up)");
}
