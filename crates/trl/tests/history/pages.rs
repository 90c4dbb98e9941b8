//! Reading history: pages, search, what is forgotten, and the command line.

use serde_json::{Value, json};
use trl_testkit::{PATIENCE, comes_true};

use super::{builder, commands, create, daemon, history, run};

#[test]
fn an_entry_says_what_was_run_and_how_it_ended() {
    let daemon = daemon();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    let done = run(&mut client, &id, "cd /usr; printf 'a\\377b'; exit 4");
    client.ok(
        "exec.run",
        json!({"session_id": id, "command": "sleep 60", "timeout_s": 0.05, "working_dir": "/tmp"}),
    );
    let big = run(&mut client, &id, "i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done");
    let entries = history(&mut client, json!({"session_id": id}));
    let [long, slow, first] = [&entries[0], &entries[1], &entries[2]];

    assert_eq!(first["execution_id"], done["execution_id"]);
    assert_eq!((&first["session_id"], &first["working_dir"]), (&json!(id), &json!("/")));
    assert_eq!((&first["status"], &first["exit_code"]), (&json!("done"), &json!(4)));
    assert_eq!(first["stdout"], json!({"head": "a\u{fffd}b", "bytes": 3}));
    assert_eq!((&first["timed_out"], &first["cancelled"]), (&json!(false), &json!(false)));
    assert!(first["duration_ms"].is_u64() && first["started_at"].is_string());

    assert_eq!((&slow["timed_out"], &slow["working_dir"]), (&json!(true), &json!("/tmp")));
    assert_eq!(long["stdout"]["bytes"], big["stdout_bytes"]);
    let (head, tail) = (long["stdout"]["head"].as_str().unwrap(), long["stdout"]["tail"].as_str().unwrap());
    assert!(head.starts_with("line-0\nline-1\n") && head.len() <= 4096, "{}", head.len());
    assert!(tail.ends_with("line-2998\nline-2999\n") && tail.len() <= 4096, "{}", tail.len());
    let seqs: Vec<i64> = entries.iter().map(|e| e["seq"].as_i64().unwrap()).collect();
    assert!(seqs[0] > seqs[1] && seqs[1] > seqs[2]);
}

#[test]
fn pages_follow_one_another_and_search_finds_words_of_commands_and_output() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (a, b) = (create(&mut client, json!({})), create(&mut client, json!({})));
    for n in 0..7 {
        run(&mut client, &a, &format!("echo apple-{n} >/dev/null"));
    }
    run(&mut client, &b, "printf 'the %s is here\\n' cucumber");
    run(&mut client, &b, "echo \"a 'quoted' word\" && : --flag=x");

    let mut seen = Vec::new();
    let mut before = Value::Null;
    loop {
        let mut params = json!({"session_id": a, "limit": 3});
        if !before.is_null() {
            params["before"] = before;
        }
        let page = client.ok("session.history", params);
        seen.extend(page["entries"].as_array().unwrap().clone());
        before = page["next"].clone();
        if before.is_null() {
            break;
        }
    }
    let expected: Vec<String> = (0..7).rev().map(|n| format!("echo apple-{n} >/dev/null")).collect();
    assert_eq!(commands(&seen), expected);

    let found = |query: &str, session: Option<&str>| {
        let mut params = json!({"query": query});
        if let Some(session) = session {
            params["session_id"] = json!(session);
        }
        history(&mut daemon.client(), params).len()
    };
    assert_eq!(found("apple", None), 7);
    assert_eq!(found("appl", Some(&a)), 7);
    assert_eq!(found("apple", Some(&b)), 0);
    assert_eq!(found("cucumber here", None), 1, "it is in the output as one");
    assert_eq!(found("cucumber apple", None), 0);
    assert_eq!(found("apple-3", None), 1);
    assert_eq!(found("\"quoted", None), 1);
    assert_eq!(found("AND OR NOT", None), 0);
    assert_eq!(found("&&", None), 1);
    client.refused("INVALID_PARAMS", "session.history", json!({"limit": 0}));
    client.refused("INVALID_PARAMS", "session.history", json!({"limit": 501}));
    client.refused("INVALID_PARAMS", "session.history", json!({"querry": "x"}));
}

#[test]
fn history_beyond_its_size_or_age_is_forgotten() {
    let by_size = builder().set("history", "max_bytes", 20_000).start();
    let mut client = by_size.client();
    let id = create(&mut client, json!({}));
    for n in 0..40 {
        run(&mut client, &id, &format!("echo {n}-{}", "x".repeat(1000)));
    }
    let mut left = || history(&mut client, json!({"limit": 500}));
    assert!(comes_true(PATIENCE, &mut || left().len() < 15));
    let entries = left();
    assert!(entries[0]["command"].as_str().unwrap().starts_with("echo 39-"), "the newest stay");

    let by_age = builder().set("history", "max_age_s", 1).start();
    let mut client = by_age.client();
    let id = create(&mut client, json!({}));
    run(&mut client, &id, "echo old");
    assert!(comes_true(PATIENCE, &mut || history(&mut client, json!({})).is_empty()));
    assert_eq!(client.ok("session.info", json!({"session_id": id}))["command_count"], 1);
}

#[test]
fn the_command_line_shows_it() {
    let daemon = daemon();
    let mut client = daemon.client();
    let id = create(&mut client, json!({"name": "work"}));
    run(&mut client, &id, "echo first");
    run(&mut client, &id, "false");
    let trl = |args: &[&str]| {
        let output = daemon.command().args(args).arg("--socket").arg(daemon.socket()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let all = trl(&["history"]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 3, "{all}");
    assert!(lines[1].ends_with("echo first") && lines[2].ends_with("false"), "{all}");
    let found: Value = serde_json::from_str(&trl(&["history", "-s", "work", "first", "--json"])).unwrap();
    assert_eq!(found["entries"][0]["command"], "echo first");
    trl(&["session", "delete", "work"]);
    assert_eq!(trl(&["history"]).lines().count(), 1);
}
