//! The door on a Unix socket: the kernel says who comes.

use std::os::unix::fs::MetadataExt;

use trl_testkit::{Builder, Daemon, Scratch, Shell, available, eventually, json};

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

fn has_curl() -> bool {
    available("curl", std::process::Command::new("curl").arg("--version").output().is_ok())
}

/// Calls a method at the door with the operator's token.
fn curl(daemon: &Daemon, dir: &Scratch, method: &str) -> String {
    format!(
        "curl -sS --unix-socket {} -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \
         -d '{{\"id\":1,\"method\":\"{method}\"}}' http://localhost/rpc",
        dir.text("d/http.sock"),
        daemon.operator_token()
    )
}

#[test]
fn no_token_raises_a_process_inside_a_session() {
    if !has_curl() {
        return;
    }
    let dir = Scratch::new();
    let daemon = start(&dir);
    let mut session = daemon.session(Shell::Dash);
    let ask = |method: &str| curl(&daemon, &dir, method);
    let info = session.run(&ask("system.info")).out();
    assert!(info.contains(&format!("\"pinned_to\":\"{}\"", session.id)), "{info}");
    assert!(session.run(&ask("system.shutdown")).out().contains("FORBIDDEN"));
    assert!(session.run(&ask("session.create")).out().contains("FORBIDDEN"));
}

#[test]
fn nor_one_inside_a_terminal() {
    if !has_curl() {
        return;
    }
    let dir = Scratch::new();
    let daemon = start(&dir);
    let answers = dir.text("answers");
    let methods = ["system.info", "token.list", "terminal.list", "session.create"];
    let asks: String = methods.map(|method| format!("{}; echo; ", curl(&daemon, &dir, method))).concat();
    let script = format!(
        "{{ {asks} }} > {answers}.part 2>&1; setsid {} >> {answers}.part; mv {answers}.part {answers}",
        curl(&daemon, &dir, "token.list")
    );
    let made = daemon.http().ok("terminal.create", json!({"argv": ["sh", "-c", script]}));
    eventually("it has asked", || dir.join("answers").exists());
    let answers = std::fs::read_to_string(dir.join("answers")).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert!(answers[0].contains(&format!("\"pinned_to\":{}", made["terminal_id"])), "{answers:?}");
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert!(answers[1..].iter().all(|answer| answer.contains("FORBIDDEN")), "{answers:?}");
}
