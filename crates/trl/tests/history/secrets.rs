//! Secrets pass through, and nothing of them stays.

use std::path::Path;

use serde_json::{Value, json};

use super::{create, daemon, history, run};

/// Every file below, with what it holds.
fn files(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn assert_nowhere(dir: &Path, secrets: &[&str]) {
    let mut all = Vec::new();
    files(dir, &mut all);
    assert!(all.iter().any(|(name, _)| name.ends_with("store.db")));
    for secret in secrets {
        for (name, bytes) in &all {
            let there = bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
            assert!(!there, "{secret} is in {name}");
        }
    }
}

#[test]
fn no_secret_is_in_any_file_of_the_data_directory() {
    const SECRET_ENV: &str = "violet-hippopotamus-31";
    const NAMED_ENV: &str = "crimson-armadillo-77";
    const COMMAND_ENV: &str = "turquoise-walrus-42";
    const STDIN: &str = "ochre-pelican-19";
    const INPUT: &str = "magenta-otter-58";
    const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
    const PASSWORD: &str = "maroon-lynx-65";
    let all = [SECRET_ENV, NAMED_ENV, COMMAND_ENV, STDIN, INPUT, KEY, PASSWORD];

    let mut daemon = daemon();
    let data = daemon.dir().join("home/.local/share/trl");
    let mut client = daemon.client();
    let params = json!({
        "secret_env": {"PLAIN_NAME": SECRET_ENV}, "env": {"SERVICE_API_TOKEN": NAMED_ENV, "COLOUR": "blue"},
        "labels": {"note": format!("password={PASSWORD}")}, "name": format!("{SECRET_ENV}-session"),
    });
    let id = create(&mut client, params);
    let said = run(&mut client, &id, "echo $PLAIN_NAME $SERVICE_API_TOKEN; echo $PLAIN_NAME >&2");
    assert_eq!(said["stdout"], format!("{SECRET_ENV} {NAMED_ENV}\n"), "the caller gets what was printed");
    run(
        &mut client,
        &id,
        &format!("echo {SECRET_ENV}; export AWS_ACCESS_KEY_ID={KEY}; echo $AWS_ACCESS_KEY_ID"),
    );
    run(&mut client, &id, &format!("curl -s --password={PASSWORD} file:///dev/null; true"));
    run(
        &mut client,
        &id,
        "printf %s $PLAIN_NAME | base64; printf %s $PLAIN_NAME | od -An -tx1 | tr -d ' \\n'",
    );
    run(&mut client, &id, "i=0; while [ $i -lt 2000 ]; do printf '%s' \"$PLAIN_NAME\"; i=$((i+1)); done");
    let dir = daemon.dir().join(SECRET_ENV);
    std::fs::create_dir(&dir).unwrap();
    run(&mut client, &id, &format!("cd {}", dir.display()));
    client.ok(
        "exec.run",
        json!({"session_id": id, "command": "echo $DEPLOY_PASSWORD", "env": {"DEPLOY_PASSWORD": COMMAND_ENV}}),
    );
    client.ok("exec.run", json!({"session_id": id, "command": "wc -c", "stdin": STDIN}));
    let read = json!({"session_id": id, "command": "read x", "stdin": "open", "yield_ms": 250});
    let started = client.ok("exec.start", read);
    client.ok("exec.input", json!({"execution_id": started["execution_id"], "data": format!("{INPUT}\n")}));
    let passing = json!({"argv": ["/bin/sh", "-c", "echo $X"], "secret_env": {"X": SECRET_ENV}});
    client.ok("exec.start", passing);

    let entries = history(&mut client, json!({}));
    let text = serde_json::to_string(&entries).unwrap();
    for secret in all {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.contains("[redacted]"));
    assert_nowhere(&data, &all);
    daemon.stop();
    assert_nowhere(&data, &all);
    assert!(all.iter().all(|secret| !daemon.log().contains(secret)));

    daemon.relaunch();
    let mut client = daemon.client();
    let refused = client.refused("SECRETS_REQUIRED", "session.get", json!({"session_id": id}));
    assert_eq!(refused.detail("names"), &json!(["PLAIN_NAME", "SERVICE_API_TOKEN"]));
    let secrets = json!({"PLAIN_NAME": SECRET_ENV, "SERVICE_API_TOKEN": NAMED_ENV});
    client.ok("session.get", json!({"session_id": id, "secret_env": secrets}));
    let said = run(&mut client, &id, "echo $PLAIN_NAME $SERVICE_API_TOKEN $COLOUR");
    assert_eq!(said["stdout"], format!("{SECRET_ENV} {NAMED_ENV} blue\n"));
    let again = history(&mut client, json!({"session_id": id}))[0].clone();
    assert_eq!(again["stdout"]["head"], Value::from("[redacted] [redacted] blue\n"));
    daemon.kill9();
    assert_nowhere(&data, &all);
}

/// What is kept of requests, answers and files, while they wait and after the daemon was killed in the middle of it.
#[test]
fn no_secret_is_in_any_file_that_an_approval_left() {
    const SECRET_ENV: &str = "violet-hippopotamus-31";
    const CASE_ENV: &str = "amber-wombat-83";
    const COMMAND_ENV: &str = "turquoise-walrus-42";
    const PASSWORD: &str = "maroon-lynx-65";
    const EDITED: &str = "indigo-gecko-11";
    const STDIN: &str = "ochre-pelican-19";
    const REASON: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    const WRITTEN: &str = "scarlet-ibis-27";
    let all = [SECRET_ENV, CASE_ENV, COMMAND_ENV, PASSWORD, EDITED, STDIN, REASON, WRITTEN];

    let mut daemon = super::builder().start();
    let data = daemon.dir().join("home/.local/share/trl");
    daemon.dir().dir("config/trl/cases");
    let case = format!(
        "env: {{CASE_TOKEN: {CASE_ENV}}}\napproval: {{default: ask, rules: [{{allow: [printenv]}}]}}\n"
    );
    daemon.dir().file("config/trl/cases/careful.yaml", case);
    let place = daemon.dir().dir("place");
    let (mut client, mut operator) = (daemon.client(), daemon.operator());
    let respond = |operator: &mut trl_testkit::Client, asked: &Value, extra: Value| {
        let request = operator.ok("hitl.get", json!({"request_id": asked["request_id"]}));
        let answer = json!({"request_id": request["request_id"], "digest": request["digest"]});
        operator.ok("hitl.respond", trl_testkit::merged(answer, extra));
    };
    // its variables could be anything: the session itself is asked about
    let params = json!({
        "case_id": "careful", "working_dir": place, "secret_env": {"PLAIN_NAME": SECRET_ENV}, "approval": "return",
    });
    let asked = client.ok("session.create", params);
    assert_nowhere(&data, &all);
    respond(&mut operator, &asked, json!({"decision": "approve"}));
    let id = asked["session_id"].as_str().unwrap().to_string();
    trl_testkit::eventually("it is made", || {
        let info = client.call("session.info", json!({"session_id": id}));
        info.is_ok_and(|info| info["state"] != "creating")
    });
    let said = run(&mut client, &id, "printenv CASE_TOKEN PLAIN_NAME");
    assert_eq!(said["stdout"], format!("{CASE_ENV}\n{SECRET_ENV}\n"));
    let ask = |client: &mut trl_testkit::Client, command: String| {
        let params = json!({
            "session_id": id, "command": command, "approval": "return", "queue": true,
            "env": {"DEPLOY_PASSWORD": COMMAND_ENV},
        });
        client.ok("exec.run", params)
    };
    // rejected, approved, and edited; each with secrets in all that can hold them
    let asked = ask(&mut client, format!("printf {SECRET_ENV} --password={PASSWORD}"));
    assert_nowhere(&data, &all);
    respond(&mut operator, &asked, json!({"decision": "reject", "reason": format!("not with {REASON}")}));
    let asked = ask(&mut client, format!("printf '%s ' {SECRET_ENV} --password={PASSWORD} $DEPLOY_PASSWORD"));
    respond(&mut operator, &asked, json!({"decision": "approve"}));
    client.ok("exec.wait", json!({"execution_id": asked["execution_id"]}));
    let asked = ask(&mut client, "printf harmless".into());
    let edited = format!("printf '%s ' --password={EDITED} $PLAIN_NAME");
    respond(&mut operator, &asked, json!({"decision": "approve", "command": edited}));
    client.ok("exec.wait", json!({"execution_id": asked["execution_id"]}));
    let result = client.ok("exec.result", json!({"execution_id": asked["execution_id"]}));
    assert_eq!(result["stdout"], format!("--password={EDITED} {SECRET_ENV} "));
    // the contents of files are nobody's record, whether or not a person is asked about them
    let write = json!({"session_id": id, "path": "f", "data": WRITTEN, "approval": "return"});
    let asked = client.ok("fs.write", write);
    assert_nowhere(&data, &all);
    respond(&mut operator, &asked, json!({"decision": "approve"}));
    trl_testkit::eventually("it is written", || place.join("f").exists());
    // one with stdin, which it does not print, and one that waits when the daemon is killed
    let reads =
        json!({"session_id": id, "command": "wc -c", "stdin": STDIN, "approval": "return", "queue": true});
    let asked = client.ok("exec.run", reads);
    respond(&mut operator, &asked, json!({"decision": "approve"}));
    client.ok("exec.wait", json!({"execution_id": asked["execution_id"]}));
    ask(&mut client, format!("printf {SECRET_ENV} --password={PASSWORD}"));
    let shown = operator.ok("hitl.audit", json!({})).to_string();
    assert!(all.iter().all(|secret| !shown.contains(secret)), "{shown}");
    assert_nowhere(&data, &all);
    daemon.kill9();
    assert_nowhere(&data, &all);
    daemon.relaunch();
    let requests = daemon.operator().ok("hitl.list", json!({})).to_string();
    assert!(
        requests.contains("[redacted]") && all.iter().all(|secret| !requests.contains(secret)),
        "{requests}"
    );
    super::history(&mut daemon.client(), json!({}));
    assert_nowhere(&data, &all);
    daemon.stop();
    assert_nowhere(&data, &all);
    assert!(all.iter().all(|secret| !daemon.log().contains(secret)));
}

/// A command that is marked and killed in the middle of it is in no file with its secrets either.
#[test]
fn a_mark_of_a_command_holds_no_secret() {
    const SECRET: &str = "violet-hippopotamus-31";
    const PASSWORD: &str = "maroon-lynx-65";
    let mut daemon = super::builder().env("TRL_FAILPOINT", "exec.begun").start();
    let data = daemon.dir().join("home/.local/share/trl");
    let mut client = daemon.client();
    let id = create(&mut client, json!({"secret_env": {"PLAIN_NAME": SECRET}}));
    let command = format!("echo {SECRET} --password={PASSWORD}; sleep 60");
    client.send("exec.run", json!({"session_id": id, "command": command}));
    daemon.reap();
    assert_nowhere(&data, &[SECRET, PASSWORD]);
    daemon.set_env("TRL_FAILPOINT", None);
    daemon.relaunch();
    let entry = history(&mut daemon.client(), json!({}))[0].clone();
    assert_eq!(entry["status"], "unknown");
    assert!(entry["command"].as_str().unwrap().contains("[redacted]"), "{entry}");
    assert_nowhere(&data, &[SECRET, PASSWORD]);
}
