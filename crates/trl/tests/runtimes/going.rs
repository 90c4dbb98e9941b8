//! How runtimes go.

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Daemon, eventually, json, procs_matching};

use crate::{builder, daemon, get, names, output, session_in, state};

#[test]
fn one_without_sessions_is_removed_at_once() {
    let daemon = daemon();
    let mut operator = daemon.operator();
    for drain in [false, true] {
        daemon.add_relay("box", json!({}));
        operator.ok("runtime.health", json!({"name": "box"}));
        let gone = operator.ok("runtime.remove", json!({"name": "box", "drain": drain}));
        assert_eq!((&gone["removed"], &gone["name"]), (&json!(true), &json!("box")));
        assert_eq!(names(&mut operator), ["host"]);
    }
    operator.refused("RUNTIME_NOT_FOUND", "runtime.remove", json!({"name": "box"}));
    operator.refused("RUNTIME_NOT_FOUND", "session.create", json!({"runtime": "box"}));
    operator.refused("INVALID_PARAMS", "runtime.remove", json!({"name": "host"}));
}

#[test]
fn one_with_sessions_is_removed_only_by_force_and_closes_them() {
    let daemon = daemon();
    daemon.add_relay("box", json!({}));
    let mut operator = daemon.operator();
    let session = session_in(&mut operator, json!("box"));
    let refused = operator.refused("INVALID_PARAMS", "runtime.remove", json!({"name": "box"}));
    assert_eq!(refused.detail("sessions"), &json!(1));
    assert_eq!(output(&mut operator, &session, "echo still here"), "still here");
    operator.refused(
        "INVALID_PARAMS",
        "runtime.remove",
        json!({"name": "box", "drain": true, "force": true}),
    );
    let gone = operator.ok("runtime.remove", json!({"name": "box", "force": true}));
    assert_eq!(gone["removed"], true);
    assert_eq!(
        (state(&mut operator, &session), names(&mut operator)),
        ("closed".into(), vec!["host".into()])
    );
    let id = json!({"session_id": session["session_id"]});
    assert_eq!(operator.ok("session.info", id.clone())["ended"], "its runtime was removed");
    // What it was is known, and it is back with its runtime.
    assert_eq!(operator.ok("session.info", id.clone())["runtime"], "box");
    operator.refused("RUNTIME_NOT_FOUND", "session.get", id.clone());
    daemon.add_relay("box", json!({}));
    operator.ok("session.get", id);
    assert_eq!(output(&mut operator, &session, "echo back"), "back");
}

#[test]
fn terminals_count_like_sessions() {
    let daemon = daemon();
    daemon.add_relay("box", json!({"labels": {"zone": "a"}}));
    let mut operator = daemon.operator();
    let wish = json!({"runtime": {"any": {"zone": "a"}}, "working_dir": "/"});
    let terminal = operator.ok("terminal.create", wish);
    assert_eq!((&terminal["runtime"], &get(&mut operator, "box")["sessions"]), (&json!("box"), &json!(1)));
    operator.refused("INVALID_PARAMS", "runtime.remove", json!({"name": "box"}));
    assert_eq!(operator.ok("runtime.remove", json!({"name": "box", "force": true}))["removed"], true);
    let ended = operator.ok("terminal.get", json!({"terminal_id": terminal["terminal_id"]}));
    assert_eq!((&ended["state"], &ended["ended"]), (&json!("exited"), &json!("its runtime was removed")));
}

#[test]
fn one_that_drains_takes_no_new_sessions_and_goes_with_its_last() {
    let daemon = daemon();
    for name in ["full", "other"] {
        daemon.add_relay(name, json!({"labels": {"zone": "a"}}));
    }
    let mut operator = daemon.operator();
    let sessions = [session_in(&mut operator, json!("full")), session_in(&mut operator, json!("full"))];
    let draining = operator.ok("runtime.remove", json!({"name": "full", "drain": true}));
    assert_eq!(
        (&draining["removed"], &draining["state"], &draining["sessions"]),
        (&json!(false), &json!("draining"), &json!(2))
    );
    let refused = operator.refused("RUNTIME_UNAVAILABLE", "session.create", json!({"runtime": "full"}));
    assert_eq!(refused.detail("stage"), &json!("admit"));
    assert_eq!(session_in(&mut operator, json!({"any": {"zone": "a"}}))["runtime"], "other");
    operator.ok("session.destroy", json!({"session_id": sessions[0]["session_id"]}));
    assert_eq!(get(&mut operator, "full")["sessions"], 1);
    assert_eq!(output(&mut operator, &sessions[1], "echo goes on"), "goes on");
    operator.ok("runtime.remove", json!({"name": "full", "drain": true}));
    operator.ok("session.destroy", json!({"session_id": sessions[1]["session_id"]}));
    eventually("it is gone", || names(&mut operator) == ["host", "other"]);
}

/// A runtime whose machine can be lost.
fn add_mortal(daemon: &Daemon, name: &str) {
    let script = format!("[ -e {} ] && exit 1; exec \"$@\"", daemon.dir().text("lost"));
    let mut argv = vec![json!("/bin/sh"), json!("-c"), json!(script), json!("sh")];
    argv.extend(daemon.relay(name)["argv"].as_array().unwrap().clone());
    daemon.operator().ok("runtime.add", json!({"name": name, "kind": "command", "argv": argv}));
}

/// Nobody is there any more, and nobody can be reached there again.
fn lose(daemon: &Daemon, name: &str) {
    std::fs::write(daemon.dir().text("lost"), "").unwrap();
    let there = format!("{}/trl.sock", daemon.runtime_dir().join(name).display());
    procs_matching(&there).into_iter().for_each(|process| signal(process, Signal::KILL));
    let mut operator = daemon.operator();
    eventually("it is noticed", || get(&mut operator, name)["state"] == "waiting");
}

#[test]
fn what_is_out_of_reach_ends_long_before_the_grace_is_over() {
    let mut daemon = builder().set("runtimes", "grace_s", 3600).start();
    add_mortal(&daemon, "box");
    let mut operator = daemon.operator();
    let [idle, busy, other] = [(); 3].map(|()| session_in(&mut operator, json!("box")));
    let terminal = operator.ok("terminal.create", json!({"runtime": "box", "working_dir": "/"}));
    lose(&daemon, "box");
    let mut waiting = daemon.operator();
    let run = waiting.send("exec.run", json!({"session_id": busy["session_id"], "command": "echo never"}));
    for session in [idle, busy] {
        operator.ok("session.destroy", json!({"session_id": session["session_id"]}));
    }
    let lost = waiting.reply(run).expect_err("nobody ran it");
    assert_eq!(lost.code, "RUNTIME_UNAVAILABLE");
    operator.ok("terminal.destroy", json!({"terminal_id": terminal["terminal_id"]}));
    assert_eq!(get(&mut operator, "box")["sessions"], 1);
    operator.ok("runtime.remove", json!({"name": "box", "force": true}));
    assert_eq!(state(&mut operator, &other), "closed");
    daemon.stop();
    assert!(!daemon.log().contains("did not end in time"), "{}", daemon.log());
}
