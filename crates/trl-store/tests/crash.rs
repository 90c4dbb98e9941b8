//! A process that writes is killed, over and over, at random moments and at every named place, on the same store.
//!
//! 1. The child says `try ...` before and `ack ...` after each step, and writes down each command it "runs".
//! 2. The parent reads that, kills it (or has it kill itself), opens the store and compares: what was acknowledged is there,
//!    what was tried is there whole or not at all, nothing ran twice, the file is sound.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use support::*;
use trl_proto::hitl::RequestState;
use trl_proto::id::{ExecutionId, RequestId, SessionId};
use trl_store::history::ExecutionStatus;
use trl_store::request::Mode;
use trl_store::run::{Claim, RunState};
use trl_store::{Durability, Store};
use trl_testkit::{Random, Rounds};

/// Writes of the child, in the names of their failpoints.
const STEPS: &[&str] =
    &["session", "request", "resolve", "claim_run", "begin", "finish", "finish_run", "take_grant"];

/// Rounds of the short tier. In each four of them, the child kills itself in both places of a step.
const ROUNDS: usize = 4 * STEPS.len();

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n@{text}").unwrap();
    out.flush().unwrap();
}

/// Not a test of its own: the process that is killed.
#[test]
fn child() {
    let Some(dir) = std::env::var_os("TRL_STORE_CRASH_DIR").map(PathBuf::from) else { return };
    run(async {
        let store = open(&dir.join("store"));
        store.ready().await.unwrap();
        for record in store.runs_to_begin().await.unwrap() {
            carry_out(&store, &dir, &record.request.request_id).await;
        }
        for n in 0.. {
            work(&store, &dir, n).await;
        }
    });
}

async fn work(store: &Store, dir: &Path, n: u64) {
    let id = SessionId::random();
    say(&format!("try session {id}"));
    store.put_session(clean(session(&id))).await.unwrap();
    say(&format!("ack session {id}"));

    let mode = if n.is_multiple_of(2) { Mode::Return } else { Mode::Wait };
    let new = request(&id, mode);
    let request_id = new.request.request_id.clone();
    say(&format!("try request {request_id}"));
    store.put_request(clean(new.clone())).await.unwrap();
    say(&format!("ack request {request_id}"));
    if n % 5 == 4 {
        return;
    }
    let state = if n % 3 == 2 { RequestState::Rejected } else { RequestState::Approved };
    say(&format!("try {state:?} {request_id}"));
    store.resolve(clean(answer(&new, state, NOW))).await.unwrap();
    say(&format!("ack {state:?} {request_id}"));
    if state == RequestState::Approved {
        carry_out(store, dir, &request_id).await;
    }
    store.take_grant(&id, "of nothing", NOW).await.unwrap();
}

async fn carry_out(store: &Store, dir: &Path, request: &RequestId) {
    let execution = ExecutionId::random();
    say(&format!("try claim {request}"));
    let claim = store.claim_run(request, &execution, NOW).await.unwrap();
    let Claim::Claimed(record) = claim else { panic!("{claim:?}") };
    say(&format!("ack claim {request}"));
    let mut new = support::execution(record.request.session_id.as_ref().unwrap(), &record.request.command);
    new.id = execution.clone();
    say(&format!("try begin {execution}"));
    let durability = if request.as_str() < "r-n" { Durability::Durable } else { Durability::Soon };
    store.begin_execution(clean(new), durability).await.unwrap();
    say(&format!("ack begin {execution}"));
    // This is the command being run.
    let mut ran = std::fs::OpenOptions::new().append(true).create(true).open(dir.join("ran")).unwrap();
    writeln!(ran, "{request}").unwrap();
    say(&format!("try finish {execution}"));
    store.finish_execution(clean(ended(&execution, "some output")), durability).await.unwrap();
    say(&format!("ack finish {execution}"));
    say(&format!("try end {request}"));
    store.finish_run(request, NOW).await.unwrap();
    say(&format!("ack end {request}"));
}

/// What the child said, by the thing it was about.
#[derive(Default)]
struct Said {
    tried: HashMap<String, HashSet<String>>,
    acked: HashMap<String, HashSet<String>>,
}

impl Said {
    fn note(&mut self, line: &str) {
        let Some(said) = line.strip_prefix('@') else { return };
        let mut words = said.split(' ');
        let (Some(kind), Some(step), Some(id)) = (words.next(), words.next(), words.next()) else { return };
        let of = if kind == "ack" { &mut self.acked } else { &mut self.tried };
        of.entry(id.into()).or_default().insert(step.into());
    }

