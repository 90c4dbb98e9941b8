//! Cases in a workspace: an agent can write them, so they only narrow until an operator trusts them as they are.

use trl_testkit::{Daemon, Shell, Value, json};

use crate::{builder, case, daemon, daemon_with_default, output, workspace, workspace_case};

/// A session from this text in the workspace, which nobody trusts.
fn create(daemon: &Daemon, text: &str) -> Value {
    workspace_case(daemon, "w", text);
    daemon.client().ok("session.create", json!({"case_id": "w", "working_dir": workspace(daemon)}))
}

fn trust(daemon: &Daemon, id: &str) -> Value {
    let mut operator = daemon.operator();
    let seen = operator.ok("case.get", json!({"case_id": id, "path": workspace(daemon)}));
    operator.ok("case.trust", json!({"case_id": id, "path": workspace(daemon), "digest": seen["digest"]}))
}

#[test]
fn row_by_row_what_is_narrower_holds() {
    let daemon = builder().set("limits", "pids", 100).start();
    daemon.dir().dir("ws/.trl/cases");
    let none = |made: &Value| assert!(made.get("ignored").is_none(), "{made}");
    let made = create(&daemon, "limits: {pids: 50, open_files: 64}\n");
    none(&made);
    assert_eq!((&made["limits"]["pids"], &made["limits"]["open_files"]), (&json!(50), &json!(64)));
    let made = create(&daemon, "timeout_s: 3\n");
    none(&made);
    assert_eq!(made["timeout_s"], 3);
    let made = create(&daemon, "sandbox: {mode: read-only, best_effort: true}\n");
    none(&made);
    assert_eq!(made["sandbox"]["mode"], "read-only");
    let made = create(
        &daemon,
        "description: only words\napproval: {default: ask, rules: [{deny: [rm]}, {ask: [ls]}]}\n",
    );
    none(&made);
    let shown = daemon.client().ok("case.get", json!({"case_id": "w", "path": workspace(&daemon)}));
    assert_eq!(shown["case"]["approval"]["rules"], json!([{"deny": ["rm"]}, {"ask": ["ls"]}]));
    assert_eq!((&shown["trusted"], &shown["origin"]), (&json!(false), &json!("workspace")));
    // and the session cannot ask for more than its case, which an agent wrote
    workspace_case(&daemon, "w", "limits: {pids: 50}\nsandbox: {mode: read-only, best_effort: true}\n");
    let mut agent = daemon.client();
    for wider in
        [json!({"limits": {"pids": 51}}), json!({"sandbox": "off"}), json!({"sandbox": "workspace-write"})]
    {
        let params = json!({"case_id": "w", "working_dir": workspace(&daemon)});
        agent.refused("FORBIDDEN", "session.create", trl_testkit::merged(params, wider));
    }
}

#[test]
fn the_default_case_is_what_is_narrowed() {
    let daemon =
        daemon_with_default("shell: /bin/bash\nenv: {BASE: here}\nlimits: {pids: 60}\ntimeout_s: 9\n");
    let made = create(&daemon, "shell: /bin/sh\nlimits: {pids: 70, open_files: 64}\n");
    assert_eq!(made["ignored"], json!(["limits.pids", "shell"]));
    assert_eq!((&made["shell"], &made["timeout_s"]), (&json!("/bin/bash"), &json!(9)));
    assert_eq!((&made["limits"]["pids"], &made["limits"]["open_files"]), (&json!(60), &json!(64)));
    assert_eq!(output(&mut daemon.client(), &made, "echo $BASE $AGENT_CASE_ID"), "here w");
}

