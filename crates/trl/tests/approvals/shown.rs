//! What runs is what was shown, where it was shown, whatever happens between question and answer.

use serde_json::json;
use trl_testkit::Shell;

use super::{answer, builder, daemon, shell, write_rules};

#[test]
fn rules_that_come_later_hold_for_sessions_that_were_there() {
    let daemon = builder().start();
    let mut session = shell(&daemon);
    session.run("mkdir first");
    write_rules(&daemon, "default: allow\nrules:\n- deny: [mkdir]\n");
    let ask = json!({"session_id": session.id, "command": "mkdir second"});
    session.client().refused("APPROVAL_DENIED", "exec.run", ask);
}

#[test]
fn an_approved_command_runs_in_the_directory_that_was_shown() {
    let mut daemon = daemon();
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let (shown, other) = (daemon.dir().text("shown"), daemon.dir().text("other"));
    daemon.dir().dir("shown");
    daemon.dir().dir("other");
    session.run(&format!("cd {shown}"));
    let ask = json!({"session_id": id, "command": "mkdir made", "approval": "return"});
    let asked = session.client().ok("exec.run", ask);
    daemon.kill9();
    daemon.relaunch();
    // somebody goes on in the session meanwhile
    let mut client = daemon.client();
    client.ok("session.get", json!({"session_id": id}));
    client.ok("exec.run", json!({"session_id": id, "command": format!("cd {other}")}));
    let mut operator = daemon.operator();
    let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
    assert_eq!(request["working_dir"], shown.as_str());
    answer(&mut operator, &request, json!({"decision": "approve"}));
    client.ok("exec.wait", json!({"execution_id": asked["execution_id"]}));
    assert!(daemon.dir().join("shown/made").is_dir() && !daemon.dir().join("other/made").exists());
}

#[test]
fn a_program_by_a_relative_name_must_be_the_one_that_was_shown() {
    for kind in [Shell::Bash, Shell::Dash, Shell::Zsh] {
        let daemon = daemon();
        let mut session = daemon.session(kind);
        let tool = daemon.dir().file("tool", "#!/bin/sh\ntrue\n");
        std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        session.run(&format!("cd {}", daemon.dir().text("")));
        let ask = json!({"session_id": session.id, "command": "./tool", "approval": "return"});
        let asked = session.client().ok("exec.run", ask);
        let mut operator = daemon.operator();
        let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
        assert!(request["executables"][0]["identity"].is_string(), "{kind:?}: {request}");
        std::fs::write(&tool, format!("#!/bin/sh\ntouch {}\n", daemon.dir().text("changed"))).unwrap();
        answer(&mut operator, &request, json!({"decision": "approve"}));
        // it is asked about again
        let again = || operator.ok("hitl.list", json!({}))["requests"].as_array().unwrap().len() == 1;
        assert!(trl_testkit::comes_true(trl_testkit::PATIENCE, &mut { again }), "{kind:?}");
        assert!(!daemon.dir().join("changed").exists(), "{kind:?}");
    }
}

/// What comes with a command is not shown, so a yes to one is none to another with something else.
#[test]
fn a_yes_from_before_counts_only_for_a_command_alone() {
    let mut daemon = daemon();
    let mut session = shell(&daemon);
    let id = session.id.clone();
    let made = daemon.dir().text("swapped");
    session.start("sh", json!({"stdin": "true\n"}));
    let mut operator = daemon.operator();
    let pending = || operator.ok("hitl.list", json!({}))["requests"].as_array().unwrap().len() == 1;
    assert!(trl_testkit::comes_true(trl_testkit::PATIENCE, &mut { pending }));
    daemon.kill9();
    daemon.relaunch();
    let mut operator = daemon.operator();
    let request = operator.ok("hitl.list", json!({}))["requests"][0].clone();
    answer(&mut operator, &request, json!({"decision": "approve"}));
    let mut client = daemon.client();
    client.ok("session.get", json!({"session_id": id}));
    let other =
        json!({"session_id": id, "command": "sh", "stdin": format!("touch {made}\n"), "approval": "return"});
    assert_eq!(client.ok("exec.run", other)["state"], "waiting_hitl");
    assert!(!daemon.dir().join("swapped").exists());
}
