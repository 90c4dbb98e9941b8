//! Creating a session, and above all failing to: nothing may be left of a session that did not start.

use trl_testkit::{Client, Daemon, Shell, Value, eventually, json, procs_matching, sleeper};

use crate::{builder, daemon};

fn assert_nothing_created(client: &mut Client) {
    let list = client.ok("session.list", json!({}));
    let live: Vec<&Value> = list["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|s| !matches!(s["state"].as_str(), Some("terminated" | "closed")))
        .collect();
    assert!(live.is_empty(), "{live:?}");
    assert_eq!(client.ok("system.stats", json!({}))["active_sessions"], 0);
}

/// A program called `bash` that is none.
fn false_bash(daemon: &Daemon, body: &str) -> String {
    daemon.dir().dir("false");
    daemon.dir().program("false/bash", &format!("#!/bin/sh\n{body}\n"))
}

#[test]
fn without_parameters_it_is_bin_sh() {
    let daemon = daemon();
    let made = daemon.client().ok("session.create", json!({}));
    assert_eq!(made["shell"], "/bin/sh");
    assert_eq!(made["state"], "ready");
    assert!(made["session_id"].as_str().is_some_and(|id| id.starts_with("s-")), "{made}");
    assert!(made["created_at"].as_str().is_some_and(|t| t.ends_with('Z') && t.contains('T')), "{made}");
}

#[test]
fn a_shell_that_does_not_exist_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    for shell in ["/nonexistent/bash", "nosuchshell_zz"] {
        client.refused("SHELL_NOT_FOUND", "session.create", json!({"shell": shell}));
    }
    assert_nothing_created(&mut client);
}

#[test]
fn a_program_that_is_no_shell_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    for shell in ["/etc/passwd", "/usr/bin/true", "/"] {
        let refused = client.call("session.create", json!({"shell": shell})).expect_err(shell);
        let codes = ["SHELL_NOT_FOUND", "SHELL_START_FAILED", "INVALID_PARAMS"];
        assert!(codes.contains(&refused.code.as_str()), "{shell}: {}", refused.json);
    }
    assert_nothing_created(&mut client);
}

#[test]
fn a_shell_that_dies_at_start_says_why() {
    let daemon = daemon();
    let shell = false_bash(&daemon, "echo 'no licence found' >&2; exit 3");
    let mut client = daemon.client();
    let refused = client.refused("SHELL_START_FAILED", "session.create", json!({"shell": shell}));
    assert!(refused.json.to_string().contains("no licence found"), "{}", refused.json);
    assert!(refused.json.to_string().contains('3'), "{}", refused.json);
    assert_nothing_created(&mut client);
}

#[test]
fn a_shell_that_never_answers_is_given_up() {
    let daemon = daemon();
    let sleeper = sleeper();
    let shell = false_bash(&daemon, &format!("exec {sleeper}"));
    let mut client = daemon.client();
    client.refused("SHELL_START_FAILED", "session.create", json!({"shell": shell}));
    assert_nothing_created(&mut client);
    assert!(procs_matching(&sleeper).is_empty());
}

#[test]
fn a_working_directory_must_exist() {
    let daemon = daemon();
    let mut client = daemon.client();
    let file = daemon.dir().file("plain", "");
    for dir in ["/nonexistent/d", file.as_str()] {
        client.refused("WORKING_DIR_INVALID", "session.create", json!({"working_dir": dir}));
    }
    assert!(client.call("session.create", json!({"working_dir": "relative"})).is_err());
    assert_nothing_created(&mut client);
}

#[test]
fn no_more_sessions_than_allowed() {
    let daemon = builder().set("sessions", "max", 2).start();
    let mut first = daemon.session(Shell::Dash);
    let mut second = daemon.session(Shell::Dash);
    let refused = daemon.client().refused("MAX_SESSIONS_REACHED", "session.create", json!({}));
    assert!(refused.hint.is_some(), "a limit says what to do about it: {}", refused.json);
    assert_eq!(second.run("echo fine").out(), "fine\n");
    first.destroy();
    daemon.session(Shell::Dash);
}

