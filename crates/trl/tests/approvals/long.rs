//! A card that is longer than the screen: all of it is on the screen before a key approves it.

use serde_json::json;
use trl_testkit::Terminal;

use super::cli::person_with_rows;
use super::{builder, daemon, next_request, subscribe};

/// Shows what it hides behind: a harmless beginning, and enough to push the rest away.
fn padded(between: &str) -> String {
    format!("echo fine\n{between}echo $(date | wc -c)")
}

fn row_of(person: &mut Terminal, text: &str) -> bool {
    person.screen().contains(text)
}

#[test]
fn empty_lines_hide_nothing() {
    let (daemon, there) = (daemon(), builder().start());
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    let run = client.send("exec.run", json!({"command": padded(&"\n".repeat(300))}));
    let request = next_request(&mut operator);
    let parts = request["segments"][0]["parts"].as_array().unwrap();
    assert_eq!(parts, &["echo fine", "echo", "date", "wc -c"].map(serde_json::Value::from));
    let mut person = person_with_rows(&there, &daemon, 40);
    person.wait("y yes, once");
    let screen = person.screen();
    for line in [
        "302 lines, 300 of them empty",
        "echo fine",
        "300 empty lines",
        "echo $(date | wc -c)",
        "runs: wc -c",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    person.input("y");
    assert_eq!(client.reply(run).unwrap()["exit_code"], 0);
}

#[test]
fn no_key_approves_what_was_not_shown() {
    let (daemon, there) = (daemon(), builder().start());
    let mut operator = subscribe(&daemon);
    let mut client = daemon.client();
    let lines: String = (0..60).map(|n| format!("echo line-{n}\n")).collect();
    let run = client.send("exec.run", json!({"command": padded(&lines)}));
    let request = next_request(&mut operator);
    let mut person = person_with_rows(&there, &daemon, 24);
    person.wait("space shows more");
    assert!(row_of(&mut person, "echo line-0") && !row_of(&mut person, "y yes, once"));
    let mut seen = person.screen();
    for key in ["y", "s", "a", "e"] {
        person.input(key);
    }
    person.wait("read all of it first");
    let again = operator.ok("hitl.get", json!({"request_id": request["request_id"]}));
    assert_eq!(again["state"], "pending");
    while !row_of(&mut person, "y yes, once") {
        let before = person.screen();
        person.input(" ");
        person.wait_until("another page", |screen| screen != before && screen.contains("q leave"));
        seen += &person.screen();
    }
    let missing = (0..60).find(|n| !seen.lines().any(|row| row.trim() == format!("echo line-{n}")));
    assert_eq!(missing, None, "{seen}");
    assert!(row_of(&mut person, "asked by"), "the end is in sight: {}", person.screen());
    person.input("y");
    assert_eq!(client.reply(run).unwrap()["exit_code"], 0);
}

/// Keys that were pressed before the card was there are for something else.
#[test]
fn keys_typed_ahead_answer_nothing() {
    let (daemon, there) = (daemon(), builder().start());
    let mut operator = subscribe(&daemon);
    let mut person = person_with_rows(&there, &daemon, 40);
    person.wait("Nothing waits");
    person.input("yyyy");
    // The line discipline has shown them: they are there to be read.
    person.wait("yyyy");
    let mut client = daemon.client();
    let run = client.send("exec.run", json!({"command": "id -u"}));
    let request = next_request(&mut operator);
    person.wait("y yes, once");
    person.input("?");
    let again = operator.ok("hitl.get", json!({"request_id": request["request_id"]}));
    assert_eq!(again["state"], "pending");
    person.input("n");
    assert!(client.reply(run).is_err());
}
