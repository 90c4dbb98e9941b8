//! Rules of a case hold for its sessions.

use serde_json::json;
use trl_testkit::Shell;

use super::{answer, builder, next_request, subscribe};

const CAREFUL: &str = "id: careful\napproval:\n  default: ask\n  rules:\n  - allow: [echo]\n  - deny: [git push]\n    reason: not from here\n";

#[test]
fn a_case_says_what_its_sessions_ask_about() {
    let daemon = builder().start();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().file("config/trl/cases/careful.yaml", CAREFUL);
    let mut operator = subscribe(&daemon);
    let mut session = daemon.session_with(Shell::Bash, json!({"case_id": "careful"}));
    assert_eq!(session.run("echo hello").out(), "hello\n");
    let id = session.id.clone();
    let push = json!({"session_id": id, "command": "cd /tmp && git push origin main"});
    let error = session.client().refused("APPROVAL_DENIED", "exec.run", push);
    assert_eq!(error.hint.as_deref(), Some("not from here"));
    let sent = session.client().send("exec.run", json!({"session_id": id, "command": "date -u"}));
    let request = next_request(&mut operator);
    assert_eq!(request["case_id"], "careful");
    answer(&mut operator, &request, json!({"decision": "approve", "scope": "always"}));
    session.client().reply(sent).unwrap();
    // always is for the case, not for everybody
    let mut same = daemon.session_with(Shell::Bash, json!({"case_id": "careful"}));
    assert_eq!(same.run("date -u").code, 0);
    // without a case nobody is asked
    assert_eq!(daemon.session(Shell::Bash).run("id -u").code, 0);
    let fresh = json!({"command": "id -u", "case_id": "careful", "approval": "fail"});
    daemon.client().refused("APPROVAL_REQUIRED", "exec.start", fresh);
}

#[test]
fn a_case_of_a_workspace_can_only_ask_for_more() {
    let daemon = builder().start();
    let workspace = daemon.dir().dir("work");
    daemon.dir().dir("work/.trl/cases");
    daemon.dir().file(
        "work/.trl/cases/mine.yaml",
        "id: mine\napproval:\n  rules:\n  - allow: [id]\n  - deny: [whoami]\n",
    );
    super::write_rules(&daemon, "default: ask\n");
    let params = json!({"case_id": "mine", "working_dir": workspace.to_str().unwrap()});
    let mut session = daemon.session_with(Shell::Bash, params);
    for (command, code) in [("id", "APPROVAL_REQUIRED"), ("whoami", "APPROVAL_DENIED")] {
        let params = json!({"session_id": session.id, "command": command, "approval": "fail"});
        session.client().refused(code, "exec.run", params);
    }
}
