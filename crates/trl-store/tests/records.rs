//! What is written is read back, now and after the store was closed and opened again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use support::*;
use trl_proto::hitl::RequestState;
use trl_proto::id::{ExecutionId, SessionId};
use trl_store::audit::AuditQuery;
use trl_store::grant::{GrantKind, NewGrant};
use trl_store::history::ExecutionStatus;
use trl_store::keys::{KeyClaim, KeyRecord};
use trl_store::redact::Redactor;
use trl_store::request::Mode;
use trl_store::resolve::{Next, Resolved};
use trl_store::retention::Retention;
use trl_store::run::{Claim, RunState};
use trl_store::search::HistoryQuery;
use trl_store::session::{SessionQuery, SessionUpdate, StoredState};
use trl_store::trust::TrustPin;
use trl_store::{Durability, StoreError};

#[test]
fn sessions_are_kept_listed_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let ids: Vec<SessionId> = (0..5).map(|_| SessionId::random()).collect();
        for (n, id) in ids.iter().enumerate() {
            let mut record = session(id);
            record.last_activity = NOW.after(Duration::from_secs(n as u64));
            record.spec.labels = BTreeMap::from([("n".to_string(), n.to_string())]);
            store.put_session(clean(record)).await.unwrap();
        }
        let update = SessionUpdate {
            id: ids[0].clone(),
            state: StoredState::Closed,
            last_activity: NOW.after(Duration::from_secs(9)),
            command_count: 7,
            working_dir: "/src".into(),
            closed_reason: Some("idle".into()),
        };
        assert!(store.update_session(clean(update), Durability::Soon).await.unwrap());
        store.close().await;

        let store = open(dir.path());
        assert!(!store.ready().await.unwrap().unclean);
        let read = store.session(&ids[0]).await.unwrap().unwrap();
        assert_eq!((read.state, read.command_count), (StoredState::Closed, 7));
        assert_eq!(read.spec.shell.as_deref(), Some("/bin/bash"));
        assert_eq!(read.spec.working_dir.as_deref(), Some("/src"));
        let open = SessionQuery { without: Some(StoredState::Closed), ..SessionQuery::default() };
        assert_eq!(store.sessions(open).await.unwrap().len(), 4);
        let page = SessionQuery { limit: Some(2), ..SessionQuery::default() };
        let first = store.sessions(page.clone()).await.unwrap();
        assert_eq!(first.iter().map(|r| &r.id).collect::<Vec<_>>(), [&ids[0], &ids[4]]);
        let after = first.last().map(|r| (r.last_activity, r.id.clone()));
        let second = store.sessions(SessionQuery { after, ..page }).await.unwrap();
        assert_eq!(second.iter().map(|r| &r.id).collect::<Vec<_>>(), [&ids[3], &ids[2]]);
        let labelled =
            SessionQuery { label: Some(("n".into(), Some("3".into()))), ..SessionQuery::default() };
        assert_eq!(store.sessions(labelled).await.unwrap()[0].id, ids[3]);
        assert!(store.delete_session(&ids[3]).await.unwrap());
        assert!(!store.delete_session(&ids[3]).await.unwrap());
        assert_eq!(store.session(&ids[3]).await.unwrap(), None);
        store.close().await;
    });
}

