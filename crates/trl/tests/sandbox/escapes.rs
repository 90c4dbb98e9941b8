//! Every attempt in every mode: it works where it should, and nowhere else. `UPDATE_DOCS=1` writes the table anew.

use std::fmt::Write;
use std::path::Path;

use trl_testkit::{Daemon, available, json};

use super::daemon;
use super::rows::{DAEMON, FILES, HOOKS, NETWORK, Needs, PROCESSES, Row, SYSTEM_CALLS, Works};
use super::stage::{Stage, is_root};

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
    }
}

/// What was not as it should be.
fn surprises(daemon: &Daemon, group: &str, rows: &[Row]) -> Vec<String> {
    let mut surprises = Vec::new();
    for (n, row) in rows.iter().enumerate().filter(|(_, row)| is_possible(row)) {
        for mode in MODES {
            let mut stage = Stage::new(daemon, &format!("{group}{n}{mode}"));
            (row.prepare)(&mut stage);
            let run = stage.try_it(json!(mode), row);
            let happened = (row.happened)(&mut stage, &run);
            if happened != expected(row, mode) {
                let said = format!("{} {}", run.out().trim(), run.err().trim());
                surprises.push(format!("{mode}: {}: {happened}: code {} {said}", row.name, run.code));
            }
            assert_eq!(run.json["sandbox"]["mode"], mode);
            assert_eq!(run.json["sandbox"]["not_enforced"], json!([]), "{mode}");
        }
    }
    surprises
}

fn check(group: &str, rows: &[Row]) {
    let daemon = daemon();
    let surprises = surprises(&daemon, group, rows);
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn files() {
    check("f", FILES);
}

#[test]
fn hooks_and_cases() {
    check("h", HOOKS);
}

#[test]
fn processes() {
    check("p", PROCESSES);
}

#[test]
fn networks_and_sockets() {
    check("n", NETWORK);
}

#[test]
fn system_calls() {
    check("s", SYSTEM_CALLS);
}

#[test]
fn the_daemon_and_its_other_sessions() {
    check("d", DAEMON);
}

#[test]
fn nothing_is_left_in_the_workspace() {
    let daemon = daemon();
    let stage = Stage::new(&daemon, "left");
    std::fs::remove_dir(stage.workspace.join("cases")).unwrap();
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
    assert!(!stage.workspace.join("cases").exists());
    assert!(!stage.workspace.join("sub/.git/hooks").exists());
}

/// The table of `docs/sandbox.md`, between its marks.
fn table() -> String {
    let mut text =
        String::from("| attempt | off | read-only | workspace-write |\n| --- | --- | --- | --- |\n");
    for row in [FILES, HOOKS, PROCESSES, NETWORK, SYSTEM_CALLS, DAEMON].into_iter().flatten() {
        let cell = |mode: &str| match (expected(row, mode), row.needs) {
            (true, Needs::Root) => "as root",
            (true, _) => "yes",
            (false, _) => "-",
        };
        let [off, read, write] = MODES.map(cell);
        writeln!(text, "| {} | {off} | {read} | {write} |", row.name).unwrap();
    }
    text
}

#[test]
fn the_document_has_the_table_that_is_tested() {
    const BEGIN: &str = "<!-- made by crates/trl/tests/sandbox -->\n";
    const END: &str = "<!-- end -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (kept, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert!(kept == table(), "docs/sandbox.md is out of date: run this test with UPDATE_DOCS=1");
}
