//! The desk: requests that wait for a person, and those that were settled.
//!
//! 1. [`Desk::ask`] puts a request on record, then tells people. What is not on record is not announced.
//! 2. [`Desk::respond`] takes the first answer, puts it on record, and tells the command that waits. Answers are taken one
//!    after the other; whoever comes second hears what the first one said.
//! 3. [`Desk::tend`] settles what nobody answered in time, [`Desk::withdraw`] what nobody waits for any more.
//!
//! ```text
//!  asked ─▶ recorded ─▶ announced ─▶ approved | rejected | expired | cancelled ─▶ recorded ─▶ told
//! ```

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sha2::{Digest, Sha256};
use tokio::sync::{Notify, oneshot};
use trl_proto::event::Happening;
use trl_proto::exec::Approval;
use trl_proto::hitl::{
    ApprovalBoundary, ApprovalRequest, AuditEntry, AuditParams, Decision, RequestListParams, RequestState,
    Resolution, RespondParams, Scope, Verdict as Judged,
};
use trl_proto::{Error, ErrorCode, ExecutionId, RequestId, SessionId, TerminalId};

use super::rules::At;
use super::{Answer, Asked, Judgement, Question, Rules, denied};
use crate::clock::Stamp;
use crate::env::Env;
use crate::events::Events;
use crate::shell::Kind;

/// Settled requests remembered in memory.
const MOST_SETTLED: usize = 1000;
/// Decisions remembered in memory.
const MOST_AUDITED: usize = 1000;
/// Requests that may wait at once; more are a mistake, or an attack on people's patience.
const MOST_OPEN: usize = 4096;

#[derive(Debug)]
pub struct Desk {
    events: Arc<Events>,
    inner: Mutex<Inner>,
    /// Answers are taken one at a time.
    answering: tokio::sync::Mutex<()>,
    /// A request was settled.
    settled: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    open: HashMap<RequestId, Open>,
    /// Oldest first.
    settled: VecDeque<(Arc<str>, ApprovalRequest)>,
    audit: VecDeque<AuditEntry>,
    audited: u64,
}

/// Everything a person is asked about, and who asks.
#[derive(Debug)]
pub struct Asking {
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
    /// The shell that reads the command; none for a program and its arguments, which cannot be edited.
    pub shell: Option<Kind>,
    /// What is done while nobody has answered.
    pub mode: Approval,
}

/// A request that waits.
#[derive(Debug)]
struct Open {
    request: ApprovalRequest,
    owner: Arc<str>,
    /// On the clock that does not jump.
    deadline: Instant,
    rules: Option<Arc<Rules>>,
    shell: Option<Kind>,
    root: String,
    answer: Option<oneshot::Sender<Answer>>,
}

