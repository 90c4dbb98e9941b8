//! Files made to do harm: each is refused, quickly, and the daemon goes on.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};

use trl_testkit::json;

use crate::{case, daemon, workspace, workspace_case};

#[test]
fn hostile_yaml_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let bomb: String = std::iter::once("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_string())
        .chain((1..60).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(9))))
        .collect();
    let merge = "base: &b {shell: sh}\n<<: *b\n";
    let deep = format!("env: {}{}", "[".repeat(60_000), "]".repeat(60_000));
    let indented: String = (0..400).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let twice = "shell: /bin/sh\nshell: /bin/bash\n";
    let names_twice = "env:\n  A: one\n  A: two\n";
    let documents = "id: x\n---\nid: y\n".repeat(2000);
    let keys: String = (0..20_000).map(|n| format!("k{n}: 1\n")).collect();
    for (name, text) in [
        ("bomb", bomb.as_str()),
        ("merge", merge),
        ("deep", &deep),
        ("indented", &indented),
        ("twice", twice),
        ("names-twice", names_twice),
        ("documents", &documents),
        ("keys", &keys),
        ("tags", "env: !!python/object/apply:os.system [id]\n"),
        ("empty", ""),
        ("list", "- a\n- b\n"),
        ("scalar", "hello\n"),
        ("tab", "env:\n\tA: b\n"),
        ("unclosed", "env: {A: 'b\n"),
    ] {
        case(&daemon, name, text);
        let error = client.refused("CASE_INVALID", "session.create", json!({"case_id": name}));
        assert!(error.message.contains(&format!("{name}.yaml")), "{error:?}");
        workspace_case(&daemon, name, text);
        client.refused("CASE_INVALID", "case.get", json!({"case_id": name, "path": workspace(&daemon)}));
    }
    let list = client.ok("case.list", json!({}));
    assert!(list["cases"].as_array().unwrap().iter().all(|case| case.get("errors").is_some()), "{list}");
    case(&daemon, "fine", "id: fine\n");
    client.ok("session.create", json!({"case_id": "fine"}));
}

#[test]
fn binary_and_giant_files_are_not_read() {
    let daemon = daemon();
    let mut client = daemon.client();
    let binary: Vec<u8> = (0..=255u8).cycle().take(10_000).collect();
    let path = daemon.dir().file("config/trl/cases/binary.yaml", &binary);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let error = client.refused("CASE_INVALID", "session.create", json!({"case_id": "binary"}));
    assert!(error.message.contains("not UTF-8"), "{error:?}");
    let path = case(&daemon, "giant", "");
    File::options().write(true).open(path).unwrap().set_len(100 << 20).unwrap();
    let before = client.ok("system.stats", json!({}))["memory_rss_bytes"].as_u64().unwrap();
    let error = client.refused("CASE_INVALID", "session.create", json!({"case_id": "giant"}));
    assert!(error.message.ends_with("the file is larger than 256 KiB"), "{error:?}");
    client.ok("case.list", json!({}));
    let after = client.ok("system.stats", json!({}))["memory_rss_bytes"].as_u64().unwrap();
    assert!(after < before + (50 << 20), "{before} {after}");
}

#[test]
fn what_others_could_have_written_is_refused() {
    let daemon = daemon();
    let mut client = daemon.client();
    let path = case(&daemon, "open", "id: open\n");
    for mode in [0o666, 0o620, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = client.refused("CASE_INVALID", "session.create", json!({"case_id": "open"}));
        assert!(error.message.contains("can be written by others"), "{error:?}");
        assert_eq!(error.hint.as_deref(), Some("chmod go-w"));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    client.ok("session.create", json!({"case_id": "open"}));
    let cases = daemon.dir().join("config/trl/cases");
    fs::set_permissions(&cases, fs::Permissions::from_mode(0o777)).unwrap();
    client.refused("CASE_INVALID", "session.create", json!({"case_id": "open"}));
    fs::set_permissions(&cases, fs::Permissions::from_mode(0o700)).unwrap();
    workspace_case(&daemon, "theirs", "env: {A: b}\n");
    symlink(daemon.dir().join("ws/.trl/cases/theirs.yaml"), cases.join("theirs.yaml")).unwrap();
    let error = client.refused("CASE_INVALID", "session.create", json!({"case_id": "theirs"}));
    assert!(error.message.contains("symbolic link"), "{error:?}");
}

#[test]
fn nothing_leads_out_of_a_workspace() {
    let daemon = daemon();
    let mut client = daemon.client();
    daemon.dir().file("secret.yaml", "hunter2: value\n");
    symlink(daemon.dir().join("secret.yaml"), daemon.dir().join("ws/.trl/cases/link.yaml")).unwrap();
    daemon.dir().fifo("ws/.trl/cases/pipe.yaml");
    symlink("/dev/zero", daemon.dir().join("ws/.trl/cases/zero.yaml")).unwrap();
    let place = json!({"path": workspace(&daemon)});
    let list = client.ok("case.list", place);
    assert_eq!(list["cases"].as_array().unwrap().len(), 3);
    assert!(!list.to_string().contains("hunter2"), "{list}");
    for id in ["link", "pipe", "zero"] {
        let error = client.refused(
            "CASE_INVALID",
            "session.create",
            json!({"case_id": id, "working_dir": workspace(&daemon)}),
        );
        assert!(!error.message.contains("hunter2"), "{error:?}");
    }
    for id in ["../secret", "..", "/etc/passwd", "a/b", ""] {
        client.refused("INVALID_PARAMS", "case.get", json!({"case_id": id, "path": workspace(&daemon)}));
    }
    for id in ["..", ".", "a/b"] {
        client.refused("INVALID_PARAMS", "case.list", json!({"workspace_id": id}));
    }
    client.refused("WORKING_DIR_INVALID", "case.list", json!({"path": "relative"}));
}

#[test]
fn values_are_in_no_error_and_no_log() {
    let daemon = daemon();
    let mut client = daemon.client();
    for (id, text) in [("a", "env: hunter2\n"), ("b", "env: {A: [hunter2]}\n"), ("c", "timeout_s: hunter2\n")]
    {
        case(&daemon, id, text);
        let error = client.refused("CASE_INVALID", "session.create", json!({"case_id": id}));
        assert!(!error.json.to_string().contains("hunter2"), "{error:?}");
    }
    case(&daemon, "d", "env: {A: hunter2}\nagent: {command: [x], env: {B: hunter2}}\n");
    let shown = client.ok("case.get", json!({"case_id": "d"}));
    assert!(!shown.to_string().contains("hunter2"), "{shown}");
    assert_eq!(shown["env_keys"], json!(["A"]));
    assert_eq!(daemon.operator().ok("case.get", json!({"case_id": "d"}))["case"]["env"]["A"], "hunter2");
    client.ok("session.create", json!({"case_id": "d"}));
    assert!(!daemon.log().contains("hunter2"));
}
