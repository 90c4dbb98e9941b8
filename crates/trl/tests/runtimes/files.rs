//! Files of sessions elsewhere: the rules are held against the places that are really written to there, people are asked as
//! they are here, and what changes is told.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::process::Signal;
use trl_testkit::process::signal;
use trl_testkit::{Client, Daemon, Value, eventually, json, merged, procs_matching};

use crate::{builder, daemon, get};

/// A person is asked about `.github` and `new/private`; nobody writes to `locked`.
const RULES: &str = "default: allow\nrules:\n- ask: [fs.write .github, fs.write new/private]\n\
    - deny: [fs.write locked]\n  reason: it is locked\n";

/// A daemon with rules, a runtime, and a session there in a directory that has what the rules are about.
struct Careful {
    daemon: Daemon,
    dir: PathBuf,
    session: Value,
}

impl Careful {
    fn start() -> Self {
        let daemon = builder().set("runtimes", "grace_s", 60).http().start();
        daemon.dir().file("config/trl/approvals.yaml", RULES);
        daemon.add_relay("box", json!({}));
        let dir = daemon.dir().dir("there");
        for name in [".github", "locked"] {
            fs::create_dir(dir.join(name)).unwrap();
        }
        let params = json!({"runtime": "box", "working_dir": dir});
        let session = daemon.client().ok("session.create", params)["session_id"].clone();
        Self { daemon, dir, session }
    }

    fn params(&self, extra: Value) -> Value {
        merged(json!({"session_id": self.session}), extra)
    }

    fn file(&self, path: &str) -> Value {
        self.params(json!({"path": path, "data": "on: push\n"}))
    }

    /// The operator, who hears of every request.
    fn operator(&self) -> Client {
        let mut operator = self.daemon.operator();
        operator.ok("events.subscribe", json!({"kinds": ["hitl.requested"]}));
        operator
    }

    fn shown(&self, path: &str) -> String {
        format!("fs.write {} (", self.dir.join(path).display())
    }
}

fn next_request(operator: &mut Client) -> Value {
    let event = operator.event("hitl.requested");
    operator.ok("hitl.get", json!({"request_id": event["request_id"]}))
}

fn respond(operator: &mut Client, request: &Value, decision: &str) {
    let answer =
        json!({"request_id": request["request_id"], "digest": request["digest"], "decision": decision});
    operator.ok("hitl.respond", answer);
}

fn requests(daemon: &Daemon) -> Value {
    daemon.operator().ok("hitl.list", json!({}))["requests"].clone()
}

#[test]
fn a_write_there_waits_for_a_person_and_is_made_on_a_yes() {
    let careful = Careful::start();
    let (mut agent, mut operator) = (careful.daemon.client(), careful.operator());
    let waiting = agent.send("fs.write", careful.file(".github/ci.yml"));
    let request = next_request(&mut operator);
    let path = careful.dir.join(".github/ci.yml");
    let shown = request["command"].as_str().unwrap();
    assert!(shown.starts_with(&format!("{}9 bytes, sha256 ", careful.shown(".github/ci.yml"))), "{shown}");
    assert_eq!((&request["session_id"], path.exists()), (&careful.session, false));
    respond(&mut operator, &request, "approve");
    assert_eq!(agent.reply(waiting).unwrap()["created"], true);
    assert_eq!(fs::read_to_string(&path).unwrap(), "on: push\n");

    // once is once
    let waiting = agent.send("fs.remove", careful.params(json!({"path": ".github/ci.yml"})));
    let request = next_request(&mut operator);
    respond(&mut operator, &request, "reject");
    assert_eq!(agent.reply(waiting).unwrap_err().code, "APPROVAL_DENIED");
    assert!(path.exists());
    // what no rule is about is not asked about
    agent.ok("fs.write", careful.file("free"));
    assert_eq!(fs::read_to_string(careful.dir.join("free")).unwrap(), "on: push\n");
}

