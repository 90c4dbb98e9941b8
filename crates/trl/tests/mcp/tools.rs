//! What the tools do.

use serde_json::json;

use super::{Client, daemon};

/// Both in the protocol's words and, for a client of the newest, without an introduction.
#[test]
fn tools_are_few_words_and_say_what_they_change() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let list = client.request("tools/list", json!({})).unwrap();
    // four bytes are about a token
    assert!(list["tools"].to_string().len() < 4 * 2500);
    let tools = list["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in
        ["exec_command", "write_stdin", "wait", "read_output", "list", "kill", "screen", "new_session"]
    {
        assert!(names.contains(&name), "{name}");
    }
    for tool in tools {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        let reads = ["wait", "read_output", "list", "screen"].contains(&tool["name"].as_str().unwrap());
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{}", tool["name"]);
        for hint in ["idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{hint} of {}", tool["name"]);
        }
        assert_eq!(reads, tool["annotations"].get("destructiveHint").is_none(), "{}", tool["name"]);
    }
    client.leave();
}

#[test]
fn a_command_is_run_where_the_client_is_and_told_whole() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let (text, done) =
        client.call("exec_command", json!({"cmd": "pwd; echo no >&2; [[ a == a ]] && exit 3"}));
    assert_eq!((&done["exit_code"], &done["status"]), (&json!(3), &json!("done")));
    let here = daemon.dir().join("").canonicalize().unwrap();
    assert_eq!(done["stdout"].as_str().unwrap().trim_end(), here.to_str().unwrap());
    assert_eq!(done["stderr"], "no\n");
    assert!(text.starts_with("exit code 3 ") && text.contains("--- stderr ---\nno\n"), "{text}");
    let (_, done) = client.call("exec_command", json!({"cmd": "pwd", "workdir": "/usr"}));
    assert_eq!(done["stdout"], "/usr\n");
}

#[test]
fn what_a_reply_leaves_out_is_counted_and_can_be_read() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let (text, done) = client.call("exec_command", json!({"cmd": "seq 1 100000", "max_output_tokens": 50}));
    let gap = &done["stdout_not_shown"];
    assert_eq!(gap, &json!({"from": 100, "to": 588_795}));
    assert!(text.contains("588695 bytes not shown, from offset 100"), "{text}");
    let ask = json!({"execution_id": done["execution_id"], "since": 100, "max_output_tokens": 2});
    let (_, read) = client.call("read_output", ask);
    assert_eq!((&read["data"], &read["next"]), (&json!("7\n38\n39\n"), &json!(108)));
    let (text, _) = client.call("exec_command", json!({"cmd": "head -c 1000 /dev/zero"}));
    assert!(text.contains("[1000 bytes that are no text, from offset 0]"), "{text}");
}

#[test]
fn a_command_that_takes_long_goes_on_and_is_typed_to() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let ask = json!({"cmd": "read line; echo got $line; read line; echo end", "yield_time_ms": 250});
    let (text, running) = client.call("exec_command", ask);
    assert_eq!(running["status"], "running");
    let id = &running["execution_id"];
    assert!(text.contains(id.as_str().unwrap()));
    let (_, typed) =
        client.call("write_stdin", json!({"execution_id": id, "chars": "a\n", "yield_time_ms": 250}));
    let until = json!({"pattern": "got a"});
    let (_, waited) = client.call("wait", json!({"execution_id": id, "until": until}));
    let told = [&typed, &waited].map(|reply| reply["stdout"].as_str().unwrap()).concat();
    assert_eq!(told, "got a\n");
    client.call("write_stdin", json!({"execution_id": id, "chars": "b\n", "yield_time_ms": 250}));
    let (_, done) = client.call("wait", json!({"execution_id": id}));
    assert_eq!(done["exit_code"], 0);
    let (text, _) = client.call("list", json!({}));
    assert!(text.contains("done with 0: read line"), "{text}");
}

#[test]
fn a_session_keeps_its_state_and_goes_by_its_name() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let (_, session) = client.call("new_session", json!({"name": "work"}));
    client.call("exec_command", json!({"cmd": "cd /usr; x=(1 2)", "session": "work"}));
    let ask = json!({"cmd": "pwd; echo ${x[1]}", "session": session["session_id"]});
    let (_, done) = client.call("exec_command", ask);
    assert_eq!(done["stdout"], "/usr\n2\n");
    client.call("close_session", json!({"session": "work"}));
    let (text, refused) = client.call("exec_command", json!({"cmd": "true", "session": "work"}));
    assert_eq!(refused["code"], "SESSION_NOT_FOUND");
    assert!(text.contains("new_session"), "{text}");
}

