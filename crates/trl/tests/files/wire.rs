//! Every method, on the socket.

use std::fs;
use std::os::unix::fs::symlink;

use trl_testkit::{Client, Shell, Value, bytes_of, eventually, json, merged};

use crate::{daemon, workspace};

fn paths(reply: &Value, list: &str) -> Vec<String> {
    let items = reply[list].as_array().expect("a list").iter();
    items.map(|item| item["path"].as_str().expect("a path").to_string()).collect()
}

#[test]
fn every_method_does_its_part() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    let mut client = daemon.client();
    let mut on =
        |method: &str, params: Value| client.ok(method, merged(json!({"workspace_id": "w"}), params));
    let made = on(
        "fs.write",
        json!({"path": "src/a.txt", "data": "one\ntwo\n", "create_dirs": true, "mode": "0640"}),
    );
    assert_eq!(
        (&made["path"], &made["created"], &made["size"]),
        (&json!("src/a.txt"), &json!(true), &json!(8))
    );
    let again = on(
        "fs.write",
        json!({"path": "src/a.txt", "data": "AAH/", "encoding": "base64", "if_version": made["version"]}),
    );
    assert_eq!(again["created"], false);
    assert_eq!(fs::read(dir.join("src/a.txt")).unwrap(), [0, 1, 255]);
    let stat = on("fs.stat", json!({"path": "src/a.txt"}));
    assert_eq!((&stat["kind"], &stat["mode"], &stat["size"]), (&json!("file"), &json!("0640"), &json!(3)));
    assert_eq!(stat["version"], again["version"]);
    let read = on("fs.read", json!({"path": "src/a.txt", "offset": 1}));
    assert_eq!((bytes_of(&read, "data"), &read["size"], read.get("next")), (vec![1, 255], &json!(3), None));
    on("fs.write", json!({"path": "u", "data": "aé"}));
    let cut = on("fs.read", json!({"path": "u", "limit": 2}));
    assert_eq!((&cut["data"], &cut["next"]), (&json!("a"), &json!(1)), "a character is not split");
    assert_eq!(on("fs.mkdir", json!({"path": "src/deep/er", "create_dirs": true}))["created"], true);
    let moved = on("fs.move", json!({"path": "u", "to": "src/deep/u"}));
    assert_eq!((&moved["path"], &moved["to"]), (&json!("u"), &json!("src/deep/u")));
    assert_eq!(paths(&on("fs.list", json!({"depth": 2})), "entries"), ["src", "src/a.txt", "src/deep"]);
    on("fs.write", json!({"path": "src/b.rs", "data": "fn needle() {}\n"}));
    assert_eq!(paths(&on("fs.glob", json!({"pattern": "**/*.rs"})), "files"), ["src/b.rs"]);
    let found = on("fs.grep", json!({"pattern": "NEEDLE", "ignore_case": true}));
    let hit = &found["matches"][0];
    assert_eq!(
        (&hit["path"], &hit["line"], &hit["text"]),
        (&json!("src/b.rs"), &json!(1), &json!("fn needle() {}"))
    );
    assert_eq!(on("fs.remove", json!({"path": "src", "recursive": true}))["path"], "src");
    assert_eq!(on("fs.list", json!({})), json!({"entries": [], "truncated": false}));
}

#[test]
fn refusals_have_their_codes() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    fs::write(dir.join("f"), "x").unwrap();
    symlink("/etc/passwd", dir.join("out")).unwrap();
    let mut client = daemon.client();
    for (code, method, params) in [
        ("FILE_NOT_FOUND", "fs.read", json!({"path": "none"})),
        ("FILE_NOT_FOUND", "fs.write", json!({"path": "none/f", "data": ""})),
        ("FILE_OUTSIDE_WORKSPACE", "fs.read", json!({"path": "../x"})),
        ("FILE_OUTSIDE_WORKSPACE", "fs.read", json!({"path": "/etc/passwd"})),
        ("FILE_OUTSIDE_WORKSPACE", "fs.read", json!({"path": "out"})),
        ("FILE_OUTSIDE_WORKSPACE", "fs.write", json!({"path": "out", "data": "x"})),
        ("FILE_OUTSIDE_WORKSPACE", "fs.list", json!({"path": ".."})),
        ("FILE_OUTSIDE_WORKSPACE", "fs.move", json!({"path": "f", "to": "../f"})),
        ("INVALID_PARAMS", "fs.read", json!({"path": "a\u{0}b"})),
        ("INVALID_PARAMS", "fs.read", json!({"path": "%%", "path_encoding": "base64"})),
        ("INVALID_PARAMS", "fs.write", json!({"path": "f", "data": "", "mode": "4755"})),
        ("INVALID_PARAMS", "fs.write", json!({"path": "f", "data": "", "if_version": ""})),
        ("INVALID_PARAMS", "fs.write", json!({"path": ".", "data": ""})),
        ("INVALID_PARAMS", "fs.grep", json!({"pattern": "("})),
        ("INVALID_PARAMS", "fs.glob", json!({"pattern": "[", "pth": ""})),
        ("INVALID_PARAMS", "fs.list", json!({"session_id": "s-abcdefgh"})),
    ] {
        client.refused(code, method, merged(json!({"workspace_id": "w"}), params));
    }
    client.refused("INVALID_PARAMS", "fs.list", json!({}));
    client.refused("FILE_NOT_FOUND", "fs.list", json!({"workspace_id": "nobody-made-it"}));
    client.refused("INVALID_PARAMS", "fs.list", json!({"workspace_id": "s-abcdefgh"}));
    client.refused("SESSION_NOT_FOUND", "fs.list", json!({"session_id": "s-abcdefgh"}));
    assert_eq!(fs::read(dir.join("f")).unwrap(), b"x");
}

