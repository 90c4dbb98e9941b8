//! `trl approve`, `trl reject`, and what `trl run` says while it waits.

use std::process::{Child, Output, Stdio};

use serde_json::json;
use trl_testkit::{Daemon, Terminal, eventually};

use super::{builder, daemon, next_request, subscribe};

pub(super) fn trl(daemon: &Daemon, args: &[&str]) -> Output {
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(args);
    command.stdin(Stdio::null()).output().unwrap()
}

fn begin(daemon: &Daemon, args: &[&str]) -> Child {
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_says_that_it_waits_and_goes_on_when_it_may() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let run = begin(&daemon, &["run", "printf one | wc -c"]);
    let request = next_request(&mut operator);
    let id = request["request_id"].as_str().unwrap();
    let list = text(&trl(&daemon, &["approve", "--list"]).stdout);
    assert!(list.contains(id) && list.contains("printf one | wc -c"), "{list}");
    let said = trl(&daemon, &["approve", id]);
    assert_eq!((said.status.code(), text(&said.stdout)), (Some(0), format!("{id} approved\n")));
    let done = run.wait_with_output().unwrap();
    assert_eq!((done.status.code(), text(&done.stdout).trim()), (Some(0), "3"));
    assert!(text(&done.stderr).contains(&format!("trl approve {id}")), "{}", text(&done.stderr));
}

#[test]
fn a_no_comes_with_its_reason_and_coming_too_late_is_said() {
    let daemon = daemon();
    let mut operator = subscribe(&daemon);
    let run = begin(&daemon, &["run", "id -u"]);
    let request = next_request(&mut operator);
    let id = request["request_id"].as_str().unwrap();
    assert_eq!(trl(&daemon, &["reject", id, "--reason", "ask me tomorrow"]).status.code(), Some(0));
    let done = run.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(125));
    assert!(text(&done.stderr).contains("ask me tomorrow"), "{}", text(&done.stderr));
    let late = trl(&daemon, &["approve", id]);
    assert_eq!(late.status.code(), Some(1));
    assert!(text(&late.stderr).contains("rejected before"), "{}", text(&late.stderr));
}

/// A person at a terminal of another daemon.
pub(super) fn person(there: &Daemon, daemon: &Daemon) -> Terminal {
    person_with_rows(there, daemon, 40)
}

pub(super) fn person_with_rows(there: &Daemon, daemon: &Daemon, rows: u16) -> Terminal {
    let config = daemon.dir().join("config").display().to_string();
    let socket = daemon.socket().display().to_string();
    let argv = [
        "env",
        &format!("XDG_CONFIG_HOME={config}"),
        env!("CARGO_BIN_EXE_trl"),
        "--socket",
        &socket,
        "approve",
    ];
    there.terminal(json!({"argv": argv, "cols": 120, "rows": rows}))
}

/// Not in containers: a container is an approval boundary, and the test expects none.
mod outside_containers {
    use super::*;

    #[test]
    fn a_person_goes_through_them_with_one_key_each() {
        let (daemon, there) = (daemon(), builder().start());
        let mut person = person(&there, &daemon);
        eventually("it waits", || person.screen().contains("Nothing waits"));
        let mut client = daemon.client();
        let first = client.send("exec.run", json!({"command": "id -u"}));
        eventually("the first is shown", || {
            person.screen().contains("id -u") && person.screen().contains("y yes")
        });
        assert!(person.screen().contains("advisory"));
        person.input("y");
        assert_eq!(client.reply(first).unwrap()["exit_code"], 0);
        let second = client.send("exec.run", json!({"command": "date +%Y"}));
        eventually("the second is shown", || person.screen().contains("date +%Y"));
        person.input("r");
        eventually("a reason is asked for", || person.screen().contains("reason:"));
        person.input("no dates\r");
        let refused = client.reply(second).unwrap_err();
        assert_eq!((refused.code.as_str(), refused.hint.as_deref()), ("APPROVAL_DENIED", Some("no dates")));
        let third = client.send("exec.run", json!({"command": "whoami"}));
        eventually("the third is shown", || person.screen().contains("whoami"));
        person.input("e");
        eventually("another text is asked for", || person.screen().contains("instead:"));
        person.input("echo edited\r");
        assert_eq!(client.reply(third).unwrap()["stdout"], "edited\n");
        client.send("exec.run", json!({"command": "uname"}));
        eventually("the fourth is shown", || person.screen().contains("uname"));
        person.input("q");
        eventually("it leaves", || person.info()["exit_code"] == 0);
    }
}