impl Open {
    fn new(asking: Asking, answer: oneshot::Sender<Answer>) -> Self {
        let timeout = asking.rules.timeout();
        let mut request = ApprovalRequest {
            request_id: RequestId::random(),
            digest: String::new(),
            session_id: asking.session,
            terminal_id: asking.terminal,
            session_name: asking.session_name,
            execution_id: asking.execution,
            case_id: asking.rules.case_id(),
            origin: asking.origin.to_string(),
            command: asking.command,
            scopes: scopes(&asking.question.judgement),
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
        Self {
            request,
            owner: asking.owner,
            deadline: Instant::now() + timeout,
            rules: Some(asking.rules),
            shell: asking.shell,
            root: asking.root,
            answer: Some(answer),
        }
    }

    /// What a person wrote in place of the command is judged like any other.
    fn check_edit(&self, command: &str) -> Result<(), Error> {
        let (Some(shell), Some(rules)) = (self.shell, &self.rules) else {
            return Err(Error::invalid("a program with its arguments cannot be edited")
                .hint("reject it, and say why"));
        };
        let at = At { shell, cwd: &self.request.working_dir, root: &self.root, env: &Env::default() };
        let judgement = rules.judge(at, command);
        if judgement.verdict == Judged::Deny { Err(denied(&judgement)) } else { Ok(()) }
    }
}

/// What settles a request.
#[derive(Debug, Clone, Default)]
struct Verdict {
    state: RequestState,
    by: Option<String>,
    scope: Option<Scope>,
    command: Option<String>,
    reason: Option<String>,
}

impl Desk {
    pub fn new(events: Arc<Events>) -> Self {
        Self {
            events,
            inner: Mutex::default(),
            answering: tokio::sync::Mutex::default(),
            settled: Notify::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a question on record. Resolves when people have been told.
    pub fn ask(
        self: &Arc<Self>,
        asking: Asking,
    ) -> impl Future<Output = Result<Asked, Error>> + Send + 'static {
        let desk = Arc::clone(self);
        async move {
            let (answer, answered) = oneshot::channel();
            desk.record(Open::new(asking, answer), answered).await
        }
    }

    async fn record(&self, open: Open, answer: oneshot::Receiver<Answer>) -> Result<Asked, Error> {
        let request = open.request.clone();
        let owner = Arc::clone(&open.owner);
        {
            let mut inner = self.inner();
            if inner.open.len() >= MOST_OPEN {
                return Err(Error::new(ErrorCode::LimitExceeded, "too many commands wait for approval")
                    .hint("answer some of them"));
            }
            inner.note(&request, "requested", None);
            inner.open.insert(request.request_id.clone(), open);
        }
        tracing::info!(
            target: "runtime.hitl.pending", request = %request.request_id, session = ?request.session_id, "a command waits for approval"
        );
        self.events.emit(
            &owner,
            Happening::HitlRequested {
                session_id: request.session_id.clone(),
                execution_id: request.execution_id.clone(),
                request_id: request.request_id.clone(),
            },
        );
        Ok(Asked::Recorded { request: request.request_id, answer })
    }

    /// A person's answer.
    pub async fn respond(&self, params: RespondParams, by: &str) -> Result<ApprovalRequest, Error> {
        let _turn = self.answering.lock().await;
        let request = self.pending(&params.request_id)?;
        let verdict = checked(&request, params, by)?;
        if let Some(command) = &verdict.command
            && let Some(open) = self.inner().open.get(&request.request_id)
        {
            open.check_edit(command)?;
        }
        self.settle(&request.request_id, verdict).await
    }

    /// The request if it still waits; else why it does not.
    fn pending(&self, id: &RequestId) -> Result<ApprovalRequest, Error> {
        let inner = self.inner();
        if let Some(open) = inner.open.get(id) {
            return Ok(open.request.clone());
        }
        match inner.settled.iter().find(|(_, r)| r.request_id == *id) {
            Some((_, request)) => Err(too_late(request)),
            None => Err(not_found(id)),
        }
    }

    /// Puts the end of a request on record and tells everybody.
    async fn settle(&self, id: &RequestId, verdict: Verdict) -> Result<ApprovalRequest, Error> {
        let (request, answer) = {
            let mut inner = self.inner();
            let Some(open) = inner.open.remove(id) else { return Err(not_found(id)) };
            let request = settled(open.request, &verdict);
            inner.note(&request, state_name(verdict.state), Some(&verdict));
            if inner.settled.len() == MOST_SETTLED {
                inner.settled.pop_front();
            }
            inner.settled.push_back((Arc::clone(&open.owner), request.clone()));
            if let (Some(rules), RequestState::Approved) = (&open.rules, verdict.state) {
                rules.grant(&request, verdict.scope.unwrap_or_default())?;
            }
            self.events.emit(
                &open.owner,
                Happening::HitlResolved {
                    session_id: request.session_id.clone(),
                    request_id: id.clone(),
                    state: verdict.state,
                },
            );
            (request, open.answer)
        };
        tracing::info!(
            target: "runtime.hitl.resolved", request = %id, state = state_name(verdict.state), "a request was settled"
        );
        if let Some(waiting) = answer {
            let _ = waiting.send(match verdict.state {
                RequestState::Approved => Answer::Approved { command: verdict.command },
                RequestState::Rejected => Answer::Rejected { reason: verdict.reason },
                RequestState::Expired => Answer::Expired,
                RequestState::Cancelled | RequestState::Pending => Answer::Cancelled,
            });
        }
        self.settled.notify_waiters();
        Ok(request)
    }

    /// Nobody waits for it any more.
    pub fn withdraw(self: &Arc<Self>, id: &RequestId) {
        let (desk, id) = (Arc::clone(self), id.clone());
        tokio::spawn(async move {
            let _turn = desk.answering.lock().await;
            let _ = desk.settle(&id, Verdict { state: RequestState::Cancelled, ..Verdict::default() }).await;
        });
    }

    /// What nobody answered in time is a no.
    pub async fn tend(&self, now: Instant) {
        let late: Vec<RequestId> = {
            let inner = self.inner();
            inner.open.iter().filter(|(_, open)| now >= open.deadline).map(|(id, _)| id.clone()).collect()
        };
        for id in late {
            let _turn = self.answering.lock().await;
            let _ = self.settle(&id, Verdict { state: RequestState::Expired, ..Verdict::default() }).await;
        }
    }

    /// Oldest first; `may_see` says whose.
    pub fn list(&self, filter: &RequestListParams, may_see: impl Fn(&str) -> bool) -> Vec<ApprovalRequest> {
        let inner = self.inner();
        let wanted = |owner: &Arc<str>, request: &ApprovalRequest| {
            let session = filter.session_id.as_ref().is_none_or(|id| request.session_id.as_ref() == Some(id));
            session && request.state == filter.state.unwrap_or_default() && may_see(owner)
        };
        let open = inner.open.values().map(|open| (&open.owner, &open.request));
        let all = open.chain(inner.settled.iter().map(|(owner, request)| (owner, request)));
        let mut found: Vec<_> =
            all.filter(|(owner, request)| wanted(owner, request)).map(|(_, r)| r.clone()).collect();
        found.sort_by(|a, b| a.created_at.cmp(&b.created_at));
        found
    }

    /// One, whatever its state, and whose it is.
    pub fn get(&self, id: &RequestId) -> Result<(Arc<str>, ApprovalRequest), Error> {
        let inner = self.inner();
        let open = inner.open.get(id).map(|open| (Arc::clone(&open.owner), open.request.clone()));
        let settled = || inner.settled.iter().find(|(_, request)| request.request_id == *id).cloned();
        open.or_else(settled).ok_or_else(|| not_found(id))
    }

    /// Until it is settled, or that late.
    pub async fn wait(&self, id: &RequestId, until: Option<Instant>) -> Result<ApprovalRequest, Error> {
        loop {
            let mut news = std::pin::pin!(self.settled.notified());
            news.as_mut().enable();
            let (_, request) = self.get(id)?;
            if request.state != RequestState::Pending {
                return Ok(request);
            }
            let late = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = news => {}
                () = late => return Ok(request),
            }
        }
    }

