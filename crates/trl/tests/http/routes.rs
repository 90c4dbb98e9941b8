//! What has an address, and what every answer looks like.

use trl_testkit::{available, eventually, json};

use crate::{daemon, operator, with_role};

#[test]
fn the_first_ready_line_is_what_it_was() {
    let daemon = daemon();
    assert!(daemon.ready_line().starts_with("trl ") && daemon.ready_line().contains(" ready on /"));
    assert!(daemon.http().authority().starts_with("127.0.0.1:"));
}

#[test]
fn health_needs_no_token_and_says_nothing_else() {
    let daemon = daemon();
    for (path, status) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let reply = daemon.http().get(path);
        assert_eq!((reply.status, reply.json()), (200, json!({"status": status})));
        assert_eq!(daemon.http().send("HEAD", path, &[], b"").status, 200);
    }
}

#[test]
fn every_answer_has_the_headers_of_all_answers() {
    let daemon = daemon();
    let http = operator(&daemon);
    let foreign = [("Origin", "http://evil.example")];
    for reply in [
        http.get("/healthz"),
        http.get("/openapi.json"),
        http.get("/metrics"),
        http.get("/nowhere"),
        http.post("/rpc", &json!({"id": 1, "method": "system.ping"})),
        daemon.http().get("/metrics"),
        http.ask("GET", "/healthz", &foreign, b""),
    ] {
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{}", reply.status);
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert!(
            reply.header("content-security-policy").is_some_and(|v| v.contains("frame-ancestors 'none'"))
        );
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
}

#[test]
fn what_is_not_there_is_said_so() {
    let daemon = daemon();
    let http = operator(&daemon);
    for path in ["/rpc/", "/api/executions//x", "/api/executions/e-abc", "/ws", "/../healthz"] {
        let reply = http.get(path);
        assert_eq!((reply.status, reply.code().as_str()), (404, "UNKNOWN_METHOD"), "{path}");
    }
    for (verb, path, allow) in [
        ("GET", "/rpc", "POST"),
        ("GET", "/api/tickets", "POST"),
        ("POST", "/healthz", "GET"),
        ("PUT", "/rpc", "POST"),
    ] {
        let reply = http.ask(verb, path, &[], b"");
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{verb} {path}");
    }
    assert_eq!(http.get("/ws/rpc").status, 426);
    assert_eq!(http.get("/api/executions/e-nosuchone/events").status, 404);
    assert_eq!(http.get("/api/executions/nonsense/events").status, 400);
}

#[test]
fn metrics_are_for_those_with_a_token() {
    let daemon = daemon();
    assert_eq!(daemon.http().get("/metrics").status, 401);
    operator(&daemon).ok("exec.run", json!({"command": "echo 123"}));
    let reply = with_role(&daemon, "viewer").get("/metrics");
    assert_eq!(reply.status, 200);
    assert!(reply.header("content-type").is_some_and(|kind| kind.starts_with("text/plain; version=0.0.4")));
    let text = reply.text();
    assert!(text.contains("\ntrl_commands_total 1\n"), "{text}");
    assert!(text.contains("trl_http_answers_total{status=\"4xx\"} 1\n"), "{text}");
    assert!(text.contains("\ntrl_output_bytes_total 4\n"), "{text}");
    for name in ["duration", "wait"] {
        assert!(text.contains(&format!("trl_command_{name}_seconds_bucket{{le=\"+Inf\"}} 1\n")), "{text}");
        assert!(text.contains(&format!("trl_command_{name}_seconds_count 1\n")), "{text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        assert!(name.starts_with("trl_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn the_description_is_served() {
    let daemon = daemon();
    let reply = daemon.http().get("/openapi.json");
    assert_eq!((reply.status, &reply.json()["openapi"]), (200, &json!("3.1.0")));
    assert!(reply.json()["paths"].get("/rpc").is_some());
}

#[test]
fn curl_can_use_it() {
    let curl = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !available("curl", curl) {
        return;
    }
    let daemon = daemon();
    let out = std::process::Command::new("curl")
        .args(["-sS", "-H", &format!("Authorization: Bearer {}", daemon.operator_token())])
        .args([
            "-H",
            "Content-Type: application/json",
            "-d",
            r#"{"id":"1","method":"exec.run","params":{"command":"echo hi"}}"#,
        ])
        .arg(format!("http://{}/rpc", daemon.http().authority()))
        .output()
        .expect("curl runs");
    assert!(String::from_utf8_lossy(&out.stdout).contains(r#""stdout":"hi\n""#), "{out:?}");
}

#[test]
fn the_door_closes_with_the_daemon() {
    let mut daemon = daemon();
    let http = operator(&daemon);
    assert_eq!(http.get("/readyz").status, 200);
    http.ok("system.shutdown", json!({}));
    assert!(daemon.reap().success());
    eventually("nobody listens", || std::net::TcpStream::connect(http.authority()).is_err());
}
