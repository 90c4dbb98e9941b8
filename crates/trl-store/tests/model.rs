//! Requests, runs and grants against a model in memory: any order of operations, the same answers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use support::*;
use trl_proto::hitl::RequestState;
use trl_proto::id::{ExecutionId, SessionId};
use trl_store::grant::{GrantKind, NewGrant};
use trl_store::request::{Mode, NewRequest};
use trl_store::resolve::{Next, Resolved};
use trl_store::run::{Claim, RunState};
use trl_store::{Moment, Store};

const SLOTS: usize = 4;

#[derive(Debug, Clone)]
enum Op {
    Ask { slot: usize, mode: bool },
    Answer { slot: usize, yes: bool, right: bool },
    Cancel { slot: usize },
    Expire,
    Claim { slot: usize },
    Finish { slot: usize },
    Grant { slot: usize, seconds: u64 },
    Take { slot: usize },
    Wait { seconds: u64 },
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let slot = 0..SLOTS;
    prop_oneof![
        4 => (slot.clone(), any::<bool>()).prop_map(|(slot, mode)| Op::Ask { slot, mode }),
        6 => (slot.clone(), any::<bool>(), prop::bool::weighted(0.8))
            .prop_map(|(slot, yes, right)| Op::Answer { slot, yes, right }),
        1 => slot.clone().prop_map(|slot| Op::Cancel { slot }),
        1 => Just(Op::Expire),
        4 => slot.clone().prop_map(|slot| Op::Claim { slot }),
        2 => slot.clone().prop_map(|slot| Op::Finish { slot }),
        2 => (slot.clone(), 1..2000u64).prop_map(|(slot, seconds)| Op::Grant { slot, seconds }),
        4 => slot.prop_map(|slot| Op::Take { slot }),
        2 => (0..1500u64).prop_map(|seconds| Op::Wait { seconds }),
        1 => Just(Op::Reopen),
    ]
}

/// One request, as the model has it.
struct Asked {
    new: NewRequest,
    state: RequestState,
    orphan: bool,
    run: Option<RunState>,
    expires: Moment,
}

struct Model {
    now: Moment,
    sessions: Vec<SessionId>,
    asked: HashMap<usize, Asked>,
    /// When each one-shot grant of a slot ends.
    grants: HashMap<usize, Vec<Moment>>,
}

impl Model {
    fn answer(&mut self, slot: usize, yes: bool, right: bool) -> (&'static str, Option<Next>) {
        let Some(asked) = self.asked.get_mut(&slot) else { return ("not found", None) };
        match asked.state {
            RequestState::Pending => {}
            RequestState::Expired => return ("expired", None),
            _ => return ("already", None),
        }
        if asked.expires <= self.now {
            asked.state = RequestState::Expired;
            return ("expired", None);
        }
        if !right {
            return ("mismatch", None);
        }
        asked.state = if yes { RequestState::Approved } else { RequestState::Rejected };
        let next = match (yes, asked.orphan) {
            (false, _) => Next::Nothing,
            (true, true) => {
                self.grants.entry(slot).or_default().push(asked.expires);
                Next::Granted
            }
            (true, false) => {
                asked.run = Some(RunState::Approved);
                Next::Run
            }
        };
        ("done", Some(next))
    }

    fn take(&mut self, slot: usize) -> bool {
        let grants = self.grants.entry(slot).or_default();
        let found = grants.iter().position(|ends| *ends > self.now);
        found.map(|at| grants.remove(at)).is_some()
    }

    fn reopen(&mut self) {
        for (slot, asked) in &mut self.asked {
            let waits = asked.new.mode == Mode::Wait;
            asked.orphan |= waits && asked.state == RequestState::Pending;
            match asked.run {
                Some(RunState::Started) => asked.run = Some(RunState::Unknown),
                Some(RunState::Approved) if waits => {
                    asked.run = Some(RunState::Granted);
                    self.grants.entry(*slot).or_default().push(asked.expires);
                }
                _ => {}
            }
        }
    }
}

fn said(resolved: &Resolved) -> (&'static str, Option<Next>) {
    match resolved {
        Resolved::Done { next, .. } => ("done", Some(*next)),
        Resolved::Already(_) => ("already", None),
        Resolved::Expired(_) => ("expired", None),
        Resolved::DigestMismatch(_) => ("mismatch", None),
        Resolved::NotFound => ("not found", None),
    }
}

