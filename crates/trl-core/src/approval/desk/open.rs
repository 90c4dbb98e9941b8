//! A request that waits: made from a question, or found in the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use trl_proto::agent::{OptionKind, Permission};
use trl_proto::exec::Approval;
use trl_proto::hitl::{ApprovalBoundary, ApprovalRequest, RequestState, Scope, Segment, Verdict as Judged};
use trl_proto::{CheckpointId, Error, ExecutionId, RequestId, SessionId, TerminalId};
use trl_store::Moment;
use trl_store::redact::Redactor;
use trl_store::request::{Mode, NewRequest, RequestRecord, RunPlan};

use crate::approval::rules::Around;
use crate::approval::{Answer, Judgement, Question, Rules, Subject, denied};
use crate::clock::Stamp;
use crate::env::Env;

/// Everything a person is asked about, and who asks.
#[derive(Debug)]
pub struct Asking {
    pub request: RequestId,
    /// What its session's shell was like.
    pub checkpoint: Option<CheckpointId>,
    pub session: Option<SessionId>,
    pub terminal: Option<TerminalId>,
    pub execution: Option<ExecutionId>,
    pub session_name: Option<String>,
    pub owner: Arc<str>,
    pub origin: Arc<str>,
    pub command: String,
    pub working_dir: String,
    /// Of its workspace.
    pub root: String,
    pub boundary: ApprovalBoundary,
    pub question: Question,
    pub rules: Arc<Rules>,
    pub subject: Subject,
    /// Variables that come with it.
    pub env: Env,
    /// Neither variables nor input come with it. A request does not show those, so a yes from before counts only then.
    pub alone: bool,
    /// What is done while nobody has answered.
    pub mode: Approval,
    /// How to run it when the daemon that was asked is gone; None when only that daemon can.
    pub plan: Option<Plan>,
    /// Knows the secrets of whoever asks.
    pub redactor: Redactor,
    /// When an agent asks.
    pub permission: Option<Permission>,
}

/// What running a command later takes, beside its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub env: Env,
    pub working_dir: Option<String>,
    pub timeout_s: f64,
    /// Of a fresh process, which has no session to be run in: all that `exec.start` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<serde_json::Value>,
}

/// What the store keeps beside the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Beside {
    #[serde(default)]
    plan: Option<Plan>,
}

/// Where a request's command is.
#[derive(Debug)]
pub(super) enum Waits {
    /// Here, for this answer.
    Here(oneshot::Sender<Answer>),
    /// Nowhere: the daemon that asked is gone. With a plan it is run on a yes.
    Gone { plan: Option<Plan>, checkpoint: Option<CheckpointId>, redacted: bool },
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) request: ApprovalRequest,
    pub(super) owner: Arc<str>,
    /// Since when, and until when, on the clock that does not jump.
    pub(super) asked: Instant,
    pub(super) deadline: Instant,
    pub(super) rules: Option<Arc<Rules>>,
    /// None: the daemon that asked is gone.
    subject: Option<Subject>,
    env: Env,
    root: String,
    pub(super) waits: Waits,
    plan: Option<Plan>,
    checkpoint: Option<CheckpointId>,
    mode: Mode,
    pub(super) redactor: Redactor,
}

impl Open {
    pub(super) fn new(asking: Asking, answer: oneshot::Sender<Answer>) -> Self {
        let timeout = asking.rules.timeout();
        let mut request = ApprovalRequest {
            request_id: asking.request,
            digest: String::new(),
            session_id: asking.session,
            terminal_id: asking.terminal,
            session_name: asking.session_name,
            execution_id: asking.execution,
            case_id: asking.rules.case_id(),
            origin: asking.origin.to_string(),
            command: asking.command,
            scopes: match &asking.permission {
                Some(permission) => offered(permission),
                None => scopes(&asking.question.judgement),
            },
            permission: asking.permission,
            segments: asking.question.judgement.segments,
            working_dir: asking.working_dir,
            executables: asking.question.executables,
            runtime: "host".into(),
            created_at: Stamp::now().rfc3339(),
            expires_at: Stamp::in_future(timeout).rfc3339(),
            state: RequestState::Pending,
            approval_boundary: asking.boundary,
            resolution: None,
        };
        request.digest = digest(&request);
        let mode = match (asking.mode, &asking.plan) {
            (Approval::Return, Some(_)) => Mode::Return,
            _ => Mode::Wait,
        };
        let asked = Instant::now();
        Self {
            request,
            owner: asking.owner,
            asked,
            deadline: asked + timeout,
            rules: Some(asking.rules),
            subject: Some(asking.subject),
            env: asking.env,
            root: asking.root,
            waits: Waits::Here(answer),
            plan: asking.plan,
            checkpoint: asking.checkpoint,
            mode,
            redactor: asking.redactor,
        }
    }

