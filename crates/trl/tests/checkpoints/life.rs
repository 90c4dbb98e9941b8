//! Where checkpoints are kept, when they are made by themselves, and who may use them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trl_testkit::{Shell, eventually, json};

use crate::{builder, daemon, data_dir, keep, restore};

#[test]
fn a_closed_session_goes_on_where_it_was() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Bash, json!({"secret_env": {"S": "secret-value"}}));
    let id = session.id.clone();
    session.run("cd /usr; x=(1 'two words'); f() { echo f$1; }; set -u");
    session.client().ok("session.close", json!({"session_id": id}));
    let listed = session.client().ok("checkpoint.list", json!({"session_id": id}));
    assert_eq!(listed["checkpoints"][0]["origin"], "close");
    let opened = session.client().ok("session.get", json!({"session_id": id, "secret_env": {"S": "other"}}));
    assert_eq!(opened["restored_from"]["checkpoint_id"], listed["checkpoints"][0]["checkpoint_id"]);
    assert_eq!(opened["state"], "ready");
    assert_eq!(session.run("pwd; echo ${x[1]} $S; f 1; echo $-").out(), "/usr\ntwo words other\nf1\nhuBc\n");
    assert_eq!(session.info()["restored_from"]["not_restored"], json!([]));
}

#[test]
fn a_session_closed_in_the_middle_of_a_command_has_the_state_from_before_it() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Bash);
    let id = session.id.clone();
    session.run("x=before");
    let running = session.start("x=after; while :; do :; done", json!({}));
    eventually("it runs", || {
        daemon.client().ok("session.info", json!({"session_id": id}))["running"].is_object()
    });
    daemon.client().ok("session.close", json!({"session_id": id}));
    let ended = session.finish(running).unwrap();
    assert_eq!((ended.shell_state.as_str(), ended.cancelled), ("ended", true));
    session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(session.run("echo $x").out(), "before\n");
}

#[test]
fn nothing_is_written_when_nothing_ran_and_nothing_is_restored_when_it_is_off() {
    let daemon = builder().set("checkpoints", "restore_on_open", false).start();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    session.client().ok("session.close", json!({"session_id": id}));
    let count = |session: &mut trl_testkit::Session| {
        let params = json!({"session_id": session.id});
        let list = session.client().ok("checkpoint.list", params);
        list["checkpoints"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut session), 0);
    session.client().ok("session.get", json!({"session_id": id}));
    session.run("x=1");
    session.client().ok("session.close", json!({"session_id": id}));
    assert_eq!(count(&mut session), 1);
    session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(session.run("echo ${x-none}").out(), "none\n");
    assert!(session.info().get("restored_from").is_none());
}

#[test]
fn a_state_is_written_after_a_while_without_being_asked_for() {
    let daemon = builder().set("checkpoints", "interval_s", 0.05).set("checkpoints", "keep", 2).start();
    let mut session = daemon.session(Shell::Zsh);
    let id = session.id.clone();
    for n in 0..4 {
        session.run(&format!("n={n}"));
        let mut client = daemon.client();
        eventually("it is on disk", || {
            let list = client.ok("checkpoint.list", json!({"session_id": id}));
            list["checkpoints"][0]["commands"] == n + 1
        });
    }
    let mut list = json!({});
    eventually("the last few are kept", || {
        list = daemon.client().ok("checkpoint.list", json!({"session_id": id}));
        list["checkpoints"].as_array().unwrap().len() == 2
    });
    let all = list["checkpoints"].as_array().unwrap();
    assert!(all.iter().all(|c| c["origin"] == "interval"));
    let older = all[1]["checkpoint_id"].as_str().unwrap().to_string();
    restore(&mut session, &older);
    assert_eq!(session.run("echo $n").out(), "2\n");
}

#[test]
fn a_corrupt_file_is_reported_and_the_one_before_it_is_used() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    session.run("x=1");
    let good = keep(&mut session);
    session.run("x=2");
    let bad = keep(&mut session);
    let dir = data_dir(&daemon).join(format!("workspaces/{id}/checkpoints"));
    let path = dir.join(format!("{bad}.checkpoint"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, bytes).unwrap();
    let list = session.client().ok("checkpoint.list", json!({"session_id": id}));
    assert_eq!(list["corrupt"][0]["checkpoint_id"], *bad);
    let params = json!({"session_id": id, "checkpoint_id": bad});
    session.client().refused("CHECKPOINT_CORRUPT", "checkpoint.restore", params.clone());
    session.client().ok("session.close", json!({"session_id": id}));
    let opened = session.client().ok("session.get", json!({"session_id": id}));
    assert_eq!(opened["restored_from"]["checkpoint_id"], *good);
    assert_eq!(session.run("echo $x").out(), "1\n");
    session.client().ok("checkpoint.delete", params.clone());
    session.client().refused("CHECKPOINT_NOT_FOUND", "checkpoint.delete", params);
}

#[test]
fn a_busy_session_is_asked_later_and_a_rollback_is_no_hindrance() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Bash);
    let id = session.id.clone();
    session.run("x=1");
    let checkpoint = keep(&mut session);
    let running = session.start("sleep 1000", json!({}));
    let mut other = daemon.client();
    eventually("it runs", || other.ok("session.info", json!({"session_id": id}))["running"].is_object());
    other.refused("SESSION_BUSY", "checkpoint.create", json!({"session_id": id}));
    let params = json!({"session_id": id, "checkpoint_id": checkpoint});
    other.refused("SESSION_BUSY", "checkpoint.restore", params.clone());
    other.ok("exec.cancel", json!({"session_id": id}));
    session.finish(running).unwrap();
    session.run("x=2");
    session.client().ok("checkpoint.restore", params);
    // a command that ends the shell goes back to the restored state
    assert_eq!(session.run("x=3; exit 4").shell_state, "rolled_back");
    assert_eq!(session.run("echo $x").out(), "1\n");
}

#[test]
fn the_command_line_keeps_lists_restores_and_removes() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Bash, json!({"name": "work"}));
    session.run("x=1");
    let trl = |args: &[&str]| {
        let out = daemon
            .command()
            .arg("--socket")
            .arg(daemon.socket())
            .arg("checkpoint")
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let id = trl(&["new", "work", "--label", "before"]).trim().to_string();
    let list = trl(&["ls", "work"]);
    assert!(list.contains(&id) && list.contains("before"), "{list}");
    session.run("x=2; exec 5</dev/null");
    assert_eq!(trl(&["restore", "work"]), "");
    assert_eq!(session.run("echo $x").out(), "1\n");
    trl(&["rm", "work", &id]);
    assert!(!trl(&["ls", "work"]).contains(&id));
}
