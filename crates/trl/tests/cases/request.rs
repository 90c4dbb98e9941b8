//! What a session gets from its case, and what a request may say otherwise.

use trl_testkit::{Shell, json, merged};

use crate::{builder, case, daemon, daemon_with_default, output, workspace};

#[test]
fn a_session_is_what_its_case_says() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(
        &daemon,
        "full",
        "id: full\nshell: /bin/bash\nenv: {A: case, B: case}\nlabels: {team: x}\ntimeout_s: 7\non_exit: terminate\n\
         renewal: idle\nworking_dir: /usr\nlimits: {open_files: 99}\n",
    );
    let made =
        client.ok("session.create", json!({"case_id": "full", "env": {"B": "own"}, "labels": {"mine": "1"}}));
    assert_eq!((&made["shell"], &made["working_dir"]), (&json!("/bin/bash"), &json!("/usr")));
    assert_eq!((&made["on_exit"], &made["renewal"]), (&json!("terminate"), &json!("idle")));
    assert_eq!((&made["timeout_s"], &made["labels"]), (&json!(7), &json!({"team": "x", "mine": "1"})));
    assert_eq!(output(&mut client, &made, "echo $A $B; ulimit -n; pwd"), "case own\n99\n/usr");
    let id = made["session_id"].as_str().unwrap();
    assert_eq!(output(&mut client, &made, "echo $AGENT_SESSION_ID $AGENT_CASE_ID"), format!("{id} full"));
    let own = client.ok(
        "session.create",
        json!({"case_id": "full", "shell": "/bin/sh", "working_dir": "/", "timeout_s": 900}),
    );
    assert_eq!(
        (&own["shell"], &own["working_dir"], &own["timeout_s"]),
        (&json!("/bin/sh"), &json!("/"), &json!(900))
    );
}

#[test]
fn the_case_is_in_info_list_and_filter() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(&daemon, "a", "id: a\n");
    let with = client.ok("session.create", json!({"case_id": "a"}));
    let without = client.ok("session.create", json!({}));
    assert_eq!((&with["case_id"], &without["case_id"]), (&json!("a"), &json!(null)));
    assert_eq!(client.ok("session.info", json!({"session_id": with["session_id"]}))["case_id"], "a");
    let list = client.ok("session.list", json!({"case_id": "a"}))["sessions"].take();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["session_id"], with["session_id"]);
    // nobody tells a session without a case that it has one
    assert_eq!(
        output(&mut client, &without, "echo ${AGENT_CASE_ID-none} ${AGENT_SESSION_ID-none}"),
        "none none"
    );
}

#[test]
fn variables_say_who_it_is_whatever_the_request_says() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(&daemon, "a", "env: {AGENT_CASE_ID: forged}\n");
    let made = client.ok("session.create", json!({"case_id": "a", "env": {"AGENT_SESSION_ID": "s-forged"}}));
    let id = made["session_id"].as_str().unwrap();
    assert_eq!(output(&mut client, &made, "echo $AGENT_SESSION_ID $AGENT_CASE_ID"), format!("{id} a"));
    let show = "echo $AGENT_SESSION_ID $AGENT_CASE_ID";
    let run = client.ok("exec.run", json!({"command": show, "case_id": "a"}));
    let said = run["stdout"].as_str().unwrap();
    assert!(said.starts_with("s-") && said.ends_with(" a\n"), "{said}");
    let run = client.ok("exec.start", json!({"command": show, "case_id": "a"}));
    let said = run["stdout"].as_str().unwrap();
    assert!(said.starts_with("s-") && said.ends_with(" a\n"), "{said}");
    let run = client.ok("exec.start", json!({"command": show, "case_id": "a", "tty": true}));
    let said = run["stdout"].as_str().unwrap();
    assert!(said.starts_with("t-") && said.trim_end().ends_with(" a"), "{said}");
}

