//! Clients that do not read, or vanish: the daemon stays small and answers everybody else.

use std::io::{ErrorKind, Write};
use std::net::Shutdown;

use trl_testkit::process::rss_bytes;
use trl_testkit::{Client, Daemon, Shell, eventually, json};

use crate::builder;

const MIB: u64 = 1 << 20;

fn small_buffers() -> Daemon {
    builder().set("wire", "client_buffer_bytes", MIB).start()
}

/// Reads to the end of a connection that the daemon cut; returns how many lines there were.
fn drain(client: &mut Client) -> usize {
    std::iter::from_fn(|| client.read_line()).count()
}

#[test]
fn a_client_that_asks_and_never_reads_is_cut_off() {
    let daemon = small_buffers();
    let mut session = daemon.session(Shell::Dash);
    let run = session.run("head -c 700000 /dev/zero | tr '\\0' x");
    let before = rss_bytes(daemon.pid());
    let mut deaf = daemon.client();
    let line = format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": 1, "method": "exec.result", "params": {"execution_id": run.execution_id}})
    );
    // Either all of it is taken, or the daemon stops reading or hangs up: all are fine, blocking us is not.
    deaf.stream().set_nonblocking(true).expect("a socket");
    let mut sent = 0;
    for _ in 0..100 {
        match deaf.stream().write(line.as_bytes()) {
            Ok(_) => sent += 1,
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
                ) =>
            {
                break;
            }
            Err(e) => panic!("{e}"),
        }
    }
    eventually("the daemon has cut it off", || {
        let connections = session.client().ok("system.stats", json!({}))["connections"].as_u64();
        connections == Some(1)
    });
    let after = rss_bytes(daemon.pid());
    assert!(after < before + 64 * MIB, "from {before} to {after} bytes");
    deaf.stream().set_nonblocking(false).expect("a socket");
    let lines = drain(&mut deaf);
    assert!(lines < sent, "{lines} of {sent} replies came");
    assert_eq!(session.run("echo fine").out(), "fine\n");
}

#[test]
fn a_stream_that_nobody_reads_stops_nothing() {
    let daemon = small_buffers();
    let mut session = daemon.session(Shell::Dash);
    let before = rss_bytes(daemon.pid());
    let mut watcher = daemon.client();
    watcher.ok("events.subscribe", json!({"kinds": ["exec.finished"]}));
    let mut deaf = daemon.client();
    deaf.ok("exec.stream", json!({"session_id": session.id, "command": "head -c 200000000 /dev/zero"}));
    assert_eq!(watcher.event("exec.finished")["exit_code"], 0);
    let after = rss_bytes(daemon.pid());
    assert!(after < before + 64 * MIB, "from {before} to {after} bytes");
    assert_eq!(session.run("echo fine").out(), "fine\n");
}

#[test]
fn clients_may_vanish_at_any_byte() {
    let daemon = small_buffers();
    let mut watcher = daemon.client();
    let line = format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": {"command": "true"}})
    );
    for cut in 0..=line.len() {
        let mut client = daemon.client();
        client.write_raw(&line.as_bytes()[..cut]);
        if cut % 2 == 0 {
            client.stream().shutdown(Shutdown::Write).expect("a socket");
        }
    }
    eventually("all are forgotten", || watcher.ok("system.stats", json!({}))["connections"] == 1);
    eventually("their sessions too", || watcher.ok("system.stats", json!({}))["active_sessions"] == 0);
}

#[test]
fn no_more_connections_than_allowed() {
    let daemon = builder().set("wire", "max_connections", 4).start();
    let mut first = daemon.client();
    first.ok("system.ping", json!({}));
    let crowd: Vec<Client> = (0..20).map(|_| daemon.client()).collect();
    first.ok("system.ping", json!({}));
    drop(crowd);
    eventually("there is room again", || {
        let mut client = daemon.client();
        client.write_line(r#"{"jsonrpc":"2.0","id":1,"method":"system.ping"}"#);
        client.read_line().is_some_and(|line| String::from_utf8_lossy(&line).contains("uptime_s"))
    });
}