#[test]
fn history_is_paged_searched_and_pruned() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let (a, b) = (SessionId::random(), SessionId::random());
        let mut ids = Vec::new();
        for n in 0..30 {
            let of = if n % 3 == 0 { &b } else { &a };
            let new = execution(of, &format!("cargo test --package crate{n} \"quoted\""));
            ids.push(new.id.clone());
            drop(store.begin_execution(clean(new), Durability::Soon));
            drop(store.finish_execution(
                clean(ended(&ids[n], &format!("línea {n} src/main.rs"))),
                Durability::Soon,
            ));
        }
        let of_a = HistoryQuery { session_id: Some(a.clone()), limit: Some(15), ..HistoryQuery::default() };
        let first = store.history(of_a.clone()).await.unwrap();
        assert_eq!(first.len(), 15);
        assert_eq!(first[0].id, ids[29]);
        assert_eq!(first[0].status, ExecutionStatus::Done);
        let before = first.last().map(|r| r.seq);
        let owned = |owner: &str| HistoryQuery { owner: Some(owner.into()), before, ..of_a.clone() };
        assert_eq!(store.history(owned("agent")).await.unwrap().len(), 5);
        assert_eq!(store.history(owned("another")).await.unwrap().len(), 0);
        assert_eq!(store.history(HistoryQuery { before, ..of_a }).await.unwrap().len(), 5);
        let search = async |session: Option<&SessionId>, text: &str| {
            let text = Some(text.to_string());
            let query = HistoryQuery { session_id: session.cloned(), text, ..HistoryQuery::default() };
            store.history(query).await.unwrap().len()
        };
        assert_eq!(search(None, "crate7").await, 1);
        assert_eq!(search(None, "crate1").await, 11);
        assert_eq!(search(Some(&a), "crate7").await, 1);
        assert_eq!(search(Some(&b), "crate7").await, 0);
        assert_eq!(search(None, "linea 12").await, 1);
        assert_eq!(search(None, "src/mai").await, 30);
        assert_eq!(search(None, "car te").await, 30);
        assert_eq!(search(None, "\"quoted\"").await, 30);
        assert_eq!(search(None, "--").await, 30);
        assert_eq!(search(None, a.as_str().strip_prefix("s-").unwrap()).await, 0, "ids are no words");
        for hostile in ["\"", "* OR", "NEAR(", "command:", "a\0b", "{x}", "(", "^a", "'; DROP TABLE x"] {
            search(None, hostile).await;
        }
        let bytes = store.history_bytes().await.unwrap();
        let keep = Retention { max_bytes: Some(bytes / 2), ..Retention::default() };
        let pruned = store.prune(NOW, keep).await.unwrap();
        assert!((14..=17).contains(&pruned.executions), "{pruned:?}");
        assert!(store.history_bytes().await.unwrap() <= bytes / 2);
        assert_eq!(search(None, "crate29").await, 1);
        assert_eq!(search(None, "crate3").await, 0);
        let keep = Retention { max_age: Some(Duration::from_secs(5)), ..Retention::default() };
        store.prune(NOW.after(Duration::from_secs(60)), keep).await.unwrap();
        assert_eq!(store.history_bytes().await.unwrap(), 0);
        assert_eq!(search(None, "cargo").await, 0);
        store.close().await;
    });
}

#[test]
fn a_request_is_answered_once_and_run_once() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let id = SessionId::random();
        let new = request(&id, Mode::Return);
        store.put_request(clean(new.clone())).await.unwrap();
        let again = store.put_request(clean(new.clone())).await;
        assert!(matches!(again, Err(StoreError::Exists(_))));
        assert_eq!(store.pending_requests().await.unwrap().len(), 1);
        let mut wrong = answer(&new, RequestState::Approved, NOW);
        wrong.digest = Some("other".into());
        assert!(matches!(store.resolve(clean(wrong)).await.unwrap(), Resolved::DigestMismatch(_)));
        let execution = ExecutionId::random();
        let claim = || store.claim_run(&new.request.request_id, &execution, NOW);
        assert_eq!(claim().await.unwrap(), Claim::NotFound);
        let yes = store.resolve(clean(answer(&new, RequestState::Approved, NOW))).await.unwrap();
        assert!(matches!(yes, Resolved::Done { next: Next::Run, .. }), "{yes:?}");
        let no = store.resolve(clean(answer(&new, RequestState::Rejected, NOW))).await.unwrap();
        let Resolved::Already(record) = no else { panic!("{no:?}") };
        assert_eq!(record.request.state, RequestState::Approved);
        assert_eq!(record.request.resolution.unwrap().by.as_deref(), Some("operator"));
        assert_eq!(store.runs_to_begin().await.unwrap().len(), 1);
        assert!(matches!(claim().await.unwrap(), Claim::Claimed(_)));
        assert_eq!(claim().await.unwrap(), Claim::Taken(RunState::Started));
        assert!(store.finish_run(&new.request.request_id, NOW).await.unwrap());
        assert_eq!(claim().await.unwrap(), Claim::Taken(RunState::Done));
        let log =
            store.audit_log(AuditQuery { session_id: Some(id), ..AuditQuery::default() }).await.unwrap();
        let what: Vec<&str> = log.iter().rev().map(|line| line.entry.what.as_str()).collect();
        assert_eq!(what, ["request.created", "request.approved", "run.started"]);
        assert_eq!(log[1].entry.who, "operator");
        store.close().await;
    });
}

