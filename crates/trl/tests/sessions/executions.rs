//! Executions by their id: signals, results, lists, keys against running twice, throw-away sessions.

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Run, Shell, eventually, json, procs_matching, sleeper};

use crate::{builder, daemon};

#[test]
fn a_signal_reaches_what_the_command_started() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let handler = "trap 'echo got; exit 5' USR1; echo up; while :; do :; done";
    let mut run = session.stream(&format!("trap : USR1; sh -c \"{handler}\"; echo after $?"), json!({}));
    run.wait_stdout("up\n");
    for bad in ["NOSUCH", "", "9999"] {
        let params = json!({"execution_id": run.execution_id, "signal": bad});
        daemon.client().refused("INVALID_PARAMS", "exec.signal", params);
    }
    let told = run.signal("USR1");
    assert!(told["processes"].as_u64().is_some_and(|n| n >= 1), "{told}");
    run.wait_stdout("got\n");
    let run = run.finish();
    assert!(run.out().contains("after "), "{:?}", run.out());
}

#[test]
fn signals_have_several_names() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    for name in ["KILL", "SIGKILL", "9"] {
        let mut run = session.stream("echo up; sh -c 'sleep 1000'", json!({}));
        run.wait_stdout("up\n");
        run.signal(name);
        assert_ne!(run.finish().code, 0, "{name}");
    }
    assert_eq!(session.run("echo fine").out(), "fine\n");
}

#[test]
fn a_result_can_be_fetched_while_it_is_kept() {
    let daemon = builder().set("output", "results", 3).start();
    let mut session = daemon.session(Shell::Dash);
    let first = session.run("echo first; exit 3");
    let again = Run::of(session.client().ok("exec.result", json!({"execution_id": first.execution_id})));
    assert_eq!((again.stdout, again.code), (first.stdout, 3));
    assert_eq!(again.shell_state, "rolled_back");
    for _ in 0..5 {
        session.run("true");
    }
    let params = json!({"execution_id": first.execution_id});
    // what the history has of it is still there
    let recorded = session.client().ok("exec.result", params.clone())["recorded"].clone();
    assert_eq!((&recorded["exit_code"], &recorded["stdout"]["head"]), (&json!(3), &json!("first\n")));
    session.client().refused("EXECUTION_NOT_FOUND", "exec.output", params);
}

#[test]
fn a_running_command_has_a_status_and_output_so_far() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let mut run = session.stream("echo up; sleep 1000", json!({}));
    run.wait_stdout("up\n");
    let mut other = daemon.client();
    let result = other.ok("exec.result", json!({"execution_id": run.execution_id}));
    assert_eq!((&result["status"], &result["execution_id"]), (&json!("running"), &json!(run.execution_id)));
    let output = other.ok("exec.output", json!({"execution_id": run.execution_id}));
    assert_eq!((&output["data"], &output["done"]), (&json!("up\n"), &json!(false)));
    run.cancel();
    let run = run.finish();
    let result = other.ok("exec.result", json!({"execution_id": run.execution_id}));
    assert_eq!((&result["status"], &result["cancelled"]), (&json!("done"), &json!(true)));
}