#[test]
fn a_program_on_a_terminal_is_seen_and_ended() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let script = r"printf '\033[2J\033[3;5H\033[31mhello\033[m'; exec cat";
    let ask = json!({"cmd": script, "tty": true, "yield_time_ms": 250});
    let (_, running) = client.call("exec_command", ask);
    let id = &running["execution_id"];
    client.call("wait", json!({"execution_id": id, "until": {"pattern": "hello"}}));
    let (text, screen) = client.call("screen", json!({"execution_id": id}));
    assert!(text.contains("\n\n    hello"), "{text}");
    assert_eq!(screen["cols"], 80);
    client.call("kill", json!({"execution_id": id}));
    let (_, done) = client.call("wait", json!({"execution_id": id}));
    assert_eq!(done["status"], "done");
    // what was drawn, without how
    let (_, plain) = client.call("exec_command", json!({"cmd": r"printf '\033[1mbold\033[m'", "tty": true}));
    assert_eq!(plain["stdout"], "bold");
    let (_, refused) = client.call("exec_command", json!({"cmd": "true"}));
    let (_, refused) = client.call("screen", json!({"execution_id": refused["execution_id"]}));
    assert_eq!(refused["code"], "TERMINAL_NOT_FOUND");
}

#[test]
fn a_model_is_told_what_it_did_wrong() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    for (tool, arguments, words) in [
        ("exec_command", json!({"command": "x"}), "unknown field `command`"),
        ("exec_command", json!({}), "missing field `cmd`"),
        ("wait", json!({"execution_id": "nonsense"}), "is no execution_id"),
        ("wait", json!({"execution_id": "e-aaaaaaaaaa"}), "EXECUTION_NOT_FOUND"),
        ("new_session", json!({"sandbox": "loose"}), "unknown variant"),
    ] {
        let (text, _) = client.call(tool, arguments);
        assert!(text.contains(words), "{text}");
    }
    let error = client.request("tools/call", json!({"name": "nope"})).unwrap_err();
    assert_eq!(error["code"], -32602);
}

#[test]
fn what_can_be_read_is_listed_and_read() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let (_, done) = client.call("exec_command", json!({"cmd": "echo hi"}));
    let list = client.request("resources/list", json!({})).unwrap();
    let uri = format!("trl://executions/{}/stdout", done["execution_id"].as_str().unwrap());
    assert!(list["resources"].as_array().unwrap().iter().any(|r| r["uri"] == uri.as_str()), "{list}");
    let read = client.request("resources/read", json!({"uri": uri})).unwrap();
    assert_eq!(read["contents"][0]["text"], "hi\n");
    let sessions = client.request("resources/read", json!({"uri": "trl://sessions"})).unwrap();
    assert!(sessions["contents"][0]["text"].as_str().unwrap().contains("sessions"));
    client.request("resources/read", json!({"uri": "trl://nowhere"})).unwrap_err();
}

#[test]
fn a_daemon_that_ended_is_found_or_started_again() {
    let mut daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    client.call("exec_command", json!({"cmd": "true"}));
    daemon.kill9();
    daemon.relaunch();
    let (_, done) = client.call("exec_command", json!({"cmd": "echo again"}));
    assert_eq!(done["stdout"], "again\n");
}

/// The protocol of 2026-07-28 knows no connection that remembers: every request says all.
#[test]
fn a_client_need_not_introduce_itself() {
    let daemon = daemon();
    let mut client = Client::start(&daemon);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({"_meta": meta})).unwrap();
    assert!(found["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let call = json!({"name": "exec_command", "arguments": {"cmd": "echo hi"}, "_meta": meta});
    let done = client.request("tools/call", call).unwrap();
    assert_eq!(
        (&done["structuredContent"]["stdout"], &done["resultType"]),
        (&json!("hi\n"), &json!("complete"))
    );
}

#[test]
fn the_state_of_a_shell_is_kept_and_given_back() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    daemon.dir().dir("config/trl/cases");
    daemon.dir().file("config/trl/cases/kept.yaml", "shell: bash\nsnapshots: {}\n");
    let work = daemon.dir().dir("work");
    let new = json!({"name": "w", "case": "kept", "workdir": work.to_str().unwrap()});
    let made = client.call("new_session", new).1;
    client.call("exec_command", json!({"cmd": "X=1; echo a > file", "session": "w"}));
    let keep = json!({"session": "w", "action": "create", "label": "first", "files": true});
    let (text, kept) = client.call("checkpoint", keep);
    assert!(text.starts_with("kept as ") && kept["session_id"] == made["session_id"], "{text}");
    client.call("exec_command", json!({"cmd": "X=2; echo b > file", "session": "w"}));
    let (text, _) = client.call("checkpoint", json!({"session": "w", "action": "list"}));
    assert!(text.contains("(first)") && text.contains("with files"), "{text}");
    let back =
        json!({"session": "w", "action": "restore", "checkpoint_id": kept["checkpoint_id"], "files": true});
    let (text, _) = client.call("checkpoint", back);
    assert!(text.contains("1 files changed"), "{text}");
    let (_, seen) = client.call("exec_command", json!({"cmd": "echo $X; cat file", "session": "w"}));
    assert_eq!(seen["stdout"], "1\na\n");
    let (text, refused) = client.call("checkpoint", json!({"session": "w", "action": "restore"}));
    assert!(text.contains("`checkpoint_id` is needed"), "{text} {refused}");
}