#[test]
fn nobody_is_asked_about_what_is_forbidden_there_or_when_that_is_not_wanted() {
    let careful = Careful::start();
    let mut agent = careful.daemon.client();
    let refused = agent.refused("APPROVAL_DENIED", "fs.write", careful.file("locked/f"));
    assert_eq!(refused.hint.as_deref(), Some("it is locked"));
    assert!(refused.detail("rule").as_str().unwrap().contains("locked"));
    for (method, params) in [
        ("fs.mkdir", json!({"path": "locked/d"})),
        ("fs.remove", json!({"path": "locked"})),
        ("fs.move", json!({"path": "locked", "to": "open"})),
    ] {
        agent.refused("APPROVAL_DENIED", method, careful.params(params));
    }
    let fail = merged(careful.file(".github/f"), json!({"approval": "fail"}));
    agent.refused("APPROVAL_REQUIRED", "fs.write", fail);
    assert_eq!(requests(&careful.daemon), json!([]));
    assert!(fs::read_dir(careful.dir.join(".github")).unwrap().next().is_none());
    assert_eq!(careful.daemon.operator().ok("hitl.audit", json!({}))["entries"][0]["what"], "denied");
}

#[test]
fn whoever_does_not_wait_is_told_of_the_request_and_the_change_is_made_there_on_a_yes() {
    let careful = Careful::start();
    let (mut agent, mut operator) = (careful.daemon.client(), careful.operator());
    let later = merged(careful.file(".github/ci.yml"), json!({"approval": "return"}));
    let told = agent.ok("fs.write", later);
    assert_eq!(told["state"], "waiting_hitl");
    let request = next_request(&mut operator);
    assert_eq!(told["request_id"], request["request_id"]);
    drop(agent);
    respond(&mut operator, &request, "approve");
    eventually("it is written", || careful.dir.join(".github/ci.yml").exists());
}

#[test]
fn a_request_about_files_there_is_withdrawn_when_whoever_asked_goes() {
    let careful = Careful::start();
    let mut operator = careful.operator();
    let http = careful.daemon.http().with_token(&careful.daemon.operator_token());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "fs.write", "params": careful.file(".github/f")});
    let body = call.to_string();
    let length = body.len().to_string();
    let mut wire = http.connect();
    let headers = [("content-type", "application/json"), ("content-length", length.as_str())];
    wire.write_all(format!("{}{body}", http.head("POST", "/rpc", &headers)).as_bytes()).unwrap();
    let request = next_request(&mut operator);
    assert_eq!(request["state"], "pending");
    drop(wire);
    let id = json!({"request_id": request["request_id"]});
    eventually("it is withdrawn", || operator.ok("hitl.get", id.clone())["state"] == "cancelled");
    assert!(!careful.dir.join(".github/f").exists());
}

#[test]
fn no_link_there_leads_a_change_past_the_rules() {
    let careful = Careful::start();
    symlink("locked", careful.dir.join("free")).unwrap();
    symlink(".github/ci.yml", careful.dir.join("note")).unwrap();
    fs::write(careful.dir.join(".github/ci.yml"), "as it was").unwrap();
    let (mut agent, mut operator) = (careful.daemon.client(), careful.operator());
    agent.refused("APPROVAL_DENIED", "fs.write", careful.file("free/f"));
    agent.refused("APPROVAL_DENIED", "fs.mkdir", careful.params(json!({"path": "free/d"})));
    assert!(fs::read_dir(careful.dir.join("locked")).unwrap().next().is_none());

    let waiting = agent.send("fs.write", careful.file("note"));
    let request = next_request(&mut operator);
    assert!(request["command"].as_str().unwrap().starts_with(&careful.shown(".github/ci.yml")), "{request}");
    // A yes is to that place: what the link leads to by now was not meant.
    fs::remove_file(careful.dir.join("note")).unwrap();
    fs::write(careful.dir.join("locked/secret"), "as it was").unwrap();
    symlink("locked/secret", careful.dir.join("note")).unwrap();
    respond(&mut operator, &request, "approve");
    assert_eq!(agent.reply(waiting).unwrap_err().code, "APPROVAL_DENIED");
    for path in [".github/ci.yml", "locked/secret"] {
        assert_eq!(fs::read_to_string(careful.dir.join(path)).unwrap(), "as it was");
    }
}

