//! Who may use which files.

use std::fs;

use trl_testkit::{Shell, Value, json, merged};

use crate::{builder, daemon, operator, token, workspace};

const LOOKING: [(&str, &str); 5] =
    [("fs.list", ""), ("fs.stat", "f"), ("fs.read", "f"), ("fs.glob", ""), ("fs.grep", "")];
const WRITING: [&str; 4] = ["fs.write", "fs.mkdir", "fs.move", "fs.remove"];

fn params(method: &str, path: &str) -> Value {
    let extra = match method {
        "fs.write" => json!({"data": "x"}),
        "fs.move" => json!({"to": "moved"}),
        "fs.glob" | "fs.grep" => json!({"pattern": "f"}),
        _ => json!({}),
    };
    merged(json!({"workspace_id": "w", "path": path}), extra)
}

#[test]
fn viewers_look_at_workspaces_and_change_nothing() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    fs::write(dir.join("f"), "f").unwrap();
    let (viewer, _) = token(&daemon, "viewer", json!({}));
    for (method, path) in LOOKING {
        viewer.ok(method, params(method, path));
    }
    for method in WRITING {
        assert_eq!(viewer.refused(method, params(method, "f")), "FORBIDDEN", "{method}");
    }
    assert_eq!(viewer.get("/api/workspaces/w/files/f").body, b"f");
    assert_eq!(viewer.ask("PUT", "/api/workspaces/w/files/f", &[], b"x").status, 403);
    assert_eq!(viewer.ask("DELETE", "/api/workspaces/w/files/f", &[], b"").status, 403);
    assert_eq!(viewer.refused("workspace.create", json!({"workspace_id": "v"})), "FORBIDDEN");
    // A session's directory may be anybody's home.
    let session = daemon.session(Shell::Dash);
    assert_eq!(viewer.refused("fs.list", json!({"session_id": session.id})), "FORBIDDEN");
    assert_eq!(fs::read(dir.join("f")).unwrap(), b"f");
    assert_eq!(daemon.http().get("/api/workspaces/w/files/f").status, 401);
}

