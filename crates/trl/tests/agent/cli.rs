//! `trl chat`, as a person or a program uses it.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use trl_testkit::Daemon;

use super::{answer, daemon, daemon_with, next_request, session, subscribe};

fn chat(daemon: &Daemon, args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let dir = daemon.dir().dir("work");
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).arg("chat").args(args).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_answer_is_on_stdout_and_all_else_beside_it() {
    let daemon = daemon();
    let said = chat(&daemon, &["--case", "coder", "say hello\nplan\nrun echo from the command"], "");
    assert_eq!(
        (said.status.code(), out(&said).as_str()),
        (Some(0), "hello\nexit 0: from the command\n"),
        "{}",
        err(&said)
    );
    for part in ["[x] look", "[ ] leap", "$ echo from the command", "| from the command", "trl chat -s s-"] {
        assert!(err(&said).contains(part), "{part} in {}", err(&said));
    }
}

#[test]
fn lines_of_input_are_a_conversation() {
    let daemon = daemon();
    let said = chat(&daemon, &["--case", "coder"], "say one\n\nsay two\n");
    assert_eq!((said.status.code(), out(&said).as_str()), (Some(0), "one\ntwo\n"), "{}", err(&said));
}

#[test]
fn every_push_is_a_line_of_json_for_programs() {
    let daemon = daemon();
    let mut client = daemon.client();
    let id = session(&daemon, &mut client)["session_id"].as_str().unwrap().to_string();
    let said = chat(&daemon, &["--json", "-s", &id, "say hi"], "");
    let lines: Vec<Value> = out(&said).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["stop_reason"], "end_turn");
    assert_eq!(lines[lines.len() - 2]["update"], json!({"kind": "text", "text": "hi"}));
}

#[test]
fn exit_codes_say_how_it_went() {
    let daemon = daemon();
    for (message, code) in [("stop refusal", 3), ("stop max_tokens", 3), ("die 1 oh no", 69), ("say fine", 0)]
    {
        let said = chat(&daemon, &["--case", "coder", message], "");
        assert_eq!(said.status.code(), Some(code), "{message}: {}", err(&said));
    }
    let said = chat(&daemon, &["say hi"], "");
    assert_eq!(said.status.code(), Some(69), "{}", err(&said));
    assert!(err(&said).contains("AGENT_UNAVAILABLE"), "{}", err(&said));
}

#[test]
fn who_is_no_person_at_a_terminal_is_told_where_to_approve() {
    let daemon = daemon_with("approval: {default: ask}\n");
    let mut operator = subscribe(&daemon);
    let answering = std::thread::spawn(move || {
        for decision in ["approve", "reject"] {
            let request = next_request(&mut operator);
            answer(&mut operator, &request, decision);
        }
    });
    let said = chat(&daemon, &["--case", "coder", "ask Push\nrun date"], "");
    answering.join().unwrap();
    assert!(out(&said).contains("answer: yes") && out(&said).contains("refused"), "{}", out(&said));
    assert!(err(&said).contains("waiting for approval: trl approve r-"), "{}", err(&said));
}

/// A program that reads the answer gets it exactly; a terminal is given nothing to act on.
#[test]
fn an_answer_paints_no_terminal() {
    let (daemon, there) = (daemon(), Daemon::start(env!("CARGO_BIN_EXE_trl")));
    let message = "say a\x1b[8m\u{202e}b\nthink c\x1b[2J\u{3164}d\ntool e\x1b]0;x\x07\u{a0}f\nsay g";
    let piped = chat(&daemon, &["--case", "coder", message], "");
    assert!(out(&piped).contains("a\x1b[8m\u{202e}b"), "{}", out(&piped));
    assert!(!err(&piped).contains(['\x1b', '\u{3164}', '\u{a0}']), "{}", err(&piped));
    let (work, socket) = (daemon.dir().dir("work"), daemon.socket().display().to_string());
    let argv = [env!("CARGO_BIN_EXE_trl"), "--socket", &socket, "chat", "--case", "coder", message];
    let mut person = there.terminal(json!({"argv": argv, "working_dir": work, "cols": 120, "rows": 40}));
    person.ended();
    let screen = person.screen();
    for seen in ["a⟨U+001B⟩[8m⟨U+202E⟩b", "c⟨U+001B⟩[2J⟨U+3164⟩d", "e⟨U+001B⟩]0;x⟨U+0007⟩⟨U+00A0⟩f", "g"]
    {
        assert!(screen.contains(seen), "{seen}: {screen}");
    }
}