#[test]
fn an_agents_ceiling_holds_for_every_way_to_a_session() {
    let daemon = builder().set("agent", "max_sessions", 1).start();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    let mut agent = daemon.client();
    let refused = agent.refused("MAX_SESSIONS_REACHED", "session.create", json!({}));
    assert_eq!(refused.detail("max_sessions"), 1);
    assert!(refused.hint.is_some_and(|hint| hint.contains("agent.max_sessions")));
    agent.refused("MAX_SESSIONS_REACHED", "exec.run", json!({"command": "true"}));
    agent.refused("MAX_SESSIONS_REACHED", "exec.stream", json!({"command": "true"}));
    assert_eq!(daemon.operator().ok("exec.run", json!({"command": "echo mine"}))["stdout"], "mine\n");
    eventually("the operator's is gone", || agent.ok("system.stats", json!({}))["active_sessions"] == 1);
    session.client().ok("session.close", json!({"session_id": id}));
    let other = agent.ok("session.create", json!({}))["session_id"].take();
    agent.refused("MAX_SESSIONS_REACHED", "session.get", json!({"session_id": id}));
    agent.ok("session.destroy", json!({"session_id": other}));
    assert_eq!(agent.ok("session.get", json!({"session_id": id}))["state"], "ready");
}

#[test]
fn a_failed_start_takes_no_place() {
    let daemon = builder().set("sessions", "max", 1).start();
    let shell = false_bash(&daemon, "exit 1");
    let mut client = daemon.client();
    for _ in 0..5 {
        client.refused("SHELL_START_FAILED", "session.create", json!({"shell": shell}));
    }
    daemon.session(Shell::Dash);
}

#[test]
fn many_at_once_all_work() {
    let daemon = daemon();
    let mut client = daemon.client();
    let requests: Vec<u64> = (0..32).map(|_| client.send("session.create", json!({}))).collect();
    let ids: Vec<Value> =
        requests.into_iter().map(|id| client.reply(id).expect("a session")["session_id"].take()).collect();
    for (i, id) in ids.iter().enumerate() {
        let run = client.ok("exec.run", json!({"session_id": id, "command": format!("echo {i}")}));
        assert_eq!(run["stdout"], format!("{i}\n"));
    }
}

/// A name stands where an id could, and is shown to people.
#[test]
fn a_name_is_one_a_person_can_use() {
    let daemon = daemon();
    let mut client = daemon.client();
    let long = "x".repeat(257);
    for name in ["", "  ", "s-abc", "s-Work", "e-abc", "a\nb", "\u{1b}[2J", &long] {
        let refused = client.refused("INVALID_PARAMS", "session.create", json!({"name": name}));
        assert!(refused.message.starts_with("`name` "), "{}", refused.message);
    }
    assert_nothing_created(&mut client);
    for name in ["work", "mein Ding", "日本", &long[1..]] {
        assert_eq!(client.ok("session.create", json!({"name": name}))["name"], name);
    }
}

/// People and programs find sessions by their names.
#[test]
fn a_live_name_is_taken_once() {
    let daemon = daemon();
    let mut client = daemon.client();
    let named = json!({"name": "work"});
    let first = client.ok("session.create", named.clone())["session_id"].clone();
    for client in [&mut daemon.client(), &mut daemon.operator()] {
        let refused = client.refused("INVALID_PARAMS", "session.create", named.clone());
        assert_eq!(refused.detail("named_session_id"), &first);
    }
    client.refused("INVALID_PARAMS", "session.create", json!({"name": "work", "argv": ["sleep", "1000"]}));
    let live = client.ok("session.list", json!({"name": "work"}))["sessions"].clone();
    assert_eq!(live.as_array().map(Vec::len), Some(1), "{live}");

    // A closed session does not keep its name, and is not opened beside another that has it now.
    client.ok("session.close", json!({"session_id": first}));
    let second = client.ok("session.create", named)["session_id"].clone();
    let refused = client.refused("INVALID_PARAMS", "session.get", json!({"session_id": first}));
    assert_eq!(refused.detail("named_session_id"), &second);
    client.ok("session.destroy", json!({"session_id": second}));
    assert_eq!(client.ok("session.get", json!({"session_id": first}))["state"], "ready");
}

#[test]
fn one_of_many_takes_a_name() {
    let daemon = daemon();
    let asked: Vec<_> = (0..10)
        .map(|_| {
            let mut client = daemon.client();
            let id = client.send("session.create", json!({"name": "race"}));
            (client, id)
        })
        .collect();
    let made = asked.into_iter().filter_map(|(mut client, id)| client.reply(id).ok()).count();
    assert_eq!(made, 1);
}
