//! What an agent does through TRL: files, commands, tools.

use serde_json::json;
use trl_testkit::agent::{Telling, case, tell};
use trl_testkit::process::is_gone;
use trl_testkit::{Client, Value};

use super::{agent_state, answer, builder, daemon, daemon_with, next_request, session, state, subscribe};

fn executions(client: &mut Client, session: &Value) -> Vec<Value> {
    let list = client.ok("exec.list", json!({"session_id": session["session_id"]}));
    list["executions"].as_array().unwrap().clone()
}

#[test]
fn it_lives_where_the_session_does_and_knows_which_one_that_is() {
    let daemon = daemon_with("env: {FROM_CASE: here}\n");
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "cwd\nenv AGENT_SESSION_ID\nenv AGENT_CASE_ID\nenv FROM_CASE");
    let id = session["session_id"].as_str().unwrap();
    let dir = daemon.dir().join("work").canonicalize().unwrap();
    let expected = format!("{}AGENT_SESSION_ID={id}AGENT_CASE_ID=coderFROM_CASE=here", dir.display());
    assert_eq!(told.text(), expected);
}

#[test]
fn files_are_read_and_written_and_nothing_outside_of_the_workspace() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    daemon.dir().file("secret", "not for you");
    let told = tell(
        &mut client,
        &session,
        "write new/file.txt some text\nread new/file.txt\nread ../secret\nread /etc/passwd\nwrite ../out x",
    );
    assert_eq!(std::fs::read_to_string(daemon.dir().join("work/new/file.txt")).unwrap(), "some text");
    assert!(told.text().starts_with("writtenread: some text"), "{}", told.text());
    assert!(!told.text().contains("not for you") && !told.text().contains("root:"), "{}", told.text());
    assert!(!daemon.dir().join("out").exists());
    let oks: Vec<bool> = told.of("file").iter().map(|file| file["ok"] == true).collect();
    assert_eq!(oks, [true, true, false, false, false]);
}

#[test]
fn commands_are_executions_of_the_session_and_in_its_history() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "run echo out; echo err >&2; exit 4\nargv printf %s|%s a b");
    assert_eq!(told.text(), "exit 4: out\nerr\nexit 0: a|b");
    let terminal = told.of("terminal")[0];
    assert_eq!(terminal["command"], "echo out; echo err >&2; exit 4");
    assert_eq!(told.of("tool_call")[0]["content"][0]["execution_id"], terminal["execution_id"]);
    let result = client.ok("exec.result", json!({"execution_id": terminal["execution_id"]}));
    assert_eq!((&result["exit_code"], &result["stdout"]), (&json!(4), &json!("out\nerr\n")));
    assert_eq!(executions(&mut client, &session).len(), 2, "and the agent itself is none");
    let history = client.ok("session.history", json!({"session_id": session["session_id"]}));
    let commands: Vec<&str> =
        history["entries"].as_array().unwrap().iter().map(|e| e["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["printf %s|%s a b", "echo out; echo err >&2; exit 4"]);
    let sessions = client.ok("session.list", json!({}));
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "what is beside a session is no other");
}

/// What a person writes in its place is read by the session's shell, as what was asked for would have been.
#[test]
fn an_edited_command_is_one_of_the_sessions_shell() {
    let daemon = daemon_with("approval: {default: allow, rules: [{ask: [touch]}]}\n");
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let dir = daemon.dir().dir("work").display().to_string();
    let wish = json!({"case_id": "coder", "working_dir": dir, "shell": "bash"});
    let session = client.ok("session.create", wish);
    let telling = Telling::send(&mut client, &session, "run touch made");
    let request = next_request(&mut operator);
    // It is the request of whoever made the session.
    assert_eq!(client.ok("hitl.list", json!({}))["requests"][0]["request_id"], request["request_id"]);
    let edited = "[[ a < b ]] && echo ${BASH_VERSION:+bash}; echo err >&2; exit 3";
    operator.ok(
        "hitl.respond",
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": "approve", "command": edited}),
    );
    assert_eq!(telling.finish(&mut client).text(), "exit 3: bash\nerr\n");
    assert!(!daemon.dir().join("work/made").exists());
}

#[test]
fn a_person_sees_which_text_is_written() {
    let daemon = daemon_with("approval: {default: allow, rules: [{ask: [fs.write work.txt]}]}\n");
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let mut shown = Vec::new();
    for text in ["one", "two"] {
        let telling = Telling::send(&mut client, &session, &format!("write work.txt {text}"));
        let request = next_request(&mut operator);
        shown.push(request["command"].as_str().unwrap().to_string());
        answer(&mut operator, &request, "approve");
        assert_eq!(telling.finish(&mut client).text(), "written");
    }
    assert!(shown[0] != shown[1] && shown[0].contains("3 bytes, sha256"), "{shown:?}");
}

