//! `trl runtime`, and the commands that choose one.

use std::process::Stdio;

use trl_testkit::{Daemon, Value, json};

use crate::daemon;

struct Said {
    code: i32,
    out: String,
    err: String,
}

fn trl(daemon: &Daemon, args: &[&str]) -> Said {
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(args).stdin(Stdio::null());
    let output = command.current_dir(daemon.dir().path()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn json_of(daemon: &Daemon, args: &[&str]) -> Value {
    let said = trl(daemon, args);
    assert_eq!(said.code, 0, "{args:?}: {}", said.err);
    serde_json::from_str(&said.out).expect("JSON")
}

/// Adds one by the command line.
fn add(daemon: &Daemon, name: &str, flags: &[&str]) {
    let relay = daemon.relay(name);
    let argv = relay["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let args: Vec<&str> = ["runtime", "add", name, "command"]
        .into_iter()
        .chain(flags.iter().copied())
        .chain(["--"])
        .chain(argv)
        .collect();
    let said = trl(daemon, &args);
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{}", said.err);
}

#[test]
fn runtimes_are_added_listed_asked_and_removed() {
    let daemon = daemon();
    add(&daemon, "box", &["--label", "zone=a", "--max-sessions", "2"]);
    let said = trl(&daemon, &["runtime", "ls"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let lines: Vec<Vec<&str>> = said.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["RUNTIME", "KIND", "STATE", "SESSIONS", "LABELS", "TROUBLE"]);
    assert_eq!(
        (&lines[1][..4], &lines[2][..5]),
        (&["host", "host", "up", "0"][..], &["box", "command", "idle", "0", "zone=a"][..])
    );
    assert_eq!(json_of(&daemon, &["runtime", "ls", "--json"])["runtimes"].as_array().unwrap().len(), 2);
    assert_eq!(json_of(&daemon, &["runtime", "health", "box", "--json"])["healthy"], true);
    let info = json_of(&daemon, &["runtime", "get", "box", "--json"]);
    assert_eq!((&info["state"], &info["labels"]), (&json!("up"), &json!({"zone": "a"})));
    assert!(trl(&daemon, &["runtime", "get", "box"]).out.contains("state"));
    assert_eq!(trl(&daemon, &["runtime", "rm", "box"]).code, 0);
    let said = trl(&daemon, &["runtime", "rm", "box"]);
    assert!(said.code == 1 && said.err.contains("no runtime box"), "{}", said.err);
}

#[test]
fn commands_and_sessions_go_where_they_are_told() {
    let daemon = daemon();
    add(&daemon, "box", &["--label", "zone=a"]);
    // Nobody asked for our directory to be there, too.
    let home = trl(&daemon, &["run", "--runtime", "box", "pwd"]);
    assert_eq!(home.code, 0, "{}", home.err);
    assert_ne!(home.out.trim(), daemon.dir().path().to_str().unwrap());
    assert_eq!(
        trl(&daemon, &["run", "--runtime", "host", "pwd"]).out.trim(),
        daemon.dir().path().to_str().unwrap()
    );
    let said = trl(&daemon, &["run", "--runtime-label", "zone=a", "--cwd", "/usr", "pwd; exit 3"]);
    assert_eq!((said.code, said.out.trim()), (3, "/usr"), "{}", said.err);
    let said = trl(&daemon, &["exec", "start", "--runtime", "box", "echo started"]);
    assert_eq!((said.code, said.out.trim()), (0, "started"), "{}", said.err);
    let made = json_of(&daemon, &["session", "new", "--runtime-label", "zone=a", "--json"]);
    assert_eq!(made["runtime"], "box");
    json_of(&daemon, &["session", "new", "--json"]);
    let terminal = json_of(&daemon, &["term", "new", "--runtime", "box", "--json"]);
    assert_eq!(terminal["runtime"], "box");
    assert_eq!(trl(&daemon, &["term", "rm", terminal["terminal_id"].as_str().unwrap()]).code, 0);
    let list = json_of(&daemon, &["session", "ls", "--runtime", "box", "--json"]);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    let said = trl(&daemon, &["runtime", "rm", "box"]);
    assert!(said.code == 1 && said.err.contains("`drain`"), "{}", said.err);
    let said = trl(&daemon, &["runtime", "rm", "--drain", "box"]);
    assert!(
        said.code == 0 && said.err.contains("box goes when its last session has ended; it has 1"),
        "{}",
        said.err
    );
    let said = trl(&daemon, &["run", "--runtime", "box", "--runtime-label", "a=b", "true"]);
    assert!(said.err.contains("cannot be used with"), "{}", said.err);
}