#[test]
fn nothing_is_changed_there_before_every_place_is_approved() {
    let careful = Careful::start();
    let (mut agent, mut operator) = (careful.daemon.client(), careful.operator());
    let deep = merged(careful.file("new/private/f"), json!({"create_dirs": true}));
    for (last, made) in [("reject", false), ("approve", true)] {
        let waiting = agent.send("fs.write", deep.clone());
        for (place, decision) in [("new/private", "approve"), ("new/private/f", last)] {
            let request = next_request(&mut operator);
            assert!(request["command"].as_str().unwrap().starts_with(&careful.shown(place)), "{request}");
            assert!(!careful.dir.join("new").exists());
            respond(&mut operator, &request, decision);
        }
        assert_eq!(agent.reply(waiting).is_ok(), made);
        assert_eq!(careful.dir.join("new/private/f").exists(), made);
        assert_eq!(careful.dir.join("new").exists(), made);
    }
    // A tree is not moved or removed around what is forbidden in it.
    let inside = careful.dir.join("tree/inside");
    fs::create_dir_all(&inside).unwrap();
    agent.ok("fs.move", careful.params(json!({"path": "tree", "to": "other"})));
    let remove = careful.params(json!({"path": "new", "recursive": true, "approval": "fail"}));
    agent.refused("APPROVAL_REQUIRED", "fs.remove", remove);
    assert!(careful.dir.join("new/private/f").exists());
}

#[test]
fn a_tree_of_many_places_that_are_simply_allowed_is_changed_in_a_few_rounds_or_not_at_all() {
    const SOME: usize = 2500;
    /// Both ends of a move count, and there are so many rounds of a thousand places.
    const MANY: usize = 8000;
    let careful = Careful::start();
    let mut agent = careful.daemon.client();
    let tree = careful.dir.join("tree");
    fs::create_dir(&tree).unwrap();
    for n in 0..SOME {
        fs::write(tree.join(n.to_string()), "").unwrap();
    }
    fs::write(tree.join(OsStr::from_bytes(b"not \xff utf-8")), "").unwrap();
    agent.ok("fs.move", careful.params(json!({"path": "tree", "to": "moved"})));
    assert_eq!(fs::read_dir(careful.dir.join("moved")).unwrap().count(), SOME + 1);
    agent.ok("fs.remove", careful.params(json!({"path": "moved", "recursive": true})));
    assert!(!careful.dir.join("moved").exists());

    fs::create_dir(&tree).unwrap();
    for n in 0..MANY {
        fs::write(tree.join(n.to_string()), "").unwrap();
    }
    let refused =
        agent.refused("LIMIT_EXCEEDED", "fs.move", careful.params(json!({"path": "tree", "to": "moved"})));
    assert!(refused.hint.unwrap().contains("command"));
    assert_eq!(fs::read_dir(&tree).unwrap().count(), MANY);
    assert_eq!(requests(&careful.daemon), json!([]));
}

#[test]
fn over_http_a_file_of_a_session_elsewhere_is_not_mistaken_for_one_that_is_here() {
    let careful = Careful::start();
    fs::write(careful.dir.join("f"), "there").unwrap();
    let http = careful.daemon.http().with_token(&careful.daemon.operator_token());
    let route = format!("/api/sessions/{}/files/f", careful.session.as_str().unwrap());
    for (verb, body) in [("GET", &b""[..]), ("PUT", b"x"), ("DELETE", b"")] {
        assert_eq!(http.ask(verb, &route, &[], body).status, 400, "{verb}");
    }
    assert_eq!(http.ok("fs.read", careful.params(json!({"path": "f"})))["data"], "there");
}

