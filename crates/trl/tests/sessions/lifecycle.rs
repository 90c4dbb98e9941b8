//! From creation to the end: names, lists, close and open again, limits of life.

use rustix::process::Signal;
use trl_testkit::{
    Builder, Rounds, Session, Shell, Value, descendants, eventually, json, process, procs_matching, sleeper,
    wait_gone,
};

use crate::{builder, daemon};

fn ids(list: &Value) -> Vec<&str> {
    list["sessions"].as_array().expect("a list").iter().filter_map(|s| s["session_id"].as_str()).collect()
}

#[test]
fn lists_can_be_narrowed() {
    let daemon = daemon();
    let mut a =
        daemon.session_with(Shell::Dash, json!({"name": "first", "labels": {"team": "red", "tier": "1"}}));
    let b = daemon.session_with(Shell::Dash, json!({"name": "second", "labels": {"team": "blue"}}));
    a.run("true");
    let mut client = daemon.client();
    let mut list = |params: Value| client.ok("session.list", params);
    assert_eq!(ids(&list(json!({}))).len(), 2);
    assert_eq!(ids(&list(json!({"label": "team=red"}))), [a.id.as_str()]);
    assert_eq!(ids(&list(json!({"label": "team"}))).len(), 2);
    assert_eq!(ids(&list(json!({"label": "tier"}))), [a.id.as_str()]);
    assert!(ids(&list(json!({"label": "team=green"}))).is_empty());
    assert_eq!(ids(&list(json!({"state": "ready"}))), [b.id.as_str()]);
    assert_eq!(ids(&list(json!({"state": "idle"}))).len(), 2, "idle includes ready");
    assert!(ids(&list(json!({"state": "running"}))).is_empty());
    assert_eq!(list(json!({"label": "tier"}))["sessions"][0]["name"], "first");
}

#[test]
fn info_tells_what_a_session_is() {
    let daemon = daemon();
    let params = json!({"name": "n", "labels": {"k": "v"}, "timeout_s": 77, "on_exit": "terminate"});
    let mut session = daemon.session_with(Shell::Dash, params);
    session.run("cd /usr");
    session.run("true");
    let info = session.info();
    assert_eq!(info["name"], "n");
    assert_eq!(info["labels"], json!({"k": "v"}));
    assert_eq!((&info["timeout_s"], &info["on_exit"]), (&json!(77), &json!("terminate")));
    assert_eq!((&info["state"], &info["command_count"]), (&json!("idle"), &json!(2)));
    assert_eq!(info["working_dir"], "/usr");
    assert!(info["pid"].as_i64().is_some_and(|pid| pid > 1));
    assert!(info.get("running").is_none_or(Value::is_null));
}

#[test]
fn info_names_the_running_command() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    let mut run = session.stream("echo up; sleep 1000", json!({}));
    run.wait_stdout("up\n");
    let info = daemon.client().ok("session.info", json!({"session_id": id}));
    assert_eq!(info["state"], "running");
    assert_eq!(info["running"]["execution_id"], run.execution_id);
    assert_eq!(info["running"]["command"], "echo up; sleep 1000");
    run.cancel();
    run.finish();
}

#[test]
fn a_destroyed_session_is_remembered() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let pid = session.pid();
    session.run("true");
    session.destroy();
    wait_gone(pid);
    let info = session.info();
    assert_eq!((&info["state"], &info["command_count"]), (&json!("terminated"), &json!(1)));
    assert!(info.get("pid").is_none_or(Value::is_null), "{info}");
    let id = session.id.clone();
    let client = session.client();
    client.refused("SESSION_TERMINATED", "exec.run", json!({"session_id": id, "command": "true"}));
    client.refused("SESSION_TERMINATED", "session.get", json!({"session_id": id}));
    client.refused("SESSION_NOT_FOUND", "session.info", json!({"session_id": "s-zzzzzzzz"}));
}

#[test]
fn a_terminated_session_is_forgotten_in_time() {
    let daemon = builder().set("sessions", "terminated_ttl_s", 0.2).start();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    session.destroy();
    trl_testkit::eventually("it is not listed any more", || {
        let list = session.client().ok("session.list", json!({}));
        list["sessions"].as_array().unwrap().iter().all(|s| s["session_id"] != id.as_str())
    });
    // the store remembers it as long as its history
    let info = session.client().ok("session.info", json!({"session_id": id}));
    assert_eq!(info["state"], "terminated");
}

#[test]
fn a_closed_session_can_be_opened_again() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Bash, json!({"env": {"GIVEN": "yes"}}));
    session.run("cd /usr; sleep 1000 &");
    let id = session.id.clone();
    let below = descendants(session.pid());
    let closed = session.client().ok("session.close", json!({"session_id": id}));
    assert_eq!(closed["state"], "closed");
    below.into_iter().for_each(wait_gone);
    let refused = session.try_run("echo no", json!({})).expect_err("it is closed");
    assert_eq!(refused.code, "SESSION_CLOSED");
    assert_eq!(session.state(), "closed");
    let opened = session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!((&opened["state"], &opened["session_id"]), (&json!("ready"), &json!(id)));
    assert_eq!(session.run("echo $GIVEN").out(), "yes\n");
    assert_eq!(session.state(), "idle");
}

#[test]
fn an_idle_session_is_closed_in_time() {
    let daemon = builder().set("sessions", "idle_ttl_s", 0.4).start();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["session.ended"]}));
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    // A command that takes longer than that is no idleness.
    assert_eq!(session.run("sleep 1; echo done").out(), "done\n");
    let ended = watcher.event("session.ended");
    assert_eq!((&ended["session_id"], &ended["state"]), (&json!(id), &json!("closed")));
    assert_eq!(session.state(), "closed");
}