#[test]
fn terminals_and_fresh_processes_have_cases_too() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(&daemon, "a", "shell: /bin/bash\nenv: {V: v}\nlimits: {open_files: 77}\nworking_dir: /usr\n");
    let terminal = client.ok("terminal.create", json!({"case_id": "a"}));
    assert_eq!((&terminal["case_id"], &terminal["shell"]), (&json!("a"), &json!("/bin/bash")));
    assert_eq!((&terminal["limits"]["open_files"], &terminal["working_dir"]), (&json!(77), &json!("/usr")));
    // the case's shell reads the text, in the case's directory
    let run = client.ok(
        "exec.start",
        json!({"case_id": "a", "command": "echo ${BASH_VERSION:+bash} $V; ulimit -n; pwd"}),
    );
    assert_eq!(run["stdout"], "bash v\n77\n/usr\n");
    let run = client
        .ok("exec.run", json!({"case_id": "a", "command": "echo ${BASH_VERSION:+bash} $V; ulimit -n; pwd"}));
    assert_eq!(run["stdout"], "bash v\n77\n/usr\n");
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    for method in ["exec.run", "exec.start"] {
        let params = json!({"session_id": id, "command": "true", "case_id": "a"});
        session.client().refused("INVALID_PARAMS", method, params);
    }
}

#[test]
fn what_a_case_fixes_agents_cannot_change() {
    let daemon = daemon();
    case(&daemon, "one", "argv: [/bin/cat]\n");
    case(
        &daemon,
        "small",
        "limits: {pids: 60}\nsandbox: {mode: read-only, best_effort: true}\nworkspace: w\nruntime: host\n",
    );
    let (mut agent, mut operator) = (daemon.client(), daemon.operator());
    for params in [
        json!({"case_id": "one", "argv": ["/bin/sleep", "1000"]}),
        json!({"case_id": "one", "shell": "/bin/sh"}),
        json!({"case_id": "small", "limits": {"pids": 61}}),
        json!({"case_id": "small", "limits": {"pids": 0}}),
        json!({"case_id": "small", "sandbox": "off"}),
        json!({"case_id": "small", "sandbox": {"mode": "read-only", "net": "all"}}),
        json!({"case_id": "small", "workspace_id": "v"}),
    ] {
        let params = merged(params, json!({"working_dir": workspace(&daemon)}));
        agent.refused("FORBIDDEN", "session.create", params.clone());
        agent.refused("FORBIDDEN", "terminal.create", params.clone());
        operator.ok("session.create", params);
    }
    agent.refused("FORBIDDEN", "exec.start", json!({"case_id": "one", "command": "id"}));
    agent.refused("INVALID_PARAMS", "exec.run", json!({"case_id": "one", "command": "id"}));
    let made = agent.ok("session.create", json!({"case_id": "one"}));
    assert_eq!((&made["shell"], made["execution_id"].is_string()), (&json!("/bin/cat"), true));
    let made = agent.ok(
        "session.create",
        json!({"case_id": "small", "working_dir": workspace(&daemon), "limits": {"pids": 40}}),
    );
    assert_eq!((&made["limits"]["pids"], &made["workspace_id"]), (&json!(40), &json!("w")));
}

#[test]
fn an_operators_case_may_give_more_than_the_settings() {
    let daemon = builder().set("limits", "pids", 50).start();
    daemon.dir().dir("config/trl/cases");
    case(&daemon, "roomy", "limits: {pids: 500}\n");
    let mut agent = daemon.client();
    assert_eq!(agent.ok("session.create", json!({}))["limits"]["pids"], 50);
    assert_eq!(agent.ok("session.create", json!({"case_id": "roomy"}))["limits"]["pids"], 500);
    agent.refused("FORBIDDEN", "session.create", json!({"case_id": "roomy", "limits": {"pids": 501}}));
}

#[test]
fn secrets_are_asked_for_by_name_and_never_shown() {
    let daemon = builder().env("FROM_DAEMON", "d43m0n").start();
    daemon.dir().dir("config/trl/cases");
    case(&daemon, "s", "secret_env: [API_KEY, FROM_DAEMON]\n");
    let mut client = daemon.client();
    let error = client.refused("SECRETS_REQUIRED", "session.create", json!({"case_id": "s"}));
    assert_eq!(error.detail("names"), &json!(["API_KEY"]));
    for given in [json!({"env": {"API_KEY": "hunter2"}}), json!({"secret_env": {"API_KEY": "hunter2"}})] {
        let made = client.ok("session.create", merged(json!({"case_id": "s"}), given));
        assert!(!made.to_string().contains("hunter2"));
        assert_eq!(output(&mut client, &made, "echo ${#API_KEY} ${#FROM_DAEMON}"), "7 6");
        // closed, the session forgets what it was given; what the daemon has it still has
        let id = &made["session_id"];
        client.ok("session.close", json!({"session_id": id}));
        let error = client.refused("SECRETS_REQUIRED", "session.get", json!({"session_id": id}));
        assert_eq!(error.detail("names"), &json!(["API_KEY"]));
        client.ok("session.get", json!({"session_id": id, "secret_env": {"API_KEY": "again"}}));
        assert_eq!(output(&mut client, &made, "echo ${#API_KEY} ${#FROM_DAEMON}"), "5 6");
    }
    assert!(!daemon.log().contains("hunter2"));
}

