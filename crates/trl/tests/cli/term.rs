//! `trl term`: from starting a terminal to what is left of it.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use trl_testkit::{Daemon, Value, eventually, json};

use crate::{command, daemon, heard, ok, said, trl};

fn shows(daemon: &Daemon, terminal: &str, text: &str) {
    eventually(&format!("{text:?} is shown"), || ok(daemon, &["term", "screen", terminal]).contains(text));
}

fn info(daemon: &Daemon, terminal: &str) -> Value {
    serde_json::from_str(&ok(daemon, &["term", "info", terminal, "--json"])).expect("JSON")
}

#[test]
fn a_terminal_from_its_start_to_its_end() {
    let daemon = daemon();
    let new = ["term", "new", "--name", "work", "--shell", "/bin/sh", "--env", "PS1=> ", "--cols", "60"];
    let id = ok(&daemon, &new);
    assert!(id.starts_with("t-"), "{id}");
    shows(&daemon, &id, ">");
    ok(&daemon, &["term", "send", "work", "echo $((6*7)) $COLUMNS; stty size", "--enter"]);
    shows(&daemon, "work", "42");
    shows(&daemon, "work", "24 60");
    ok(&daemon, &["term", "resize", "work", "100", "30"]);
    ok(&daemon, &["term", "send", "work", "stty size", "--key", "Enter"]);
    shows(&daemon, "work", "30 100");
    let table = ok(&daemon, &["term", "ls"]);
    let row = table.lines().nth(1).expect("a row");
    assert!(row.contains(&id) && row.contains("work") && row.contains("100x30"), "{table}");
    assert_eq!(
        (&info(&daemon, "work")["terminal_id"], &info(&daemon, &id)["name"]),
        (&id.clone().into(), &"work".into())
    );
    ok(&daemon, &["term", "send", "work", "exit 5", "-e"]);
    eventually("it has ended", || info(&daemon, "work")["exit_code"] == 5);
    assert_eq!(ok(&daemon, &["term", "ls"]).lines().count(), 1, "ended ones only on request");
    assert!(ok(&daemon, &["term", "ls", "--all"]).contains("exit 5"));
    ok(&daemon, &["term", "rm", "work"]);
    let gone = trl(&daemon, &["term", "info", &id]);
    assert!(gone.code == 1 && gone.err.contains("TERMINAL_NOT_FOUND"), "{gone:?}");
}

#[test]
fn keys_and_stdin_are_typed() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--", "sh", "-c", "trap 'echo interrupted' INT; cat; cat -v"]);
    let mut sender = command(&daemon, &["term", "send", &id]);
    let mut sender = sender.stdin(Stdio::piped()).spawn().expect("it runs");
    sender.stdin.take().expect("piped").write_all("from a pipe: é\n".as_bytes()).expect("it reads");
    assert_eq!(heard(sender.wait_with_output().expect("it ends")).code, 0);
    shows(&daemon, &id, "from a pipe: é");
    ok(&daemon, &["term", "send", &id, "--key", "C-c"]);
    shows(&daemon, &id, "interrupted");
    ok(&daemon, &["term", "send", &id, "--key", "Up", "--key", "M-x", "-k", "F5", "--enter"]);
    shows(&daemon, &id, "^[[A^[x^[[15~");
    let wrong = trl(&daemon, &["term", "send", &id, "--key", "Entre"]);
    assert!(wrong.code == 2 && wrong.err.contains("`Entre` is no key"), "{wrong:?}");
}

#[test]
fn arrows_and_the_keypad_are_sent_as_the_program_asked_for_them() {
    let daemon = daemon();
    let script = "stty raw -echo; printf '\\033[?1h\\033='; echo ready; cat -v";
    let id = ok(&daemon, &["term", "new", "--", "sh", "-c", script]);
    shows(&daemon, &id, "ready");
    let keys = ["Up", "End", "C-Left", "KP5", "F1", "M-x", "C-a"];
    let keys = keys.iter().flat_map(|key| ["--key", key]);
    let send: Vec<&str> = ["term", "send", &id, "<"].into_iter().chain(keys).collect();
    ok(&daemon, &send);
    shows(&daemon, &id, "<^[OA^[OF^[[1;5D^[Ou^[OP^[x^A");
}

/// How much waits for the terminal's program, asked without adding to it.
fn waiting(daemon: &Daemon, terminal: &str) -> u64 {
    let more_than_ever_fits = "x".repeat((1 << 20) + 1);
    let params = json!({"terminal_id": terminal, "data": more_than_ever_fits});
    let refused = daemon.client().call("terminal.input", params).expect_err("too much");
    refused.detail("waiting_bytes").as_u64().expect("a number")
}