#[test]
fn what_was_said_yes_to_before_is_used_up_and_all_else_is_put_on_record() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let id = SessionId::random();
        let (first, second) = (request(&id, Mode::Wait), request(&id, Mode::Wait));
        let kind = GrantKind::Once { digest: first.request.digest.clone() };
        let grant = NewGrant { session_id: id.clone(), kind, expires_at: None };
        let key = store.add_grant(clean(grant), NOW).await.unwrap();
        let taken = store.take_grant_or_put_request(clean(first), NOW).await.unwrap();
        assert_eq!(taken.map(|grant| grant.id), Some(key));
        assert!(store.pending_requests().await.unwrap().is_empty(), "nobody is asked");
        assert_eq!(store.take_grant_or_put_request(clean(second.clone()), NOW).await.unwrap(), None);
        let pending = store.pending_requests().await.unwrap();
        assert_eq!(pending[0].request.request_id, second.request.request_id);
        store.close().await;
    });
}

#[test]
fn a_late_answer_finds_it_expired() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let (new, other) =
            (request(&SessionId::random(), Mode::Wait), request(&SessionId::random(), Mode::Wait));
        store.put_request(clean(new.clone())).await.unwrap();
        store.put_request(clean(other.clone())).await.unwrap();
        let late = NOW.after(Duration::from_secs(1800));
        for _ in 0..2 {
            let said = store.resolve(clean(answer(&new, RequestState::Approved, late))).await.unwrap();
            assert!(matches!(said, Resolved::Expired(_)), "{said:?}");
        }
        let expired = store.expire_requests(late).await.unwrap();
        assert_eq!(expired.len(), 1);
        assert_eq!(expired[0].request.request_id, other.request.request_id);
        assert!(store.pending_requests().await.unwrap().is_empty());
        let third = request(&SessionId::random(), Mode::Wait);
        store.put_request(clean(third.clone())).await.unwrap();
        let gone = store
            .cancel_requests(third.request.session_id.as_ref().unwrap(), "the session was closed", NOW)
            .await
            .unwrap();
        assert_eq!(gone[0].request.state, RequestState::Cancelled);
        let unknown = request(&SessionId::random(), Mode::Wait);
        let said = store.resolve(clean(answer(&unknown, RequestState::Approved, NOW))).await.unwrap();
        assert_eq!(said, Resolved::NotFound);
        store.close().await;
    });
}

#[test]
fn trust_and_keys_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let pin = TrustPin {
            path: "/w/cases/x.yaml".into(),
            case_id: "x".into(),
            digest: "d1".into(),
            by: "operator".into(),
            at: NOW,
        };
        store.trust_case(pin.clone()).await.unwrap();
        let pin = TrustPin { digest: "d2".into(), ..pin };
        store.trust_case(pin.clone()).await.unwrap();
        assert_eq!(store.trusted_cases().await.unwrap(), std::slice::from_ref(&pin));
        assert!(store.distrust_case(&pin.path, "operator", NOW).await.unwrap());
        let key = KeyRecord {
            caller: "agent".into(),
            key: "k".into(),
            print: "p".into(),
            execution_id: ExecutionId::random(),
            at: NOW,
        };
        assert_eq!(store.claim_key(key.clone(), Durability::Durable).await.unwrap(), KeyClaim::Ours);
        let second = KeyRecord { execution_id: ExecutionId::random(), ..key.clone() };
        assert_eq!(store.claim_key(second, Durability::Soon).await.unwrap(), KeyClaim::Known(key.clone()));
        assert!(store.release_key(key).await.unwrap());
        store.close().await;
    });
}

