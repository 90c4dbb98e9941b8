//! What one sandbox does to a workspace while the keeper of another works in it, outside of every sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trl_testkit::{Daemon, Rounds, Session, Shell, Value, json};

use super::{daemon, in_workspace};

/// A session in the workspace `ws`, begun before anything was there to protect.
fn attacker(daemon: &Daemon) -> Session {
    fs::write(Path::new(&daemon.dir().dir("ws")).join("tries.py"), include_str!("tries.py")).unwrap();
    let mut session = daemon.session_with(Shell::Bash, in_workspace(daemon, "ws", json!("workspace-write")));
    let out = daemon.dir().dir("out");
    succeeds(&mut session, &format!("OUT={}; cd {}", out.display(), daemon.dir().text("ws")));
    session
}

fn succeeds(session: &mut Session, command: &str) {
    let run = session.run(command);
    assert_eq!(run.code, 0, "{command}: {}", run.err());
}

/// Parameters of a command in a sandbox of its own in the workspace.
fn fresh(daemon: &Daemon, command: &str) -> Value {
    json!({"command": command, "working_dir": daemon.dir().text("ws"), "sandbox": "workspace-write"})
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Between any two steps of the keeper, the directory that it works in may be another: one with a link to a file of the user's.
#[test]
fn modes_outside_stay() {
    let daemon = daemon();
    daemon.dir().dir("out");
    let private = daemon.dir().file("out/private", "text");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let mut session = attacker(&daemon);
    succeeds(&mut session, "mkdir -p i/.git i/other; ln -s $OUT/private i/other/hooks");
    succeeds(&mut session, "python3 tries.py swap i/.git i/other >/dev/null 2>&1 & :");
    let mut client = daemon.client();
    let mut refused = Vec::new();
    for round in Rounds::new(100) {
        refused.extend(client.call("exec.start", fresh(&daemon, "true")).err());
        assert_eq!(mode(Path::new(&private)), 0o600, "round {round}, {} refused", refused.len());
    }
    assert!(refused.is_empty(), "{} starts were refused: {:?}", refused.len(), refused.first());
}

/// What a keeper made is removed from the directory it was made in, whatever has that name by then.
#[test]
fn directories_outside_stay() {
    let daemon = daemon();
    let outside = daemon.dir().dir("out/hooks");
    let mut session = attacker(&daemon);
    succeeds(&mut session, "mkdir -p i/.git");
    let mut other = daemon.session_with(Shell::Bash, in_workspace(&daemon, "ws", json!("workspace-write")));
    assert!(daemon.dir().join("ws/i/.git/hooks").is_dir());
    succeeds(&mut session, "mv i/.git i/old; ln -s $OUT i/.git");
    let id = other.id.clone();
    other.client().ok("session.destroy", json!({"session_id": id}));
    assert!(outside.is_dir());
    assert!(!daemon.dir().join("ws/i/old/hooks").exists());
}

/// Whatever kind of file has the name of something that is protected, the next sandbox starts at once.
#[test]
fn odd_files_hold_up_nobody() {
    let daemon = daemon();
    let mut session = attacker(&daemon);
    let make = "mkdir -p a/.git b/.git c/.git/hooks d && mkfifo a/.git/hooks d/.git && ln -s nowhere b/.git/hooks && \
        chmod 1755 c/.git/hooks && exec 9<c/.git/hooks && flock -x 9";
    succeeds(&mut session, make);
    let begun = std::time::Instant::now();
    let done = daemon.client().ok("exec.start", fresh(&daemon, "echo x >c/.git/hooks/x"));
    assert_ne!(done["exit_code"], 0, "{done}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(!daemon.dir().join("ws/c/.git/hooks/x").exists());
}
