//! Sizes, times and numbers that nobody may exceed.

use std::io::{Read, Write};

use trl_testkit::{Builder, Client, Reply, eventually, json};

use crate::{builder, operator};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn a_body_over_the_cap_is_refused() {
    let daemon = builder().set("wire", "max_line_bytes", 10_000).start();
    let http = operator(&daemon);
    let fits =
        json!({"id": 1, "method": "exec.run", "params": {"command": format!("true {}", "x".repeat(9000))}});
    assert_eq!(http.post("/rpc", &fits).status, 200);
    let over =
        json!({"id": 1, "method": "exec.run", "params": {"command": format!("true {}", "x".repeat(11_000))}});
    let reply = http.post("/rpc", &over);
    assert_eq!((reply.status, reply.code().as_str()), (413, "PAYLOAD_TOO_LARGE"));
    // Said beforehand, or not said at all.
    assert_eq!(http.ask("POST", "/rpc", &[JSON, ("Content-Length", "99999999999")], b"").status, 413);
    let mut wire = http.connect();
    let head = http.head("POST", "/rpc", &[JSON, ("Transfer-Encoding", "chunked")]);
    wire.write_all(head.as_bytes()).expect("the daemon reads");
    for _ in 0..3 {
        let _ = wire.write_all(format!("{:x}\r\n{}\r\n", 5000, "x".repeat(5000)).as_bytes());
    }
    assert_eq!(Reply::read(wire).status, 413);
}

#[test]
fn headers_over_the_cap_are_refused() {
    let daemon = builder().start();
    let http = operator(&daemon);
    let long = "x".repeat(100_000);
    assert_eq!(http.ask("GET", "/healthz", &[("X-Long", &long)], b"").status, 431);
    let many: Vec<(&str, &str)> = (0..500).map(|_| ("X-Many", "1")).collect();
    assert_eq!(http.ask("GET", "/healthz", &many, b"").status, 431);
    assert_eq!(http.get("/healthz").status, 200);
}

#[test]
fn headers_that_never_end_are_not_waited_for() {
    let daemon = builder().set("http", "request_timeout_s", 0.3).start();
    let http = operator(&daemon);
    for begun in ["", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "] {
        let mut wire = http.connect();
        wire.write_all(begun.as_bytes()).expect("the daemon reads");
        // It ends by itself, with a word about it or without.
        let mut rest = Vec::new();
        let _ = wire.read_to_end(&mut rest);
        let text = String::from_utf8_lossy(&rest);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 408"), "{text}");
    }
    // A connection that was used once and then falls silent, too.
    let mut wire = http.connect();
    wire.write_all(http.head("GET", "/healthz", &[]).as_bytes()).expect("the daemon reads");
    let mut all = Vec::new();
    wire.read_to_end(&mut all).expect("it is closed");
    assert!(String::from_utf8_lossy(&all).contains("\"ok\""));
}

#[test]
fn a_body_that_never_ends_is_not_waited_for() {
    let daemon = builder().set("http", "request_timeout_s", 0.3).start();
    let http = operator(&daemon);
    let mut wire = http.connect();
    let head = http.head("POST", "/rpc", &[JSON, ("Content-Length", "100")]);
    wire.write_all((head + "{").as_bytes()).expect("the daemon reads");
    assert_eq!(Reply::read(wire).status, 408);
}

#[test]
fn an_answer_that_nobody_takes_is_given_up() {
    let daemon = builder().set("http", "request_timeout_s", 0.5).start();
    let http = operator(&daemon);
    let run =
        http.ok("exec.run", json!({"command": "head -c 30000000 /dev/zero", "max_output_bytes": 60_000_000}));
    let body = json!({"id": 1, "method": "exec.result", "params": {"execution_id": run["execution_id"]}})
        .to_string();
    let length = body.len().to_string();
    let mut deaf = http.connect();
    let head = http.head("POST", "/rpc", &[JSON, ("Content-Length", &length)]);
    deaf.write_all((head + &body).as_bytes()).expect("the daemon reads");
    let connections = |wanted| http.ok("system.stats", json!({}))["connections"] == wanted;
    eventually("it is served", || connections(2));
    eventually("it is given up", || connections(1));
    let mut taken = Vec::new();
    let _ = deaf.read_to_end(&mut taken);
    assert!(taken.len() < 30_000_000, "{}", taken.len());
}

#[test]
fn a_long_command_is_waited_for_all_the_same() {
    let daemon = builder().set("http", "request_timeout_s", 0.2).start();
    let run = operator(&daemon).ok("exec.run", json!({"command": "sleep 1; echo done"}));
    assert_eq!(run["stdout"], "done\n");
}