#[test]
fn lists_show_what_ran_where() {
    let daemon = daemon();
    let (mut a, mut b) = (daemon.session(Shell::Dash), daemon.session(Shell::Dash));
    a.run("echo one; exit 4");
    b.run("echo two");
    let id = a.id.clone();
    let list = a.client().ok("exec.list", json!({"session_id": id}));
    let only = &list["executions"][0];
    assert_eq!(list["executions"].as_array().map(Vec::len), Some(1));
    assert_eq!((&only["command"], &only["status"]), (&json!("echo one; exit 4"), &json!("done")));
    assert_eq!((&only["exit_code"], &only["stdout_bytes"]), (&json!(4), &json!(4)));
    let all = b.client().ok("exec.list", json!({}));
    assert_eq!(all["executions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_same_key_never_runs_twice() {
    let daemon = daemon();
    let mark = daemon.dir().text("mark");
    let mut session = daemon.session(Shell::Dash);
    let command = format!("echo x >>{mark}; sleep 0.1; cat {mark}");
    let key = json!({"idempotency_key": "k-1", "queue": true});
    let requests: Vec<u64> = (0..4).map(|_| session.start(&command, key.clone())).collect();
    let runs: Vec<Run> = requests.into_iter().map(|id| session.finish(id).expect("a result")).collect();
    for run in &runs {
        assert_eq!((run.out(), &run.execution_id), ("x\n".to_string(), &runs[0].execution_id));
    }
    let later = session.run_with(&command, key);
    assert_eq!(later.execution_id, runs[0].execution_id);
    let other = session.run_with(&command, json!({"idempotency_key": "k-2"}));
    assert_eq!(other.out(), "x\nx\n");
}

#[test]
fn without_a_session_a_throw_away_one_is_used() {
    let daemon = daemon();
    let mut client = daemon.client();
    let sleeper = sleeper();
    let params = json!({"command": format!("echo hi; {sleeper} & exit 3")});
    let run = Run::of(client.ok("exec.run", params));
    assert_eq!((run.out(), run.code), ("hi\n".to_string(), 3));
    eventually("its processes are gone", || procs_matching(&sleeper).is_empty());
    eventually("the session is gone", || client.ok("system.stats", json!({}))["active_sessions"] == 0);
    let params = json!({"command": "pwd; echo [$x]", "env": {"x": "1"}, "working_dir": "/usr"});
    let again = Run::of(client.ok("exec.run", params));
    assert_eq!(again.out(), "/usr\n[1]\n");
}

#[test]
fn the_session_default_timeout_applies() {
    let daemon = daemon();
    let session = daemon.session_with(Shell::Dash, json!({"timeout_s": 0.5}));
    let mut client = daemon.client();
    let params = json!({"session_id": session.id, "command": "sleep 1000"});
    assert!(Run::of(client.ok("exec.run", params)).timed_out);
}

#[test]
fn the_daemons_default_timeout_applies() {
    let daemon = builder().set("exec", "timeout_s", 0.5).start();
    let session = daemon.session(Shell::Dash);
    let mut client = daemon.client();
    let run = Run::of(client.ok("exec.run", json!({"session_id": session.id, "command": "sleep 1000"})));
    assert!(run.timed_out);
    let params = json!({"session_id": session.id, "command": "sleep 1", "timeout_s": 0});
    assert!(!Run::of(client.ok("exec.run", params)).timed_out, "0 is none");
}

#[test]
fn cancelling_nothing_is_no_success() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let done = session.run("true");
    let client = session.client();
    let late = client.call("exec.cancel", json!({"execution_id": done.execution_id}));
    assert!(late.map_or(true, |reply| reply["cancelled"] == false));
    client.refused("EXECUTION_NOT_FOUND", "exec.cancel", json!({"execution_id": "e-zzzzzzzzzz"}));
    client.refused("INVALID_PARAMS", "exec.cancel", json!({}));
}

#[test]
fn a_cancel_can_name_its_signal() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let mut run = session.stream("trap 'echo int; exit 6' INT; echo up; while :; do :; done", json!({}));
    run.wait_stdout("up\n");
    let params = json!({"execution_id": run.execution_id, "signal": "INT", "grace_s": 20});
    daemon.client().ok("exec.cancel", params);
    let run = run.finish();
    assert!(run.cancelled && run.out().contains("int\n") && run.code == 6, "{} {:?}", run.json, run.out());
}

fn assert_one_story(run: &Run) {
    let ended = run.timed_out || run.cancelled;
    assert_eq!(ended, run.code != 0, "code and flags tell two stories: {}", run.json);
    assert!(!ended || run.shell_state != "kept", "{}", run.json);
    assert!(ended || run.shell_state == "kept", "{}", run.json);
}

/// The command ends while the daemon cannot look; when it can, the report and the wish to cancel are both there.
#[test]
fn a_command_that_ends_while_it_is_cancelled_was_one_or_the_other() {
    let daemon = daemon();
    daemon.dir().fifo("gate");
    daemon.dir().fifo("told");
    let mut told = daemon.dir().listen("told");
    let (gate, done) = (daemon.dir().text("gate"), daemon.dir().text("told"));
    let mut session = daemon.session(Shell::Dash);
    let mut other = daemon.client();
    for _ in 0..20 {
        let mut run = session.stream(&format!("echo up; read x <{gate}; echo over >{done}"), json!({}));
        run.wait_stdout("up\n");
        signal(daemon.pid(), Signal::STOP);
        let _open = daemon.dir().open_gate("gate");
        assert_eq!(told.line(), "over");
        let cancel = other.send("exec.cancel", json!({"execution_id": run.execution_id}));
        signal(daemon.pid(), Signal::CONT);
        let run = run.finish();
        assert_one_story(&run);
        if let Ok(reply) = other.reply(cancel) {
            assert_eq!(reply["cancelled"], run.cancelled, "{}", run.json);
        }
    }
}

