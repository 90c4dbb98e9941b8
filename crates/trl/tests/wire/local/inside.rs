//! A process that belongs to a session is pinned to it, whatever token it shows.

use trl_testkit::{Daemon, Run, Session, Shell, json};

use crate::daemon;

/// Runs `trl call` inside a session, with the operator's token in its hands.
fn call_from_inside(daemon: &Daemon, session: &mut Session, wrap: &str, method: &str, params: &str) -> Run {
    let command = format!(
        "{wrap} {} --socket {} call {method} '{params}'",
        env!("CARGO_BIN_EXE_trl"),
        daemon.socket().display()
    );
    let env = json!({
        "TRL_AUTH_TOKEN": daemon.operator_token(),
        "XDG_CONFIG_HOME": daemon.dir().text("config"),
    });
    session.run_with(&command, json!({"env": env}))
}

/// Ways to hide one's descent.
const WRAPS: [&str; 3] =
    ["", "setsid -w", "env -i PATH=/usr/bin:/bin XDG_CONFIG_HOME=\"$XDG_CONFIG_HOME\" nohup setsid -w"];

#[test]
fn it_cannot_create_sessions_or_stop_the_daemon() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Bash);
    for wrap in WRAPS {
        for method in ["session.create", "system.shutdown"] {
            let run = call_from_inside(&daemon, &mut session, wrap, method, "{}");
            assert_ne!(run.code, 0, "{wrap} {method}: {:?}", run.out());
            let said = run.out() + &run.err();
            assert!(said.contains("FORBIDDEN"), "{wrap} {method}: {said}");
        }
    }
    let list = daemon.client().ok("session.list", json!({}));
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn it_cannot_reach_another_session() {
    let daemon = daemon();
    let mut other = daemon.session(Shell::Dash);
    let victim = other.run("echo private");
    let mut session = daemon.session(Shell::Bash);
    let attempts = [
        ("exec.run", json!({"session_id": other.id, "command": "echo intruder"})),
        ("session.destroy", json!({"session_id": other.id})),
        ("session.info", json!({"session_id": other.id})),
        ("exec.output", json!({"execution_id": victim.execution_id})),
        ("exec.run", json!({"command": "echo throw-away"})),
    ];
    for (method, params) in attempts {
        let run = call_from_inside(&daemon, &mut session, "", method, &params.to_string());
        let said = run.out() + &run.err();
        assert!(run.code != 0, "{method} {params}: {said}");
        assert!(!said.contains("private"), "{method}: {said}");
    }
    assert_eq!(other.state(), "idle");
}

#[test]
fn it_sees_where_it_belongs() {
    let daemon = daemon();
    let _other = daemon.session(Shell::Dash);
    let mut session = daemon.session(Shell::Bash);
    let command =
        format!("{} --socket {} call system.info", env!("CARGO_BIN_EXE_trl"), daemon.socket().display());
    let run = session.run(&command);
    assert_eq!(run.code, 0, "{}", run.err());
    let info: trl_testkit::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!((&info["pinned_to"], &info["role"]), (&json!(session.id), &json!("agent")));
    let command =
        format!("{} --socket {} call session.list", env!("CARGO_BIN_EXE_trl"), daemon.socket().display());
    let list: trl_testkit::Value = serde_json::from_slice(&session.run(&command).stdout).expect("JSON");
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(1), "{list}");
}
