//! A client that goes away while its command runs.

use trl_testkit::{Daemon, Run, Session, Shell, json, procs_matching, sleeper};

use crate::daemon;

/// Starts a command over a connection of its own, sees it running, and drops the connection.
fn start_and_vanish(session: &mut Session, daemon: &Daemon, command: &str, on_disconnect: &str) -> String {
    let mut client = daemon.client();
    let params = json!({"session_id": session.id, "command": command, "on_disconnect": on_disconnect});
    client.send("exec.run", params);
    session.running()
}

#[test]
fn a_command_can_be_cancelled_by_it() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["exec.finished"]}));
    let sleeper = sleeper();
    let id = start_and_vanish(&mut session, &daemon, &sleeper, "cancel");
    let finished = watcher.event("exec.finished");
    assert_eq!((&finished["execution_id"], &finished["cancelled"]), (&json!(id), &json!(true)));
    assert!(procs_matching(&sleeper).is_empty());
    assert_eq!(session.run("echo fine").out(), "fine\n");
}

#[test]
fn a_command_goes_on_without_it() {
    let daemon = daemon();
    let gate = daemon.dir().fifo("gate");
    let mut session = daemon.session(Shell::Dash);
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["exec.finished"]}));
    let id = start_and_vanish(&mut session, &daemon, &format!("read x <{gate}; echo $x"), "continue");
    let _open = daemon.dir().open_gate("gate");
    assert_eq!(watcher.event("exec.finished")["execution_id"], id);
    let run = Run::of(session.client().ok("exec.result", json!({"execution_id": id})));
    assert_eq!((run.out(), run.cancelled), ("go\n".to_string(), false));
}

#[test]
fn a_stream_can_be_cancelled_by_it() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["exec.finished"]}));
    let mut client = daemon.client();
    let params = json!({"session_id": session.id, "command": "yes", "on_disconnect": "cancel"});
    client.ok("exec.stream", params);
    client.push("exec.output");
    drop(client);
    assert_eq!(watcher.event("exec.finished")["cancelled"], true);
    assert_eq!(session.run("echo fine").out(), "fine\n");
}

#[test]
fn a_throw_away_session_dies_with_its_client_when_told_so() {
    let daemon = daemon();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["exec.started", "session.ended"]}));
    let mut client = daemon.client();
    let sleeper = sleeper();
    client.send("exec.run", json!({"command": sleeper, "on_disconnect": "cancel"}));
    watcher.event("exec.started");
    drop(client);
    watcher.event("session.ended");
    assert!(procs_matching(&sleeper).is_empty());
}