#[test]
fn a_slow_program_is_waited_for() {
    let daemon = daemon();
    let (gate, done) = (daemon.dir().fifo("gate"), daemon.dir().fifo("done"));
    let text: String = (0..4 << 16).map(|n| format!("{n:015}\n")).collect();
    assert_eq!(text.len(), 4 << 20);
    // A quarter at a time, each when it is let.
    let script = format!(
        "stty raw -echo; for n in 1 2 3 4; do read go <{gate}; head -c {}; echo $n >{done}; done | cksum; stty sane",
        1 << 20
    );
    let id = ok(&daemon, &["term", "new", "--", "sh", "-c", &script]);
    let sent = File::open(daemon.dir().file("sent", &text)).expect("a file");
    let sender = command(&daemon, &["term", "send", &id]).stdin(sent).spawn().expect("it runs");
    // The line of the terminal is full each time, so the sender had to wait each time; the end of it just fits.
    let mut signals = daemon.dir().listen("done");
    for quarter in 1..=4 {
        if quarter < 4 {
            eventually("it is full", || waiting(&daemon, &id) > (1 << 20) - (64 << 10));
        }
        let gate = daemon.dir().open_gate("gate");
        assert_eq!(signals.line(), quarter.to_string());
        drop(gate);
    }
    assert_eq!(heard(sender.wait_with_output().expect("it ends")).code, 0);
    eventually("it has ended", || info(&daemon, &id)["state"] == "exited");
    let sent = File::open(daemon.dir().join("sent")).expect("a file");
    let sum = heard(Command::new("cksum").stdin(sent).output().expect("cksum runs")).out;
    assert!(ok(&daemon, &["term", "screen", &id]).contains(sum.trim()), "{sum}");
}

#[test]
fn a_program_that_never_reads_is_given_up() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--", "sh", "-c", "stty raw -echo; exec sleep 1000"]);
    let sent = File::open(daemon.dir().file("sent", vec![b'x'; 2 << 20])).expect("a file");
    let mut sender = command(&daemon, &["term", "send", &id, "--timeout", "300ms"]);
    let said = said(sender.stdin(sent));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains(&format!("the program of {id} has read nothing for 300ms")), "{said:?}");
    // An interrupt still gets through.
    ok(&daemon, &["term", "signal", &id, "INT"]);
    eventually("it has ended", || info(&daemon, &id)["state"] == "exited");
}

#[test]
fn the_screen_in_every_format() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--", "printf", "\\033[31mred\\033[0m and \\033[1mbold"]);
    eventually("it has ended", || info(&daemon, &id)["state"] == "exited");
    assert_eq!(ok(&daemon, &["term", "screen", &id]), "red and bold");
    let ansi = ok(&daemon, &["term", "screen", &id, "--format", "ansi"]);
    assert!(ansi.contains("\x1b[") && ansi.contains("31m") && ansi.contains("red"), "{ansi:?}");
    let screen: Value =
        serde_json::from_str(&ok(&daemon, &["term", "screen", &id, "--format", "json"])).expect("JSON");
    assert_eq!((&screen["cursor"]["col"], &screen["rows"]), (&12.into(), &24.into()));
    assert!(screen["lines"][0].to_string().contains("red"), "{screen:.300}");
    let text: Value = serde_json::from_str(&ok(&daemon, &["term", "screen", &id, "--json"])).expect("JSON");
    assert!(text["text"].as_str().is_some_and(|text| text.starts_with("red and bold")), "{text:.300}");
}

#[test]
fn secrets_come_from_our_environment() {
    let daemon = daemon();
    let new = ["term", "new", "--secret-env", "PASS", "--cwd", "/usr", "--", "sh", "-c", "echo $PASS $PWD"];
    let made = said(command(&daemon, &new).env("PASS", "hush"));
    let id = made.out.trim().to_string();
    shows(&daemon, &id, "hush /usr");
    let unset = trl(&daemon, &["term", "new", "--secret-env", "PASS"]);
    assert!(unset.code == 2 && unset.err.contains("no variable of that name"), "{unset:?}");
}

#[test]
fn an_end_to_come_is_taken_back() {
    let daemon = daemon();
    let id = ok(&daemon, &["term", "new", "--", "sleep", "1000"]);
    ok(&daemon, &["term", "rm", &id, "--grace", "1h"]);
    assert!(info(&daemon, &id)["destroy_in_s"].as_f64().is_some_and(|s| s > 3000.0));
    ok(&daemon, &["term", "keep", &id]);
    assert!(info(&daemon, &id).get("destroy_in_s").is_none());
    ok(&daemon, &["term", "signal", &id, "TERM"]);
    eventually("it has ended", || info(&daemon, &id)["signal"] == "TERM");
}

#[test]
fn a_name_means_one_terminal_or_none() {
    let daemon = daemon();
    let new = ["term", "new", "--name", "twin", "--", "cat"];
    let (first, second) = (ok(&daemon, &new), ok(&daemon, &new));
    let ambiguous = trl(&daemon, &["term", "info", "twin"]);
    assert!(ambiguous.err.contains(&first) && ambiguous.err.contains(&second), "{ambiguous:?}");
    ok(&daemon, &["term", "send", &first, "--key", "C-d"]);
    eventually("it has ended", || info(&daemon, &first)["state"] == "exited");
    assert_eq!(info(&daemon, "twin")["terminal_id"], second, "the living goes first");
    let unknown = trl(&daemon, &["term", "info", "twni"]);
    assert!(unknown.code == 1 && unknown.err.contains("`twni`"), "{unknown:?}");
    ok(&daemon, &["term", "rm", &first, &second]);
}