#[test]
fn an_old_session_is_closed_whatever_it_does() {
    let daemon = builder().set("sessions", "absolute_ttl_s", 1).start();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["session.ended"]}));
    let session = daemon.session(Shell::Dash);
    let ended = watcher.event("session.ended");
    assert_eq!(ended["session_id"], session.id);
}

#[test]
fn a_session_that_is_opened_again_keeps_its_past_and_begins_a_new_age() {
    let daemon = builder().set("sessions", "absolute_ttl_s", 1).start();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["session.ended"]}));
    let mut session = daemon.session(Shell::Dash);
    session.run("true");
    let (id, before) = (session.id.clone(), session.info());
    for _ in 0..2 {
        assert_eq!(watcher.event("session.ended")["session_id"], id);
        let opened = session.client().ok("session.get", json!({"session_id": id}));
        assert_eq!(opened["created_at"], before["created_at"]);
        assert_eq!(session.run("echo new").out(), "new\n");
    }
    assert_eq!(session.info()["command_count"], 3);
}

#[test]
fn a_directory_is_told_by_the_name_it_was_entered_by() {
    let daemon = daemon();
    let real = daemon.dir().dir("real");
    let link = daemon.dir().text("link");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    read_before(&link);
    let mut session = daemon.session(Shell::Bash);
    let mut dir = |command: &str| session.run(command).json["working_dir"].take();
    assert_eq!(dir(&format!("cd {link}")), link);
    assert_eq!(dir("cd /usr; PWD=/etc"), "/usr", "a lie is not believed");
    assert_eq!(dir(&format!("cd {link}; rmdir {}", real.display())), real.display().to_string());
    let run = session.run("kill -9 0; sleep 1");
    assert_eq!((run.shell_state.as_str(), &run.json["working_dir"]), ("reset", &json!("/")));
    assert_eq!(session.run("pwd").out(), "/\n");
}

/// A link just made is not looked through without waiting (see `trl_sys::cwd`); an old one is.
fn read_before(link: &str) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let at = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
    let times = Timestamps { last_access: at(1 << 32), last_modification: at(0) };
    utimensat(CWD, link, &times, AtFlags::SYMLINK_NOFOLLOW).expect("the link is ours");
}

#[test]
fn a_session_runs_no_more_commands_than_allowed() {
    let daemon = builder().set("sessions", "max_commands", 3).start();
    let mut session = daemon.session(Shell::Dash);
    for _ in 0..3 {
        assert_eq!(session.run("true").code, 0);
    }
    let refused = session.try_run("true", json!({})).expect_err("one too many");
    assert_eq!(refused.code, "SESSION_LIMIT_EXCEEDED");
    assert_eq!(session.state(), "idle");
}

fn destroyed_while_running(builder: Builder, force: bool) {
    let daemon = builder.start();
    let mut session = daemon.session(Shell::Bash);
    let id = session.id.clone();
    let sleeper = sleeper();
    let mut run = session.stream(&format!("{sleeper} & echo up; {sleeper}"), json!({}));
    run.wait_stdout("up\n");
    let gone = daemon.client().ok("session.destroy", json!({"session_id": id, "force": force}));
    assert_eq!(gone["state"], "terminated");
    assert!(procs_matching(&sleeper).is_empty());
    assert_ne!(run.finish().code, 0);
}

#[test]
fn destroy_kills_the_running_command() {
    destroyed_while_running(builder(), false);
    // Without waiting for the grace: this one would outlast the patience of every client.
    destroyed_while_running(builder().set("exec", "grace_s", 3000), true);
}

#[test]
fn a_waiting_client_learns_that_its_session_was_destroyed() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    let request = session.start("sleep 1000", json!({}));
    Session::running(&mut session);
    daemon.client().ok("session.destroy", json!({"session_id": id}));
    match session.finish(request) {
        Ok(run) => assert_ne!(run.code, 0),
        Err(refused) => assert_eq!(refused.code, "SESSION_TERMINATED"),
    }
}

mod soak {
    use super::*;

    /// A keeper that does not get its turn cannot end the clones that others have replaced. One that lives on listens where
    /// the next but one listens, and would take its orders: all are gone before one of them becomes the shell.
    #[test]
    fn clones_end_before_another_takes_over_in_their_place() {
        const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Dash, Shell::Zsh];
        for round in Rounds::new(SHELLS.len()) {
            let shell = SHELLS[round % SHELLS.len()];
            let daemon = daemon();
            let mut session = daemon.session(shell);
            session.run("true");
            let main = session.pid();
            let keeper = process::parent(main).expect("it lives");
            process::signal(keeper, Signal::STOP);
            for _ in 0..6 {
                session.run("x=$((x+1))");
            }
            // it waits for the rollback point after the last of them
            session.run("true");
            process::signal(main, Signal::KILL);
            // Until then it might still take an order to its grave.
            eventually("it is dead", || process::is_gone(main));
            process::signal(keeper, Signal::CONT);
            assert_eq!(session.run("echo $x").out(), "6\n", "{shell:?}");
            // The shell, its clone, and the last clone that has been replaced, which the keeper ends in its own time.
            eventually("the clones before it have ended", || {
                process::below(keeper).into_iter().filter(|p| !p.is_zombie()).count() <= 3
            });
        }
    }
}
