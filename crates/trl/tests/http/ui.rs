//! The web UI's files: for anybody, with strict rules, and never in the way of programs.

use crate::{daemon, operator};

const PERSON: [(&str, &str); 1] = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];

#[test]
fn a_person_gets_a_page_without_a_token() {
    let daemon = daemon();
    for path in ["/", "/sessions", "/sessions/s-abc", "/w/main/t-abc"] {
        let reply = daemon.http().ask("GET", path, &PERSON, b"");
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        let policy = reply.header("content-security-policy").unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; connect-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        let nonce = policy.split_once("'nonce-").and_then(|(_, rest)| rest.split_once('\'')).map(|(n, _)| n);
        assert!(reply.text().contains(nonce.expect("a nonce")) && !reply.text().contains("TRL_NONCE"));
    }
}

#[test]
fn foreign_names_and_pages_get_none() {
    let daemon = daemon();
    let rebound = [PERSON[0], ("Host", "evil.example")];
    assert_eq!(daemon.http().ask("GET", "/", &rebound, b"").status, 403);
    let framed = [PERSON[0], ("Origin", "http://evil.example")];
    assert_eq!(daemon.http().ask("GET", "/", &framed, b"").status, 403);
}

#[test]
fn a_wrong_address_of_a_program_is_still_wrong() {
    let daemon = daemon();
    let http = operator(&daemon);
    for path in ["/api/nothing", "/ws/nothing", "/rpc/x", "/assets/none.js", "/index.php", "/../secret"] {
        let reply = http.ask("GET", path, &PERSON, b"");
        assert_eq!((reply.status, reply.code().as_str()), (404, "UNKNOWN_METHOD"), "{path}");
    }
    assert_eq!(http.ask("POST", "/", &PERSON, b"x").status, 404);
    assert_eq!(http.send("HEAD", "/", &PERSON, b"").status, 200);
}