#[test]
fn a_name_that_is_no_text_comes_and_goes_as_base64() {
    let daemon = daemon();
    workspace(&daemon, "w");
    let mut client = daemon.client();
    // The bytes ff 0a.
    let name = json!({"workspace_id": "w", "path": "/wo=", "path_encoding": "base64"});
    client.ok("fs.write", merged(name.clone(), json!({"data": "x"})));
    let entry = client.ok("fs.list", json!({"workspace_id": "w"}))["entries"][0].clone();
    assert_eq!((&entry["path"], &entry["path_encoding"]), (&name["path"], &name["path_encoding"]));
    assert_eq!(client.ok("fs.read", name.clone())["data"], "x");
    client.ok("fs.remove", name);
    client.ok("fs.write", json!({"workspace_id": "w", "path": "new\nline", "data": "x"}));
    assert_eq!(
        paths(&client.ok("fs.glob", json!({"workspace_id": "w", "pattern": "*"})), "files"),
        ["new\nline"]
    );
}

#[test]
fn a_session_has_the_files_of_its_workspace_or_of_its_first_directory() {
    let daemon = daemon();
    let plain = daemon.dir().dir("plain");
    let mut session = daemon.session_with(Shell::Dash, json!({"working_dir": plain}));
    session.run("cd /; echo hi >/dev/null");
    let id = session.id.clone();
    let mut client = daemon.client();
    client.ok("fs.write", json!({"session_id": id, "path": "f", "data": "x"}));
    assert!(plain.join("f").exists(), "where it was created, wherever it is now");
    let made = client.ok("session.create", json!({"workspace_id": "own"}));
    assert_eq!(made["workspace_id"], "own");
    let dir = made["working_dir"].as_str().unwrap().to_string();
    assert!(dir.ends_with("/files/own"), "{dir}");
    client.ok("fs.write", json!({"session_id": made["session_id"], "path": "g", "data": "y"}));
    assert_eq!(client.ok("fs.read", json!({"workspace_id": "own", "path": "g"}))["data"], "y");
    let run = client.ok("exec.run", json!({"session_id": made["session_id"], "command": "cat g; ls"}));
    assert_eq!(run["stdout"], "yg\n");
    let listed = client.ok("session.list", json!({"workspace_id": "own"}))["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let terminal = client.ok("terminal.create", json!({"argv": ["cat"], "workspace_id": "own"}));
    assert_eq!(terminal["working_dir"], json!(dir));
}

#[test]
fn workspaces_outlive_the_daemon_and_a_replaced_directory_is_not_mistaken() {
    let mut daemon = daemon();
    let dir = workspace(&daemon, "w");
    let mut client = daemon.client();
    client.ok("fs.write", json!({"workspace_id": "w", "path": "f", "data": "x"}));
    fs::rename(&dir, dir.with_extension("moved")).unwrap();
    symlink("/etc", &dir).unwrap();
    assert_eq!(client.ok("fs.read", json!({"workspace_id": "w", "path": "f"}))["data"], "x");
    client.refused("FILE_NOT_FOUND", "fs.read", json!({"workspace_id": "w", "path": "passwd"}));
    fs::remove_file(&dir).unwrap();
    fs::rename(dir.with_extension("moved"), &dir).unwrap();
    drop(client);
    daemon.stop();
    daemon.relaunch();
    let mut client = daemon.client();
    let info = client.ok("workspace.get", json!({"workspace_id": "w"}));
    assert_eq!((&info["dir"], &info["owner"]), (&json!(dir), &json!("operator")));
    assert_eq!(client.ok("fs.read", json!({"workspace_id": "w", "path": "f"}))["data"], "x");
}

#[test]
fn changes_are_pushed_together_and_after_the_reply() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    let mut client = daemon.client();
    let watching = client.ok("fs.watch", json!({"workspace_id": "w", "recursive": true}));
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("d/f"), "x").unwrap();
    let mut missing = vec![json!("d"), json!("d/f")];
    while !missing.is_empty() {
        let push = client.push("fs.changed");
        assert_eq!(push["stream_id"], watching["stream_id"]);
        for change in push["changes"].as_array().unwrap() {
            assert!(change["kind"] != "removed", "{change}");
            missing.retain(|path| *path != change["path"]);
        }
    }
    // One client per watch, and they end with it.
    let clients: Vec<Client> = (0..63)
        .map(|_| {
            let mut client = daemon.client();
            client.ok("fs.watch", json!({"workspace_id": "w"}));
            client
        })
        .collect();
    let mut late = daemon.client();
    late.refused("RESOURCE_PRESSURE", "fs.watch", json!({"workspace_id": "w"}));
    drop(clients);
    eventually("room again", || late.call("fs.watch", json!({"workspace_id": "w"})).is_ok());
}
