//! Agent tokens see what was made with them, and stay below their ceilings.

use trl_proto::Method;
use trl_testkit::{Daemon, Http, Shell, Value, WebSocket, json, runtime};

use crate::{daemon, operator};

fn agent(daemon: &Daemon, ceilings: Value) -> (Http, String) {
    let made = daemon.token("agent", json!({"ceilings": ceilings}));
    let token = made["token"].as_str().expect("a token").to_string();
    (daemon.http().with_token(&token), token)
}

fn count(http: &Http, method: &str, member: &str) -> usize {
    http.ok(method, json!({}))[member].as_array().expect("a list").len()
}

#[test]
fn what_is_anothers_is_out_of_sight_and_reach() {
    let daemon = daemon();
    let (mine, _) = agent(&daemon, json!({}));
    let (other, _) = agent(&daemon, json!({}));
    let session = mine.ok("session.create", json!({}))["session_id"].clone();
    let run =
        mine.ok("exec.run", json!({"session_id": session, "command": "echo secret", "idempotency_key": "k"}));
    let execution = run["execution_id"].clone();
    let target = |method: &Method| match method.name() {
        "session.info" | "session.get" | "session.close" | "session.destroy" | "session.reset" => {
            Some(json!({"session_id": session}))
        }
        "exec.run" | "exec.stream" => Some(json!({"session_id": session, "command": "true"})),
        "exec.cancel" | "exec.input" | "exec.output" | "exec.result" => {
            Some(json!({"execution_id": execution}))
        }
        "exec.signal" => Some(json!({"execution_id": execution, "signal": "TERM"})),
        _ => None,
    };
    let mut tried = 0;
    for method in Method::ALL {
        let Some(params) = target(method) else { continue };
        assert_eq!(other.refused(method.name(), params), "FORBIDDEN", "{}", method.name());
        tried += 1;
    }
    assert_eq!(tried, 12);
    assert_eq!(other.refused("exec.cancel", json!({"session_id": session})), "FORBIDDEN");
    let events = format!("/api/executions/{}/events", execution.as_str().expect("an id"));
    assert_eq!(other.get(&events).status, 403);
    assert_eq!(mine.get(&events).status, 200);
    for (method, member) in [("session.list", "sessions"), ("exec.list", "executions")] {
        assert_eq!((count(&mine, method, member), count(&other, method, member)), (1, 0), "{method}");
    }
    let keyed = other.ok("exec.run", json!({"command": "echo secret", "idempotency_key": "k"}));
    assert_ne!(keyed["execution_id"], execution, "keys of two tokens never meet");
    assert_eq!(other.refused("session.info", json!({"session_id": "s-nosuch22"})), "SESSION_NOT_FOUND");
    // What the socket's agent made is not theirs either; operators and the socket see all.
    let socket = daemon.session(Shell::Dash);
    assert_eq!(other.refused("session.info", json!({"session_id": socket.id})), "FORBIDDEN");
    assert!(count(&operator(&daemon), "session.list", "sessions") >= 2);
    assert_eq!(
        mine.ok("exec.run", json!({"session_id": session, "command": "echo still"}))["stdout"],
        "still\n"
    );
}

#[test]
fn events_of_others_are_not_heard() {
    let daemon = daemon();
    let (mine, token) = agent(&daemon, json!({}));
    let (other, _) = agent(&daemon, json!({}));
    let foreign = other.ok("session.create", json!({}))["session_id"].clone();
    let mut ws = WebSocket::with_token(&daemon.http(), &token).expect("a web socket");
    ws.ok("events.subscribe", json!({"since": 0}));
    assert_eq!(ws.call("events.subscribe", json!({"session_id": foreign})).unwrap_err().code, "FORBIDDEN");
    other.ok("exec.run", json!({"session_id": foreign, "command": "true"}));
    let own = mine.ok("session.create", json!({}))["session_id"].clone();
    mine.ok("exec.run", json!({"session_id": own, "command": "true"}));
    loop {
        let event = ws.push("event");
        assert_eq!(event["session_id"], own, "{event}");
        if event["kind"] == "exec.finished" {
            break;
        }
    }
}