/// A session whose variables a rule wants to see first does not hold the model up.
#[test]
fn a_session_that_has_to_be_approved_is_pending() {
    let daemon = daemon();
    std::fs::write(daemon.dir().join("config/trl/approvals.yaml"), "default: ask\n").unwrap();
    let shell = daemon.dir().dir("odd").join("bash");
    std::fs::copy("/bin/bash", &shell).unwrap();
    let mut client = Client::introduced(&daemon, json!({}));
    let (text, pending) = client.call("new_session", json!({"shell": shell}));
    assert!(text.starts_with("approval_pending") && pending["request_id"].is_string(), "{text}");
}

/// The wire has text as base64 where that is shorter; a model has no use for it.
#[test]
fn what_is_text_is_read_as_text_and_what_is_not_kept_is_said() {
    let daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let (_, done) = client.call("exec_command", json!({"cmd": "printf '1\\n\\n\\n\\n\\n\\n\\t\\t\\n'"}));
    let (text, read) = client.call("read_output", json!({"execution_id": done["execution_id"]}));
    assert!(text.ends_with("that is all\n---\n1\n\n\n\n\n\n\t\t\n"), "{text}");
    assert_eq!((&read["encoding"], &read["data"]), (&json!("utf-8"), &json!("1\n\n\n\n\n\n\t\t\n")));
    let uri = format!("trl://executions/{}/stdout", done["execution_id"].as_str().unwrap());
    let resource = client.request("resources/read", json!({"uri": uri})).unwrap();
    assert_eq!(resource["contents"][0]["text"], "1\n\n\n\n\n\n\t\t\n");
    let (_, done) = client.call("exec_command", json!({"cmd": "printf 'caf\\351\\n'"}));
    let (text, read) = client.call("read_output", json!({"execution_id": done["execution_id"]}));
    assert!(text.contains("not all of it is text\n---\ncaf\u{fffd}\n"), "{text}");
    assert_eq!(read["encoding"], "base64");
    let (_, done) = client.call("exec_command", json!({"cmd": "seq 400000", "max_output_tokens": 50}));
    let ask = json!({"execution_id": done["execution_id"], "since": 600_000, "max_output_tokens": 5});
    let (text, _) = client.call("read_output", ask);
    assert!(text.contains("; bytes 600000 to ") && text.contains(" are not kept any more"), "{text}");
}

#[test]
fn a_session_outlives_its_daemon_and_a_name_means_the_one_that_lives() {
    let mut daemon = daemon();
    let mut client = Client::introduced(&daemon, json!({}));
    let (_, made) = client.call("new_session", json!({"name": "work"}));
    client.call("exec_command", json!({"session": "work", "cmd": "cd /usr; V=1"}));
    let id = made["session_id"].clone();
    // Whoever reads what is kept waits until it is.
    daemon.client().ok("session.history", json!({"session_id": id}));
    daemon.kill9();
    daemon.relaunch();
    let mut client = Client::introduced(&daemon, json!({}));
    let (text, done) = client.call("exec_command", json!({"session": id, "cmd": "echo again"}));
    assert_eq!(done["stdout"], "again\n", "{text}");
    daemon.client().ok("session.history", json!({"session_id": id}));
    daemon.kill9();
    daemon.relaunch();
    let mut client = Client::introduced(&daemon, json!({}));
    let (_, other) = client.call("new_session", json!({"name": "work"}));
    client.call("exec_command", json!({"session": other["session_id"], "cmd": "X=lives"}));
    let (text, done) = client.call("exec_command", json!({"session": "work", "cmd": "echo $X"}));
    assert_eq!(done["stdout"], "lives\n", "{text}");
}