#[test]
fn a_flood_of_wrong_tokens_has_to_wait() {
    let daemon = builder().set("http", "auth_failures", 5).env("TRL_AUTH_TOKEN", "hunter2").start();
    let status = |token: &str| daemon.http().with_token(token).get("/metrics").status;
    assert_eq!(status("hunter2"), 200);
    let made = daemon_token(&daemon);
    for n in 0..5 {
        assert_eq!(status(&format!("guess{n}")), 401);
    }
    let reply = daemon.http().with_token("guess").get("/metrics");
    let wait: u64 = reply.header("retry-after").expect("how long").parse().expect("seconds");
    assert_eq!((reply.status, reply.code().as_str()), (429, "AUTH_FAILED"));
    assert!((1..=61).contains(&wait));
    // A token that could be the next guess does not work now; one that nobody guesses does.
    assert_eq!(status("hunter2"), 429);
    assert_eq!(status(&made), 200);
    assert_eq!(daemon.http().get("/healthz").status, 200);
    let lines = daemon.log().lines().filter(|line| line.contains("a wrong token")).count();
    assert_eq!(lines, 5, "the log is not flooded either");
}

/// A token made over the socket with the operator's.
fn daemon_token(daemon: &trl_testkit::Daemon) -> String {
    let mut client: Client = daemon.client();
    client.authenticate("hunter2");
    let made = client.ok("token.create", json!({"name": "t", "role": "viewer"}));
    made["token"].as_str().expect("a token").to_string()
}

#[test]
fn other_machines_are_let_in_only_on_purpose() {
    let start = |extra: &[&str]| {
        let dir = tempfile::tempdir().expect("a directory");
        let run = dir.path().join("run");
        let output = std::process::Command::new("timeout")
            .args(["20", env!("CARGO_BIN_EXE_trl"), "serve", "--http", "0.0.0.0:0"])
            .args(extra)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", dir.path())
            .env("XDG_RUNTIME_DIR", &run)
            .output()
            .expect("the binary starts");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (worked, said) = start(&[]);
    assert!(!worked && said.contains("other machines") && said.contains("--http-allow-remote"), "{said}");
    let (worked, said) = start(&["--set", "http.allow_remote=false"]);
    assert!(!worked && said.contains("other machines"), "{said}");
    let daemon = Builder::new(env!("CARGO_BIN_EXE_trl"))
        .arg("--http-allow-remote")
        .arg("--http")
        .arg("0.0.0.0:0")
        .start();
    let http = daemon.http();
    assert!(http.authority().starts_with("0.0.0.0:"));
    assert_eq!(http.get("/healthz").status, 200);
    assert_eq!(http.get("/metrics").status, 401, "and it is no open door");
    assert_eq!(http.ask("GET", "/healthz", &[("Host", "evil.example")], b"").status, 403);
}

#[test]
fn without_being_asked_for_there_is_no_door() {
    let daemon = Builder::new(env!("CARGO_BIN_EXE_trl")).start();
    let sockets = std::fs::read_to_string(format!("/proc/{}/net/tcp", daemon.pid())).unwrap_or_default();
    let inodes: Vec<&str> =
        sockets.lines().skip(1).filter_map(|line| line.split_whitespace().nth(9)).collect();
    let fds = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid()));
    let Ok(fds) = fds else { return };
    for fd in fds.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok()) {
        let fd = fd.to_string_lossy().into_owned();
        assert!(!inodes.iter().any(|inode| fd == format!("socket:[{inode}]")), "{fd}");
    }
}

/// One line for the first, and one with the count of all others.
#[test]
fn a_crowd_of_connections_is_two_lines_of_log() {
    let daemon = builder().set("wire", "max_connections", 20).start();
    let mut crowd = Vec::new();
    for _ in 0..2000 {
        crowd.extend(Client::try_connect(&daemon.socket()));
    }
    let lines = || -> Vec<String> {
        let log = daemon.log();
        log.lines()
            .filter(|line| line.contains("refused") && line.contains("WARN"))
            .map(String::from)
            .collect()
    };
    let counted = || -> u64 {
        let more = |line: &String| line.split("more=").nth(1)?.split_whitespace().next()?.parse::<u64>().ok();
        lines().iter().map(|line| more(line).unwrap_or(1)).sum()
    };
    eventually("all that were refused are counted", || counted() >= 1980);
    assert!(lines().len() <= 4, "{:#?}", lines());
    drop(crowd);
}
