//! One command at a time: the second is refused, or waits when it says so.

use trl_testkit::{Shell, Value, eventually, json};

use crate::{builder, daemon};

#[test]
fn a_busy_session_refuses_at_once() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let id = session.id.clone();
    let mut first = session.stream("echo up; sleep 1000", json!({}));
    first.wait_stdout("up\n");
    let mut other = daemon.client();
    let params = json!({"session_id": id, "command": "echo second"});
    let refused = other.refused("SESSION_BUSY", "exec.run", params.clone());
    assert!(refused.hint.is_some(), "{}", refused.json);
    other.refused("SESSION_BUSY", "exec.stream", params);
    first.cancel();
    assert!(first.finish().cancelled);
    assert_eq!(session.run("echo third").out(), "third\n");
}

#[test]
fn queued_commands_run_in_order() {
    let daemon = daemon();
    let gate = daemon.dir().fifo("gate");
    let mut session = daemon.session(Shell::Dash);
    let first = session.start(&format!("read x <{gate}; n=0"), json!({}));
    session.running();
    let rest: Vec<u64> =
        (0..5).map(|i| session.start(&format!("n=${{n}}{i}; echo $n"), json!({"queue": true}))).collect();
    let id = session.id.clone();
    let mut watcher = daemon.client();
    eventually("five wait", || count(&watcher.ok("exec.list", json!({"session_id": id})), "queued") == 5);
    let _open = daemon.dir().open_gate("gate");
    assert_eq!(session.finish(first).expect("a result").code, 0);
    let mut expected = "0".to_string();
    for (i, request) in rest.into_iter().enumerate() {
        let run = session.finish(request).expect("a result");
        expected.push_str(&i.to_string());
        assert_eq!(run.out(), format!("{expected}\n"));
    }
}

fn count(list: &Value, status: &str) -> usize {
    list["executions"].as_array().expect("a list").iter().filter(|e| e["status"] == status).count()
}

#[test]
fn the_timeout_of_a_queued_command_counts_from_its_start() {
    let daemon = daemon();
    let gate = daemon.dir().fifo("gate");
    let mut session = daemon.session(Shell::Dash);
    let first = session.start(&format!("read x <{gate}; sleep 1.2"), json!({}));
    session.running();
    let second = session.start("echo ran", json!({"queue": true, "timeout_s": 1}));
    let id = session.id.clone();
    let mut watcher = daemon.client();
    eventually("it waits", || count(&watcher.ok("exec.list", json!({"session_id": id})), "queued") == 1);
    let _open = daemon.dir().open_gate("gate");
    assert_eq!(session.finish(first).expect("a result").code, 0);
    let run = session.finish(second).expect("a result");
    assert!(!run.timed_out && run.out() == "ran\n", "{}", run.json);
    assert!(run.json["waited_ms"].as_u64().is_some_and(|ms| ms >= 1000), "{}", run.json);
}

#[test]
fn a_queued_command_can_be_cancelled() {
    let daemon = daemon();
    let gate = daemon.dir().fifo("gate");
    let mut session = daemon.session(Shell::Dash);
    let first = session.start(&format!("read x <{gate}"), json!({}));
    session.running();
    let second = session.start("echo never", json!({"queue": true}));
    let id = session.id.clone();
    let mut other = daemon.client();
    let mut waiting = Value::Null;
    eventually("one waits", || {
        let list = other.ok("exec.list", json!({"session_id": id}));
        let found = list["executions"].as_array().expect("a list").iter().find(|e| e["status"] == "queued");
        waiting = found.map_or(Value::Null, |e| e["execution_id"].clone());
        !waiting.is_null()
    });
    let reply = other.ok("exec.cancel", json!({"execution_id": waiting}));
    assert_eq!(reply, json!({"execution_id": waiting, "cancelled": true}));
    let cancelled = session.finish(second).expect("a cancelled command is a result");
    assert!(cancelled.cancelled && cancelled.stdout.is_empty(), "{}", cancelled.json);
    assert_eq!(cancelled.shell_state, "kept");
    let _open = daemon.dir().open_gate("gate");
    assert_eq!(session.finish(first).expect("a result").code, 0);
}

#[test]
fn the_queue_has_an_end() {
    let daemon = builder().set("sessions", "max_queue", 1).start();
    let gate = daemon.dir().fifo("gate");
    let mut session = daemon.session(Shell::Dash);
    let first = session.start(&format!("read x <{gate}"), json!({}));
    session.running();
    let second = session.start("echo second", json!({"queue": true}));
    let id = session.id.clone();
    let mut other = daemon.client();
    eventually("one waits", || count(&other.ok("exec.list", json!({"session_id": id})), "queued") == 1);
    let params = json!({"session_id": id, "command": "echo third", "queue": true});
    let refused = other.call("exec.run", params).expect_err("the queue is full");
    assert!(matches!(refused.code.as_str(), "SESSION_BUSY" | "LIMIT_EXCEEDED"), "{}", refused.json);
    let _open = daemon.dir().open_gate("gate");
    session.finish(first).expect("a result");
    assert_eq!(session.finish(second).expect("a result").out(), "second\n");
}

#[test]
fn destroying_a_session_ends_what_waits_in_it() {
    let daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    let first = session.start("sleep 1000", json!({}));
    session.running();
    let second = session.start("echo never", json!({"queue": true}));
    let id = session.id.clone();
    daemon.client().ok("session.destroy", json!({"session_id": id}));
    for request in [first, second] {
        match session.finish(request) {
            Ok(run) => assert!(run.stdout.is_empty() && run.code != 0, "{}", run.json),
            Err(refused) => assert_eq!(refused.code, "SESSION_TERMINATED"),
        }
    }
}