    /// Newest first.
    pub fn audit(&self, params: &AuditParams) -> Vec<AuditEntry> {
        let most = usize::try_from(params.limit.unwrap_or(100).min(1000)).unwrap_or(100);
        let wanted = |entry: &&AuditEntry| {
            params.session_id.as_ref().is_none_or(|id| entry.session_id.as_ref() == Some(id))
                && params.before.is_none_or(|before| entry.seq < before)
        };
        self.inner().audit.iter().rev().filter(wanted).take(most).cloned().collect()
    }

    /// A rule said no, and nobody was asked.
    pub fn note_denial(&self, session: Option<&SessionId>, command: &str, judgement: &Judgement) {
        let mut inner = self.inner();
        let entry = AuditEntry {
            seq: 0,
            time: Stamp::now().rfc3339(),
            what: "denied".into(),
            by: None,
            session_id: session.cloned(),
            request_id: None,
            command: command.to_string(),
            scope: None,
            reason: judgement.reason.clone(),
        };
        inner.keep(entry);
    }

    /// Those of a session that wait.
    pub fn open_of(&self, session: &SessionId) -> usize {
        self.inner().open.values().filter(|open| open.request.session_id.as_ref() == Some(session)).count()
    }
}

impl Inner {
    fn note(&mut self, request: &ApprovalRequest, what: &str, verdict: Option<&Verdict>) {
        self.keep(AuditEntry {
            seq: 0,
            time: Stamp::now().rfc3339(),
            what: what.into(),
            by: verdict.and_then(|v| v.by.clone()),
            session_id: request.session_id.clone(),
            request_id: Some(request.request_id.clone()),
            command: verdict.and_then(|v| v.command.clone()).unwrap_or_else(|| request.command.clone()),
            scope: verdict.and_then(|v| v.scope),
            reason: verdict.and_then(|v| v.reason.clone()),
        });
    }

