//! Records for the tests, and a store in a directory of its own.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use trl_proto::hitl::{ApprovalBoundary, ApprovalRequest, RequestState, Resolution, Scope, Segment, Verdict};
use trl_proto::id::{ExecutionId, RequestId, SessionId};
use trl_store::history::{EndedExecution, Ending, NewExecution};
use trl_store::redact::{Clean, Excerpt, Redactor};
use trl_store::request::{Mode, NewRequest, RunPlan};
use trl_store::resolve::Answer;
use trl_store::session::{SessionRecord, SessionSpec, StoredState};
use trl_store::{Moment, Options, Store};

pub(crate) const NOW: Moment = Moment::from_millis(1_800_000_000_000);

pub(crate) fn open(dir: &Path) -> Store {
    Store::open(dir, Options::default()).unwrap()
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

pub(crate) fn clean<T: trl_store::redact::Redact>(record: T) -> Clean<T> {
    Redactor::default().clean(record)
}

pub(crate) fn session(id: &SessionId) -> SessionRecord {
    SessionRecord {
        id: id.clone(),
        name: Some("build".into()),
        case_id: None,
        case_digest: None,
        workspace_id: None,
        owner: "agent".into(),
        state: StoredState::Ready,
        spec: SessionSpec { shell: Some("/bin/bash".into()), ..SessionSpec::default() },
        created_at: NOW,
        last_activity: NOW,
        command_count: 0,
        closed_reason: None,
    }
}

pub(crate) fn request(session: &SessionId, mode: Mode) -> NewRequest {
    let request = ApprovalRequest {
        request_id: RequestId::random(),
        digest: format!("digest of {session}"),
        session_id: Some(session.clone()),
        terminal_id: None,
        executables: Vec::new(),
        session_name: None,
        execution_id: Some(ExecutionId::random()),
        case_id: None,
        origin: "agent".into(),
        command: "git push".into(),
        segments: vec![Segment {
            text: "git push".into(),
            at: Some(trl_proto::exec::Range { from: 0, to: 8 }),
            verdict: Verdict::Ask,
            rule: None,
            reason: None,
            would_allow: Some("git push".into()),
            parts: Vec::new(),
        }],
        working_dir: "/src".into(),
        runtime: "host".into(),
        created_at: NOW.rfc3339(),
        expires_at: NOW.after(Duration::from_secs(1800)).rfc3339(),
        state: RequestState::Pending,
        approval_boundary: ApprovalBoundary::Advisory,
        scopes: vec![Scope::Once],
        permission: None,
        resolution: None,
    };
    let plan = RunPlan { what: json!({"command": "git push"}), ..RunPlan::default() };
    NewRequest { request, mode, checkpoint_id: None, plan }
}

pub(crate) fn answer(new: &NewRequest, state: RequestState, now: Moment) -> Answer {
    Answer {
        request_id: new.request.request_id.clone(),
        digest: Some(new.request.digest.clone()),
        state,
        resolution: Resolution {
            resolved_at: now.rfc3339(),
            by: Some("operator".into()),
            scope: None,
            command: None,
            reason: None,
        },
        plan: None,
        grants: Vec::new(),
        claim: None,
        now,
    }
}

pub(crate) fn execution(session: &SessionId, command: &str) -> NewExecution {
    NewExecution {
        id: ExecutionId::random(),
        session_id: session.clone(),
        owner: "agent".into(),
        request_id: None,
        command: command.into(),
        working_dir: "/src".into(),
        started_at: NOW,
    }
}

pub(crate) fn ended(id: &ExecutionId, output: &str) -> EndedExecution {
    let stdout = Excerpt { head: output.into(), tail: String::new(), bytes: output.len() as u64 };
    let ending = Ending { stdout, ..Ending::default() };
    EndedExecution { id: id.clone(), exit_code: 0, duration_ms: 5, ending }
}
