//! Sessions after the end of their daemon, orderly or not.

use serde_json::{Value, json};
use trl_testkit::{PATIENCE, comes_true};

use super::{builder, create, daemon, history, ids, run};

/// What must be the same before and after.
fn lasting(info: &Value) -> Value {
    let names = [
        "session_id",
        "name",
        "shell",
        "owner",
        "created_at",
        "labels",
        "env_keys",
        "timeout_s",
        "on_exit",
        "renewal",
        "working_dir",
        "limits",
        "command_count",
    ];
    names.iter().map(|name| (name.to_string(), info[*name].clone())).collect()
}

/// The new daemon takes requests while it still reads which sessions there were.
#[test]
fn first_request_finds_an_old_session() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let all: Vec<String> = (0..60).map(|_| create(&mut client, json!({}))).collect();
    history(&mut client, json!({}));
    for id in all.iter().take(5) {
        daemon.kill9();
        daemon.relaunch();
        let order = json!({"session_id": id, "command": "echo hi"});
        daemon.client().refused("SESSION_CLOSED", "exec.start", order);
    }
}

#[test]
fn a_session_is_opened_again_after_a_crash_and_after_an_orderly_end() {
    for crash in [true, false] {
        let mut daemon = daemon();
        let mut client = daemon.client();
        let id = create(
            &mut client,
            json!({
                "name": "long", "env": {"GREETING": "hello"}, "labels": {"team": "a"}, "timeout_s": 7,
                "on_exit": "terminate", "renewal": "idle", "limits": {"open_files": 99},
            }),
        );
        run(&mut client, &id, "cd /usr && echo hi");
        let before = client.ok("session.info", json!({"session_id": id}));
        history(&mut client, json!({}));
        if crash {
            daemon.kill9();
        } else {
            daemon.stop();
        }
        daemon.relaunch();

        let mut client = daemon.client();
        let state = if crash { "uninitialized" } else { "closed" };
        for filter in [json!({"name": "long"}), json!({"label": "team=a"}), json!({"state": state})] {
            assert_eq!(ids(&client.ok("session.list", filter)), [&id]);
        }
        for filter in [json!({"name": "lon"}), json!({"label": "team=b"}), json!({"state": "idle"})] {
            assert!(ids(&client.ok("session.list", filter)).is_empty());
        }
        let after = client.ok("session.info", json!({"session_id": id}));
        assert_eq!(after["state"], state);
        assert_eq!(lasting(&after), lasting(&before), "crash: {crash}");
        assert_eq!(client.ok("system.stats", json!({}))["resident_sessions"], 0);

        client.refused("SESSION_CLOSED", "exec.run", json!({"session_id": id, "command": "true"}));
        let opened = client.ok("session.get", json!({"session_id": id}));
        assert_eq!((&opened["state"], &opened["pid"]), (&json!("ready"), &Value::Null), "nothing is started");
        let result = run(&mut client, &id, "echo $GREETING from $PWD; ulimit -n");
        assert_eq!(result["stdout"], "hello from /usr\n99\n");
        assert_eq!(history(&mut client, json!({"session_id": id})).len(), 2);
        assert_eq!(client.ok("system.stats", json!({}))["resident_sessions"], 1);
        client.ok("session.destroy", json!({"session_id": id}));
    }
}

#[test]
fn what_ran_when_the_daemon_died_has_an_unknown_end_and_is_not_run_again() {
    let mut daemon = daemon();
    let marks = daemon.dir().text("marks");
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    let command = format!("echo once >> {marks}; sleep 60");
    client.send("exec.run", json!({"session_id": id, "command": command}));
    let mut watcher = daemon.client();
    let running = || {
        let entries = history(&mut watcher, json!({"session_id": id}));
        entries.first().is_some_and(|e| e["status"] == "running") && std::fs::metadata(&marks).is_ok()
    };
    assert!(comes_true(PATIENCE, &mut { running }));
    let entry = history(&mut daemon.client(), json!({}))[0].clone();
    daemon.kill9();
    daemon.relaunch();

    let mut client = daemon.client();
    let again = history(&mut client, json!({"session_id": id}))[0].clone();
    assert_eq!(again["status"], "unknown");
    // What it wrote died with the daemon: not nothing, but nobody knows how much.
    assert_eq!((&again["stdout"], &again["stderr"]), (&json!({"head": ""}), &json!({"head": ""})));
    assert_eq!(again["execution_id"], entry["execution_id"]);
    let result = client.ok("exec.result", json!({"execution_id": entry["execution_id"]}));
    assert_eq!((&result["status"], &result["execution_id"]), (&json!("unknown"), &entry["execution_id"]));
    client.ok("session.get", json!({"session_id": id}));
    run(&mut client, &id, "true");
    assert_eq!(std::fs::read_to_string(&marks).unwrap(), "once\n");
    client.refused("EXECUTION_NOT_FOUND", "exec.result", json!({"execution_id": "e-nothinglike"}));
}