    /// One that an earlier daemon was asked.
    pub(super) fn found(record: RequestRecord) -> Self {
        let owner = owner_of(&record);
        let beside: Beside = serde_json::from_value(record.plan.what).unwrap_or_default();
        let left = record.expires_at.millis().saturating_sub(Moment::now().millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        let asked = Instant::now();
        let plan = beside.plan.filter(|_| record.mode == Mode::Return);
        let checkpoint = record.checkpoint_id.and_then(|id| id.parse().ok());
        Self {
            request: record.request,
            owner,
            asked,
            deadline: asked + left.min(trl_proto::LONGEST),
            rules: None,
            subject: None,
            env: Env::default(),
            root: String::new(),
            waits: Waits::Gone { plan, checkpoint, redacted: record.plan.redacted },
            plan: None,
            checkpoint: None,
            mode: record.mode,
            redactor: Redactor::default(),
        }
    }

    /// The state its command is to begin from.
    pub(super) fn checkpoint(&self) -> Option<&CheckpointId> {
        match &self.waits {
            Waits::Here(_) => self.checkpoint.as_ref(),
            Waits::Gone { checkpoint, .. } => checkpoint.as_ref(),
        }
    }

    /// What is to be done, for the log.
    pub(super) fn action(&self) -> &'static str {
        match self.subject {
            Some(Subject::Write(_)) => "fs.write",
            Some(Subject::Permission) => "agent.permission",
            _ => "exec",
        }
    }

    /// As the store keeps it.
    pub(super) fn to_keep(&self) -> Result<NewRequest, Error> {
        let beside = Beside { plan: self.plan.clone() };
        let what = serde_json::to_value(beside).map_err(|e| Error::internal(e.to_string()))?;
        Ok(NewRequest {
            request: self.request.clone(),
            mode: self.mode,
            checkpoint_id: self.checkpoint.as_ref().map(ToString::to_string),
            plan: RunPlan { owner: self.owner.to_string(), what, secrets: Vec::new(), redacted: false },
        })
    }

    /// What a person wrote in place of the command is judged like any other.
    pub(super) fn check_edit(&self, command: &str) -> Result<(), Error> {
        let (Some(Subject::Text(_)), Some(judgement)) = (&self.subject, self.judge(command)) else {
            return Err(Error::invalid("this command cannot be edited").hint("reject it, and say why"));
        };
        if judgement.verdict == Judged::Deny { Err(denied(&judgement)) } else { Ok(()) }
    }

    /// What the rules say of it now; None when the daemon that knew them is gone.
    pub(super) fn judge(&self, command: &str) -> Option<Judgement> {
        let around = Around { cwd: &self.request.working_dir, root: &self.root, env: &self.env };
        Some(self.rules.as_ref()?.judge_subject(self.subject.as_ref()?, around, command))
    }

    /// A rule for a session that is not open has nowhere to be.
    pub(super) fn check_scope(&self, scope: Option<Scope>) -> Result<(), Error> {
        if self.rules.is_none() && !matches!(scope, None | Some(Scope::Once)) {
            return Err(Error::invalid("the daemon that asked is gone: this one can only be approved once"));
        }
        Ok(())
    }
}

/// Whose request a record is.
pub(super) fn owner_of(record: &RequestRecord) -> Arc<str> {
    record.plan.owner.as_str().into()
}

/// How far a yes may reach: a part without a safe prefix can only be approved as it stands.
fn scopes(judgement: &Judgement) -> Vec<Scope> {
    let asked = |s: &&Segment| s.verdict == Judged::Ask;
    let reusable = judgement.segments.iter().filter(asked).all(|s| s.would_allow.is_some());
    if reusable && !judgement.segments.is_empty() {
        vec![Scope::Once, Scope::Session, Scope::Always]
    } else {
        vec![Scope::Once]
    }
}

/// How far a yes may reach that the agent itself remembers.
fn offered(permission: &Permission) -> Vec<Scope> {
    let has = |kind| permission.options.iter().any(|option| option.kind == kind);
    let lasting = has(OptionKind::AllowAlways).then_some(Scope::Session);
    [Scope::Once].into_iter().chain(lasting).collect()
}

/// Stands for everything a person sees before saying yes. The same command asked about again is the same.
fn digest(request: &ApprovalRequest) -> String {
    let seen = serde_json::json!([
        request.session_id,
        request.terminal_id,
        request.command,
        request.segments,
        request.working_dir,
        request.executables,
        request.runtime,
        request.approval_boundary,
    ]);
    let hash = Sha256::digest(seen.to_string().as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
