//! Whole files over HTTP: ranges, conditions, sizes, and clients that give up.

use std::fs;
use std::io::{Read, Write};

use trl_testkit::{Reply, eventually, json};

use crate::{builder, daemon, operator, workspace};

#[test]
fn a_file_comes_back_as_it_was_in_whole_and_in_parts() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    let http = operator(&daemon);
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let put = http.ask("PUT", "/api/workspaces/w/files/a/b%20c%ff?create_dirs=1&mode=0600", &[], &bytes);
    assert_eq!((put.status, put.json()["path_encoding"].clone()), (201, json!("base64")), "{}", put.text());
    let tag = put.header("etag").unwrap().to_string();
    let at = "/api/workspaces/w/files/a/b%20c%ff";
    let get = |headers: &[(&str, &str)]| http.ask("GET", at, headers, b"");
    let whole = get(&[]);
    assert!(whole.status == 200 && whole.body == bytes);
    assert_eq!(whole.header("etag"), Some(tag.as_str()));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert_eq!(whole.header("x-content-type-options"), Some("nosniff"));
    let part = get(&[("Range", "bytes=1000000-1000009"), ("If-Range", &tag)]);
    assert_eq!((part.status, &part.body[..]), (206, &bytes[1_000_000..1_000_010]));
    assert_eq!(part.header("content-range"), Some("bytes 1000000-1000009/3000000"));
    assert_eq!(get(&[("Range", "bytes=-5")]).body, bytes[2_999_995..]);
    let other = get(&[("Range", "bytes=0-1"), ("If-Range", "\"other\"")]);
    assert_eq!((other.status, other.body.len()), (200, 3_000_000));
    let beyond = get(&[("Range", "bytes=3000000-")]);
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */3000000")));
    assert_eq!(http.send("GET", at, &[("If-None-Match", &tag)], b"").status, 304);
    let head = http.send("HEAD", at, &[], b"");
    assert_eq!((head.status, head.header("content-length")), (200, Some("3000000")));
    // Replaced only by who knows it.
    assert_eq!(http.ask("PUT", at, &[("If-Match", "\"x\"")], b"n").status, 412);
    assert_eq!(http.ask("PUT", at, &[("If-None-Match", "*")], b"n").status, 412);
    assert_eq!(http.ask("PUT", at, &[("If-Match", &tag)], b"new").status, 200);
    assert_eq!(get(&[]).body, b"new");
    let list = http.get("/api/workspaces/w/files").json();
    assert_eq!(list["entries"][0]["path"], "a");
    assert_eq!(http.ask("DELETE", "/api/workspaces/w/files/a", &[], b"").status, 400, "it is not empty");
    assert_eq!(http.ask("DELETE", "/api/workspaces/w/files/a?recursive=1", &[], b"").status, 200);
    assert_eq!(http.get(at).status, 404);
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
}

#[test]
fn what_leads_out_is_refused_and_what_is_no_file_too() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    std::os::unix::fs::symlink("/etc", dir.join("etc")).unwrap();
    let http = operator(&daemon);
    for (path, status) in [
        ("w/files/..%2f..%2fetc/passwd", 403),
        ("w/files/../../x", 403),
        ("w/files/%2fetc/passwd", 403),
        ("w/files/etc/passwd", 403),
        ("w/files/a%00b", 400),
        ("w/files/%zz", 400),
        ("w/files/none", 404),
        ("none/files/f", 404),
        ("s-abcdefgh/files/f", 400),
    ] {
        assert_eq!(http.get(&format!("/api/workspaces/{path}")).status, status, "{path}");
    }
    assert_eq!(http.ask("POST", "/api/workspaces/w/files/f", &[], b"x").status, 405);
    assert_eq!(http.get("/api/sessions/s-nosuch22/files/f").status, 404);
}

#[test]
fn a_body_that_is_too_large_or_broken_leaves_nothing() {
    let daemon = builder().set("files", "max_bytes", 1000).start();
    let dir = workspace(&daemon, "w");
    let http = operator(&daemon);
    let count = || fs::read_dir(&dir).unwrap().count();
    assert_eq!(http.ask("PUT", "/api/workspaces/w/files/f", &[], &[0; 1001]).status, 413);
    let chunked = [("Transfer-Encoding", "chunked")];
    let mut wire = http.connect();
    wire.write_all(http.head("PUT", "/api/workspaces/w/files/f", &chunked).as_bytes()).unwrap();
    wire.write_all(format!("7d0\r\n{}\r\n0\r\n\r\n", "x".repeat(2000)).as_bytes()).unwrap();
    assert_eq!(Reply::read(wire).status, 413);
    let mut wire = http.connect();
    wire.write_all(http.head("PUT", "/api/workspaces/w/files/f", &chunked).as_bytes()).unwrap();
    wire.write_all(b"3\r\nabc\r\n").unwrap();
    drop(wire);
    assert_eq!(http.ask("PUT", "/api/workspaces/w/files/g", &[], &[1; 1000]).status, 201);
    assert_eq!(count(), 1);
}

#[test]
fn a_client_that_leaves_gives_its_place_back() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    fs::File::create(dir.join("big")).unwrap().set_len(1 << 30).unwrap();
    let http = operator(&daemon);
    let begun: Vec<_> = (0..64)
        .map(|_| {
            let mut wire = http.connect();
            wire.write_all(http.head("GET", "/api/workspaces/w/files/big", &[]).as_bytes()).unwrap();
            let mut first = [0; 12];
            wire.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
            wire
        })
        .collect();
    assert_eq!(http.get("/api/workspaces/w/files/big").status, 429);
    let rss = daemon.operator().ok("system.stats", json!({}))["memory_rss_bytes"].as_u64().unwrap();
    assert!(rss < 400 << 20, "{rss} bytes for 64 slow readers");
    drop(begun);
    let small = [("Range", "bytes=0-9")];
    eventually("room again", || http.ask("GET", "/api/workspaces/w/files/big", &small, b"").status == 206);
}
