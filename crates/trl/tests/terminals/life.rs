//! Terminals and their daemon: limits, threads, and that nothing outlives it.

use trl_testkit::process::{below, ends, pidfd};
use trl_testkit::{Daemon, Shell, Terminal, eventually, json, procs_matching, sleeper};

use crate::{builder, daemon};

/// Terminals with all that is hard to end.
fn busy(daemon: &Daemon, nap: &str) -> Vec<Terminal> {
    let script = format!("trap '' HUP TERM; setsid {nap} & {nap} & echo up; while :; do {nap}; done");
    let mut all: Vec<Terminal> = (0..3).map(|_| daemon.terminal_running(&script)).collect();
    all.push(daemon.terminal(json!({})));
    for terminal in &mut all[..3] {
        terminal.wait("up");
    }
    eventually("all are asleep", || procs_matching(nap).len() >= 12);
    all
}

#[test]
fn killed_the_daemon_leaves_nothing() {
    let mut daemon = daemon();
    let nap = sleeper();
    let _terminals = busy(&daemon, &nap);
    let processes = below(daemon.pid()).into_iter().filter(|p| !p.is_zombie());
    let handles: Vec<_> = processes.filter_map(|p| Some((pidfd(p.pid)?, p))).collect();
    daemon.kill9();
    for (handle, process) in &handles {
        assert!(ends(handle), "{process:?} outlives the daemon");
    }
    daemon.assert_nothing_left();
}

#[test]
fn told_to_end_the_daemon_ends_them() {
    let mut daemon = daemon();
    let nap = sleeper();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["terminal.ended"]}));
    let _terminals = busy(&daemon, &nap);
    assert!(daemon.stop().success());
    assert!(procs_matching(&nap).is_empty());
    for _ in 0..4 {
        assert_eq!(watcher.event("terminal.ended")["reason"], "the daemon is ending");
    }
    daemon.assert_nothing_left();
}

#[test]
fn terminals_and_sessions_share_the_seats() {
    let daemon = builder().set("sessions", "max", 3).start();
    let mut client = daemon.client();
    let mut session = daemon.session(Shell::Dash);
    let mut first = daemon.terminal(json!({}));
    let mut second = daemon.terminal(json!({}));
    assert_eq!(client.ok("system.stats", json!({}))["active_sessions"], 3);
    let refused = client.refused("MAX_SESSIONS_REACHED", "terminal.create", json!({}));
    assert_eq!(*refused.detail("max_sessions"), 3);
    client.refused("MAX_SESSIONS_REACHED", "session.create", json!({}));
    // One that has ended stays readable and takes no seat.
    first.enter("exit");
    first.ended();
    let mut third = daemon.terminal(json!({}));
    second.destroy();
    let _another = daemon.session(Shell::Dash);
    client.refused("MAX_SESSIONS_REACHED", "terminal.create", json!({}));
    assert_eq!(third.info()["state"], "running");
    session.destroy();
    daemon.terminal(json!({}));
}

#[test]
fn an_agent_has_its_own_ceiling() {
    let daemon = builder().set("agent", "max_sessions", 1).start();
    let _terminal = daemon.terminal(json!({}));
    daemon.client().refused("MAX_SESSIONS_REACHED", "terminal.create", json!({}));
    daemon.operator().ok("terminal.create", json!({}));
}

#[test]
fn fifty_terminals_take_no_more_threads_than_one() {
    let daemon = daemon();
    let mut client = daemon.client();
    let mut threads = || client.ok("system.stats", json!({}))["threads"].as_u64().expect("a number");
    let mut first = daemon.terminal_running("echo up; cat");
    first.wait("up");
    // the store's reader is there from the first question on
    daemon.client().ok("hitl.list", json!({}));
    let one = threads();
    let mut all: Vec<Terminal> = (0..49).map(|_| daemon.terminal_running("echo up; cat")).collect();
    for (n, terminal) in all.iter_mut().enumerate() {
        terminal.wait("up");
        terminal.enter(&format!("number {n}"));
    }
    for (n, terminal) in all.iter_mut().enumerate() {
        terminal.wait_line(&format!("number {n}"));
    }
    assert_eq!(threads(), one);
}

#[test]
fn descriptors_come_back() {
    let daemon = daemon();
    let mut client = daemon.client();
    daemon.terminal_running("true").ended();
    // What is opened once is open: the store is, when somebody has read it.
    daemon.operator().ok("hitl.audit", json!({}));
    let mut fds = || client.ok("system.stats", json!({}))["open_fds"].as_u64().expect("a number");
    let mut before = 0;
    eventually("it settles", || {
        let now = fds();
        std::mem::replace(&mut before, now) == now
    });
    for _ in 0..20 {
        daemon.terminal_running("echo x").ended();
        daemon.terminal(json!({})).destroy();
    }
    eventually("no more than before", || fds() <= before);
}

#[test]
fn an_idle_one_is_ended_in_time() {
    let daemon = builder().set("terminals", "idle_ttl_s", 0.5).start();
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["terminal.ended"]}));
    let mut chatty = daemon.terminal_running("while :; do echo tick; sleep 0.05; done");
    let quiet = daemon.terminal_running("exec sleep 1000");
    let ended = watcher.event("terminal.ended");
    assert_eq!(
        (&ended["terminal_id"], &ended["reason"]),
        (&json!(quiet.id), &json!("it was idle for too long"))
    );
    assert_eq!(chatty.info()["state"], "running");
}

#[test]
fn a_private_engine_has_terminals_too() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    trl_testkit::process::adopt_orphans();
    let mut engine = Command::new(env!("CARGO_BIN_EXE_trl"))
        .arg("stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let nap = sleeper();
    let argv: Vec<&str> = nap.split(' ').collect();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "terminal.create", "params": {"argv": argv}});
    let mut stdin = engine.stdin.take().expect("piped");
    writeln!(stdin, "{request}").expect("it reads");
    let mut line = String::new();
    BufReader::new(engine.stdout.take().expect("piped")).read_line(&mut line).expect("a reply");
    assert!(line.contains("terminal_id"), "{line}");
    assert_eq!(procs_matching(&nap).len(), 1);
    drop(stdin);
    assert!(engine.wait().expect("our child").success());
    assert!(procs_matching(&nap).is_empty());
}