#[test]
fn the_result_of_an_earlier_daemon_is_what_the_history_has_of_it() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    let done = run(&mut client, &id, "echo out; echo err >&2; exit 3");
    daemon.stop();
    daemon.relaunch();
    let mut client = daemon.client();
    let result = client.ok("exec.result", json!({"execution_id": done["execution_id"]}));
    let recorded = &result["recorded"];
    assert_eq!((&result["status"], &recorded["exit_code"]), (&json!("done"), &json!(3)));
    assert_eq!(recorded["stdout"], json!({"head": "out\n", "bytes": 4}));
    assert_eq!(recorded["stderr"], json!({"head": "err\n", "bytes": 4}));
}

#[test]
fn closed_stays_closed_destroyed_stays_in_the_history_and_deleted_leaves_nothing() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let made: Vec<String> = (0..3).map(|_| create(&mut client, json!({}))).collect();
    let mut executions = Vec::new();
    for id in &made {
        executions.push(run(&mut client, id, "echo wanderlust")["execution_id"].clone());
    }
    let [closed, destroyed, deleted] = [&made[0], &made[1], &made[2]];
    let files = daemon.dir().join("home/.local/share/trl/workspaces").join(deleted);
    std::fs::create_dir_all(files.join("checkpoints")).unwrap();
    client.ok("session.close", json!({"session_id": closed}));
    client.ok("session.destroy", json!({"session_id": destroyed}));
    assert_eq!(client.ok("session.delete", json!({"session_id": deleted}))["deleted"], true);
    assert!(!files.exists());
    client.refused("SESSION_NOT_FOUND", "session.delete", json!({"session_id": deleted}));
    client.refused("EXECUTION_NOT_FOUND", "exec.result", json!({"execution_id": executions[2]}));
    daemon.kill9();
    daemon.relaunch();

    let mut client = daemon.client();
    assert_eq!(ids(&client.ok("session.list", json!({}))), [closed]);
    assert_eq!(client.ok("session.info", json!({"session_id": closed}))["state"], "closed");
    let gone = client.ok("session.info", json!({"session_id": destroyed}));
    assert_eq!((&gone["state"], &gone["ended"]), (&json!("terminated"), &json!("destroyed on request")));
    client.refused("SESSION_TERMINATED", "session.get", json!({"session_id": destroyed}));
    client.refused("SESSION_NOT_FOUND", "session.info", json!({"session_id": deleted}));
    assert_eq!(history(&mut client, json!({"query": "wander"})).len(), 2);
    assert!(history(&mut client, json!({"session_id": deleted})).is_empty());

    // one that is not resident is deleted as well
    client.ok("session.delete", json!({"session_id": closed}));
    assert_eq!(history(&mut client, json!({})).len(), 1);
    let stats = client.ok("system.stats", json!({}));
    assert!(stats["session_misses"].as_u64().unwrap() >= 2, "{stats}");
    assert!(stats["session_hits"].as_u64().unwrap() >= 2, "{stats}");
}

#[test]
fn an_uninitialized_session_can_be_closed_and_counts_for_nobody() {
    let mut daemon = builder().set("sessions", "max", 1).start();
    let mut client = daemon.client();
    let id = create(&mut client, json!({}));
    history(&mut client, json!({}));
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    let other = create(&mut client, json!({}));
    client.refused("MAX_SESSIONS_REACHED", "session.get", json!({"session_id": id}));
    assert_eq!(client.ok("session.close", json!({"session_id": id}))["state"], "closed");
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    assert_eq!(client.ok("session.info", json!({"session_id": id}))["state"], "closed");
    client.ok("session.destroy", json!({"session_id": other}));
    assert_eq!(client.ok("session.get", json!({"session_id": id}))["state"], "ready");
}

#[test]
fn two_hundred_sessions_are_known_again() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    let mut made: Vec<String> = (0..200).map(|_| create(&mut client, json!({}))).collect();
    made.sort_unstable();
    history(&mut client, json!({}));
    daemon.kill9();
    daemon.relaunch();
    assert_eq!(ids(&daemon.client().ok("session.list", json!({"state": "uninitialized"}))), made);
}

