//! `events.subscribe`: what happened, in order, from any point that is still remembered.

use trl_testkit::{Client, Shell, Value, json};

use crate::daemon;

/// The next event of any kind.
fn next(client: &mut Client) -> Value {
    client.push("event")
}

#[test]
fn a_life_is_told_in_order() {
    let daemon = daemon();
    let mut watcher = daemon.client();
    let start = watcher.ok("events.subscribe", json!({}))["seq"].as_u64().expect("a seq");
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("exit 3");
    session.destroy();
    let mut kinds = Vec::new();
    let mut last = start;
    loop {
        let event = next(&mut watcher);
        let seq = event["seq"].as_u64().expect("a seq");
        assert!(seq > last, "{event} after {last}");
        last = seq;
        assert_eq!(event["session_id"], session.id);
        assert!(event["time"].is_string());
        let kind = event["kind"].as_str().expect("a kind").to_string();
        if kind == "exec.finished" {
            assert_eq!((&event["execution_id"], &event["exit_code"]), (&json!(run.execution_id), &json!(3)));
        }
        if kind == "shell.replaced" {
            assert_eq!(event["shell_state"], "rolled_back");
        }
        kinds.push(kind);
        if event["kind"] == "session.ended" {
            assert_eq!(event["state"], "terminated");
            break;
        }
    }
    let order = ["session.created", "exec.started", "exec.finished", "session.ended"];
    let places: Vec<Option<usize>> = order.iter().map(|kind| kinds.iter().position(|k| k == kind)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{kinds:?}");
    assert!(kinds.iter().any(|k| k == "shell.replaced"), "{kinds:?}");
}

#[test]
fn the_past_can_be_asked_for() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("true");
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"since": 0}));
    let created = watcher.event("session.created");
    assert_eq!(created["session_id"], session.id);
    let finished = watcher.event("exec.finished");
    assert_eq!(finished["execution_id"], run.execution_id);
    // And goes on without a seam.
    let later = session.run("true");
    assert_eq!(watcher.event("exec.finished")["execution_id"], later.execution_id);
    let mut second = daemon.client();
    second.ok("events.subscribe", json!({"since": finished["seq"]}));
    let first = next(&mut second);
    assert!(first["seq"].as_u64() > finished["seq"].as_u64(), "{first}");
    assert_eq!(second.event("exec.finished")["execution_id"], later.execution_id);
}

#[test]
fn a_subscription_can_be_narrowed() {
    let daemon = daemon();
    let (mut a, mut b) = (daemon.session(Shell::Dash), daemon.session(Shell::Dash));
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["exec.finished"], "session_id": b.id}));
    a.run("true");
    let run = b.run("true");
    let event = next(&mut watcher);
    assert_eq!((&event["kind"], &event["execution_id"]), (&json!("exec.finished"), &json!(run.execution_id)));
}

/// Not for remote runtimes: a remote shell that is replaced while idle is no event.
mod local {
    use super::*;

    #[test]
    fn a_shell_lost_while_idle_is_an_event() {
        let daemon = daemon();
        let mut session = daemon.session(Shell::Dash);
        session.run("keep=kept");
        session.run("true"); // starts only when the rollback point has the command before it
        let mut watcher = daemon.client();
        watcher.ok("events.subscribe", json!({"kinds": ["shell.replaced"]}));
        let pid = session.pid();
        trl_testkit::process::signal(pid, rustix::process::Signal::KILL);
        let event = watcher.event("shell.replaced");
        assert_eq!(
            (&event["session_id"], &event["shell_state"]),
            (&json!(session.id), &json!("rolled_back"))
        );
        assert_eq!(session.run("echo $keep").out(), "kept\n");
        assert_ne!(session.pid(), pid);
    }
}
