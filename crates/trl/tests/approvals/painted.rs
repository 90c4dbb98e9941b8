//! Names, directories and commands that would draw over what an approver reads: they come out as their numbers.

use serde_json::json;
use trl_proto::untrusted::is_invisible;
use trl_testkit::{Daemon, eventually};

use super::cli::{person, text, trl};
use super::{builder, daemon, next_request, subscribe};

/// Clears the screen and writes a card of its own; the rest is what terminals and browsers show nothing of.
const PAINT: &str = "a\u{1b}[2J\u{1b}[Hb\r\n   ls -la\u{9b}8m\u{202e}\u{200b}\u{3164}\u{2800}\u{a0}\u{fe0f}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{ad}\u{ffa0}\u{e0041}";
/// The same without control characters, which names of sessions do not take.
const UNSEEN: &str = "n\u{202e}\u{200b}\u{3164}\u{2800}\u{a0}\u{fe0f}\u{34f}\u{115f}\u{ad}\u{e0041}m";

/// What the command line prints is as it is told: nothing in it acts, hides or breaks a line that is not ours.
fn assert_seen(printed: &str) {
    let unseen = printed.chars().find(|c| *c != '\n' && is_invisible(*c));
    assert_eq!(unseen, None, "{printed:?}");
    assert!(printed.lines().all(|line| !line.starts_with("   ls -la")), "{printed}");
}

fn printed(daemon: &Daemon, args: &[&str]) -> String {
    let done = trl(daemon, args);
    text(&done.stdout) + &text(&done.stderr)
}

#[test]
fn a_directory_paints_no_card() {
    let (daemon, there) = (daemon(), builder().start());
    daemon.dir().dir(PAINT);
    let mut operator = subscribe(&daemon);
    let (dir, command) = (daemon.dir().text(PAINT), format!("wc -l # {UNSEEN}"));
    let mut client = daemon.client();
    let session = client.ok("session.create", json!({"working_dir": dir, "name": UNSEEN}));
    let run = client.send("exec.run", json!({"session_id": session["session_id"], "command": command}));
    next_request(&mut operator);
    assert_seen(&printed(&daemon, &["approve", "--list"]));
    let mut person = person(&there, &daemon);
    person.wait("y yes, once");
    let screen = person.screen();
    assert!(screen.contains("wc -l # n⟨U+202E⟩") && screen.contains("⟨U+001B⟩[2J"), "{screen}");
    assert_seen(&screen);
    person.input("n");
    assert!(client.reply(run).is_err());
}

#[test]
fn lists_and_errors_paint_nothing() {
    let daemon = builder().start();
    daemon.dir().dir(PAINT);
    let dir = daemon.dir().text(PAINT);
    let mut client = daemon.client();
    let session = client
        .ok("session.create", json!({"working_dir": dir, "name": UNSEEN, "labels": {"\u{1b}[2Jkey": PAINT}}));
    let session = session["session_id"].as_str().unwrap().to_string();
    client.ok("exec.run", json!({"session_id": session, "command": format!(": '{PAINT}'")}));
    let title = ["sh", "-c", "printf '\\033]0;a\u{202e}\u{3164}b\\007'; exec cat"];
    let mut terminal =
        daemon.terminal(json!({"argv": title, "working_dir": dir, "name": UNSEEN, "labels": {"k": PAINT}}));
    eventually("the title is set", || terminal.info()["title"].as_str().is_some_and(|t| !t.is_empty()));
    let absent = daemon.dir().text("\u{1b}[2J\u{202e}absent");
    for args in [
        &["session", "ls"][..],
        &["session", "info", &session],
        &["session", "close", &format!("{UNSEEN}\u{1b}[2J")],
        &["term", "ls"],
        &["term", "info", &terminal.id],
        &["exec", "ls"],
        &["history", &session],
        &["fs", "ls", "-s", &session],
        &["fs", "cat", "-s", &session, "\u{1b}[2J\u{202e}"],
        &["session", "new", "--cwd", &absent],
        &["run", "--cwd", &absent, "true"],
        &["call", "session.create", "{\"\\u001b[2J\\u202e\": 1}"],
    ] {
        assert_seen(&printed(&daemon, args));
    }
}