#[test]
fn commands_without_a_session_are_in_the_history_and_their_sessions_are_not_kept() {
    let mut daemon = daemon();
    let mut client = daemon.client();
    client.ok("exec.run", json!({"command": "echo passing"}));
    client.ok("exec.start", json!({"argv": ["/bin/echo", "direct"]}));
    let argv = json!({"argv": ["/bin/sh", "-c", "read x"], "working_dir": "/"});
    let direct = client.ok("session.create", argv);
    client.ok("exec.input", json!({"execution_id": direct["execution_id"], "data": "x\n"}));
    let seen = || history(&mut client, json!({})).iter().filter(|e| e["status"] == "done").count() == 3;
    assert!(comes_true(PATIENCE, &mut { seen }));
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    assert!(ids(&client.ok("session.list", json!({}))).is_empty());
    assert_eq!(history(&mut client, json!({})).len(), 3);
}

#[test]
fn a_data_directory_in_use_or_out_of_reach_is_a_clear_error() {
    let daemon = daemon();
    let data = daemon.dir().text("home/.local/share/trl");
    let second = |dir: &str| {
        let socket = daemon.runtime_dir().join("second.sock");
        let mut command = daemon.command();
        command.arg("serve").arg("--socket").arg(socket).args(["--data-dir", dir]);
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = second(&data);
    assert!(said.contains("another process uses the store") && said.contains("--data-dir"), "{said}");
    let said = second("/proc/nowhere");
    assert!(said.contains("the data directory /proc/nowhere cannot be used"), "{said}");
}

#[test]
fn an_engine_on_stdio_keeps_nothing_and_says_so() {
    let daemon = daemon();
    let mut command = daemon.command();
    let data = daemon.dir().join("elsewhere");
    command.arg("stdio").arg("--data-dir").arg(&data).stdin(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let line = b"{\"id\":\"1\",\"method\":\"session.history\"}\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), line).unwrap();
    let output = child.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["message"], "this engine keeps no history");
    assert!(!data.join("store.db").exists());
}

#[test]
fn a_boundary_is_drawn_again_where_the_session_was_made() {
    let mut daemon = daemon();
    let place = daemon.dir().dir("place");
    let outside = daemon.dir().text("outside");
    let mut client = daemon.client();
    let sandbox = json!({"mode": "workspace-write", "best_effort": true});
    let id = create(&mut client, json!({"sandbox": sandbox, "working_dir": place}));
    run(&mut client, &id, "mkdir sub && cd sub");
    let before = client.ok("session.info", json!({"session_id": id}))["sandbox"].clone();
    if before["not_enforced"].as_array().is_none_or(|layers| !layers.is_empty()) {
        eprintln!("skipped: this machine has no whole sandbox: {before}");
        return;
    }
    history(&mut client, json!({}));
    daemon.kill9();
    daemon.relaunch();
    let mut client = daemon.client();
    client.ok("session.get", json!({"session_id": id}));
    let result = run(&mut client, &id, &format!("pwd; echo y > ../up && echo y > {outside}"));
    assert_eq!(result["stdout"], format!("{}/sub\n", place.display()));
    assert_ne!(result["exit_code"], 0);
    assert!(place.join("up").exists() && std::fs::metadata(&outside).is_err());
    assert_eq!(client.ok("session.info", json!({"session_id": id}))["sandbox"], before);
}

/// Whoever asks again after a crash, because no answer came, does not have it run twice.
#[test]
fn an_idempotency_key_is_spent_for_the_next_daemon_too() {
    for crash in [true, false] {
        let mut daemon = daemon();
        let mut client = daemon.client();
        let id = create(&mut client, json!({}));
        let count = daemon.dir().text("count");
        let run = json!({"session_id": id, "command": format!("echo x >>{count}"), "idempotency_key": "one"});
        let start = json!({"command": format!("echo y >>{count}"), "idempotency_key": "two"});
        client.ok("exec.run", run.clone());
        client.ok("exec.start", start.clone());
        // One that came to nothing is free again.
        let nowhere = json!({"session_id": "s-aaaaaaaa", "command": "true", "idempotency_key": "three"});
        client.refused("SESSION_NOT_FOUND", "exec.run", nowhere.clone());
        client.refused("SESSION_NOT_FOUND", "exec.run", nowhere);
        if crash {
            daemon.kill9();
        } else {
            daemon.stop();
        }
        daemon.relaunch();
        let mut client = daemon.client();
        client.ok("session.get", json!({"session_id": id}));
        client.refused("EXECUTION_NOT_FOUND", "exec.run", run);
        client.refused("EXECUTION_NOT_FOUND", "exec.start", start);
        if !crash {
            client.ok("exec.run", json!({"session_id": id, "command": "true", "idempotency_key": "three"}));
        }
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\ny\n");
    }
}
