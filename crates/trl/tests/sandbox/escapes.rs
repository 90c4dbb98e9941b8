//! Every attempt in every mode: it works where it should, and nowhere else. `UPDATE_DOCS=1` writes the tables anew.

use std::path::Path;

use trl_testkit::{Daemon, available, json};

use super::document::{self, Line};
use super::rows::{DAEMON, FILES, HOOKS, NETWORK, Needs, PROCESSES, Row, SYSTEM_CALLS, Works};
use super::stage::{Stage, is_root};
use super::works::{self, WORKS};
use super::{builder, daemon};

const MODES: [&str; 3] = ["off", "read-only", "workspace-write"];

fn expected(row: &Row, mode: &str) -> bool {
    match row.works {
        _ if mode == "off" => true,
        Works::Everywhere => true,
        Works::WorkspaceWrite => mode == "workspace-write",
        Works::Nowhere => false,
    }
}

fn is_possible(row: &Row) -> bool {
    match row.needs {
        Needs::Nothing => true,
        Needs::Root => is_root(),
        Needs::TerminalInput => {
            let setting = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
            is_root() || available("typing for others", setting.is_ok_and(|text| text.trim() == "1"))
        }
        Needs::Program(name) => {
            let found = ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(name).exists());
            available(name, found)
        }
        Needs::Toolchain => works::toolchain().is_some(),
    }
}

/// Each row with what was seen of it, and what was not as it should be.
fn tried(daemon: &Daemon, group: &str, rows: &[Row]) -> (Vec<Line>, Vec<String>) {
    let mut surprises = Vec::new();
    let mut lines = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let seen = is_possible(row).then(|| {
            let cells = MODES.map(|mode| {
                let happened = happens(daemon, &format!("{group}{n}{mode}"), mode, row);
                if happened.is_ok() != expected(row, mode) {
                    surprises.push(format!("{mode}: {}: {happened:?}", row.name));
                }
                cell(row, happened.is_ok())
            });
            cells.to_vec()
        });
        lines.push(Line { name: row.name, seen });
    }
    (lines, surprises)
}

/// An error is what was said instead.
fn happens(daemon: &Daemon, name: &str, mode: &str, row: &Row) -> Result<(), String> {
    let mut stage = Stage::new(daemon, name);
    (row.prepare)(&mut stage);
    let run = stage.try_it(mode, row);
    assert_eq!(run.json["sandbox"]["mode"], mode);
    assert_eq!(run.json["sandbox"]["not_enforced"], json!([]), "{mode}");
    if !(row.happened)(&mut stage, &run) {
        return Err(format!("code {} {} {}", run.code, run.out().trim(), run.err().trim()));
    }
    // nobody is told of a refusal where all went well
    let worked = row.works != Works::Nowhere;
    assert!(!worked || run.json.get("denied").is_none(), "{}: {}", row.name, run.json);
    Ok(())
}

fn cell(row: &Row, happened: bool) -> &'static str {
    match (happened, row.needs) {
        (true, Needs::Root) => "as root",
        (true, _) => "yes",
        (false, _) => "-",
    }
}

pub(crate) fn check(section: &str, rows: &[Row]) {
    check_with(&daemon(), section, rows);
}

fn check_with(daemon: &Daemon, section: &str, rows: &[Row]) {
    let (lines, surprises) = tried(daemon, &section[..1], rows);
    // an escape is never written down as if it were right
    assert!(surprises.is_empty(), "{surprises:#?}");
    document::check(section, &["attempt", "off", "read-only", "workspace-write"], &lines);
}

/// Each is a table of the document.
mod generated {
    use super::*;

    #[test]
    fn files() {
        check("files", FILES);
    }

    #[test]
    fn hooks_and_cases() {
        check("hooks and cases", HOOKS);
    }

    #[test]
    fn processes() {
        check("processes", PROCESSES);
    }

    #[test]
    fn networks_and_sockets() {
        check("networks and sockets", NETWORK);
    }

    #[test]
    fn system_calls() {
        check("system calls", SYSTEM_CALLS);
    }

    #[test]
    fn the_daemon_and_its_other_sessions() {
        check("the daemon", DAEMON);
    }

    #[test]
    fn what_people_run() {
        let builder = builder();
        let read = works::toolchain().map(|dir| dir.parent().unwrap().display().to_string());
        let read: Vec<String> = read.into_iter().chain(["~/.gitconfig".to_string()]).collect();
        check_with(&builder.set("sandbox", "read_dirs", json!(read)).start(), "what people run", WORKS);
    }
}

#[test]
fn nothing_is_left_in_the_workspace() {
    let daemon = daemon();
    let stage = Stage::new(&daemon, "left");
    std::fs::remove_dir_all(stage.workspace.join(".trl")).unwrap();
    std::fs::remove_dir(stage.workspace.join("sub/.git/hooks")).unwrap();
    let mounts = || std::fs::read_to_string(format!("/proc/{}/mountinfo", daemon.pid())).unwrap();
    let before = mounts();
    let mut session = stage.session(json!("workspace-write"));
    let tmp = session
        .run("echo -n $TMPDIR; mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b $TMPDIR/a")
        .out();
    assert!(Path::new(&tmp).join("a").is_dir());
    assert_eq!(mounts(), before);
    let id = session.id.clone();
    session.client().ok("session.destroy", json!({"session_id": id}));
    assert_eq!(mounts(), before);
    assert!(!Path::new(&tmp).exists());
    assert!(!stage.workspace.join(".trl").exists());
    assert!(!stage.workspace.join("sub/.git/hooks").exists());
}