#[test]
fn agent_tokens_have_their_own_workspaces_and_those_they_were_given() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    fs::write(dir.join("f"), "f").unwrap();
    let (mine, _) = token(&daemon, "agent", json!({}));
    let (other, _) = token(&daemon, "agent", json!({}));
    let (given, _) = token(&daemon, "agent", json!({"ceilings": {"workspaces": ["w"]}}));
    for (method, path) in LOOKING {
        assert_eq!(mine.refused(method, params(method, path)), "FORBIDDEN", "{method}");
        given.ok(method, params(method, path));
    }
    for method in WRITING {
        assert_eq!(mine.refused(method, params(method, "f")), "FORBIDDEN", "{method}");
    }
    assert_eq!(mine.get("/api/workspaces/w/files/f").status, 403);
    assert_eq!(given.get("/api/workspaces/w/files/f").status, 200);
    // A first write makes a workspace, and it is the writer's.
    mine.ok("fs.write", json!({"workspace_id": "new", "path": "f", "data": "mine"}));
    assert_eq!(other.refused("fs.read", json!({"workspace_id": "new", "path": "f"})), "FORBIDDEN");
    assert_eq!(
        given.refused("fs.write", json!({"workspace_id": "mine", "path": "f", "data": ""})),
        "FORBIDDEN"
    );
    let ids = |http: &trl_testkit::Http| {
        let list = http.ok("workspace.list", json!({}))["workspaces"].clone();
        list.as_array().unwrap().iter().map(|w| w["workspace_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((ids(&mine), ids(&other), ids(&given)), (vec![json!("new")], vec![], vec![json!("w")]));
    assert_eq!(ids(&operator(&daemon)).len(), 2);
    let session = mine.ok("session.create", json!({"workspace_id": "new"}))["session_id"].clone();
    assert_eq!(mine.ok("fs.read", json!({"session_id": session, "path": "f"}))["data"], "mine");
    assert_eq!(other.refused("fs.read", json!({"session_id": session, "path": "f"})), "FORBIDDEN");
    assert_eq!(other.refused("session.create", json!({"workspace_id": "new"})), "FORBIDDEN");
    assert_eq!(mine.refused("workspace.create", json!({"workspace_id": "etc", "dir": "/etc"})), "FORBIDDEN");
    assert_eq!(mine.ok("workspace.create", json!({"workspace_id": "fresh"}))["owner"], session_owner(&mine));
}

fn session_owner(http: &trl_testkit::Http) -> Value {
    http.ok("session.list", json!({}))["sessions"][0]["owner"].clone()
}

#[test]
fn the_widest_sandbox_of_a_token_is_that_of_its_files() {
    let daemon = daemon();
    let dir = workspace(&daemon, "w");
    fs::create_dir_all(dir.join(".git/hooks")).unwrap();
    fs::write(dir.join("f"), "f").unwrap();
    std::os::unix::fs::symlink(".git/hooks", dir.join("link")).unwrap();
    for (mode, plain, hook) in [
        ("read-only", "SANDBOX_DENIED", "SANDBOX_DENIED"),
        ("workspace-write", "", "SANDBOX_DENIED"),
        ("off", "", ""),
    ] {
        let (http, _) = token(&daemon, "agent", json!({"ceilings": {"workspaces": ["w"], "sandbox": mode}}));
        for (path, code) in [("g", plain), (".git/hooks/h", hook), ("link/h", hook)] {
            let params = json!({"workspace_id": "w", "path": path, "data": "x"});
            let reply = http.rpc("fs.write", params);
            assert_eq!(reply["error"]["data"]["code"].as_str().unwrap_or_default(), code, "{mode} {path}");
            let put = http.ask("PUT", &format!("/api/workspaces/w/files/{path}"), &[], b"x");
            assert_eq!(put.status == 403, !code.is_empty(), "{mode} {path}: {}", put.text());
        }
        assert_eq!(http.ok("fs.read", json!({"workspace_id": "w", "path": "f"}))["data"], "f");
    }
}

#[test]
fn what_is_the_daemons_own_is_nobodys_file() {
    let daemon = daemon();
    let home = daemon.dir().path().to_path_buf();
    let mut client = daemon.client();
    let session = client.ok("session.create", json!({"working_dir": home}))["session_id"].clone();
    for path in ["config/trl/operator.token", "config/trl", "config/trl/config.toml"] {
        client.refused("SANDBOX_DENIED", "fs.stat", json!({"session_id": session, "path": path}));
    }
    client.refused(
        "SANDBOX_DENIED",
        "fs.read",
        json!({"session_id": session, "path": "config/trl/operator.token"}),
    );
    client.refused("SANDBOX_DENIED", "fs.move", json!({"session_id": session, "path": "config", "to": "c"}));
    client.refused(
        "SANDBOX_DENIED",
        "fs.remove",
        json!({"session_id": session, "path": "config", "recursive": true}),
    );
    let found = client
        .ok("fs.grep", json!({"session_id": session, "pattern": "trl_[0-9a-f]{8}", "include_ignored": true}));
    assert_eq!(found["matches"], json!([]));
    assert!(home.join("config/trl/operator.token").exists());
}

/// Not for remote runtimes: the daemon does not know the processes of a remote session and rejects them all.
mod local {
    use super::*;

    #[test]
    fn nobody_inside_a_session_gets_files_from_the_daemon() {
        let daemon = builder().start();
        let socket = daemon.socket().display().to_string();
        let mut session = daemon.session_with(Shell::Dash, json!({"env": {"TRL_SOCKET_PATH": socket}}));
        let (id, trl) = (session.id.clone(), env!("CARGO_BIN_EXE_trl"));
        let run = session.run(&format!("{trl} fs ls -s {id}; {trl} workspace ls"));
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(said.matches("FORBIDDEN").count(), 2, "{said}");
    }
}