    fn acked(&self, id: &str, step: &str) -> bool {
        self.acked.get(id).is_some_and(|steps| steps.contains(step))
    }

    fn tried(&self, id: &str, step: &str) -> bool {
        self.tried.get(id).is_some_and(|steps| steps.contains(step))
    }
}

fn start(dir: &Path, failpoint: Option<&str>) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env("TRL_STORE_CRASH_DIR", dir);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).env_remove("TRL_FAILPOINT");
    if let Some(name) = failpoint {
        command.env("TRL_FAILPOINT", name);
    }
    let mut child = command.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

fn one_round(dir: &Path, round: usize, random: &mut Random, said: &mut Said) {
    let place = ["written", "committed"][(round / 2) % 2];
    let name = format!("store.{}.{place}@{}", STEPS[(round / 4) % STEPS.len()], 1 + random.below(4));
    let failpoint = round.is_multiple_of(2).then_some(name.as_str());
    let (mut child, out) = start(dir, failpoint);
    let kill_after = 1 + random.below(60) as usize;
    for (n, line) in out.lines().map_while(Result::ok).enumerate() {
        said.note(&line);
        if failpoint.is_none() && n >= kill_after {
            // It goes on meanwhile: where it is when the signal comes is left to chance.
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "round {round} ({name})");
}

fn check(dir: &Path, said: &Said, round: usize) {
    run(async {
        let store = open(&dir.join("store"));
        let opened = store.ready().await.unwrap();
        assert_eq!(opened.rescued, None);
        let (tried, mut seen) = (said.tried.keys().chain(said.acked.keys()), HashSet::new());
        for id in tried.filter(|id| seen.insert((*id).clone())) {
            match id.as_bytes().first() {
                Some(b's') => check_session(&store, said, id).await,
                Some(b'r') => check_request(&store, said, id).await,
                _ => check_execution(&store, said, id).await,
            }
        }
        store.close().await;
    });
    let conn = rusqlite::Connection::open(dir.join("store/store.db")).unwrap();
    let sound: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok", "round {round}");
    let ran = std::fs::read_to_string(dir.join("ran")).unwrap_or_default();
    let mut once = HashSet::new();
    assert!(ran.lines().all(|id| once.insert(id)), "a command ran twice");
    assert!(ran.lines().all(|id| said.tried(id, "claim")));
}

async fn check_session(store: &Store, said: &Said, id: &str) {
    let there = store.session(&id.parse().unwrap()).await.unwrap().is_some();
    assert!(there || !said.acked(id, "session"), "{id} was lost");
}

async fn check_request(store: &Store, said: &Said, id: &str) {
    let request_id: RequestId = id.parse().unwrap();
    let Some(record) = store.request(&request_id).await.unwrap() else {
        return assert!(!said.acked(id, "request"), "{id} was lost");
    };
    let run = store.run_state(&request_id).await.unwrap();
    match record.request.state {
        RequestState::Pending => {
            assert!(!said.acked(id, "Approved") && !said.acked(id, "Rejected"), "{id} forgot its answer");
            assert_eq!(run, None);
        }
        RequestState::Approved => {
            assert!(said.tried(id, "Approved") && record.request.resolution.is_some());
            let run = run.unwrap();
            assert_ne!(run, RunState::Started, "{id} is not running");
            assert!(run != RunState::Approved || record.mode == Mode::Return);
            if said.acked(id, "claim") {
                assert!(matches!(run, RunState::Done | RunState::Unknown), "{id} could be run again");
            }
            assert!(run == RunState::Done || !said.acked(id, "end"));
        }
        state => assert!(state == RequestState::Rejected && said.tried(id, "Rejected") && run.is_none()),
    }
}

async fn check_execution(store: &Store, said: &Said, id: &str) {
    let Some(record) = store.execution(&id.parse().unwrap()).await.unwrap() else {
        return assert!(!said.acked(id, "begin"), "{id} was lost");
    };
    match record.status {
        ExecutionStatus::Done => assert!(said.tried(id, "finish") && record.ending.is_some()),
        ExecutionStatus::Unknown => assert!(!said.acked(id, "finish") && record.ending.is_none()),
        ExecutionStatus::Running => panic!("{id} is not running"),
    }
}

mod soak {
    use super::*;

    #[test]
    fn kills_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut random = Random::from_environment();
        let mut said = Said::default();
        for round in Rounds::new(ROUNDS) {
            one_round(dir.path(), round, &mut random, &mut said);
            check(dir.path(), &said, round);
        }
        println!("{} things were tried", said.tried.len());
    }
}
