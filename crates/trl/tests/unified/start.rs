use rustix::process::Signal;
use serde_json::json;
use trl_testkit::process::signal;
use trl_testkit::{Client, bytes_of, eventually, procs_matching, sleeper, wait_gone};

use super::{builder, daemon, start, start_and_begin, wait};

#[test]
fn a_command_that_ends_in_time_is_told_whole() {
    let daemon = daemon();
    let mut client = daemon.client();
    let done = client.ok("exec.start", json!({"command": "echo out; echo err >&2; exit 3"}));
    assert_eq!((&done["stdout"], &done["stderr"]), (&json!("out\n"), &json!("err\n")));
    assert_eq!((&done["status"], &done["exit_code"]), (&json!("done"), &json!(3)));
    assert_eq!(done["next"], json!({"stdout": 4, "stderr": 4}));
    assert!(done.get("gap").is_none() && done.get("terminal_id").is_none());
    assert!(done["session_id"].as_str().unwrap().starts_with("s-"));
}

#[test]
fn argv_has_no_shell_between() {
    let daemon = daemon();
    let mut client = daemon.client();
    let done = client.ok("exec.start", json!({"argv": ["printf", "%s|", "$HOME", "a b", "*"]}));
    assert_eq!(done["stdout"], "$HOME|a b|*|");
}

/// On pipes and on a terminal.
#[test]
fn files_are_made_without_what_the_umask_says() {
    let daemon = daemon();
    let mut client = daemon.client();
    for tty in [false, true] {
        let masked = |umask| json!({"command": "umask", "umask": umask, "tty": tty, "runtime": "host"});
        let done = client.ok("exec.start", masked("0027"));
        assert_eq!(done["stdout"].as_str().unwrap().trim_end(), "0027", "{done}");
        let refused = client.call("exec.start", masked("0o27")).unwrap_err();
        assert_eq!(refused.code, "INVALID_PARAMS", "{}", refused.json);
    }
    let session = client.ok("session.create", json!({}))["session_id"].clone();
    let order = json!({"command": "umask", "umask": "0027", "session_id": session});
    assert_eq!(client.call("exec.start", order).unwrap_err().code, "INVALID_PARAMS");
}

#[test]
fn a_live_one_is_left_running_and_told_of_bit_by_bit() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, first) = start_and_begin(
        &mut client,
        json!({"command": "echo one; read line; echo two $line; read more; exit 7"}),
    );
    assert_eq!(first["status"], "running");
    assert!(first.get("exit_code").is_none());
    let mut told = first["stdout"].as_str().unwrap().to_string();
    client.ok("exec.input", json!({"execution_id": id, "data": "x\n"}));
    let second = wait(&mut client, &id, json!({"pattern": "two x"}));
    assert_eq!(second["reason"], "pattern");
    told += second["stdout"].as_str().unwrap();
    client.ok("exec.input", json!({"execution_id": id, "close": true}));
    let last = wait(&mut client, &id, json!({"exit": true}));
    told += last["stdout"].as_str().unwrap();
    assert_eq!((told.as_str(), &last["exit_code"]), ("one\ntwo x\n", &json!(7)));
    // who drains is told once; who reads by offset is told as often as it asks
    assert_eq!(wait(&mut client, &id, json!({}))["stdout"], "");
    assert_eq!(client.ok("exec.output", json!({"execution_id": id}))["data"], "one\ntwo x\n");
}

#[test]
fn stdin_is_open_closed_or_given() {
    let daemon = daemon();
    let mut client = daemon.client();
    let null = client.ok("exec.start", json!({"command": "cat; readlink /proc/self/fd/0", "stdin": "null"}));
    assert_eq!(null["stdout"], "/dev/null\n");
    let given =
        client.ok("exec.start", json!({"command": "cat", "stdin": {"data": "a\nb", "encoding": "utf-8"}}));
    assert_eq!((&given["stdout"], &given["status"]), (&json!("a\nb"), &json!("done")));
    let large = "x".repeat(1 << 20);
    let given = client.ok("exec.start", json!({"argv": ["wc", "-c"], "stdin": {"data": large}}));
    assert_eq!(given["stdout"], "1048576\n");
    let error = client.refused("INVALID_PARAMS", "exec.start", json!({"command": "cat", "stdin": "shut"}));
    assert!(error.message.contains("stdin"), "{}", error.message);
}

