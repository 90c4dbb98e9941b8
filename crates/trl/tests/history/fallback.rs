//! Sessions whose case file is gone when the next daemon opens them: nothing they may do gets wider.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use trl_testkit::{Client, Daemon};

use super::{builder, history, run};

const STRICT: &str = "approval: {default: allow, rules: [{deny: [rm]}]}
limits: {pids: 60}
sandbox: {mode: read-only, best_effort: true}
env: {FROM: case}
";

/// A daemon whose default case allows everything, and a case in its directory.
fn daemon_with(text: &str) -> (Daemon, PathBuf) {
    let daemon = builder().set("cases", "default", "\"base\"").start();
    daemon.dir().dir("config/trl/cases");
    case(&daemon, "base", "approval: {default: allow}\n");
    let file = case(&daemon, "strict", text);
    (daemon, file)
}

fn case(daemon: &Daemon, id: &str, text: &str) -> PathBuf {
    daemon.dir().file(&format!("config/trl/cases/{id}.yaml"), text).into()
}

fn create(daemon: &Daemon) -> String {
    let place = daemon.dir().dir("place");
    super::create(&mut daemon.client(), json!({"case_id": "strict", "working_dir": place}))
}

/// Kills the daemon, changes something, and starts the next one.
fn in_between(daemon: &mut Daemon, change: impl FnOnce(&Daemon)) -> Client {
    history(&mut daemon.client(), json!({}));
    daemon.kill9();
    change(daemon);
    daemon.relaunch();
    daemon.client()
}

fn fallbacks(daemon: &Daemon, id: &str) -> Vec<String> {
    let log = daemon.log();
    let lines =
        log.lines().filter(|line| line.contains("runtime.fallback.defaultConfig") && line.contains(id));
    lines.map(String::from).collect()
}

/// What must not be wider than before.
fn bounds(info: &Value) -> Value {
    json!([info["case_id"], info["case_digest"], info["limits"], info["sandbox"], info["timeout_s"]])
}

#[test]
fn without_its_file_the_stored_copy_holds() {
    let (mut daemon, file) = daemon_with(STRICT);
    let id = create(&daemon);
    let before = daemon.client().ok("session.info", json!({"session_id": id}));
    let mut client = in_between(&mut daemon, |_| fs::remove_file(&file).unwrap());

    let opened = client.ok("session.get", json!({"session_id": id}));
    assert_eq!((&opened["state"], bounds(&opened)), (&json!("ready"), bounds(&before)));
    assert_eq!(run(&mut client, &id, "echo $FROM $AGENT_CASE_ID")["stdout"], "case strict\n");
    client.refused("APPROVAL_DENIED", "exec.run", json!({"session_id": id, "command": "rm x"}));
    let [told] = &fallbacks(&daemon, &id)[..] else { panic!("{}", daemon.log()) };
    assert!(told.contains("there is no case `strict`; the session's own copy is taken"), "{told}");
    // And once more: the copy is stored again with the session that was opened under it.
    let mut client = in_between(&mut daemon, |_| {});
    client.ok("session.get", json!({"session_id": id}));
    client.refused("APPROVAL_DENIED", "exec.run", json!({"session_id": id, "command": "rm x"}));
}

#[test]
fn the_file_that_is_back_holds_as_it_is_now() {
    let (mut daemon, file) = daemon_with(STRICT);
    let id = create(&daemon);
    let mut client = in_between(&mut daemon, |_| fs::remove_file(&file).unwrap());
    assert_eq!(client.ok("session.info", json!({"session_id": id}))["state"], "uninitialized");
    case(&daemon, "strict", "approval: {default: allow, rules: [{deny: [mv]}]}\n");
    client.ok("session.get", json!({"session_id": id}));
    client.refused("APPROVAL_DENIED", "exec.run", json!({"session_id": id, "command": "mv x y"}));
    assert_eq!(fallbacks(&daemon, &id), Vec::<String>::new());
}

/// An agent can write into its workspace: no file there takes the place of one of the operator's.
#[test]
fn a_file_of_a_workspace_never_stands_in() {
    let (mut daemon, file) = daemon_with(STRICT);
    let id = create(&daemon);
    let mut client = in_between(&mut daemon, |daemon| {
        fs::remove_file(&file).unwrap();
        daemon.dir().dir("place/cases");
        daemon.dir().file("place/cases/strict.yaml", "description: wide\n");
    });
    client.ok("session.get", json!({"session_id": id}));
    client.refused("APPROVAL_DENIED", "exec.run", json!({"session_id": id, "command": "rm x"}));
    assert_eq!(fallbacks(&daemon, &id).len(), 1);
}

/// A secret in a rule is taken out of what is stored, and a rule with a hole does not match what it did.
#[test]
fn without_a_whole_copy_everything_is_asked_about() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let (mut daemon, file) = daemon_with(
        &format!("{STRICT}description: lost\n").replace("deny: [rm]", &format!("deny: [rm, 'echo {token}']")),
    );
    let id = create(&daemon);
    let before = daemon.client().ok("session.info", json!({"session_id": id}));
    let mut client = in_between(&mut daemon, |_| fs::remove_file(&file).unwrap());

    let opened = client.ok("session.get", json!({"session_id": id}));
    assert_eq!(bounds(&opened), bounds(&before));
    for command in ["rm x".to_string(), format!("echo {token}"), "true".into()] {
        let asked =
            client.ok("exec.run", json!({"session_id": id, "command": command, "approval": "return"}));
        assert!(asked["request_id"].is_string(), "{asked}");
        client.ok("exec.cancel", json!({"execution_id": asked["execution_id"]}));
    }
    let [told] = &fallbacks(&daemon, &id)[..] else { panic!("{}", daemon.log()) };
    assert!(told.contains("there is no copy, so every command is asked about"), "{told}");
}

#[test]
fn without_a_default_case_either_it_stays_closed() {
    let (mut daemon, file) =
        daemon_with("approval: {rules: [{deny: ['echo ghp_0123456789abcdefghijABCDEFGHIJ012345']}]}\n");
    let id = create(&daemon);
    let base = file.with_file_name("base.yaml");
    let mut client = in_between(&mut daemon, |_| {
        fs::remove_file(&file).unwrap();
        fs::remove_file(&base).unwrap();
    });
    let refused = client.refused("CASE_NOT_FOUND", "session.get", json!({"session_id": id}));
    assert_eq!(refused.detail("case_id"), "strict");
    case(&daemon, "base", "approval: {default: allow}\n");
    assert_eq!(client.ok("session.get", json!({"session_id": id}))["case_id"], "strict");
}