#[test]
fn trust_is_in_the_file_as_it_was_seen() {
    let mut daemon = daemon();
    let text = "shell: /bin/bash\nenv: {WORD: 'yes'}\nlimits: {pids: 70}\n";
    assert_eq!(create(&daemon, text)["ignored"], json!(["env", "shell"]));
    let info = trust(&daemon, "w");
    assert_eq!((&info["trusted"], info.get("ignored")), (&json!(true), None));
    let made = create(&daemon, text);
    assert_eq!((made.get("ignored"), &made["shell"]), (None, &json!("/bin/bash")));
    assert_eq!(output(&mut daemon.client(), &made, "echo $WORD"), "yes");
    // one byte more, and it is another file
    let edited = create(&daemon, &format!("{text}\n"));
    assert_eq!((&edited["ignored"], &edited["shell"]), (&json!(["env", "shell"]), &json!("/bin/sh")));
    // as it was, it is trusted again, also by the next daemon
    assert!(create(&daemon, text).get("ignored").is_none());
    daemon.stop();
    daemon.relaunch();
    assert!(create(&daemon, text).get("ignored").is_none());
    let mut operator = daemon.operator();
    let place = json!({"case_id": "w", "path": workspace(&daemon), "digest": "", "trust": false});
    assert_eq!(operator.ok("case.trust", place)["trusted"], false);
    assert_eq!(create(&daemon, text)["ignored"], json!(["env", "shell"]));
}

#[test]
fn what_changed_between_the_look_and_the_word_is_not_trusted() {
    let daemon = daemon();
    workspace_case(&daemon, "w", "env: {A: seen}\n");
    let mut operator = daemon.operator();
    let place = json!({"case_id": "w", "path": workspace(&daemon)});
    let seen = operator.ok("case.get", place.clone());
    workspace_case(&daemon, "w", "env: {A: swapped}\n");
    let params = trl_testkit::merged(place.clone(), json!({"digest": seen["digest"]}));
    let error = operator.refused("CASE_INVALID", "case.trust", params);
    assert_ne!(error.detail("digest"), &seen["digest"]);
    assert_eq!(operator.ok("case.get", place)["trusted"], false);
    operator.refused("INVALID_PARAMS", "case.trust", json!({"case_id": "w", "digest": seen["digest"]}));
    operator.refused(
        "CASE_NOT_FOUND",
        "case.trust",
        json!({"case_id": "x", "path": workspace(&daemon), "digest": ""}),
    );
    workspace_case(&daemon, "broken", "nope: 1\n");
    operator.refused(
        "CASE_INVALID",
        "case.trust",
        json!({"case_id": "broken", "path": workspace(&daemon), "digest": ""}),
    );
}

#[test]
fn no_case_of_a_workspace_takes_the_place_of_the_operators() {
    let daemon = daemon();
    case(&daemon, "w", "limits: {pids: 60}\n");
    let made = create(&daemon, "limits: {pids: 20}\nenv: {A: b}\n");
    assert_eq!((&made["limits"]["pids"], made.get("ignored")), (&json!(60), None), "{made}");
    let list = daemon.client().ok("case.list", json!({"path": workspace(&daemon)}));
    assert!(list["cases"][1]["errors"][0]["message"].as_str().unwrap().contains("which wins"), "{list}");
}

#[test]
fn a_workspace_with_an_id_has_cases_too() {
    let daemon = daemon();
    daemon.dir().dir("home/.local/share/trl/files/proj/.trl/cases");
    crate::private(
        &daemon
            .dir()
            .file("home/.local/share/trl/files/proj/.trl/cases/w.yaml", "env: {A: b}\nlimits: {pids: 60}\n"),
    );
    let mut client = daemon.client();
    let params = json!({"case_id": "w", "workspace_id": "proj"});
    let made = client.ok("session.create", params.clone());
    assert_eq!((&made["workspace_id"], &made["ignored"]), (&json!("proj"), &json!(["env"])));
    let found =
        client.ok("session.list", json!({"workspace_id": "proj"}))["sessions"].as_array().unwrap().len();
    assert_eq!(found, 1);
    assert!(
        client.ok("session.list", json!({"workspace_id": "x"}))["sessions"].as_array().unwrap().is_empty()
    );
    let mut operator = daemon.operator();
    let digest = operator.ok("case.get", params)["digest"].clone();
    operator.ok("case.trust", json!({"case_id": "w", "workspace_id": "proj", "digest": digest}));
    let made =
        client.ok("terminal.create", json!({"case_id": "w", "workspace_id": "proj", "argv": ["/bin/cat"]}));
    assert_eq!((&made["case_id"], made.get("ignored")), (&json!("w"), None), "{made}");
}