/// Some of these end just before their limit, some just after, some at it.
#[test]
fn a_command_that_ends_at_its_limit_timed_out_or_did_not() {
    let daemon = daemon();
    for shell in [Shell::Dash, Shell::Bash] {
        let mut session = daemon.session(shell);
        for step in 0..40 {
            let timeout_s = 0.016 + f64::from(step) * 0.0002;
            assert_one_story(&session.run_with("sleep 0.02", json!({"timeout_s": timeout_s})));
        }
    }
}

#[test]
fn an_idempotency_key_is_for_one_request_and_never_runs_twice() {
    let daemon = builder().set("output", "results", 2).start();
    let mut session = daemon.session(Shell::Dash);
    let mut other = daemon.session(Shell::Dash);
    let count = daemon.dir().text("count");
    let command = format!("cat >>{count}");
    let ask = |session: &str, stdin: &str| json!({"session_id": session, "command": command, "idempotency_key": "k", "stdin": stdin});
    let mut client = daemon.client();
    let first = client.ok("exec.run", ask(&session.id, "a"));
    let again = client.ok("exec.run", ask(&session.id, "a"));
    assert_eq!(first["execution_id"], again["execution_id"]);
    client.refused("INVALID_PARAMS", "exec.run", ask(&session.id, "b"));
    client.refused("INVALID_PARAMS", "exec.run", ask(&other.id, "a"));
    for _ in 0..4 {
        other.run("true");
    }
    client.refused("EXECUTION_NOT_FOUND", "exec.run", ask(&session.id, "a"));
    assert_eq!(session.run(&format!("cat {count}")).out(), "a");
}

#[test]
fn two_requests_with_one_key_at_once_are_one_execution() {
    let daemon = daemon();
    let mut client = daemon.client();
    let params = json!({"command": "echo one", "idempotency_key": "twin"});
    let ids: Vec<u64> = (0..8).map(|_| client.send("exec.run", params.clone())).collect();
    let replies: Vec<_> = ids.into_iter().map(|id| client.reply(id).expect("a result")).collect();
    assert!(replies.iter().all(|r| r["execution_id"] == replies[0]["execution_id"]), "{replies:?}");
}

/// The signal may come before the shell has taken the command up: then it is not handed to another one.
#[test]
fn a_signal_that_comes_at_once_is_not_lost() {
    let daemon = daemon();
    for shell in [Shell::Bash, Shell::Dash] {
        let mut session = daemon.session(shell);
        for _ in 0..25 {
            let run = session.stream("sleep 30; echo finished", json!({}));
            let mut client = daemon.client();
            let told = client.ok("exec.signal", json!({"execution_id": run.execution_id, "signal": "KILL"}));
            let run = run.finish();
            assert!(run.code == 137 && run.out().is_empty(), "{shell}: {told} {}", run.json);
        }
    }
}

/// What is kept has a head and a tail, and nobody sees to it that the seam is between two characters.
#[test]
fn a_character_across_the_seam_of_what_is_kept_is_streamed() {
    const SEAM: usize = 512 * 1024;
    let daemon = daemon();
    let mut session = daemon.session(Shell::Bash);
    for before in SEAM - 4..=SEAM {
        let many = |count: usize, letter: &str| format!("head -c {count} /dev/zero | tr '\\0' {letter}");
        let command = format!("{}; printf '\u{1f980}'; {}", many(before, "a"), many(2_000_000, "b"));
        let run = session.stream(&command, json!({})).finish();
        let text = format!("{}\u{1f980}{}", "a".repeat(before), "b".repeat(2_000_000));
        assert!(run.out() == text, "{before}: {} bytes", run.stdout.len());
    }
}
