//! An allowed name must be what it seems.

use serde_json::json;
use trl_testkit::{Session, Shell};

use super::{approve, daemon, next_request, subscribe};

/// Runs what a person has to be asked about, and says yes.
pub(crate) fn approved(daemon: &trl_testkit::Daemon, session: &mut Session, command: &str) {
    let mut operator = subscribe(daemon);
    let id = session.id.clone();
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": command}));
    let request = next_request(&mut operator);
    approve(&mut operator, &request);
    session.client().reply(sent).unwrap();
}

/// Why the command is asked about; None when it is not.
pub(crate) fn asked(session: &mut Session, command: &str) -> Option<String> {
    let params = json!({"session_id": session.id, "command": command, "approval": "fail"});
    match session.client().call("exec.run", params) {
        Ok(_) => None,
        Err(error) => {
            assert_eq!(error.code, "APPROVAL_REQUIRED", "{error:?}");
            Some(error.detail("segments")[0]["reason"].as_str().unwrap_or_default().to_string())
        }
    }
}

const SHELLS: [Shell; 4] = [Shell::Dash, Shell::Bash, Shell::Zsh, Shell::Ash];

#[test]
fn a_function_or_alias_in_between_is_asked_about() {
    let daemon = daemon();
    for shell in SHELLS {
        let mut session = daemon.session(shell);
        assert_eq!(asked(&mut session, "echo plain"), None, "{shell:?}");
        approved(&daemon, &mut session, "echo() { :; }");
        let why = asked(&mut session, "echo plain").unwrap_or_else(|| panic!("{shell:?}"));
        assert!(why.contains("echo is a function"), "{shell:?}: {why}");
        approved(&daemon, &mut session, "unset -f echo");
        assert_eq!(asked(&mut session, "echo plain"), None, "{shell:?}");
        if shell != Shell::Bash {
            approved(&daemon, &mut session, "alias echo='echo x'");
            let why = asked(&mut session, "echo plain").unwrap_or_else(|| panic!("{shell:?}"));
            assert!(why.contains("echo is a alias"), "{shell:?}: {why}");
        }
    }
}

#[test]
fn another_file_of_the_same_name_is_asked_about() {
    let daemon = super::with_rules("default: ask\nrules:\n- allow: [uname]\n");
    let evil = daemon.dir().dir("evil");
    std::fs::copy("/bin/true", evil.join("uname")).unwrap();
    for shell in SHELLS {
        let mut session = daemon.session(shell);
        assert_eq!(asked(&mut session, "uname"), None, "{shell:?}");
        approved(&daemon, &mut session, &format!("PATH={}:$PATH", evil.display()));
        let why = asked(&mut session, "uname").unwrap_or_else(|| panic!("{shell:?}"));
        assert!(why.contains("evil/uname"), "{shell:?}: {why}");
    }
}

#[test]
fn options_that_change_what_a_word_is_are_asked_about() {
    let daemon = daemon();
    let changes = [
        (Shell::Bash, "set -k"),
        (Shell::Bash, "shopt -s extglob"),
        (Shell::Zsh, "setopt extendedglob"),
        (Shell::Zsh, "alias -g plain=x"),
    ];
    for (shell, change) in changes {
        let mut session = daemon.session(shell);
        assert_eq!(asked(&mut session, "echo plain"), None, "{shell:?}");
        approved(&daemon, &mut session, change);
        let why = asked(&mut session, "echo plain").unwrap_or_else(|| panic!("{shell:?} {change}"));
        assert!(why.contains("option"), "{shell:?} {change}: {why}");
    }
}

#[test]
fn a_name_that_changes_between_the_yes_and_the_run_is_asked_about_again() {
    let daemon = super::with_rules("default: ask\nrules:\n- allow: [echo]\n");
    let bin = daemon.dir().dir("tools");
    let tool = bin.join("tool");
    std::fs::copy("/bin/echo", &tool).unwrap();
    let mut operator = subscribe(&daemon);
    let mut session = super::shell(&daemon);
    approved(&daemon, &mut session, &format!("PATH={}:$PATH", bin.display()));
    operator.event("hitl.requested");
    let id = session.id.clone();
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": "tool one"}));
    let request = next_request(&mut operator);
    assert_eq!(request["executables"][0]["path"], tool.to_str().unwrap());
    std::fs::remove_file(&tool).unwrap();
    std::fs::copy("/bin/true", &tool).unwrap();
    approve(&mut operator, &request);
    let again = next_request(&mut operator);
    assert_ne!(again["digest"], request["digest"]);
    approve(&mut operator, &again);
    assert_eq!(session.client().reply(sent).unwrap()["stdout"], "");
}

#[test]
fn looking_leaves_no_trace() {
    let daemon = super::with_rules("default: allow\n");
    for shell in SHELLS {
        let mut session = daemon.session(shell);
        session.run("set -eu; x=1; false || true");
        let count = session.info()["command_count"].clone();
        session.run("(exit 3) || y=$?; echo $y $x");
        assert_eq!(session.run("echo $y").out(), "3\n", "{shell:?}");
        assert_eq!(session.info()["command_count"].as_u64(), Some(count.as_u64().unwrap() + 2), "{shell:?}");
        let result = session.run("echo $?");
        assert_eq!(result.out(), "0\n", "{shell:?}");
        assert!(result.json["background_pids"].is_null());
    }
}