/// A session in a runtime, in a directory of its own that is watched by the client.
fn watched(daemon: &Daemon) -> (Client, PathBuf, Value) {
    daemon.add_relay("box", json!({}));
    let (mut client, dir) = (daemon.client(), daemon.dir().dir("watched"));
    let session =
        client.ok("session.create", json!({"runtime": "box", "working_dir": dir}))["session_id"].clone();
    let watching = client.ok("fs.watch", json!({"session_id": session, "recursive": true}));
    assert_eq!(watching["truncated"], false);
    (client, dir, watching["stream_id"].clone())
}

/// Hears of changes until all of these were told.
fn told(client: &mut Client, stream: &Value, paths: &[&str]) {
    let mut missing: Vec<Value> = paths.iter().map(|path| json!(path)).collect();
    while !missing.is_empty() {
        let push = client.push("fs.changed");
        assert_eq!((&push["stream_id"], &push["missed"]), (stream, &json!(false)));
        missing
            .retain(|path| push["changes"].as_array().unwrap().iter().all(|change| change["path"] != *path));
    }
}

#[test]
fn changes_there_are_told_also_after_the_link_was_cut() {
    let daemon = builder().set("runtimes", "grace_s", 60).start();
    let (mut client, dir, stream) = watched(&daemon);
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("d/f"), "x").unwrap();
    told(&mut client, &stream, &["d", "d/f"]);
    let reconnects = |operator: &mut Client| get(operator, "box")["reconnects"].as_u64().unwrap();
    let mut operator = daemon.operator();
    assert_eq!(reconnects(&mut operator), 0);
    procs_matching("stdio --resume").into_iter().for_each(|relay| signal(relay, Signal::KILL));
    fs::write(dir.join("meanwhile"), "x").unwrap();
    told(&mut client, &stream, &["meanwhile"]);
    assert_eq!(reconnects(&mut operator), 1);
    fs::remove_file(dir.join("d/f")).unwrap();
    told(&mut client, &stream, &["d/f"]);
}

#[test]
fn whoever_watches_is_told_when_the_engine_is_lost() {
    let daemon = builder().start();
    let (mut client, _, stream) = watched(&daemon);
    let engine = get(&mut daemon.operator(), "box")["engine"]["pid"].as_i64().unwrap();
    signal(i32::try_from(engine).unwrap(), Signal::KILL);
    let last = client.push("fs.changed");
    assert_eq!(last, json!({"stream_id": stream, "changes": [], "missed": true}));
}

#[test]
fn a_watch_there_ends_with_its_client() {
    const WATCHES: usize = 64;
    let daemon = builder().start();
    daemon.add_relay("box", json!({}));
    let mut client = daemon.client();
    let params = json!({"runtime": "box", "working_dir": daemon.dir().dir("watched")});
    let dir = json!({"session_id": client.ok("session.create", params)["session_id"]});
    let clients: Vec<Client> = (0..WATCHES)
        .map(|_| {
            let mut client = daemon.client();
            client.ok("fs.watch", dir.clone());
            client
        })
        .collect();
    client.refused("RESOURCE_PRESSURE", "fs.watch", dir.clone());
    drop(clients);
    // There are as many places there: each is free again, too.
    eventually("room again", || client.call("fs.watch", dir.clone()).is_ok());
    for _ in 1..WATCHES {
        eventually("room for all", || client.call("fs.watch", dir.clone()).is_ok());
    }
}

#[test]
fn no_file_of_this_machine_is_kept_for_a_session_elsewhere() {
    let daemon = daemon();
    daemon.add_relay("box", json!({}));
    daemon.dir().dir("config/trl/cases");
    daemon.dir().file("config/trl/cases/keeps.yaml", "snapshots: {}\n");
    let mut client = daemon.operator();
    let dir = daemon.dir().dir("work");
    let params = json!({"case_id": "keeps", "runtime": "box", "working_dir": dir});
    let session = client.ok("session.create", params);
    let id = &session["session_id"];
    client.ok("exec.run", json!({"session_id": id, "command": "x=1"}));
    client.refused("INVALID_PARAMS", "checkpoint.create", json!({"session_id": id, "files": true}));
    client.ok("checkpoint.create", json!({"session_id": id}));
}
