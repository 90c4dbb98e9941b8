//! Whose history is whose.

use serde_json::json;
use trl_testkit::{Client, Daemon};

use super::{commands, create, daemon, history, run};

fn log_in(daemon: &Daemon, token: &str) -> Client {
    let mut client = daemon.client();
    client.ok("system.auth", json!({"token": token}));
    client
}

fn with_token(daemon: &Daemon, role: &str) -> Client {
    let token = daemon.token(role, json!({}))["token"].as_str().unwrap().to_string();
    log_in(daemon, &token)
}

#[test]
fn an_agent_token_sees_its_own_also_after_a_restart() {
    let mut daemon = daemon();
    let made = daemon.token("agent", json!({}));
    let secret = made["token"].as_str().unwrap().to_string();
    let mut agent = log_in(&daemon, &secret);
    let mine = create(&mut agent, json!({}));
    run(&mut agent, &mine, "echo mine");
    let passing = agent.ok("exec.run", json!({"command": "echo passing"}))["execution_id"].clone();
    let mut client = daemon.client();
    let theirs = create(&mut client, json!({}));
    let other = run(&mut client, &theirs, "echo theirs")["execution_id"].clone();
    history(&mut client, json!({}));
    daemon.kill9();
    daemon.relaunch();

    let mut agent = log_in(&daemon, &secret);
    assert_eq!(commands(&history(&mut agent, json!({}))), ["echo passing", "echo mine"]);
    assert_eq!(commands(&history(&mut agent, json!({"query": "echo"}))), ["echo passing", "echo mine"]);
    agent.refused("FORBIDDEN", "session.history", json!({"session_id": theirs}));
    agent.refused("FORBIDDEN", "session.info", json!({"session_id": theirs}));
    agent.refused("FORBIDDEN", "session.get", json!({"session_id": theirs}));
    agent.refused("FORBIDDEN", "session.delete", json!({"session_id": theirs}));
    agent.refused("FORBIDDEN", "exec.result", json!({"execution_id": other}));
    agent.ok("exec.result", json!({"execution_id": passing}));
    assert_eq!(agent.ok("session.get", json!({"session_id": mine}))["state"], "ready");

    let mut viewer = with_token(&daemon, "viewer");
    assert_eq!(history(&mut viewer, json!({})).len(), 3);
    viewer.refused("FORBIDDEN", "session.delete", json!({"session_id": mine}));
    viewer.refused("FORBIDDEN", "session.get", json!({"session_id": theirs}));
    assert_eq!(history(&mut daemon.operator(), json!({"session_id": mine})).len(), 1);
}

/// Not for remote runtimes: the daemon does not know the processes of a remote session and rejects them all.
mod local {
    use super::*;

    #[test]
    fn a_process_of_a_session_sees_that_one() {
        let daemon = daemon();
        let mut client = daemon.client();
        let id = create(&mut client, json!({}));
        let other = create(&mut client, json!({}));
        run(&mut client, &other, "echo elsewhere");
        let trl = format!("{} --socket {}", env!("CARGO_BIN_EXE_trl"), daemon.socket().display());
        run(&mut client, &id, "echo here");
        let said = run(&mut client, &id, &format!("{trl} history --json"));
        let seen: serde_json::Value = serde_json::from_str(said["stdout"].as_str().unwrap()).unwrap();
        let entries = seen["entries"].as_array().unwrap();
        assert!(entries.iter().all(|e| e["session_id"] == id.as_str()), "{said}");
        assert_eq!(entries.len(), 2, "the one that asks is there too");
        let refused = run(&mut client, &id, &format!("{trl} history -s {other}"));
        assert_eq!(refused["exit_code"], 1, "{refused}");
        let refused = run(&mut client, &id, &format!("{trl} session delete {id}"));
        assert_eq!(refused["exit_code"], 1, "{refused}");
    }
}
