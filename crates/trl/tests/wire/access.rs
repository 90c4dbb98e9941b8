//! Who may do what on the socket.

use trl_testkit::{Shell, json};

use crate::daemon;

#[test]
fn a_connection_is_an_agent_until_it_shows_the_token() {
    let daemon = daemon();
    let mut agent = daemon.client();
    assert_eq!(agent.ok("system.info", json!({}))["role"], "agent");
    let mut operator = daemon.operator();
    assert_eq!(operator.ok("system.info", json!({}))["role"], "operator");
}

#[test]
fn a_wrong_token_is_refused_and_raises_nothing() {
    let daemon = daemon();
    let right = daemon.operator_token();
    for wrong in ["", "wrong", &right[..right.len() - 1], &format!("{right}x")] {
        let mut client = daemon.client();
        client.refused("AUTH_FAILED", "system.auth", json!({"token": wrong}));
        // Whether it goes on as an agent or is hung up on: it is no operator.
        client.write_line(r#"{"jsonrpc":"2.0","id":9,"method":"system.shutdown"}"#);
        let answer = client.read_line().map(|line| String::from_utf8_lossy(&line).into_owned());
        assert!(answer.is_none_or(|line| line.contains("FORBIDDEN")));
    }
    assert_eq!(daemon.client().ok("system.info", json!({}))["role"], "agent");
}

#[test]
fn the_token_must_come_first() {
    let daemon = daemon();
    let mut client = daemon.client();
    client.ok("system.ping", json!({}));
    assert!(client.call("system.auth", json!({"token": daemon.operator_token()})).is_err());
    assert_eq!(client.ok("system.info", json!({}))["role"], "agent");
}

#[test]
fn the_token_is_for_its_owner_only() {
    use std::os::unix::fs::MetadataExt;
    let daemon = daemon();
    let file = std::fs::metadata(daemon.dir().join("config/trl/operator.token")).expect("a token file");
    assert_eq!(file.mode() & 0o777, 0o600);
    assert!(daemon.operator_token().len() >= 32);
    assert!(!daemon.log().contains(&daemon.operator_token()));
}

#[test]
fn only_an_operator_shuts_down() {
    let mut daemon = daemon();
    let mut session = daemon.session(Shell::Dash);
    session.run("sleep 1000 &");
    session.client().refused("FORBIDDEN", "system.shutdown", json!({}));
    assert_eq!(session.run("echo fine").out(), "fine\n");
    let mut operator = daemon.operator();
    operator.ok("system.shutdown", json!({}));
    assert!(daemon.reap().success());
    daemon.assert_nothing_left();
    assert!(!daemon.socket().exists(), "the socket is removed");
}

#[test]
fn a_forced_shutdown_waits_for_nobody() {
    let mut daemon = crate::builder().set("exec", "grace_s", 3000).start();
    let mut session = daemon.session(Shell::Dash);
    let request = session.start("sh -c \"trap '' TERM; sleep 1000; sleep 1000\"", json!({}));
    session.running();
    daemon.operator().ok("system.shutdown", json!({"force": true}));
    assert!(daemon.reap().success());
    let _ = request;
}