#[test]
fn secrets_are_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let secret = "hunter2-Tr0ub4dor";
    let redactor = Redactor::new([secret]);
    run(async {
        let store = open(dir.path());
        let id = SessionId::random();
        let mut record = session(&id);
        record.spec.env = BTreeMap::from([
            ("PLAIN".to_string(), "kept-as-it-is".to_string()),
            ("HIDDEN".to_string(), format!("x{secret}")),
            ("DB_PASSWORD".to_string(), "only-by-its-name".to_string()),
        ]);
        let record = redactor.clean(record);
        assert_eq!(record.spec.secret_names, ["DB_PASSWORD", "HIDDEN"]);
        store.put_session(record).await.unwrap();
        let mut asked = request(&id, Mode::Return);
        asked.request.command = format!("curl -H 'X: {secret}'");
        asked.request.segments[0].text.clone_from(&asked.request.command);
        asked.plan.what = serde_json::json!({ "command": asked.request.command });
        let asked = redactor.clean(asked);
        assert!(asked.plan.redacted);
        assert_eq!(asked.request.segments[0].at, None);
        store.put_request(asked).await.unwrap();
        let new = execution(&id, &format!("echo {secret}"));
        let end = ended(&new.id, &format!("{secret}\n"));
        store.begin_execution(redactor.clean(new), Durability::Soon).await.unwrap();
        store.finish_execution(redactor.clean(end), Durability::Soon).await.unwrap();
        let plain = HistoryQuery { text: Some("hunter2".into()), ..HistoryQuery::default() };
        assert!(store.history(plain).await.unwrap().is_empty());
        let mut kept = false;
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!has(secret) && !has("Tr0ub4dor") && !has("tr0ub4dor") && !has("only-by-its-name"));
            kept |= has("kept-as-it-is");
        }
        assert!(kept, "the files were looked at");
        store.close().await;
    });
}

#[test]
fn terminated_sessions_go_with_their_history_and_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let ids: Vec<SessionId> = (0..4).map(|_| SessionId::random()).collect();
        let states =
            [StoredState::Terminated, StoredState::Terminated, StoredState::Closed, StoredState::Ready];
        for (id, state) in ids.iter().zip(states) {
            let mut record = session(id);
            record.state = state;
            store.put_session(clean(record)).await.unwrap();
        }
        let late = NOW.after(Duration::from_secs(7200));
        let mut recent = execution(&ids[1], "true");
        recent.started_at = late;
        let end = ended(&recent.id, "");
        store.begin_execution(clean(recent), Durability::Durable).await.unwrap();
        store.finish_execution(clean(end), Durability::Durable).await.unwrap();
        let keep = Retention { max_age: Some(Duration::from_secs(3600)), ..Retention::default() };
        let left = async || {
            let all = store.sessions(SessionQuery::default()).await.unwrap();
            ids.iter().map(|id| all.iter().any(|record| record.id == *id)).collect::<Vec<_>>()
        };
        assert_eq!(store.prune(NOW, keep).await.unwrap().sessions, 0);
        assert_eq!(store.prune(late, keep).await.unwrap().sessions, 1);
        assert_eq!(left().await, [false, true, true, true], "its history is younger");
        assert_eq!(store.prune(late.after(Duration::from_secs(7200)), keep).await.unwrap().sessions, 1);
        assert_eq!(left().await, [false, false, true, true]);
        store.close().await;
    });
}
