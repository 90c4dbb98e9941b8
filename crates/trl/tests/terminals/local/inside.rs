//! A process on a terminal is recognised, and may do no more than one inside a session.

use trl_testkit::{Daemon, Shell, Terminal, Value, json};

use crate::daemon;

/// Runs `trl call` on a terminal of its own, with the operator's token in its hands; what it said.
fn call_from_inside(daemon: &Daemon, wrap: &str, method: &str, params: &Value) -> (Terminal, String) {
    let out = daemon.dir().text("said");
    let script = format!(
        "{wrap} {} --socket {} call {method} '{params}' >{out} 2>&1; echo \"code $?\" >>{out}",
        env!("CARGO_BIN_EXE_trl"),
        daemon.socket().display()
    );
    let mut terminal = daemon.terminal(json!({
        "argv": ["/bin/sh", "-c", script],
        "env": {
            "TRL_AUTH_TOKEN": daemon.operator_token(),
            "XDG_CONFIG_HOME": daemon.dir().text("config"),
        },
    }));
    terminal.ended();
    let said = std::fs::read_to_string(&out).expect("it said something");
    (terminal, said)
}

#[test]
fn it_may_ask_how_the_daemon_is() {
    let daemon = daemon();
    for method in ["system.ping", "system.stats"] {
        let (_, said) = call_from_inside(&daemon, "", method, &json!({}));
        assert!(said.contains("uptime_s") && said.ends_with("code 0\n"), "{method}: {said}");
    }
    let (terminal, said) = call_from_inside(&daemon, "", "system.info", &json!({}));
    let reply = said.lines().find(|line| line.starts_with('{')).expect("a reply");
    let info: Value = serde_json::from_str(reply).expect("JSON");
    assert_eq!((&info["pinned_to"], &info["role"]), (&json!(terminal.id), &json!("agent")));
}

#[test]
fn it_reaches_no_session_and_no_terminal() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("echo private");
    let other = daemon.terminal(json!({}));
    let attempts = [
        ("session.create", json!({})),
        ("session.info", json!({"session_id": session.id})),
        ("session.destroy", json!({"session_id": session.id})),
        ("exec.run", json!({"session_id": session.id, "command": "echo intruder"})),
        ("exec.run", json!({"command": "echo throw-away"})),
        ("exec.output", json!({"execution_id": run.execution_id})),
        ("events.subscribe", json!({"session_id": session.id})),
        ("terminal.create", json!({})),
        ("terminal.list", json!({})),
        ("terminal.get", json!({"terminal_id": other.id})),
        ("terminal.input", json!({"terminal_id": other.id, "data": "rm -rf\r"})),
        ("terminal.screen", json!({"terminal_id": other.id})),
        ("terminal.snapshot", json!({"terminal_id": other.id})),
        ("terminal.destroy", json!({"terminal_id": other.id})),
        ("system.shutdown", json!({})),
    ];
    for (method, params) in attempts {
        let (_, said) = call_from_inside(&daemon, "", method, &params);
        assert!(said.contains("FORBIDDEN") && !said.ends_with("code 0\n"), "{method} {params}: {said}");
        assert!(!said.contains("private"), "{method}: {said}");
    }
    for wrap in ["setsid -w", "env -i PATH=/usr/bin:/bin nohup setsid -w"] {
        let (_, said) = call_from_inside(&daemon, wrap, "terminal.create", &json!({}));
        assert!(said.contains("FORBIDDEN"), "{wrap}: {said}");
    }
    let (_, said) = call_from_inside(&daemon, "", "session.list", &json!({}));
    assert!(said.contains("\"sessions\":[]"), "{said}");
    let (_, said) = call_from_inside(&daemon, "", "exec.list", &json!({}));
    assert!(said.contains("\"executions\":[]"), "{said}");
}

#[test]
fn from_inside_a_session_there_are_no_terminals() {
    let daemon = daemon();
    let other = daemon.terminal(json!({}));
    let mut session = daemon.session(Shell::Bash);
    let trl = format!("{} --socket {}", env!("CARGO_BIN_EXE_trl"), daemon.socket().display());
    for command in [
        format!("{trl} term new"),
        format!("{trl} term ls"),
        format!("{trl} term screen {}", other.id),
        format!("setsid -w {trl} term send {} text", other.id),
    ] {
        let run = session.run(&command);
        assert!(run.code != 0 && run.err().contains("FORBIDDEN"), "{command}: {}", run.err());
    }
    assert_eq!(daemon.client().ok("terminal.list", json!({}))["terminals"].as_array().map(Vec::len), Some(1));
}

#[test]
fn events_of_terminals_stay_outside() {
    let daemon = daemon();
    let mut terminal = daemon.terminal_running("true");
    terminal.ended();
    // Its own events come after those of the terminal.
    let mut session = daemon.session(Shell::Bash);
    let trl = format!("{} --socket {}", env!("CARGO_BIN_EXE_trl"), daemon.socket().display());
    let mut inside = session.stream(&format!("{trl} events --json --since 0"), json!({}));
    inside.wait_stdout("exec.started");
    inside.cancel();
    let run = inside.finish();
    assert!(!run.out().contains("terminal."), "{}", run.out());
    // Outside they are told, unless one session is asked about.
    let mut outside = daemon.client();
    outside.ok("events.subscribe", json!({"since": 0}));
    assert_eq!(outside.event("terminal.ended")["terminal_id"], terminal.id);
}