#[test]
fn rules_hold_for_its_commands_and_people_are_asked() {
    let daemon = daemon_with("approval: {default: allow, rules: [{ask: [touch]}, {deny: [rm]}]}\n");
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let mut telling = Telling::send(&mut client, &session, "run rm -r x\nrun touch made");
    telling.wait(&mut client, "text");
    let request = next_request(&mut operator);
    assert_eq!((&request["command"], &request["session_id"]), (&json!("touch made"), &session["session_id"]));
    trl_testkit::eventually("it waits", || state(&mut operator, &session) == "waiting_hitl");
    assert_eq!(agent_state(&mut operator, &session), "waiting");
    assert!(!daemon.dir().join("work/made").exists());
    answer(&mut operator, &request, "approve");
    let told = telling.finish(&mut client);
    assert!(told.text().contains("refused: a rule forbids the command"), "{}", told.text());
    assert!(told.text().contains("exit 0"), "{}", told.text());
    assert!(daemon.dir().join("work/made").exists());
}

#[test]
fn rules_hold_for_files_it_writes() {
    let daemon = daemon_with("approval: {default: ask}\n");
    let (mut client, mut operator) = (daemon.client(), subscribe(&daemon));
    let session = session(&daemon, &mut client);
    let telling = Telling::send(&mut client, &session, "write a.txt one\nwrite b.txt two");
    for decision in ["approve", "reject"] {
        let request = next_request(&mut operator);
        trl_testkit::eventually("it waits", || state(&mut operator, &session) == "waiting_hitl");
        answer(&mut operator, &request, decision);
    }
    let told = telling.finish(&mut client);
    assert!(told.text().starts_with("writtenrefused: "), "{}", told.text());
    assert!(daemon.dir().join("work/a.txt").exists() && !daemon.dir().join("work/b.txt").exists());
}

#[test]
fn the_sandbox_of_the_session_holds_for_the_agent_and_its_commands() {
    let daemon = daemon_with("sandbox: workspace-write\n");
    // Where the sandbox lets it be read.
    let (from, to) = (daemon.dir().text("fake-agent"), daemon.dir().dir("work").join("fake-agent"));
    std::fs::copy(&from, &to).unwrap();
    let path = daemon.dir().join("config/trl/cases/coder.yaml");
    let text = std::fs::read_to_string(&path).unwrap().replace(&from, to.to_str().unwrap());
    std::fs::write(&path, text).unwrap();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let outside = daemon.dir().text("outside");
    let told =
        tell(&mut client, &session, &format!("servers\nrun touch inside {outside}\nwrite {outside} x"));
    assert!(
        told.text().starts_with("[]"),
        "what is in a sandbox is given no way to the daemon: {}",
        told.text()
    );
    assert_eq!(told.of("started")[0]["mcp"], false);
    assert!(daemon.dir().join("work/inside").exists() && !daemon.dir().join("outside").exists());
}

#[test]
fn our_tools_run_commands_beside_the_shell_or_in_it() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let id = session["session_id"].as_str().unwrap();
    client.ok("exec.run", json!({"session_id": id, "command": "KEPT=yes"}));
    let beside = json!({"cmd": "echo beside $AGENT_SESSION_ID"}).to_string();
    let within = json!({"cmd": "echo within $KEPT", "session": id}).to_string();
    let foreign = json!({"cmd": "true", "session": "s-abcdefgh"}).to_string();
    let told = tell(&mut client, &session, &format!("mcp {beside}\nmcp {within}\nmcp {foreign}"));
    assert_eq!(told.of("started")[0]["mcp"], true);
    assert!(told.text().contains(&format!("beside {id}")), "{}", told.text());
    assert!(told.text().contains("within yes"), "{}", told.text());
    assert!(told.text().contains("may touch no other"), "{}", told.text());
    assert_eq!(executions(&mut client, &session).len(), 3);
}

#[test]
fn what_it_leaves_running_ends_with_it() {
    let daemon = builder().set("agents", "linger_s", 0).start();
    case(&daemon, "coder", &[], "");
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    let told = tell(&mut client, &session, "start sleep 3033\nchild 3034");
    let child: i32 = told.text().split("child=").nth(1).unwrap().trim().parse().unwrap();
    trl_testkit::eventually("the child is gone", || is_gone(child));
    trl_testkit::eventually("the command is over", || {
        executions(&mut client, &session).iter().all(|e| e["status"] == "done")
    });
}

#[test]
fn a_method_that_is_not_there_is_refused_as_the_protocol_says() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = session(&daemon, &mut client);
    assert_eq!(tell(&mut client, &session, "unknown").text(), "code -32601");
}
