//! What sessions leave in the daemon's memory once their records have expired: nothing that grows with their number.

use trl_testkit::process::anonymous_bytes;
use trl_testkit::rounds::long_tier;
use trl_testkit::{Client, Daemon, eventually, json};

use crate::builder;

/// Sessions before the first look, and before the second: the kept results are full at the first.
fn counts() -> (usize, usize) {
    if long_tier().is_some() { (1000, 5000) } else { (40, 200) }
}

/// Sessions that are made, used and destroyed until there were `count`.
fn use_sessions(client: &mut Client, done: &mut usize, count: usize) {
    while *done < count {
        let made = client.ok("session.create", json!({"shell": "/bin/sh", "working_dir": "/"}));
        let id = &made["session_id"];
        let run = client.ok("exec.run", json!({"session_id": id, "command": "echo hello"}));
        assert_eq!(run["stdout"], "hello\n");
        client.ok("session.destroy", json!({"session_id": id}));
        *done += 1;
    }
}

fn memory_without_records(daemon: &Daemon, client: &mut Client) -> u64 {
    eventually("every record has expired", || {
        client.ok("session.list", json!({}))["sessions"].as_array().is_some_and(Vec::is_empty)
    });
    anonymous_bytes(daemon.pid())
}

#[test]
fn ended_sessions_leave_no_memory() {
    let (first, all) = counts();
    let daemon = builder().set("sessions", "terminated_ttl_s", 0.05).set("output", "results", 20).start();
    let (mut client, mut done) = (daemon.client(), 0);
    use_sessions(&mut client, &mut done, first);
    let before = memory_without_records(&daemon, &mut client);
    use_sessions(&mut client, &mut done, all);
    let after = memory_without_records(&daemon, &mut client);
    eprintln!("{before} bytes after {first} sessions, {after} after {all}");
    assert!(after * 10 <= before * 13, "{before} bytes after {first} sessions, {after} after {all}");
}

/// Records of ended sessions are there for a while on purpose. They must not keep what only a live session needs.
#[test]
fn records_of_ended_sessions_are_small() {
    const SESSIONS: usize = 150;
    let daemon = builder().set("output", "results", 20).start();
    let (mut client, mut done) = (daemon.client(), 0);
    use_sessions(&mut client, &mut done, 50);
    let before = anonymous_bytes(daemon.pid());
    use_sessions(&mut client, &mut done, 50 + SESSIONS);
    let each = anonymous_bytes(daemon.pid()).saturating_sub(before) / SESSIONS as u64;
    eprintln!("{each} bytes of a session");
    assert!(each < 8 << 10, "{each} bytes of a session");
}