async fn step(store: &mut Store, dir: &std::path::Path, model: &mut Model, op: Op) {
    match op {
        Op::Ask { slot, mode } => {
            let mut new = request(&model.sessions[slot], if mode { Mode::Wait } else { Mode::Return });
            let expires = model.now.after(Duration::from_secs(1000));
            new.request.expires_at = expires.rfc3339();
            store.put_request(clean(new.clone())).await.unwrap();
            let asked = Asked { new, state: RequestState::Pending, orphan: false, run: None, expires };
            // One that was asked before stays in the store; the model only follows the newest of a slot, so it is settled first.
            if let Some(old) = model.asked.insert(slot, asked) {
                let mut no = answer(&old.new, RequestState::Cancelled, model.now);
                no.digest = None;
                store.resolve(clean(no)).await.unwrap();
                if old.run == Some(RunState::Approved) {
                    let execution = ExecutionId::random();
                    store.claim_run(&old.new.request.request_id, &execution, model.now).await.unwrap();
                }
            }
        }
        Op::Answer { slot, yes, right } => {
            let unknown = request(&model.sessions[slot], Mode::Wait);
            let new = model.asked.get(&slot).map_or(unknown, |asked| asked.new.clone());
            let state = if yes { RequestState::Approved } else { RequestState::Rejected };
            let mut given = answer(&new, state, model.now);
            if !right {
                given.digest = Some("another".into());
            }
            let resolved = store.resolve(clean(given)).await.unwrap();
            assert_eq!(said(&resolved), model.answer(slot, yes, right));
        }
        Op::Cancel { slot } => {
            let gone = store.cancel_requests(&model.sessions[slot], "over", model.now).await.unwrap().len();
            let pending = model.asked.get_mut(&slot).filter(|asked| asked.state == RequestState::Pending);
            assert_eq!(gone, usize::from(pending.is_some()));
            if let Some(asked) = pending {
                asked.state = RequestState::Cancelled;
            }
        }
        Op::Expire => {
            let mut expected = 0;
            for asked in model.asked.values_mut() {
                if asked.state == RequestState::Pending && asked.expires <= model.now {
                    asked.state = RequestState::Expired;
                    expected += 1;
                }
            }
            assert_eq!(store.expire_requests(model.now).await.unwrap().len(), expected);
        }
        Op::Claim { slot } => {
            let Some(asked) = model.asked.get_mut(&slot) else { return };
            let id = asked.new.request.request_id.clone();
            let claim = store.claim_run(&id, &ExecutionId::random(), model.now).await.unwrap();
            match asked.run {
                None => assert_eq!(claim, Claim::NotFound),
                Some(RunState::Approved) => {
                    assert!(matches!(claim, Claim::Claimed(_)));
                    asked.run = Some(RunState::Started);
                }
                Some(state) => assert_eq!(claim, Claim::Taken(state)),
            }
        }
        Op::Finish { slot } => {
            let Some(asked) = model.asked.get_mut(&slot) else { return };
            let done = store.finish_run(&asked.new.request.request_id, model.now).await.unwrap();
            assert_eq!(done, asked.run == Some(RunState::Started));
            if done {
                asked.run = Some(RunState::Done);
            }
        }
        Op::Grant { slot, seconds } => {
            let expires_at = model.now.after(Duration::from_secs(seconds));
            let session_id = model.sessions[slot].clone();
            let kind = GrantKind::Once { digest: format!("digest of {session_id}") };
            let new = NewGrant { session_id, kind, expires_at: Some(expires_at) };
            store.add_grant(clean(new), model.now).await.unwrap();
            model.grants.entry(slot).or_default().push(expires_at);
        }
        Op::Take { slot } => {
            let session = model.sessions[slot].clone();
            let digest = format!("digest of {session}");
            let taken = store.take_grant(&session, &digest, model.now).await.unwrap().is_some();
            assert_eq!(taken, model.take(slot));
        }
        Op::Wait { seconds } => model.now = model.now.after(Duration::from_secs(seconds)),
        Op::Reopen => {
            store.close().await;
            *store = open(dir);
            store.ready().await.unwrap();
            model.reopen();
        }
    }
}

async fn compare(store: &Store, model: &Model) {
    for asked in model.asked.values() {
        let id = &asked.new.request.request_id;
        let record = store.request(id).await.unwrap().unwrap();
        assert_eq!((record.request.state, record.orphan), (asked.state, asked.orphan));
        assert_eq!(store.run_state(id).await.unwrap(), asked.run);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_answers_as_the_model(ops in prop::collection::vec(op(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let mut store = open(dir.path());
            // The store's clock is the real one when it is opened: times here begin well after it.
            let now = Moment::now().after(Duration::from_secs(86_400));
            let sessions = (0..SLOTS).map(|_| SessionId::random()).collect();
            let mut model = Model { now, sessions, asked: HashMap::new(), grants: HashMap::new() };
            for op in ops {
                step(&mut store, dir.path(), &mut model, op).await;
                compare(&store, &model).await;
            }
            store.close().await;
        });
    }
}

#[test]
fn of_many_answers_and_claims_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let store = open(dir.path());
        let new = request(&SessionId::random(), Mode::Wait);
        store.put_request(clean(new.clone())).await.unwrap();
        let answers: Vec<_> =
            (0..50).map(|_| store.resolve(clean(answer(&new, RequestState::Approved, NOW)))).collect();
        let mut won = 0;
        for answer in answers {
            won += usize::from(matches!(answer.await.unwrap(), Resolved::Done { .. }));
        }
        assert_eq!(won, 1);
        let id = &new.request.request_id;
        let claims: Vec<_> = (0..50).map(|_| store.claim_run(id, &ExecutionId::random(), NOW)).collect();
        let mut won = 0;
        for claim in claims {
            won += usize::from(matches!(claim.await.unwrap(), Claim::Claimed(_)));
        }
        assert_eq!(won, 1);
        store.close().await;
    });
}
