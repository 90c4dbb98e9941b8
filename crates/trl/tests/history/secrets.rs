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
