//! Destroying ends everything a terminal started, whatever it did to stay.

use trl_testkit::{Shell, Terminal, json, procs_matching, sleeper, wait_gone};

use crate::{builder, daemon};

/// Bytes appended to `file` by those who heard HUP.
fn heard(daemon: &trl_testkit::Daemon, file: &str) -> String {
    std::fs::read_to_string(daemon.dir().join(file)).unwrap_or_default()
}

#[test]
fn a_stopped_job_and_a_child_that_left_hear_it() {
    let daemon = builder().set("terminals", "grace_s", 30).start();
    let log = daemon.dir().text("heard");
    // TERM is what bash has for stopped jobs when it leaves. A shell that is just starting a program cannot be stopped: dash
    // waits for its child to leave the memory they share, and the child is stopped first.
    let tell = |who: &str| {
        format!(
            "trap '' TERM; trap 'echo {who} >>{log}; exit' HUP; sleep 600 & echo {who} is up; while :; do wait $!; done"
        )
    };
    let (stopped, left) =
        (daemon.dir().file("stopped", tell("stopped")), daemon.dir().file("left", tell("left")));
    let bash = daemon.shell_path(Shell::Bash);
    let mut terminal = daemon.terminal(json!({"argv": [bash, "--norc", "-i"]}));
    terminal.enter(&format!("setsid sh {} &", left));
    terminal.wait("left is up");
    terminal.enter(&format!("sh {}", stopped));
    terminal.wait("stopped is up");
    terminal.input("\x1a");
    terminal.wait("Stopped");
    let below = trl_testkit::descendants(terminal.pid());
    assert!(!below.is_empty());
    terminal.destroy();
    let mut told: Vec<String> = heard(&daemon, "heard").lines().map(String::from).collect();
    told.sort();
    // the shell passes it on as well
    told.dedup();
    assert_eq!(told, ["left", "stopped"]);
    below.into_iter().for_each(wait_gone);
}

#[test]
fn those_who_ignore_it_are_killed() {
    let daemon = daemon();
    let nap = sleeper();
    let script = format!(
        "trap '' HUP TERM INT; (setsid sh -c '(setsid {nap}) & exec {nap}') & {nap} & echo up; exec {nap}"
    );
    let mut terminal = daemon.terminal_running(&script);
    terminal.wait("up");
    trl_testkit::eventually("all four are up", || procs_matching(&nap).len() >= 4);
    let info = terminal.destroy();
    assert_eq!((&info["signal"], &info["ended"]), (&json!("KILL"), &json!("destroyed on request")));
    assert!(procs_matching(&nap).is_empty());
    let refused = terminal.call("terminal.get", json!({})).expect_err("forgotten");
    assert_eq!(refused.code, "TERMINAL_NOT_FOUND");
}

#[test]
fn a_program_that_goes_is_not_waited_for() {
    // The grace outlasts every client's patience: only the end of the program can end this.
    let daemon = builder().set("terminals", "grace_s", 3000).start();
    let mut terminal = daemon.terminal(json!({"argv": ["sleep", "1000"]}));
    let info = terminal.destroy();
    assert_eq!((&info["exit_code"], &info["signal"]), (&json!(129), &json!("HUP")));
}

fn destroyed_in(terminal: &mut Terminal) -> Option<f64> {
    terminal.info()["destroy_in_s"].as_f64()
}

#[test]
fn a_destroy_to_come_can_be_taken_back() {
    let daemon = daemon();
    let mut terminal = daemon.terminal(json!({"argv": ["sleep", "1000"]}));
    let reply = terminal.ok("terminal.destroy", json!({"grace_s": 2000}));
    assert!(reply["destroy_in_s"].as_f64().is_some_and(|s| s > 1900.0), "{reply}");
    assert_eq!(reply["state"], "running");
    let reply = terminal.ok("terminal.keep", json!({}));
    assert!(reply.get("destroy_in_s").is_none(), "{reply}");
    assert_eq!(destroyed_in(&mut terminal), None);
    // A shorter one takes the place of a longer one.
    terminal.ok("terminal.destroy", json!({"grace_s": 2000}));
    terminal.ok("terminal.destroy", json!({"grace_s": 0.05}));
    let info = terminal.ended();
    assert_eq!((&info["signal"], &info["ended"]), (&json!("HUP"), &json!("destroyed on request")));
    assert!(info.get("destroy_in_s").is_none(), "{info}");
}

#[test]
fn two_who_destroy_it_at_once_both_hear_the_end() {
    let daemon = daemon();
    let nap = sleeper();
    let mut terminal = daemon.terminal_running(&format!("trap '' HUP; echo up; {nap}; {nap}"));
    terminal.wait("up");
    let id = terminal.id.clone();
    let mut clients = [daemon.client(), daemon.client()];
    let asked: Vec<u64> =
        clients.iter_mut().map(|c| c.send("terminal.destroy", json!({"terminal_id": id}))).collect();
    for (client, request) in clients.iter_mut().zip(asked) {
        match client.reply(request) {
            Ok(info) => assert_eq!(info["state"], "exited"),
            Err(refused) => assert_eq!(refused.code, "TERMINAL_NOT_FOUND"),
        }
    }
    assert!(procs_matching(&nap).is_empty());
}

#[test]
fn a_signal_goes_to_whoever_has_the_keyboard() {
    let daemon = daemon();
    let bash = daemon.shell_path(Shell::Bash);
    let mut terminal = daemon.terminal(json!({"argv": [bash, "--norc", "-i"]}));
    let (behind, front) = (sleeper(), sleeper());
    terminal.enter(&format!("{behind} &"));
    terminal.enter(&front);
    trl_testkit::eventually("both run", || {
        !procs_matching(&behind).is_empty() && !procs_matching(&front).is_empty()
    });
    let job = procs_matching(&front)[0];
    assert_eq!(terminal.ok("terminal.signal", json!({"signal": "INT"}))["processes"], 1);
    wait_gone(job);
    assert_eq!(procs_matching(&behind).len(), 1);
    terminal.enter("echo still $((40+2))");
    terminal.wait("still 42");
}
