//! Who may see, use and trust cases.

use trl_testkit::{Client, Daemon, Value, json};

use crate::{case, daemon, daemon_with_default, workspace, workspace_case};

fn holder(daemon: &Daemon, role: &str, ceilings: Value) -> Client {
    let extra = if ceilings.is_null() { json!({}) } else { json!({"ceilings": ceilings}) };
    let token = daemon.token(role, extra)["token"].as_str().unwrap().to_string();
    let mut client = daemon.client();
    client.ok("system.auth", json!({"token": token}));
    client
}

#[test]
fn everybody_looks_and_only_operators_trust() {
    let daemon = daemon();
    workspace_case(&daemon, "w", "env: {A: b}\n");
    let place = json!({"case_id": "w", "path": workspace(&daemon)});
    let mut viewer = holder(&daemon, "viewer", Value::Null);
    let mut agent = holder(&daemon, "agent", Value::Null);
    let mut socket = daemon.client();
    let digest = viewer.ok("case.get", place.clone())["digest"].clone();
    let trust = trl_testkit::merged(place.clone(), json!({"digest": digest}));
    for client in [&mut viewer, &mut agent, &mut socket] {
        client.ok("case.list", json!({}));
        client.ok("case.get", place.clone());
        client.ok("case.validate", json!({"text": "id: x\n"}));
        client.refused("FORBIDDEN", "case.trust", trust.clone());
    }
    viewer.refused("FORBIDDEN", "session.create", json!({"case_id": "w", "working_dir": workspace(&daemon)}));
    assert_eq!(holder(&daemon, "operator", Value::Null).ok("case.trust", trust)["trusted"], true);
}

#[test]
fn a_ceiling_of_cases_holds_wherever_sessions_are_made() {
    let daemon = daemon();
    case(&daemon, "careful", "id: careful\n");
    case(&daemon, "wild", "id: wild\n");
    let mut agent = holder(&daemon, "agent", json!({"cases": ["careful"]}));
    let text = json!({"command": "true"});
    for (method, params) in [
        ("session.create", json!({})),
        ("terminal.create", json!({})),
        ("exec.run", text.clone()),
        ("exec.start", text),
    ] {
        agent.refused("FORBIDDEN", method, params.clone());
        for other in ["wild", "nothing"] {
            let params = trl_testkit::merged(params.clone(), json!({"case_id": other}));
            agent.refused("FORBIDDEN", method, params);
        }
        agent.ok(method, trl_testkit::merged(params, json!({"case_id": "careful"})));
    }
    let list = agent.ok("case.list", json!({}));
    assert_eq!(list["cases"].as_array().unwrap().len(), 1, "{list}");
    agent.refused("FORBIDDEN", "case.get", json!({"case_id": "wild"}));
}

#[test]
fn a_file_an_agent_wrote_is_below_no_ceiling_until_it_is_trusted() {
    let daemon = daemon();
    workspace_case(&daemon, "careful", "description: mine, in truth\n");
    let mut agent = holder(&daemon, "agent", json!({"cases": ["careful"]}));
    let params = json!({"case_id": "careful", "working_dir": workspace(&daemon)});
    agent.refused("FORBIDDEN", "session.create", params.clone());
    let mut operator = daemon.operator();
    let place = json!({"case_id": "careful", "path": workspace(&daemon)});
    let digest = operator.ok("case.get", place.clone())["digest"].clone();
    operator.ok("case.trust", trl_testkit::merged(place, json!({"digest": digest})));
    agent.ok("session.create", params);
}

#[test]
fn a_case_that_names_none_is_held_against_the_default() {
    let daemon = daemon_with_default("id: base\n");
    case(&daemon, "other", "id: other\n");
    let mut agent = holder(&daemon, "agent", json!({"cases": ["base"]}));
    assert_eq!(agent.ok("session.create", json!({}))["case_id"], "base");
    agent.ok("exec.run", json!({"command": "true"}));
    agent.refused("FORBIDDEN", "session.create", json!({"case_id": "other"}));
    let mut agent = holder(&daemon, "agent", json!({"cases": ["other"]}));
    agent.refused("FORBIDDEN", "session.create", json!({}));
    agent.ok("session.create", json!({"case_id": "other"}));
}

#[test]
fn the_usual_sandbox_is_the_widest_but_for_the_operators_word() {
    let daemon = crate::builder().set("sandbox", "mode", "\"read-only\"").start();
    daemon.dir().dir("config/trl/cases");
    daemon.dir().dir("ws/.trl/cases");
    case(&daemon, "free", "sandbox: off\n");
    case(&daemon, "plain", "id: plain\n");
    workspace_case(&daemon, "theirs", "sandbox: off\n");
    let mut agent = daemon.client();
    assert_eq!(agent.ok("session.create", json!({"case_id": "free"}))["sandbox"]["mode"], "off");
    agent.refused("FORBIDDEN", "session.create", json!({"case_id": "plain", "sandbox": "off"}));
    agent.refused("FORBIDDEN", "session.create", json!({"sandbox": "off"}));
    let params = json!({"case_id": "theirs", "working_dir": workspace(&daemon)});
    agent.refused(
        "FORBIDDEN",
        "session.create",
        trl_testkit::merged(params.clone(), json!({"sandbox": "off"})),
    );
    if let Ok(made) = agent.call("session.create", params) {
        assert_eq!((&made["sandbox"]["mode"], &made["ignored"]), (&json!("read-only"), &json!(["sandbox"])));
    }
}

/// Not for remote runtimes: a token of this test may use no runtime but `host`.
mod local {
    use super::*;

    #[test]
    fn other_ceilings_hold_against_what_the_case_says() {
        let daemon = daemon();
        case(&daemon, "boxed", "sandbox: {mode: read-only}\n");
        case(&daemon, "free", "sandbox: off\n");
        case(&daemon, "netted", "sandbox: {mode: read-only, net: all}\n");
        case(&daemon, "away", "runtime: elsewhere\n");
        case(&daemon, "there", "workspace: w\n");
        let mut agent = holder(&daemon, "agent", json!({"sandbox": "read-only"}));
        for id in ["free", "netted", "away"] {
            agent.refused(
                "FORBIDDEN",
                "session.create",
                json!({"case_id": id, "working_dir": workspace(&daemon)}),
            );
        }
        let boxed =
            agent.call("session.create", json!({"case_id": "boxed", "working_dir": workspace(&daemon)}));
        // where the kernel has no sandbox that is another matter
        assert!(boxed.as_ref().err().is_none_or(|error| error.code == "SANDBOX_UNAVAILABLE"), "{boxed:?}");
        let mut agent = holder(&daemon, "agent", json!({"runtimes": ["host"]}));
        agent.refused("FORBIDDEN", "session.create", json!({"case_id": "away"}));
        agent.ok("session.create", json!({"case_id": "there"}));
        let mut agent = holder(&daemon, "agent", json!({"workspaces": ["w"]}));
        agent.ok("session.create", json!({"case_id": "there"}));
        agent.refused("FORBIDDEN", "session.create", json!({"case_id": "away"}));
        agent.refused("FORBIDDEN", "case.list", json!({"path": workspace(&daemon)}));
        agent.refused("FORBIDDEN", "case.list", json!({"workspace_id": "v"}));
        agent.ok("case.list", json!({"workspace_id": "w"}));
    }
}