    fn keep(&mut self, mut entry: AuditEntry) {
        self.audited += 1;
        entry.seq = self.audited;
        if self.audit.len() == MOST_AUDITED {
            self.audit.pop_front();
        }
        self.audit.push_back(entry);
    }
}

/// How far a yes may reach: a part without a safe prefix can only be approved as it stands.
fn scopes(judgement: &Judgement) -> Vec<Scope> {
    let asked = |s: &&trl_proto::hitl::Segment| s.verdict == Judged::Ask;
    let reusable = judgement.segments.iter().filter(asked).all(|s| s.would_allow.is_some());
    if reusable && !judgement.segments.is_empty() {
        vec![Scope::Once, Scope::Session, Scope::Always]
    } else {
        vec![Scope::Once]
    }
}

/// Is the answer one to this request?
fn checked(request: &ApprovalRequest, params: RespondParams, by: &str) -> Result<Verdict, Error> {
    if params.digest != request.digest {
        return Err(Error::invalid("`digest` is not that of the request")
            .hint("look at it again with hitl.get: what you saw is not what would run"));
    }
    let state = match params.decision {
        Decision::Approve => RequestState::Approved,
        Decision::Reject => RequestState::Rejected,
    };
    let extra = params.scope.is_some() || params.command.is_some();
    if state == RequestState::Rejected && extra {
        return Err(Error::invalid("`scope` and `command` are for `approve`"));
    }
    let scope = params.scope.unwrap_or_default();
    if state == RequestState::Approved && !request.scopes.contains(&scope) {
        return Err(Error::invalid("this command can only be approved once")
            .hint("a part of it runs whatever it is given, so its first words say nothing"));
    }
    if params.command.is_some() && scope != Scope::Once {
        return Err(Error::invalid("an edited command is approved once"));
    }
    if params.command.as_ref().is_some_and(|c| c.contains('\0')) {
        return Err(Error::invalid("the command contains a NUL character"));
    }
    Ok(Verdict {
        state,
        by: Some(by.into()),
        scope: (state == RequestState::Approved).then_some(scope),
        command: params.command.filter(|command| *command != request.command),
        reason: params.reason,
    })
}

fn settled(request: ApprovalRequest, verdict: &Verdict) -> ApprovalRequest {
    let resolution = Resolution {
        resolved_at: Stamp::now().rfc3339(),
        by: verdict.by.clone(),
        scope: verdict.scope,
        command: verdict.command.clone(),
        reason: verdict.reason.clone(),
    };
    ApprovalRequest { state: verdict.state, resolution: Some(resolution), ..request }
}

fn state_name(state: RequestState) -> &'static str {
    match state {
        RequestState::Pending => "pending",
        RequestState::Approved => "approved",
        RequestState::Rejected => "rejected",
        RequestState::Expired => "expired",
        RequestState::Cancelled => "cancelled",
    }
}

fn too_late(request: &ApprovalRequest) -> Error {
    let state = state_name(request.state);
    let error = match request.state {
        RequestState::Expired => Error::new(ErrorCode::ApprovalExpired, "nobody answered in time"),
        _ => Error::new(ErrorCode::AlreadyResolved, format!("the request was {state} before")),
    };
    let error = error.detail("state", state);
    match &request.resolution {
        None => error,
        Some(resolution) => {
            let error = error.detail("resolved_at", resolution.resolved_at.clone());
            match &resolution.by {
                Some(by) => error.detail("by", by.clone()),
                None => error,
            }
        }
    }
}

fn not_found(id: &RequestId) -> Error {
    Error::new(ErrorCode::RequestNotFound, format!("no request {id}"))
        .hint("hitl.list shows what waits; settled ones are kept for a while only")
}

/// Stands for everything a person sees before saying yes.
fn digest(request: &ApprovalRequest) -> String {
    let seen = serde_json::json!([
        request.session_id,
        request.terminal_id,
        request.command,
        request.segments,
        request.working_dir,
        request.executables,
        request.runtime,
        request.approval_boundary == ApprovalBoundary::Enforced,
    ]);
    let hash = Sha256::digest(seen.to_string().as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