#[test]
fn two_agents_hear_only_of_their_own_sessions_and_terminals_and_to_the_end() {
    let daemon = daemon();
    let agents = [agent(&daemon, json!({})), agent(&daemon, json!({}))];
    let subscribe = |token: &str, params: Value| {
        let mut ws = WebSocket::with_token(&daemon.http(), token).expect("a web socket");
        ws.ok("events.subscribe", params);
        ws
    };
    let mut early: Vec<_> = agents.iter().map(|(_, token)| subscribe(token, json!({}))).collect();
    // Both do the same at the same time; everything is over and forgotten in the end.
    let begun: Vec<_> = agents.iter().map(|(http, _)| (http, something_of_each(http))).collect();
    let own: Vec<Vec<Value>> = begun.into_iter().map(|(http, own)| over(http, own)).collect();
    for ((http, token), (mut own, early)) in agents.iter().zip(own.into_iter().zip(&mut early)) {
        let late = &mut subscribe(token, json!({"since": 0}));
        let mut expected = vec![
            ("session.created", own[0].clone()),
            ("exec.finished", own[0].clone()),
            ("session.ended", own[0].clone()),
            ("terminal.created", own[1].clone()),
            ("terminal.ended", own[1].clone()),
        ];
        // After all that was caused so far comes what is caused now, and nothing of the other's between.
        let mark = http.ok("session.create", json!({}))["session_id"].clone();
        own.push(mark.clone());
        expected.push(("session.created", mark));
        for ws in [early, late] {
            let mut missing = expected.clone();
            while !missing.is_empty() {
                let event = ws.push("event");
                let of = event.get("session_id").or(event.get("terminal_id")).expect("of something");
                assert!(own.contains(of), "{event} is not its own: {own:?}");
                missing.retain(|(kind, id)| event["kind"] != *kind || of != id);
            }
        }
    }
    // A terminal cannot be reached by another either, by whatever method.
    let (mine, other) = (&agents[0].0, &agents[1].0);
    let terminal = mine.ok("terminal.create", json!({"argv": ["cat"]}))["terminal_id"].clone();
    for (method, more) in [
        ("terminal.get", json!({})),
        ("terminal.input", json!({"data": "x"})),
        ("terminal.resize", json!({"cols": 90, "rows": 30})),
        ("terminal.screen", json!({})),
        ("terminal.snapshot", json!({})),
        ("terminal.signal", json!({"signal": "TERM"})),
        ("terminal.destroy", json!({})),
        ("terminal.keep", json!({})),
    ] {
        let params = trl_testkit::merged(json!({"terminal_id": terminal}), more);
        assert_eq!(other.refused(method, params), "FORBIDDEN", "{method}");
    }
    assert_eq!(
        (count(mine, "terminal.list", "terminals"), count(other, "terminal.list", "terminals")),
        (1, 0)
    );
}

/// A session with a command and a terminal; their ids.
fn something_of_each(http: &Http) -> Vec<Value> {
    let session = http.ok("session.create", json!({}))["session_id"].clone();
    http.ok("exec.run", json!({"session_id": session, "command": "true"}));
    let terminal = http.ok("terminal.create", json!({"argv": ["cat"]}))["terminal_id"].clone();
    vec![session, terminal]
}

fn over(http: &Http, ids: Vec<Value>) -> Vec<Value> {
    http.ok("session.destroy", json!({"session_id": ids[0]}));
    http.ok("terminal.destroy", json!({"terminal_id": ids[1]}));
    ids
}

#[test]
fn ceilings_hold() {
    let daemon = daemon();
    let (two, _) = agent(&daemon, json!({"max_sessions": 2}));
    let (free, _) = agent(&daemon, json!({}));
    let first = two.ok("session.create", json!({}))["session_id"].clone();
    two.ok("session.create", json!({}));
    assert_eq!(two.refused("session.create", json!({})), "MAX_SESSIONS_REACHED");
    assert_eq!(two.refused("exec.run", json!({"command": "true"})), "MAX_SESSIONS_REACHED");
    assert_eq!(two.ok("exec.run", json!({"session_id": first, "command": "true"}))["exit_code"], 0);
    free.ok("session.create", json!({}));
    two.ok("session.close", json!({"session_id": first}));
    two.ok("session.create", json!({}));
    assert_eq!(two.refused("session.get", json!({"session_id": first})), "MAX_SESSIONS_REACHED");

    let (host, _) = agent(&daemon, json!({"runtimes": [runtime::name()]}));
    host.ok("session.create", json!({}));
    assert_eq!(host.refused("session.create", json!({"runtime": "elsewhere"})), "FORBIDDEN");
    for ceilings in [
        json!({"runtimes": ["elsewhere"]}),
        json!({"cases": ["careful"]}),
        json!({"workspaces": ["w"]}),
        json!({"sandbox": "read-only"}),
    ] {
        let (bounded, _) = agent(&daemon, ceilings.clone());
        assert_eq!(bounded.refused("session.create", json!({})), "FORBIDDEN", "{ceilings}");
        assert_eq!(bounded.refused("exec.run", json!({"command": "true"})), "FORBIDDEN", "{ceilings}");
        assert_eq!(bounded.ok("session.list", json!({}))["sessions"], json!([]));
    }
    assert_eq!(
        operator(&daemon)
            .refused("token.create", json!({"name": "x", "role": "agent", "ceilings": {"x": 1}})),
        "INVALID_PARAMS"
    );
}
