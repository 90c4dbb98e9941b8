//! What the next daemon knows, beside what was promised.

use std::collections::HashMap;

use serde_json::{Value, json};
use trl_testkit::{Client, Daemon, eventually};

use super::book::{Answer, Book, Deed, How};
use super::data_dir;

/// Daemons that a request outlives before it is answered here.
const OLD: u32 = 4;

/// The file itself, as the killed process left it: a copy of it is opened, so that the daemon finds the original.
pub(crate) fn file(daemon: &Daemon) {
    let copy = daemon.dir().dir("copy");
    for name in ["store.db", "store.db-wal"] {
        let _ = std::fs::remove_file(copy.join(name));
        let _ = std::fs::copy(data_dir(daemon).join(name), copy.join(name));
    }
    let _ = std::fs::remove_file(copy.join("store.db-shm"));
    let conn = rusqlite::Connection::open(copy.join("store.db")).unwrap();
    let said: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
}

pub(crate) fn all(daemon: &Daemon, book: &mut Book) {
    let (mut agent, mut operator) = (daemon.client(), daemon.operator());
    let pending = operator.ok("hitl.list", json!({}))["requests"].clone();
    let mut history = HashMap::new();
    let open: Vec<usize> = (0..book.deeds.len()).filter(|n| !book.deeds[*n].settled).collect();
    for n in open {
        adopt(book, n, &pending);
        let deed = &mut book.deeds[n];
        deed.age += 1;
        assert!(deed.ran() <= 1, "ran twice: {deed:#?}");
        let entries = history.entry(deed.session.clone()).or_insert_with_key(|id| entries(&mut agent, id));
        let traces: Vec<&Value> = entries.iter().filter(|e| deed.is(&e["command"])).collect();
        check_trace(deed, &traces);
        book.unknown += u64::from(traces.iter().any(|e| e["status"] == "unknown"));
        check_request(deed, &mut operator);
        settle(book, n, &mut agent, &mut operator);
    }
    check_audit(&mut operator);
    let aside = |name: &str| name.contains("corrupt");
    let names = std::fs::read_dir(data_dir(daemon)).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| aside(&name.to_string_lossy())), "the store was damaged");
}

/// A request that the daemon kept, though nobody lived to be told.
fn adopt(book: &mut Book, n: usize, pending: &Value) {
    let deed = &book.deeds[n];
    if deed.request.is_none() && matches!(deed.how, How::Return | How::Wait) {
        let same = |r: &&Value| deed.is(&r["command"]);
        if let Some(request) = pending.as_array().unwrap().iter().find(same).cloned() {
            book.note_request(n, &request);
        }
    }
}

fn entries(client: &mut Client, session: &str) -> Vec<Value> {
    let params = match session {
        "" => json!({"limit": 100}),
        id => json!({"session_id": id, "limit": 500}),
    };
    match client.call("session.history", params) {
        Ok(history) => history["entries"].as_array().unwrap().clone(),
        // Killed before its record was written; nothing can have run in it then.
        Err(error) => {
            assert_eq!(error.code, "SESSION_NOT_FOUND");
            Vec::new()
        }
    }
}

/// What ran is in the history, once, and with the end it had, or one that nobody knows.
fn check_trace(deed: &Deed, traces: &[&Value]) {
    assert!(traces.len() <= 1, "in the history twice: {deed:#?} {traces:#?}");
    assert!(traces.len() == 1 || deed.ran() == 0, "ran without a trace: {deed:#?}");
    assert!(traces.len() == 1 || !deed.done, "forgotten: {deed:#?}");
    for trace in traces {
        assert!(trace["status"] == "done" || trace["status"] == "unknown", "{trace}");
        assert!(trace["status"] != "done" || deed.ran() == 1, "{deed:#?} {trace}");
    }
    if deed.how == How::Never {
        assert_eq!((deed.ran(), traces.len()), (0, 0), "{deed:#?}");
    }
}

