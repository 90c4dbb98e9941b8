//! The door on a Unix socket: the kernel says who comes.

use std::os::unix::fs::MetadataExt;

use trl_testkit::{Builder, Daemon, Scratch, Shell, available, json};

fn start(dir: &Scratch) -> Daemon {
    let path = dir.text("d/http.sock");
    Builder::new(env!("CARGO_BIN_EXE_trl")).arg("--http").arg(&format!("unix:{path}")).start()
}

#[test]
fn it_is_as_private_as_the_socket() {
    let dir = Scratch::new();
    let daemon = start(&dir);
    let mode = |path: &str| std::fs::metadata(dir.join(path)).expect("it is there").mode() & 0o777;
    assert_eq!((mode("d"), mode("d/http.sock")), (0o700, 0o600));
    let http = daemon.http();
    assert_eq!(http.ok("system.info", json!({}))["role"], "agent", "as on the socket");
    assert_eq!(http.refused("system.shutdown", json!({})), "FORBIDDEN");
    assert_eq!(http.with_token("nonsense").get("/metrics").status, 401);
    let operator = http.with_token(&daemon.operator_token());
    assert_eq!(operator.ok("system.info", json!({}))["role"], "operator");
    assert_eq!(http.ask("GET", "/healthz", &[("Origin", "http://evil.example")], b"").status, 403);
    drop(daemon);
    assert!(!dir.join("d/http.sock").exists());
}

#[test]
fn no_token_raises_a_process_inside_a_session() {
    let curl = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !available("curl", curl) {
        return;
    }
    let dir = Scratch::new();
    let daemon = start(&dir);
    let mut session = daemon.session(Shell::Dash);
    let token = daemon.operator_token();
    let ask = |method: &str| {
        format!(
            "curl -sS --unix-socket {} -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
             -d '{{\"id\":1,\"method\":\"{method}\"}}' http://localhost/rpc",
            dir.text("d/http.sock")
        )
    };
    let info = session.run(&ask("system.info")).out();
    assert!(info.contains(&format!("\"pinned_to\":\"{}\"", session.id)), "{info}");
    assert!(session.run(&ask("system.shutdown")).out().contains("FORBIDDEN"));
    assert!(session.run(&ask("session.create")).out().contains("FORBIDDEN"));
}