/// Not for remote runtimes: the daemon does not know the processes of a remote session, and the table expects the
/// runtime `host`.
mod local {
    use super::*;

    #[test]
    fn row_by_row_what_is_wider_has_no_effect() {
        let daemon = builder().set("limits", "pids", 100).start();
        daemon.dir().dir("ws/.trl/cases");
        for (text, ignored) in [
            ("shell: /bin/bash\n", json!(["shell"])),
            ("argv: [/bin/cat]\n", json!(["argv"])),
            ("env: {PLANTED: 'yes'}\n", json!(["env"])),
            ("secret_env: [PLANTED]\n", json!(["secret_env"])),
            ("pass_env: [XDG_RUNTIME_DIR]\n", json!(["pass_env"])),
            ("working_dir: /etc\n", json!(["working_dir"])),
            ("workspace: other\n", json!(["workspace"])),
            ("runtime: elsewhere\n", json!(["runtime"])),
            ("on_exit: terminate\n", json!(["on_exit"])),
            ("renewal: idle\n", json!(["renewal"])),
            ("labels: {planted: 'yes'}\n", json!(["labels"])),
            ("agent: {command: [evil]}\n", json!(["agent"])),
            ("limits: {pids: 101}\n", json!(["limits.pids"])),
            ("limits: {pids: 0}\n", json!(["limits.pids"])),
            ("timeout_s: 9999\n", json!(["timeout_s"])),
            ("timeout_s: 0\n", json!(["timeout_s"])),
            ("approval: {default: allow}\n", json!(["approval.default"])),
            ("approval: {timeout_s: 99999}\n", json!(["approval.timeout_s"])),
            ("approval: {rules: [{deny: [a]}, {allow: [rm]}]}\n", json!(["approval.rules.1.allow"])),
        ] {
            let made = create(&daemon, text);
            assert_eq!(made["ignored"], ignored, "{text}: {made}");
            assert_eq!((&made["shell"], &made["timeout_s"]), (&json!("/bin/sh"), &json!(120)), "{text}");
            assert_eq!(
                (&made["limits"]["pids"], &made["on_exit"]),
                (&json!(100), &json!("rollback")),
                "{text}"
            );
            assert_eq!((&made["renewal"], &made["labels"]), (&json!("exact"), &json!({})), "{text}");
            assert_eq!((&made["workspace_id"], &made["runtime"]), (&Value::Null, &json!("host")), "{text}");
            assert_eq!(made["working_dir"], workspace(&daemon), "{text}");
            let mut client = daemon.client();
            // where something is denied, what cannot be taken apart waits for a person
            if !text.contains("deny") {
                let said = output(&mut client, &made, "echo ${PLANTED-none}${XDG_RUNTIME_DIR-none}");
                assert_eq!(said, "nonenone", "{text}");
            }
            // who asks later is told the same
            let info = client.ok("session.info", json!({"session_id": made["session_id"]}));
            assert_eq!((&info["ignored"], &info["case_id"]), (&ignored, &json!("w")), "{text}");
            client.ok("session.destroy", json!({"session_id": made["session_id"], "force": true}));
        }
    }

    #[test]
    fn an_agent_in_a_session_cannot_trust_its_own_case() {
        let daemon = daemon();
        workspace_case(&daemon, "w", "env: {A: b}\n");
        let mut session = daemon.session(Shell::Dash);
        let digest =
            daemon.client().ok("case.get", json!({"case_id": "w", "path": workspace(&daemon)}))["digest"]
                .clone();
        let params = json!({"case_id": "w", "path": workspace(&daemon), "digest": digest});
        let command = format!(
            "{} --socket {} call case.trust '{params}'",
            env!("CARGO_BIN_EXE_trl"),
            daemon.socket().display()
        );
        let env = json!({"TRL_AUTH_TOKEN": daemon.operator_token(), "XDG_CONFIG_HOME": daemon.dir().text("config")});
        let run = session.run_with(&command, json!({"env": env}));
        assert_ne!(run.code, 0);
        assert!((run.out() + &run.err()).contains("FORBIDDEN"), "{run:?}");
    }
}
