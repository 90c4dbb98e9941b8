//! Every method, for every role, over HTTP: the table of methods is what decides.

use trl_proto::method::Access;
use trl_proto::{Method, Role};
use trl_testkit::{Daemon, Http, json};

use crate::{daemon, with_role};

/// Whether the door lets this through to its parameters, which are wrong on purpose.
fn is_forbidden(http: &Http, method: Method) -> bool {
    http.refused(method.name(), json!({"no_such_parameter": 1})) == "FORBIDDEN"
}

fn doors(daemon: &Daemon) -> [(Role, Http); 3] {
    [
        (Role::Viewer, with_role(daemon, "viewer")),
        (Role::Agent, with_role(daemon, "agent")),
        (Role::Operator, with_role(daemon, "operator")),
    ]
}

#[test]
fn each_method_is_for_its_roles_and_no_other() {
    let daemon = daemon();
    for (role, http) in doors(&daemon) {
        for method in Method::ALL {
            assert_eq!(is_forbidden(&http, *method), !method.allows(role), "{} {role:?}", method.name());
        }
    }
}

#[test]
fn a_viewer_changes_nothing_whatever_it_tries() {
    let daemon = daemon();
    let agent = with_role(&daemon, "agent");
    let session = agent.ok("session.create", json!({}))["session_id"].clone();
    let run = agent.ok("exec.run", json!({"session_id": session, "command": "x=1; echo seen"}));
    let viewer = with_role(&daemon, "viewer");
    let target = json!({
        "session_id": session, "execution_id": run["execution_id"], "command": "true", "signal": "TERM",
        "name": "v", "role": "operator", "token_id": "tok-abcdefgh",
    });
    for method in Method::ALL.iter().filter(|method| method.access() != Access::Watch) {
        assert_eq!(viewer.refused(method.name(), target.clone()), "FORBIDDEN", "{}", method.name());
    }
    let seen = viewer.ok("exec.result", json!({"execution_id": run["execution_id"]}));
    assert_eq!(seen["stdout"], "seen\n");
    assert_eq!(viewer.ok("session.list", json!({}))["sessions"].as_array().map(Vec::len), Some(1));
    let info = viewer.ok("session.info", json!({"session_id": session}));
    assert_eq!((&info["state"], &info["command_count"]), (&json!("idle"), &json!(1)));
}
