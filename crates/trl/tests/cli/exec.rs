//! `trl exec`: talking to a command that runs.

use std::io::Write;
use std::process::Stdio;

use trl_testkit::{Shell, Value, json};

use crate::{command, daemon, ok, trl};

#[test]
fn input_comes_from_the_line_or_from_stdin() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let reading = session.start("cat; echo end", json!({"open_stdin": true}));
    let execution = session.running();
    ok(&daemon, &["exec", "input", &execution, "one\n"]);
    let mut piped = command(&daemon, &["exec", "input", &execution, "--close"]);
    let mut child = piped.stdin(Stdio::piped()).spawn().expect("the binary runs");
    child.stdin.take().expect("piped").write_all(b"two\n\xff\n").expect("it reads");
    assert!(child.wait().expect("our child").success());
    let run = session.finish(reading).expect("a result");
    assert_eq!(run.stdout, b"one\ntwo\n\xff\nend\n");
    let late = trl(&daemon, &["exec", "input", &execution, "more"]);
    assert!(late.code == 1 && late.err.contains("EXECUTION_NOT_FOUND"), "{late:?}");
}

#[test]
fn a_signal_reaches_the_command() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let mut stream = session.stream("trap 'echo got; exit 4' USR1; echo up; while :; do :; done", json!({}));
    stream.wait_stdout("up\n");
    let execution = stream.execution_id.clone();
    let told = ok(&daemon, &["exec", "signal", "--json", &execution, "USR1"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert!(told["processes"].as_u64() >= Some(1), "{told}");
    let run = stream.finish();
    assert_eq!((run.code, run.out().as_str()), (4, "up\ngot\n"));
    let wrong = trl(&daemon, &["exec", "signal", &execution, "NOPE"]);
    assert!(wrong.code == 1 && wrong.err.contains("NOPE"), "{wrong:?}");
}

#[test]
fn a_command_is_started_left_running_and_waited_for() {
    let daemon = daemon();
    let short = trl(&daemon, &["exec", "start", "echo out; echo err >&2; exit 3"]);
    assert_eq!((short.code, short.out.as_str(), short.err.as_str()), (3, "out\n", "err\n"));
    let words = ok(&daemon, &["exec", "start", "--", "printf", "%s|", "a", "b c"]);
    assert_eq!(words, "a|b c|");
    let long = ok(
        &daemon,
        &["exec", "start", "--json", "--yield", "250ms", "--tty", "echo up; read x; echo got $x; exit 6"],
    );
    let long: Value = serde_json::from_str(&long).expect("JSON");
    let id = long["execution_id"].as_str().expect("it has one");
    assert!(long["terminal_id"].is_string() && long["status"] == "running", "{long}");
    let late = trl(&daemon, &["exec", "wait", id, "--pattern", "never", "--timeout", "50ms"]);
    assert!(late.code == 124 && late.err.contains("runs on"), "{late:?}");
    ok(&daemon, &["exec", "input", id, "it\n"]);
    let said = trl(&daemon, &["exec", "wait", id]);
    assert!(said.code == 6 && said.out.contains("got it"), "{said:?}");
    assert!(ok(&daemon, &["exec", "output", id]).contains("got it"));
}

#[test]
fn a_start_that_the_sandbox_was_in_the_way_of_says_so() {
    let daemon = daemon();
    daemon.dir().dir("w");
    let (inside, outside) = (daemon.dir().text("w"), daemon.dir().file("outside", "text"));
    let start = |command: &str| {
        trl(&daemon, &["exec", "start", "--sandbox", "workspace-write", "--cwd", &inside, command])
    };
    let likely = start(&format!("cat {outside}"));
    let note = format!("trl: the sandbox probably refused: open {outside}\n");
    assert!(likely.code == 1 && likely.err.ends_with(&note), "{likely:?}");
    let proven = start("unshare -Ur true");
    assert!(proven.err.ends_with("trl: the sandbox refused: namespace\n"), "{proven:?}");
    let fine = start("echo fine");
    assert_eq!((fine.code, fine.err.as_str()), (0, ""));
}