/// A request that anybody was told of is there, with the answer that was told.
fn check_request(deed: &Deed, operator: &mut Client) {
    let Some((id, digest)) = &deed.request else {
        return assert!(deed.how == How::Plain || deed.ran() == 0, "nobody was asked, and it ran: {deed:#?}");
    };
    let request = operator.ok("hitl.get", json!({"request_id": id}));
    assert_eq!(request["digest"], *digest);
    let state = request["state"].as_str().unwrap();
    match deed.answer {
        None => assert_eq!(state, "pending", "{deed:#?}"),
        Some((answer, true)) => assert_eq!(state, answer.state(), "{deed:#?}"),
        Some((answer, false)) => assert!(state == "pending" || state == answer.state(), "{deed:#?} {state}"),
    }
    if state != "approved" {
        assert_eq!(deed.ran(), 0, "not approved, and ran: {deed:#?}");
    }
}

/// Brings it to its end, if it has none.
fn settle(book: &mut Book, n: usize, agent: &mut Client, operator: &mut Client) {
    let deed = &mut book.deeds[n];
    let Some((id, digest)) = deed.request.clone() else {
        deed.settled = true;
        return;
    };
    let state = operator.ok("hitl.get", json!({"request_id": id}))["state"].clone();
    if state == "pending" && deed.age < OLD {
        // An answer that did not get there is given again.
        deed.answer = None;
        return;
    }
    let answer = json!({"request_id": id, "digest": digest, "decision": "approve"});
    if state == "pending" {
        let reply = operator.ok("hitl.respond", answer.clone());
        assert_eq!(reply["state"], "approved");
        deed.answer = Some((Answer::Approve, true));
        deed.granted = deed.how == How::Wait;
        book.answered += 1;
        carry_out(deed, agent);
    }
    operator.refused("ALREADY_RESOLVED", "hitl.respond", answer);
    let approved = operator.ok("hitl.get", json!({"request_id": id}))["state"] == "approved";
    if approved && !deed.granted {
        let result = agent.ok("exec.result", json!({"execution_id": deed.execution}));
        assert!(result["status"] == "done" || result["status"] == "unknown", "{deed:#?} {result}");
    }
    deed.settled = true;
}

/// On the yes of a daemon that was not the one that was asked.
fn carry_out(deed: &Deed, agent: &mut Client) {
    if deed.how == How::Wait {
        agent.ok("session.get", json!({"session_id": deed.session}));
        let again = json!({"session_id": deed.session, "command": deed.command});
        let result = agent.ok("exec.run", again.clone());
        assert_eq!((&result["exit_code"], deed.ran()), (&json!(0), 1));
        let once_more = trl_testkit::merged(again, json!({"approval": "fail"}));
        agent.refused("APPROVAL_REQUIRED", "exec.run", once_more);
        return;
    }
    eventually("an approved command ends", || {
        let result = agent.call("exec.result", json!({"execution_id": deed.execution}));
        result.is_ok_and(|result| result["status"] == "done")
    });
    assert_eq!(deed.ran(), 1, "{deed:#?}");
}

/// Nobody's request was answered twice.
fn check_audit(operator: &mut Client) {
    let audit = operator.ok("hitl.audit", json!({"limit": 200}));
    let mut answers: HashMap<String, u32> = HashMap::new();
    for entry in audit["entries"].as_array().unwrap() {
        if ["approved", "rejected", "expired", "cancelled"].contains(&entry["what"].as_str().unwrap()) {
            *answers.entry(entry["request_id"].to_string()).or_default() += 1;
        }
    }
    assert!(answers.values().all(|times| *times == 1), "answered twice: {answers:?}");
}

/// Once more, over all there ever was.
pub(crate) fn end(daemon: &Daemon, book: &mut Book) {
    for deed in &mut book.deeds {
        deed.age = OLD;
    }
    all(daemon, book);
    assert!(book.deeds.iter().all(|deed| deed.settled && deed.ran() <= 1));
    assert_eq!(daemon.operator().ok("hitl.list", json!({}))["requests"], json!([]));
}