#[test]
fn a_command_in_a_session_is_the_same_thing() {
    let daemon = daemon();
    let mut client = daemon.client();
    let session = client.ok("session.create", json!({}))["session_id"].clone();
    client.ok("exec.run", json!({"session_id": session, "command": "x=5; cd /"}));
    let (id, first) = start(&mut client, json!({"session_id": session, "command": "read y; echo $x$y; pwd"}));
    assert_eq!((&first["status"], &first["session_id"]), (&json!("running"), &session));
    client.refused("SESSION_BUSY", "exec.start", json!({"session_id": session, "command": "true"}));
    client.ok("exec.input", json!({"execution_id": id, "data": "6\n"}));
    let done = wait(&mut client, &id, json!({"exit": true}));
    assert_eq!((&done["stdout"], &done["shell_state"]), (&json!("56\n/\n"), &json!("kept")));
    for (field, value) in [("tty", json!(true)), ("argv", json!(["true"])), ("shell", json!("sh"))] {
        let mut params = json!({"session_id": session, "command": "true"});
        params[field] = value;
        let error = client.refused("INVALID_PARAMS", "exec.start", params);
        assert!(error.message.contains(field) && error.hint.is_some(), "{}", error.message);
    }
    let beside = json!({"session_id": session, "command": "true", "sandbox": "read-only"});
    let hints = ["exec.run", "exec.start"]
        .map(|method| client.refused("INVALID_PARAMS", method, beside.clone()).hint);
    assert_eq!(hints[0], hints[1]);
}

#[test]
fn what_does_not_fit_a_reply_is_counted() {
    let daemon = daemon();
    let mut client = daemon.client();
    let done = client.ok("exec.start", json!({"command": "seq 1 100000", "max_output_bytes": 1000}));
    let text = done["stdout"].as_str().unwrap();
    let gap = &done["gap"]["stdout"];
    assert!(text.starts_with("1\n2\n") && text.ends_with("99999\n100000\n") && text.len() == 1000);
    let missing = gap["to"].as_u64().unwrap() - gap["from"].as_u64().unwrap();
    assert_eq!(text.len() as u64 + missing, done["stdout_bytes"].as_u64().unwrap());
    assert_eq!(done["omitted"]["stdout"], *gap, "of this log no more was kept either");
}

#[test]
fn bytes_that_are_no_text_arrive_whole() {
    let daemon = daemon();
    let mut client = daemon.client();
    let done = client.ok("exec.start", json!({"command": "printf '\\377\\000\\376'"}));
    assert_eq!(bytes_of(&done, "stdout"), [255, 0, 254]);
    let plain = client.plain_call("exec.start", json!({"command": "printf '\\377'"})).unwrap();
    assert_eq!((&plain["stdout"], &plain["stdout_encoding"]), (&json!("\u{fffd}"), &json!("utf-8-lossy")));
}

