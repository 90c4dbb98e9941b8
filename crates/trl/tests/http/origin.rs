//! Requests that a foreign web page caused: by another name (rebinding), or from another origin.

use trl_testkit::{WebSocket, json};

use crate::{builder, daemon, operator};

const PING: &[u8] = br#"{"id":1,"method":"system.ping"}"#;

#[test]
fn a_rebound_name_is_not_ours() {
    let daemon = daemon();
    let http = operator(&daemon);
    let port = http.authority().rsplit(':').next().expect("a port").to_string();
    for host in
        ["evil.example".to_string(), format!("evil.example:{port}"), format!("localhost.evil.example:{port}")]
    {
        for (verb, path) in
            [("GET", "/healthz"), ("GET", "/metrics"), ("POST", "/rpc"), ("POST", "/api/tickets")]
        {
            let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
            let reply = http.ask(verb, path, &headers, if verb == "POST" { PING } else { b"" });
            assert_eq!((reply.status, reply.code().as_str()), (403, "FORBIDDEN"), "{host} {path}");
        }
    }
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(http.ask("GET", "/healthz", &[("Host", &host)], b"").status, 200, "{host}");
    }
    // Left out, or there twice.
    assert_eq!(http.ask("GET", "/healthz", &[("Host", "")], b"").status, 400);
    assert_eq!(http.ask("GET", "/healthz", &[("Host", "localhost"), ("Host", "localhost")], b"").status, 400);
    assert_eq!(http.ask("GET", "http://evil.example/healthz", &[], b"").status, 403);
}

#[test]
fn a_foreign_page_may_not_ask() {
    let daemon = daemon();
    let http = operator(&daemon);
    let port = http.authority().rsplit(':').next().expect("a port").to_string();
    let neighbour = format!("http://localhost:{port}");
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://evil.example", &neighbour] {
        let headers = [("Origin", origin), ("Content-Type", "application/json")];
        let reply = http.ask("POST", "/rpc", &headers, PING);
        assert_eq!((reply.status, reply.code().as_str()), (403, "FORBIDDEN"), "{origin}");
        assert_eq!(reply.header("access-control-allow-origin"), None);
        assert_eq!(http.ask("OPTIONS", "/rpc", &headers, b"").status, 403);
    }
    let own = format!("http://{}", http.authority());
    let headers = [("Origin", own.as_str()), ("Content-Type", "application/json")];
    assert_eq!(http.ask("POST", "/rpc", &headers, PING).status, 200);
}

#[test]
fn a_foreign_page_opens_no_web_socket() {
    let daemon = daemon();
    let http = daemon.http();
    let bearer = format!("Bearer {}", daemon.operator_token());
    let own = format!("http://{}", http.authority());
    for origin in ["http://evil.example", "null"] {
        let headers = [("Origin", origin), ("Authorization", bearer.as_str())];
        assert_eq!(WebSocket::open(&http, "/ws/rpc", &headers).err(), Some(403), "{origin}");
        let ticket = operator(&daemon).post("/api/tickets", &json!({})).json()["ticket"].take();
        let path = format!("/ws/rpc?ticket={}", ticket.as_str().expect("a ticket"));
        assert_eq!(WebSocket::open(&http, &path, &[("Origin", origin)]).err(), Some(403), "{origin}");
        // Refused before it was looked at, so the page it belongs to can still use it.
        assert!(WebSocket::open(&http, &path, &[("Origin", &own)]).is_ok());
    }
    let headers = [("Origin", own.as_str()), ("Authorization", bearer.as_str())];
    assert!(WebSocket::open(&http, "/ws/rpc", &headers).is_ok());
}

#[test]
fn named_hosts_and_origins_are_let_in() {
    let daemon = builder()
        .set("http", "allowed_hosts", r#"["box.example"]"#)
        .set("http", "allowed_origins", r#"["https://ui.example"]"#)
        .start();
    let http = operator(&daemon);
    assert_eq!(http.ask("GET", "/healthz", &[("Host", "box.example:99")], b"").status, 200);
    assert_eq!(http.ask("GET", "/healthz", &[("Host", "other.example")], b"").status, 403);
    let headers = [("Origin", "https://ui.example"), ("Content-Type", "application/json")];
    let reply = http.ask("POST", "/rpc", &headers, PING);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://ui.example"));
    assert_eq!(reply.header("vary"), Some("Origin"));
    let asked = daemon.http().ask("OPTIONS", "/rpc", &headers, b"");
    assert_eq!(asked.status, 204);
    assert!(
        asked.header("access-control-allow-headers").is_some_and(|names| names.contains("authorization"))
    );
    assert_eq!(http.ask("GET", "/healthz", &[("Origin", "https://ui.example.evil")], b"").status, 403);
}
