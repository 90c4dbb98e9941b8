//! Files of a workspace that are kept with a checkpoint: real git, started by the daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trl_testkit::{Daemon, Session, Shell, Value, json};

use crate::{daemon, data_dir};

/// A session in a directory of its own, under a case that lets files be kept.
fn session(daemon: &Daemon, snapshots: &str) -> (Session, String) {
    daemon.dir().dir("config/trl/cases");
    let case = daemon.dir().file("config/trl/cases/kept.yaml", format!("{{{snapshots}}}\n"));
    for dir in [daemon.dir().join("config/trl/cases"), daemon.dir().join("config/trl")] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::set_permissions(case, fs::Permissions::from_mode(0o600)).unwrap();
    daemon.dir().dir("ws");
    let workspace = daemon.dir().text("ws");
    let session = daemon.session_with(Shell::Bash, json!({"case_id": "kept", "working_dir": workspace}));
    (session, workspace)
}

fn keep(session: &mut Session) -> Value {
    let params = json!({"session_id": session.id, "files": true});
    session.client().ok("checkpoint.create", params)
}

fn changes(reply: &Value) -> Vec<String> {
    let one = |c: &Value| format!("{} {}", c["change"].as_str().unwrap(), c["path"].as_str().unwrap());
    reply["files"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn files_come_back_after_they_were_shown() {
    let daemon = daemon();
    let (mut session, workspace) = session(&daemon, "snapshots: {}");
    session.run("echo one >a; mkdir d; printf '\\0\\377' >d/b; chmod 700 d/b; ln -s a link; x=kept");
    let made = keep(&mut session);
    assert_eq!((&made["files"]["count"], &made["files"]["dir"]), (&json!(3), &json!(workspace)));
    let id = made["checkpoint_id"].clone();
    session.run("echo two >a; rm d/b; echo new >c; x=lost");

    let mut ask = json!({"session_id": session.id, "checkpoint_id": id, "preview": true});
    let shown = session.client().ok("checkpoint.restore", ask.clone());
    assert_eq!(changes(&shown), ["overwritten a", "removed c", "created d/b"]);
    assert_eq!(session.run("cat a; echo $x").out(), "two\nlost\n", "a preview changes nothing");

    ask["preview"] = json!(false);
    ask["files"] = json!(true);
    let refused = session.client().refused("INVALID_PARAMS", "checkpoint.restore", ask.clone());
    assert!(refused.message.contains("files_digest"), "{}", refused.message);
    // something else than what was shown
    fs::write(Path::new(&workspace).join("e"), "e").unwrap();
    ask["files_digest"] = shown["files_digest"].clone();
    session.client().call("checkpoint.restore", ask.clone()).unwrap_err();
    fs::remove_file(Path::new(&workspace).join("e")).unwrap();

    let done = session.client().ok("checkpoint.restore", ask);
    assert_eq!((changes(&done), &done["not_restored"]), (changes(&shown), &json!([])));
    let state = "cat a; od -An -tx1 d/b; stat -c %a d/b; readlink link; ls; echo $x";
    assert_eq!(session.run(state).out(), "one\n 00 ff\n700\na\na\nd\nlink\nkept\n");
}

#[test]
fn files_are_kept_only_where_a_case_says_so_and_up_to_its_caps() {
    let daemon = daemon();
    let mut free = daemon.session(Shell::Bash);
    let ask = json!({"session_id": free.id, "files": true});
    let refused = free.client().refused("INVALID_PARAMS", "checkpoint.create", ask);
    assert!(refused.message.contains("case"), "{}", refused.message);
    let (mut session, _) = session(&daemon, "snapshots: {max_files: 2, max_file_bytes: 10}");
    session.run("touch a b c");
    let ask = json!({"session_id": session.id, "files": true});
    let refused = session.client().call("checkpoint.create", ask).unwrap_err();
    assert!(refused.message.contains("more than 2 files"), "{}", refused.message);
    session.run("rm b c; seq 100 >large");
    let made = keep(&mut session);
    assert_eq!(made["files"]["count"], 1, "the large one is left out");
}

#[test]
fn snapshots_go_with_their_checkpoints() {
    let daemon = daemon();
    let (mut session, _) = session(&daemon, "snapshots: {}");
    session.run("echo one >a");
    let first = keep(&mut session);
    session.run("echo two >a");
    keep(&mut session);
    let place = data_dir(&daemon).join(format!("workspaces/{}/files.git", session.id));
    let kept = || fs::read_dir(place.join("refs/trl")).unwrap().count();
    assert_eq!(kept(), 2);
    let delete = json!({"session_id": session.id, "checkpoint_id": first["checkpoint_id"]});
    session.client().ok("checkpoint.delete", delete);
    assert_eq!(kept(), 1);
    let id = session.id.clone();
    session.client().ok("session.delete", json!({"session_id": id}));
    assert!(!place.exists());
}