#[test]
fn a_key_starts_one_and_no_other() {
    let daemon = daemon();
    let mut client = daemon.client();
    let dir = trl_testkit::Scratch::new();
    let file = dir.text("count");
    let params =
        json!({"command": format!("echo x >>{file}; read end"), "idempotency_key": "k", "yield_ms": 250});
    let first = client.ok("exec.start", params.clone());
    let second = client.ok("exec.start", params);
    assert_eq!(first["execution_id"], second["execution_id"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
    client.refused("INVALID_PARAMS", "exec.start", json!({"command": "true", "idempotency_key": "k"}));
}

#[test]
fn a_timeout_ends_it_and_a_wait_does_not() {
    let daemon = daemon();
    let mut client = daemon.client();
    let done = client.ok("exec.start", json!({"command": "sleep 1000", "timeout_s": 0.3}));
    assert_eq!((&done["timed_out"], &done["exit_code"]), (&json!(true), &json!(143)));
    let (id, _) = start(&mut client, json!({"command": "sleep 1000"}));
    let waited = client.ok("exec.wait", json!({"execution_id": id, "timeout_s": 0.05}));
    assert_eq!((&waited["reason"], &waited["status"]), (&json!("timeout"), &json!("running")));
    let cancelled = client.ok("exec.cancel", json!({"execution_id": id}));
    assert_eq!(cancelled["cancelled"], true);
    assert_eq!(wait(&mut client, &id, json!({}))["cancelled"], true);
}

#[test]
fn what_it_left_behind_does_not_hold_its_result_up() {
    // Whoever waited for that would wait for longer than a call may.
    let daemon = builder().set("exec", "grace_s", 60).start();
    let mut client = daemon.client();
    let sleeper = sleeper();
    let command = format!("mkfifo f; (trap '' TERM; echo >f; exec {sleeper}) & read up <f; echo hi; exit 4");
    let params = json!({"command": command, "working_dir": daemon.dir().path(), "yield_ms": 30_000});
    let done = client.ok("exec.start", params);
    assert_eq!((&done["status"], &done["stdout"]), (&json!("done"), &json!("hi\n")), "{done}");
    assert_eq!((&done["exit_code"], &done["shell_state"]), (&json!(4), &json!("ended")));
    let session = json!({"session_id": done["session_id"], "force": true});
    assert_eq!(procs_matching(&sleeper).len(), 1, "it has its grace");
    client.ok("session.destroy", session);
    assert!(procs_matching(&sleeper).is_empty());
}

/// The keeper of the next one stands ready, and is held up as by a large workspace to look through.
fn hold_up_the_next(client: &mut Client) -> i32 {
    client.ok("exec.start", json!({"command": "true"}));
    eventually("one keeper is there", || procs_matching("trl-keeper").len() == 1);
    let keeper = procs_matching("trl-keeper")[0];
    signal(keeper, Signal::STOP);
    keeper
}

#[test]
fn one_that_takes_long_to_begin_is_told_of_in_time() {
    let daemon = daemon();
    let mut client = daemon.client();
    let keeper = hold_up_the_next(&mut client);
    let (id, first) = start(&mut client, json!({"command": "echo on", "timeout_s": 60}));
    assert_eq!((&first["status"], &first["elapsed_ms"]), (&json!("queued"), &json!(0)), "{first}");
    assert_eq!(client.ok("exec.result", json!({"execution_id": id}))["status"], "queued");
    signal(keeper, Signal::CONT);
    let done = wait(&mut client, &id, json!({}));
    assert_eq!((&done["status"], &done["stdout"]), (&json!("done"), &json!("on\n")));
    assert!(done["waited_ms"].as_u64().unwrap() > 0, "its beginning was waited for: {done}");
}

#[test]
fn one_that_is_ended_before_it_begins_is_over_all_the_same() {
    let daemon = daemon();
    let mut client = daemon.client();
    hold_up_the_next(&mut client);
    let (id, first) = start(&mut client, json!({"command": "echo on"}));
    assert_eq!(first["status"], "queued", "{first}");
    client.ok("session.destroy", json!({"session_id": first["session_id"], "force": true}));
    let done = wait(&mut client, &id, json!({}));
    assert_eq!((&done["status"], &done["cancelled"]), (&json!("done"), &json!(true)), "{done}");
}

#[test]
fn a_live_one_is_never_ended_to_make_room() {
    let daemon = builder().set("sessions", "max", 2).start();
    let mut client = daemon.client();
    let (first, _) = start(&mut client, json!({"command": "read x"}));
    let (second, _) = start(&mut client, json!({"command": "read x", "tty": true}));
    client.refused("MAX_SESSIONS_REACHED", "exec.start", json!({"command": "true"}));
    client.refused("MAX_SESSIONS_REACHED", "exec.start", json!({"command": "true", "tty": true}));
    for id in [first, second] {
        assert_eq!(client.ok("exec.result", json!({"execution_id": id}))["status"], "running");
        client.ok("exec.cancel", json!({"execution_id": id}));
    }
    assert_eq!(client.ok("exec.start", json!({"command": "true"}))["exit_code"], 0);
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let daemon = daemon();
    let mut client = daemon.client();
    for params in [
        json!({}),
        json!({"command": "true", "argv": ["true"]}),
        json!({"argv": ["true"], "shell": "bash"}),
        json!({"argv": []}),
        json!({"command": "true", "cols": 80}),
        json!({"command": "true", "tty": true, "stdin": "null"}),
        json!({"command": "true", "queue": true}),
        json!({"command": "true", "max_output_bytes": 1}),
        json!({"command": "true", "yield": 1}),
        json!({"command": "tr\0ue"}),
    ] {
        client.refused("INVALID_PARAMS", "exec.start", params);
    }
    let error = client.refused("INVALID_PARAMS", "exec.start", json!({"command": "tr\0ue"}));
    assert!(error.message.contains("command"), "{}", error.message);
    client.refused("SHELL_NOT_FOUND", "exec.start", json!({"argv": ["no-such-program"]}));
    client.refused(
        "WORKING_DIR_INVALID",
        "exec.start",
        json!({"command": "true", "working_dir": "/nowhere"}),
    );
    client.refused("SESSION_NOT_FOUND", "exec.start", json!({"command": "true", "session_id": "s-nope"}));
    assert_eq!(client.ok("exec.list", json!({}))["executions"], json!([]));
    assert_eq!(client.ok("system.stats", json!({}))["active_sessions"], 0);
}

#[test]
fn it_ends_with_its_connection_if_that_was_asked() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "sleep 1000", "on_disconnect": "cancel"}));
    drop(client);
    let done = wait(&mut daemon.client(), &id, json!({}));
    assert_eq!(done["cancelled"], true);
}

/// Not in containers: the pid that the command prints there is another one on the host.
mod outside_containers {
    use super::*;

    #[test]
    fn nothing_of_it_is_left_when_it_ends() {
        let daemon = daemon();
        let mut client = daemon.client();
        let done =
            client.ok("exec.start", json!({"command": "setsid sleep 1000 & echo $!", "yield_ms": 30000}));
        let pid: i32 = done["stdout"].as_str().unwrap().trim().parse().unwrap();
        assert_eq!(done["status"], "done");
        wait_gone(pid);
    }
}
