//! `trl case`, and the commands that choose one.

use std::path::Path;
use std::process::{Command, Stdio};

use trl_testkit::{Daemon, Value, json};

use crate::{case, daemon, workspace, workspace_case};

struct Said {
    code: i32,
    out: String,
    err: String,
}

fn command(daemon: &Daemon, args: &[&str]) -> Command {
    let mut command = daemon.command();
    command.arg("--socket").arg(daemon.socket()).args(args).stdin(Stdio::null());
    command
}

fn said(command: &mut Command) -> Said {
    let output = command.output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn trl(daemon: &Daemon, args: &[&str]) -> Said {
    said(&mut command(daemon, args))
}

fn json_of(daemon: &Daemon, args: &[&str]) -> Value {
    let said = trl(daemon, args);
    assert_eq!(said.code, 0, "{args:?}: {}", said.err);
    serde_json::from_str(&said.out).expect("JSON")
}

#[test]
fn cases_are_listed_and_shown() {
    let daemon = daemon();
    case(&daemon, "good", "description: a good one\n");
    case(&daemon, "bad", "id: bad\nsandox: off\n");
    let said = trl(&daemon, &["case", "ls"]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("good  config  trusted  a good one"), "{}", said.out);
    assert!(said.out.contains("bad   config  broken"), "{}", said.out);
    assert!(
        said.err.contains("bad.yaml:2:1: unknown field `sandox`; did you mean `sandbox`?"),
        "{}",
        said.err
    );
    let list = json_of(&daemon, &["case", "ls", "--json"]);
    assert_eq!(list["cases"].as_array().unwrap().len(), 2);
    assert_eq!(json_of(&daemon, &["case", "show", "good", "--json"])["description"], "a good one");
    let said = trl(&daemon, &["case", "show", "bad"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("bad.yaml:2:1"), "{}", said.err);
}

#[test]
fn files_are_checked_without_a_daemon() {
    let daemon = daemon();
    let good = daemon.dir().file("good.yaml", "id: good\n");
    let bad = daemon.dir().file("bad.yaml", "id: bad\nlimits:\n  pidz: 4\n");
    let nowhere =
        |args: &[&str]| said(daemon.command().args(["--socket", "/nonexistent/trl.sock"]).args(args));
    assert_eq!(nowhere(&["case", "check", &good]).code, 0);
    let said = nowhere(&["case", "check", &good, &bad]);
    assert_eq!(said.code, 1);
    assert_eq!(said.err, format!("{bad}:3:3: unknown field `pidz`; did you mean `pids`?\n"));
    let said = nowhere(&["case", "check", "--json", &bad]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &report["files"][0]["errors"][0]["line"]), (1, &json!(3)));
    assert_eq!(nowhere(&["case", "check", "/nonexistent.yaml"]).code, 1);
    let odd = daemon.dir().file("Odd Name.yaml", "id: x\n");
    assert!(nowhere(&["case", "check", &odd]).err.contains("the name of the file is no id"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cases");
    let mut all = daemon.command();
    all.args(["case", "check"]).args(std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()));
    let output = all.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_person_trusts_what_is_in_the_directory() {
    let daemon = daemon();
    workspace_case(&daemon, "w", "shell: /bin/bash\nenv: {V: v}\n");
    let here = |args: &[&str]| {
        said(
            command(&daemon, args)
                .current_dir(workspace(&daemon))
                .env("TRL_AUTH_TOKEN", daemon.operator_token()),
        )
    };
    let before = here(&["run", "--case", "w", "echo [$V]"]);
    assert_eq!((before.code, before.out.as_str()), (0, "[]\n"), "{}", before.err);
    let trusted = here(&["case", "trust", "w"]);
    assert_eq!(trusted.code, 0, "{}", trusted.err);
    assert!(trusted.err.contains("these take effect now: env, shell"), "{}", trusted.err);
    assert_eq!(here(&["run", "--case", "w", "echo [$V]"]).out, "[v]\n");
    assert_eq!(here(&["case", "trust", "w", "--revoke"]).code, 0);
    assert_eq!(here(&["run", "--case", "w", "echo [$V]"]).out, "[]\n");
    assert_eq!(here(&["case", "trust", "w", "--digest", "00"]).code, 1);
}

#[test]
fn sessions_start_where_their_case_says_or_here() {
    let daemon = daemon();
    case(&daemon, "placed", "working_dir: /usr\n");
    case(&daemon, "free", "id: free\n");
    let here = |args: &[&str]| said(command(&daemon, args).current_dir(workspace(&daemon)));
    assert_eq!(here(&["run", "--case", "placed", "pwd"]).out, "/usr\n");
    assert_eq!(here(&["run", "--case", "free", "pwd"]).out, format!("{}\n", workspace(&daemon)));
    assert_eq!(here(&["run", "--case", "placed", "--cwd", "/", "pwd"]).out, "/\n");
    assert_eq!(here(&["exec", "start", "--case", "placed", "pwd"]).out, "/usr\n");
    let id = here(&["session", "new", "--case", "placed"]).out;
    let info = json_of(&daemon, &["session", "info", id.trim(), "--json"]);
    assert_eq!((&info["case_id"], &info["working_dir"]), (&json!("placed"), &json!("/usr")));
    let list = json_of(&daemon, &["session", "ls", "--case", "placed", "--json"]);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    let id = here(&["term", "new", "--case", "placed", "--", "/bin/cat"]).out;
    assert_eq!(json_of(&daemon, &["term", "info", id.trim(), "--json"])["case_id"], "placed");
    let said = here(&["run", "--case", "placd", "pwd"]);
    assert_eq!(said.code, 125);
    assert!(said.err.contains("CASE_NOT_FOUND") && said.err.contains("did you mean placed?"), "{}", said.err);
}
