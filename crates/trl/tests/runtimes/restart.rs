//! What the next daemon knows of runtimes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trl_testkit::{Daemon, Value, json};

use crate::{daemon, get, names, output, session_in};

fn file(daemon: &Daemon) -> std::path::PathBuf {
    daemon.dir().join("home/.local/share/trl/runtimes.json")
}

#[test]
fn those_that_were_added_are_there_again_with_their_sessions() {
    let mut daemon = daemon();
    daemon.add_relay("box", json!({"labels": {"zone": "a"}, "weight": 2.0}));
    daemon.add_relay("brief", json!({}));
    let mode = fs::metadata(file(&daemon)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut operator = daemon.operator();
    operator.ok("runtime.remove", json!({"name": "brief"}));
    let session = session_in(&mut operator, json!("box"));
    daemon.stop();
    daemon.relaunch();
    let mut operator = daemon.operator();
    assert_eq!(names(&mut operator), ["host", "box"]);
    let again = get(&mut operator, "box");
    assert_eq!((&again["labels"], &again["weight"]), (&json!({"zone": "a"}), &json!(2.0)));
    let open = operator.ok("session.get", json!({"session_id": session["session_id"]}));
    assert_eq!(open["runtime"], "box");
    assert_eq!(output(&mut operator, &session, "echo again"), "again");
}

#[test]
fn one_that_drains_is_gone_with_its_daemon() {
    let mut daemon = daemon();
    daemon.add_relay("box", json!({}));
    let mut operator = daemon.operator();
    session_in(&mut operator, json!("box"));
    operator.ok("runtime.remove", json!({"name": "box", "drain": true}));
    daemon.kill9();
    daemon.relaunch();
    assert_eq!(names(&mut daemon.operator()), ["host"]);
}

#[test]
fn the_settings_go_before_what_was_added() {
    let mut daemon = daemon();
    daemon.add_relay("box", json!({"labels": {"from": "added"}}));
    daemon.stop();
    let config = daemon.dir().join("config/trl/config.toml");
    let before = fs::read_to_string(&config).unwrap();
    let section = "\n[runtimes.box]\nkind = 'command'\nargv = ['true']\nlabels = {from = 'settings'}\n";
    fs::write(&config, format!("{before}{section}")).unwrap();
    daemon.relaunch();
    let mut operator = daemon.operator();
    let box_now = get(&mut operator, "box");
    assert_eq!((&box_now["labels"]["from"], &box_now["configured"]), (&json!("settings"), &json!(true)));
    assert!(daemon.log().contains("gives way to the one of the settings"));
    // One of the settings is gone until the next start.
    operator.ok("runtime.remove", json!({"name": "box"}));
    assert_eq!(names(&mut operator), ["host"]);
    daemon.stop();
    daemon.relaunch();
    assert_eq!(get(&mut daemon.operator(), "box")["configured"], true);
    daemon.stop();
    fs::write(&config, before).unwrap();
    daemon.relaunch();
    assert_eq!(get(&mut daemon.operator(), "box")["labels"]["from"], "added");
}

#[test]
fn a_file_that_is_not_ours_is_no_runtimes_and_stays() {
    let mut daemon = daemon();
    daemon.add_relay("box", json!({}));
    daemon.stop();
    let was: Value = serde_json::from_str(&fs::read_to_string(file(&daemon)).unwrap()).unwrap();
    assert_eq!(was["runtimes"]["box"]["kind"], "command");
    fs::set_permissions(file(&daemon), fs::Permissions::from_mode(0o644)).unwrap();
    daemon.relaunch();
    let mut operator = daemon.operator();
    assert_eq!(names(&mut operator), ["host"]);
    operator.refused(
        "INTERNAL_ERROR",
        "runtime.add",
        json!({"name": "x", "kind": "command", "argv": ["true"]}),
    );
    assert_eq!(names(&mut operator), ["host"]);
    assert_eq!(serde_json::from_str::<Value>(&fs::read_to_string(file(&daemon)).unwrap()).unwrap(), was);
}
