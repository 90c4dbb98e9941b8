use serde_json::json;

use super::{daemon, start, start_and_begin, wait};

#[test]
fn a_process_on_a_terminal_has_one_and_people_see_it() {
    let daemon = daemon();
    let mut client = daemon.client();
    let command = "tty >/dev/null && stty size; read x; echo got $x; exit 5";
    let (id, first) = start(&mut client, json!({"command": command, "tty": true, "cols": 77, "rows": 11}));
    let terminal = first["terminal_id"].as_str().unwrap().to_string();
    let sized = wait(&mut client, &id, json!({"pattern": "11 77"}));
    assert_eq!(sized["matched"]["stream"], "tty");
    assert!(first.get("session_id").is_none());
    // anybody may look at it as a terminal, and type
    let screen = client.ok("terminal.screen", json!({"terminal_id": terminal}))["text"].to_string();
    assert!(screen.contains("11 77"), "{screen}");
    client.ok("terminal.input", json!({"terminal_id": terminal, "data": "you\r"}));
    let done = wait(&mut client, &id, json!({}));
    assert!(done["stdout"].as_str().unwrap().contains("got you"), "{done}");
    assert_eq!((&done["exit_code"], &done["reason"]), (&json!(5), &json!("exit")));
    let listed = client.ok("exec.list", json!({}))["executions"][0].clone();
    assert_eq!((&listed["terminal_id"], &listed["status"]), (&json!(terminal), &json!("done")));
    let all = client.ok("exec.output", json!({"execution_id": id, "stream": "tty"}));
    assert_eq!((&all["done"], &all["next"]), (&json!(true), &done["stdout_bytes"]));
}

#[test]
fn what_it_writes_and_how_long_it_ran_is_counted_once() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, _) = start(&mut client, json!({"command": "echo 12345678", "tty": true}));
    let done = wait(&mut client, &id, json!({}));
    let stats = client.ok("system.stats", json!({}));
    assert_eq!(stats["output_bytes"], done["stdout_bytes"]);
    assert_eq!(stats["command_duration_ms"]["count"], 1);
    assert_eq!(stats["command_wait_ms"]["count"], 1);
}

#[test]
fn it_is_resized_signalled_and_cancelled_like_any_other() {
    let daemon = daemon();
    let mut client = daemon.client();
    let command = "trap 'stty size' WINCH; trap 'echo int' INT; echo up; while :; do sleep 0.05; done";
    let (id, _) = start(&mut client, json!({"command": command, "tty": true}));
    wait(&mut client, &id, json!({"pattern": "up"}));
    let resized = client.ok("exec.resize", json!({"execution_id": id, "cols": 100, "rows": 30}));
    assert_eq!((&resized["cols"], &resized["rows"]), (&json!(100), &json!(30)));
    wait(&mut client, &id, json!({"pattern": "30 100"}));
    client.ok("exec.signal", json!({"execution_id": id, "signal": "INT"}));
    wait(&mut client, &id, json!({"pattern": "int"}));
    assert_eq!(client.ok("exec.cancel", json!({"execution_id": id}))["cancelled"], true);
    let done = wait(&mut client, &id, json!({}));
    assert_eq!(
        (&done["cancelled"], &done["timed_out"], &done["signal"]),
        (&json!(true), &json!(false), &json!("HUP"))
    );
    let (pipes, _) = start(&mut client, json!({"command": "read x"}));
    client.refused("INVALID_PARAMS", "exec.resize", json!({"execution_id": pipes, "cols": 10, "rows": 10}));
}

#[test]
fn it_may_take_only_so_long() {
    let daemon = daemon();
    let mut client = daemon.client();
    let done = client.ok("exec.start", json!({"argv": ["sleep", "1000"], "tty": true, "timeout_s": 0.2}));
    assert_eq!((&done["timed_out"], &done["cancelled"]), (&json!(true), &json!(false)));
}

#[test]
fn a_terminal_that_is_destroyed_is_an_execution_that_was_cancelled() {
    let daemon = daemon();
    let mut client = daemon.client();
    let (id, first) = start_and_begin(&mut client, json!({"command": "read x", "tty": true}));
    client.ok("terminal.destroy", json!({"terminal_id": first["terminal_id"]}));
    assert_eq!(wait(&mut client, &id, json!({}))["cancelled"], true);
}

#[test]
fn everything_it_writes_is_in_its_log_however_fast() {
    let daemon = daemon();
    let mut client = daemon.client();
    let params =
        json!({"command": "seq 1 300000", "tty": true, "yield_ms": 30000, "max_output_bytes": 8 << 20});
    let mut progress = client.ok("exec.start", params);
    let id = progress["execution_id"].as_str().unwrap().to_string();
    if progress["status"] == "running" {
        progress = wait(&mut client, &id, json!({}));
    }
    let total = (1..=300_000u32).map(|n| n.to_string().len() as u64 + 2).sum::<u64>();
    assert_eq!((&progress["exit_code"], progress["stdout_bytes"].as_u64()), (&json!(0), Some(total)));
}

#[test]
fn events_tell_where_it_runs() {
    let daemon = daemon();
    let mut client = daemon.client();
    client.ok("events.subscribe", json!({}));
    let (id, first) = start(&mut client, json!({"command": "exit 2", "tty": true}));
    let began = client.event("exec.started");
    assert_eq!((&began["execution_id"], &began["terminal_id"]), (&json!(id), &first["terminal_id"]));
    let ended = client.event("exec.finished");
    assert_eq!((&ended["execution_id"], &ended["exit_code"]), (&json!(id), &json!(2)));
    assert!(ended.get("session_id").is_none());
}

#[test]
fn what_of_a_flood_is_not_told_is_counted() {
    let daemon = daemon();
    let mut client = daemon.client();
    let params =
        json!({"command": "seq 1 100000", "max_output_bytes": 1000, "tty": true, "yield_ms": 30_000});
    let done = client.ok("exec.start", params);
    let text = done["stdout"].as_str().unwrap();
    assert!(
        text.ends_with("100000\r\n") && text.len() == 1000,
        "of what is kept all that fits: {}",
        text.len()
    );
    let gap = json!({"from": 0, "to": done["stdout_bytes"].as_u64().unwrap() - 1000});
    assert_eq!((&done["gap"]["stdout"], &done["omitted"]["stdout"]), (&gap, &gap));
    // of less, less
    let id = &done["execution_id"];
    let again = client.ok("exec.result", json!({"execution_id": id}));
    assert_eq!(again["omitted"]["stdout"], gap);
}
