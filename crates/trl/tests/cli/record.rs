//! `trl term record`: to a file, to a pipe, and along with a live terminal.

use std::fs;

use trl_testkit::{Value, eventually};

use crate::{command, daemon, heard, ok, trl};

const SCRIPT: &str = "stty -echo; echo ready; read x; echo got $x; exit 4";

/// Each line as JSON: the header, then the events.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn data(lines: &[Value], code: &str) -> String {
    lines[1..].iter().filter(|e| e[1] == code).map(|e| e[2].as_str().expect("text")).collect()
}

#[test]
fn a_terminal_is_written_to_a_file_or_a_pipe() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--name", "work", "--", "sh", "-c", SCRIPT]);
    eventually("it is ready", || ok(&daemon, &["term", "screen", "work"]).contains("ready"));
    let piped = lines(&ok(&daemon, &["term", "record", "work", "--idle-limit", "2s"]));
    assert_eq!((&piped[0]["version"], &piped[0]["idle_time_limit"]), (&3.into(), &2.0.into()));
    assert_eq!(data(&piped, "o"), "ready\r\n");
    let file = daemon.dir().text("work.cast");
    assert_eq!(ok(&daemon, &["term", "record", &id, "-o", &file]), "");
    assert_eq!(data(&lines(&fs::read_to_string(&file).expect("a file")), "o"), "ready\r\n");

    ok(&daemon, &["term", "send", "work", "it", "-e"]);
    let ended = || ok(&daemon, &["term", "ls", "--all"]).contains("exit 4");
    eventually("it has ended", ended);
    let refused = trl(&daemon, &["term", "record", "work", "-o", &file]);
    assert!(refused.code == 1 && refused.err.contains("--force"), "{refused:?}");
    assert_eq!(data(&lines(&fs::read_to_string(&file).expect("a file")), "x"), "", "it is as it was");
    ok(&daemon, &["term", "record", "work", "-o", &file, "--force"]);
    let whole = lines(&fs::read_to_string(&file).expect("a file"));
    assert_eq!((data(&whole, "o"), data(&whole, "x")), ("ready\r\ngot it\r\n".into(), "4".into()));

    let unknown = trl(&daemon, &["term", "record", "t-nosuch00", "-o", &daemon.dir().text("none.cast")]);
    assert!(unknown.code == 1 && unknown.err.contains("TERMINAL_NOT_FOUND"), "{unknown:?}");
    let nowhere = trl(&daemon, &["term", "record", "work", "-o", "/nowhere/x.cast"]);
    assert!(nowhere.code == 1 && nowhere.err.contains("/nowhere/x.cast"), "{nowhere:?}");
    assert!(!daemon.dir().join("none.cast").exists());
    let left = fs::read_dir(daemon.dir().path()).expect("a directory").flatten();
    assert!(left.into_iter().all(|e| !e.file_name().to_string_lossy().starts_with('.')), "nothing half done");
}

#[test]
fn following_goes_on_to_the_end() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--", "sh", "-c", SCRIPT]);
    let file = daemon.dir().text("live.cast");
    let child = command(&daemon, &["term", "record", &id, "--follow", "-o", &file]).spawn().expect("it runs");
    let has = |text: &str| fs::read_to_string(&file).is_ok_and(|all| all.contains(text));
    eventually("what was there is in the file", || has("ready"));
    ok(&daemon, &["term", "send", &id, "more", "-e"]);
    let said = heard(child.wait_with_output().expect("it ends with the terminal"));
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""), "{said:?}");
    let all = lines(&fs::read_to_string(&file).expect("a file"));
    assert_eq!((data(&all, "o"), data(&all, "x")), ("ready\r\ngot more\r\n".into(), "4".into()));
}

#[test]
fn an_interrupt_ends_following_with_a_file_that_can_be_played() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--", "sh", "-c", SCRIPT]);
    let file = daemon.dir().text("live.cast");
    let child = command(&daemon, &["term", "record", &id, "--follow", "-o", &file]).spawn().expect("it runs");
    eventually("it follows", || fs::read_to_string(&file).is_ok_and(|all| all.contains("ready")));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
    assert_eq!(heard(child.wait_with_output().expect("it ends")).code, 0);
    assert_eq!(data(&lines(&fs::read_to_string(&file).expect("a file")), "o"), "ready\r\n");
}
