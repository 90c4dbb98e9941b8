//! `trl session`: what is listed, and which session a name means.

use trl_testkit::{Shell, Value, eventually, json};

use crate::{command, daemon, ok, said, trl};

fn names(listed: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(listed).expect("JSON");
    let sessions = list["sessions"].as_array().expect("a list").iter();
    sessions.map(|s| s["name"].as_str().unwrap_or("-").to_string()).collect()
}

#[test]
fn the_living_come_first_and_the_dead_on_request() {
    let daemon = daemon();
    for name in ["gone", "old", "closed", "new"] {
        ok(&daemon, &["session", "new", "--name", name]);
    }
    ok(&daemon, &["session", "rm", "gone"]);
    ok(&daemon, &["session", "close", "closed"]);
    ok(&daemon, &["run", "true"]);
    ok(&daemon, &["run", "-s", "old", "true"]);
    eventually("the throw-away session is gone", || {
        names(&ok(&daemon, &["session", "ls", "--json"])) == ["old", "new", "closed"]
    });
    let all = names(&ok(&daemon, &["session", "ls", "--all", "--json"]));
    assert_eq!((all.len(), &all[..3]), (5, &["old".to_string(), "new".into(), "closed".into()][..]));
    assert_eq!(names(&ok(&daemon, &["session", "ls", "--state", "terminated", "--json"])).len(), 2);
    let table = ok(&daemon, &["session", "ls"]);
    let rows: Vec<&str> = table.lines().skip(1).map(|row| row.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(rows, ["old", "new", "closed"]);
}

#[test]
fn a_name_means_one_session_or_none() {
    let daemon = daemon();
    let first = ok(&daemon, &["session", "new", "--name", "work"]);
    let taken = trl(&daemon, &["session", "new", "--name", "work"]);
    assert!(taken.code == 1 && taken.err.contains(&first), "{taken:?}");
    // A closed one keeps its name but stands back behind a live one.
    ok(&daemon, &["session", "close", &first]);
    let second = ok(&daemon, &["session", "new", "--name", "work"]);
    ok(&daemon, &["run", "-s", "work", "here=second"]);
    assert_eq!(ok(&daemon, &["run", "-s", &second, "echo $here"]), "second");
    ok(&daemon, &["session", "rm", &second]);
    ok(&daemon, &["session", "info", "work"]);
    let unknown = trl(&daemon, &["run", "-s", "wrok", "true"]);
    assert!(unknown.code == 125 && unknown.err.contains("`wrok`"), "{unknown:?}");
}

#[test]
fn a_closed_session_opens_again() {
    let daemon = daemon();
    let mut session = daemon.session_with(Shell::Dash, json!({"name": "work", "secret_env": {"PASS": "x"}}));
    session.run("cd /usr");
    ok(&daemon, &["session", "close", "work"]);
    let closed = trl(&daemon, &["run", "-s", "work", "pwd"]);
    assert!(closed.code == 125 && closed.err.contains("SESSION_CLOSED"), "{closed:?}");
    let lacking = trl(&daemon, &["session", "open", "work"]);
    assert!(lacking.code == 1 && lacking.err.contains("PASS"), "{lacking:?}");
    let unset = trl(&daemon, &["session", "open", "work", "--secret-env", "PASS"]);
    assert!(unset.code == 2 && unset.err.contains("no variable of that name"), "{unset:?}");
    let opened =
        said(command(&daemon, &["session", "open", "work", "--secret-env", "PASS"]).env("PASS", "hush"));
    assert_eq!((opened.code, opened.out.as_str()), (0, ""), "{opened:?}");
    assert_eq!(ok(&daemon, &["run", "-s", "work", "echo $PWD $PASS"]), "/usr hush");
    let again = ok(&daemon, &["session", "open", "--json", "work"]);
    assert_eq!(serde_json::from_str::<Value>(&again).expect("JSON")["session_id"], session.id);
}