#[test]
fn templates_make_a_place_for_each_session() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(&daemon, "own", "working_dir: \"{home}/work/{session_id}\"\n");
    let made = client.ok("session.create", json!({"case_id": "own"}));
    let id = made["session_id"].as_str().unwrap();
    assert_eq!(output(&mut client, &made, "pwd"), daemon.dir().text(&format!("home/work/{id}")));
    case(&daemon, "ws", "working_dir: \"{workspace}/src\"\n");
    let error = client.refused("WORKING_DIR_INVALID", "session.create", json!({"case_id": "ws"}));
    assert!(error.message.contains("workspace_id"), "{error:?}");
    let made = client.ok("session.create", json!({"case_id": "ws", "workspace_id": "proj"}));
    assert_eq!(made["working_dir"], daemon.dir().text("home/.local/share/trl/files/proj/src"));
    case(&daemon, "gone", "working_dir: /does/not/exist\n");
    client.refused("WORKING_DIR_INVALID", "session.create", json!({"case_id": "gone"}));
}

#[test]
fn an_old_place_is_told() {
    let daemon = daemon();
    let mut client = daemon.client();
    daemon.dir().dir("ws/cases");
    let old = crate::private(&daemon.dir().file("ws/cases/mine.yaml", "shell: bash\n"));
    let asked = json!({"case_id": "mine", "working_dir": workspace(&daemon)});
    let error = client.refused("CASE_NOT_FOUND", "session.create", asked.clone());
    assert!(error.message.contains(&old), "{}", error.message);
    let new = daemon.dir().text("ws/.trl/cases/mine.yaml");
    assert_eq!(error.hint, Some(format!("move it to {new}")));
    std::fs::rename(old, new).unwrap();
    assert_eq!(client.ok("session.create", asked)["case_id"], "mine");
}

#[test]
fn whatever_names_no_case_has_the_default_and_not_without_it() {
    let daemon = daemon_with_default("env: {D: default}\nlimits: {open_files: 88}\n");
    let mut client = daemon.client();
    let made = client.ok("session.create", json!({}));
    assert_eq!(made["case_id"], "base");
    assert_eq!(client.ok("exec.run", json!({"command": "echo $D; ulimit -n"}))["stdout"], "default\n88\n");
    assert_eq!(client.ok("exec.start", json!({"argv": ["printenv", "D"]}))["stdout"], "default\n");
    assert_eq!(client.ok("terminal.create", json!({}))["case_id"], "base");
    let log = daemon.log();
    assert!(log.contains("runtime.fallback.defaultConfig"), "{log}");
    assert!(log.contains(made["session_id"].as_str().unwrap()), "{log}");
    assert_eq!(client.ok("case.list", json!({}))["cases"][0]["default"], true);
    // a broken default is no freedom
    case(&daemon, "base", "nope: 1\n");
    client.refused("CASE_INVALID", "session.create", json!({}));
    client.refused("CASE_INVALID", "exec.run", json!({"command": "true"}));
    std::fs::remove_file(daemon.dir().join("config/trl/cases/base.yaml")).unwrap();
    let error = client.refused("CASE_NOT_FOUND", "session.create", json!({}));
    assert!(error.hint.unwrap().contains("cases.default"));
}

#[test]
fn an_idle_session_is_closed_when_its_case_says() {
    let daemon = daemon();
    let mut client = daemon.client();
    case(&daemon, "brief", "idle_ttl_s: 0.5\n");
    client.ok("events.subscribe", json!({"kinds": ["session.state"]}));
    let made = client.ok("session.create", json!({"case_id": "brief"}));
    let stays = client.ok("session.create", json!({}));
    trl_testkit::eventually("it is closed", || {
        client.ok("session.info", json!({"session_id": made["session_id"]}))["state"] == "closed"
    });
    assert_eq!(client.ok("session.info", json!({"session_id": stays["session_id"]}))["state"], "ready");
}
