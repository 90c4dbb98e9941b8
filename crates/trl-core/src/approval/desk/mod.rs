//! The desk: requests that wait for a person, and those that were settled.
//!
//! 1. [`Desk::ask`] puts a request on record, then tells people. What is not on record is not announced.
//! 2. [`Desk::respond`] takes the first answer, puts it on record, and tells the command that waits. Answers are taken one
//!    after the other; whoever comes second hears what the first one said.
//! 3. [`Desk::tend`] settles what nobody answered in time, [`Desk::withdraw`] what nobody waits for any more.
//! 4. [`Desk::ready`] takes up what an earlier daemon was asked and did not live to see answered.
//!
//! ```text
//!  asked ─▶ recorded ─▶ announced ─▶ approved | rejected | expired | cancelled ─▶ recorded ─▶ told
//! ```
//!
//! The record is the store's ([`trl_store::request`], [`trl_store::resolve`]); an engine without one remembers.

mod audit;
mod open;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, oneshot};
use trl_proto::event::Happening;
use trl_proto::hitl::{
    ApprovalRequest, Decision, RequestListParams, RequestState, Resolution, RespondParams, Scope,
    Verdict as Judged,
};
use trl_proto::{CheckpointId, Error, ErrorCode, ExecutionId, RequestId, SessionId};
use trl_store::grant::{GrantKind, NewGrant};
use trl_store::request::RequestQuery;
use trl_store::resolve::{self, Resolved};
use trl_store::{Moment, Store, StoreError, failpoint};

use self::audit::Log;
pub use self::open::{Asking, Plan};
use self::open::{Open, Waits, owner_of};
use super::rules::granted_by;
use super::{Answer, Asked, Judgement, denied};
use crate::clock::Stamp;
use crate::diagnostics;
use crate::events::Events;
use crate::histogram::Histogram;

/// Settled requests remembered in memory.
const MOST_SETTLED: usize = 1000;
/// Requests that may wait at once; more are a mistake, or an attack on people's patience.
const MOST_OPEN: usize = 4096;

#[derive(Debug)]
pub struct Desk {
    events: Arc<Events>,
    store: Option<Store>,
    inner: Mutex<Inner>,
    audit: Log,
    /// Answers are taken one at a time.
    answering: tokio::sync::Mutex<()>,
    loaded: tokio::sync::OnceCell<()>,
    /// A request was settled.
    settled: Notify,
    /// The daemon ends: what waits is left for the next one.
    leaving: AtomicBool,
    /// How long people took.
    pub waits: Histogram,
}

#[derive(Debug, Default)]
struct Inner {
    open: HashMap<RequestId, Open>,
    /// Oldest first.
    settled: VecDeque<(Arc<str>, ApprovalRequest)>,
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

/// What is known elsewhere of requests whose daemon is gone.
pub trait Elsewhere {
    /// What the rules say of it now.
    fn judge(&self, request: &ApprovalRequest) -> impl Future<Output = Judgement> + Send;
    /// Can it be run, from this state?
    fn may_run(
        &self,
        request: &ApprovalRequest,
        from: Option<&CheckpointId>,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A command that was approved when nobody waited for it any more.
#[derive(Debug)]
pub struct Detached {
    pub request: ApprovalRequest,
    pub owner: Arc<str>,
    pub plan: Plan,
    /// The state it is to begin from.
    pub checkpoint: Option<CheckpointId>,
}

impl Desk {
    pub fn new(events: Arc<Events>, store: Option<Store>) -> Self {
        Self {
            events,
            audit: Log::new(store.clone()),
            store,
            inner: Mutex::default(),
            answering: tokio::sync::Mutex::default(),
            loaded: tokio::sync::OnceCell::new(),
            settled: Notify::new(),
            leaving: AtomicBool::new(false),
            waits: Histogram::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn audit(&self) -> &Log {
        &self.audit
    }

    /// Takes up what an earlier daemon left, once.
    async fn ready(&self) -> Result<(), Error> {
        self.loaded.get_or_try_init(|| self.load()).await.copied()
    }

    async fn load(&self) -> Result<(), Error> {
        let Some(store) = &self.store else { return Ok(()) };
        let pending = store.pending_requests().await.map_err(storage)?;
        let mut inner = self.inner();
        for record in pending {
            let open = Open::found(record);
            inner.open.entry(open.request.request_id.clone()).or_insert(open);
        }
        Ok(())
    }

    /// From now on sessions end because the daemon does: what waits goes on waiting.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Puts a question on record. Resolves when people have been told.
    pub fn ask(
        self: &Arc<Self>,
        asking: Asking,
    ) -> impl Future<Output = Result<Asked, Error>> + Send + 'static {
        let desk = Arc::clone(self);
        async move {
            let (answer, answered) = oneshot::channel();
            let alone = asking.alone;
            let open = Open::new(asking, answer);
            let request = open.request.request_id.clone();
            if desk.is_granted_or_recorded(&open, alone).await? {
                return Ok(Asked::Granted);
            }
            desk.announce(open);
            Ok(Asked::Recorded { request, answer: answered })
        }
    }

    /// True when somebody said yes to just this when nobody was there to hear it; otherwise it is on record. One that does
    /// not come alone is.
    async fn is_granted_or_recorded(&self, open: &Open, alone: bool) -> Result<bool, Error> {
        if self.inner().open.len() >= MOST_OPEN {
            return Err(Error::new(ErrorCode::LimitExceeded, "too many commands wait for approval")
                .hint("answer some of them"));
        }
        let Some(store) = &self.store else {
            self.audit.note(&open.request, "requested", None);
            return Ok(false);
        };
        let keep = open.redactor.clean(open.to_keep()?);
        if !alone {
            return store.put_request(keep).await.map(|()| false).map_err(storage);
        }
        let taken = store.take_grant_or_put_request(keep, Moment::now()).await.map_err(storage)?;
        Ok(taken.is_some())
    }

    fn announce(&self, open: Open) {
        failpoint("approval.recorded");
        let (request, owner) = (open.request.clone(), Arc::clone(&open.owner));
        let open_action = open.action();
        self.inner().open.insert(request.request_id.clone(), open);
        diagnostics::hitl_pending(&request.request_id, request.place(), open_action);
        self.events.emit(
            &owner,
            Happening::HitlRequested {
                session_id: request.session_id,
                execution_id: request.execution_id,
                request_id: request.request_id,
            },
        );
        failpoint("approval.announced");
    }

    /// Checkpoints of a session that commands which wait are to begin from.
    pub fn states_awaited(&self, session: &SessionId) -> Vec<CheckpointId> {
        let inner = self.inner();
        let here = inner.open.values().filter(|open| open.request.session_id.as_ref() == Some(session));
        here.filter_map(|open| open.checkpoint().cloned()).collect()
    }

    /// A person's answer. With what is to be run now, when nobody waited for it any more.
    pub async fn respond(
        &self,
        params: RespondParams,
        by: &str,
        elsewhere: &impl Elsewhere,
    ) -> Result<(ApprovalRequest, Option<Detached>), Error> {
        self.ready().await?;
        let _turn = self.answering.lock().await;
        let request = self.pending(&params.request_id).await?;
        let verdict = checked(&request, params, by)?;
        if verdict.state == RequestState::Approved && verdict.command.is_none() {
            self.judge_again(&request, elsewhere).await?;
        }
        let detached = {
            let inner = self.inner();
            let Some(open) = inner.open.get(&request.request_id) else {
                return Err(not_found(&request.request_id));
            };
            if let Some(command) = &verdict.command {
                open.check_edit(command)?;
            }
            open.check_scope(verdict.scope)?;
            match (&open.waits, verdict.state) {
                (Waits::Gone { redacted: true, plan: Some(_), .. }, RequestState::Approved) => {
                    return Err(Error::invalid("a secret was in this command, and secrets are not kept")
                        .hint("reject it, and have it asked for again"));
                }
                (Waits::Gone { plan: Some(plan), checkpoint, .. }, RequestState::Approved) => {
                    Some((plan.clone(), Arc::clone(&open.owner), checkpoint.clone()))
                }
                _ => None,
            }
        };
        if let Some((Plan { start: None, .. }, _, checkpoint)) = &detached {
            elsewhere.may_run(&request, checkpoint.as_ref()).await?;
        }
        let request = self.settle(&request.request_id, verdict).await?;
        let detached = detached.map(|(plan, owner, checkpoint)| Detached {
            request: request.clone(),
            owner,
            plan,
            checkpoint,
        });
        Ok((request, detached))
    }

    /// A rule may have come since it was asked. What is forbidden now ends here, whatever a person says.
    async fn judge_again(&self, request: &ApprovalRequest, elsewhere: &impl Elsewhere) -> Result<(), Error> {
        let here = self.inner().open.get(&request.request_id).map(|open| open.judge(&request.command));
        let judgement = match here {
            Some(Some(judgement)) => judgement,
            _ => elsewhere.judge(request).await,
        };
        if judgement.verdict != Judged::Deny {
            return Ok(());
        }
        let reason = judgement.reason.clone().unwrap_or_else(|| "a rule forbids it".into());
        let verdict = Verdict { state: RequestState::Rejected, reason: Some(reason), ..Verdict::default() };
        self.settle(&request.request_id, verdict).await?;
        let id = request.request_id.to_string();
        Err(denied(&judgement).detail("request_id", id).detail("state", state_name(RequestState::Rejected)))
    }

    /// The request of an execution, and whose it is: the newest, should there be several.
    pub async fn of_execution(&self, id: &ExecutionId) -> Result<Option<(Arc<str>, ApprovalRequest)>, Error> {
        self.ready().await?;
        let of = |request: &ApprovalRequest| request.execution_id.as_ref() == Some(id);
        let here = {
            let inner = self.inner();
            let open = inner.open.values().find(|open| of(&open.request));
            let open = open.map(|open| (Arc::clone(&open.owner), open.request.clone()));
            open.or_else(|| inner.settled.iter().rev().find(|(_, request)| of(request)).cloned())
        };
        if here.is_some() {
            return Ok(here);
        }
        let Some(store) = &self.store else { return Ok(None) };
        let record = store.request_of(id).await.map_err(storage)?;
        Ok(record.map(|record| (owner_of(&record), record.request)))
    }

    /// The request if it still waits; else why it does not.
    async fn pending(&self, id: &RequestId) -> Result<ApprovalRequest, Error> {
        let open = self.inner().open.get(id).map(|open| open.request.clone());
        match open {
            Some(request) => Ok(request),
            None => Err(too_late(&self.get(id).await?.1)),
        }
    }

    /// Puts the end of a request on record and tells everybody. What cannot be recorded has not happened.
    async fn settle(&self, id: &RequestId, verdict: Verdict) -> Result<ApprovalRequest, Error> {
        let (request, rules, redactor) = {
            let inner = self.inner();
            let Some(open) = inner.open.get(id) else { return Err(not_found(id)) };
            (settled(open.request.clone(), &verdict), open.rules.clone(), open.redactor.clone())
        };
        if let (Some(rules), RequestState::Approved) = (&rules, verdict.state) {
            rules.grant(&request, verdict.scope.unwrap_or_default())?;
            failpoint("approval.granted");
        }
        match &self.store {
            Some(store) => keep_answer(store, &request, redactor).await?,
            None => self.audit.note(&request, state_name(verdict.state), Some(&request)),
        }
        failpoint("approval.settled");
        let Some(open) = self.inner().open.remove(id) else { return Err(not_found(id)) };
        self.waits.note(crate::execution::millis(open.asked.elapsed()));
        self.remember(&open.owner, &request);
        diagnostics::hitl_resolved(id, request.place(), open.action(), state_name(verdict.state));
        self.events.emit(
            &open.owner,
            Happening::HitlResolved {
                session_id: request.session_id.clone(),
                request_id: id.clone(),
                state: verdict.state,
            },
        );
        if let Waits::Here(waiting) = open.waits {
            let _ = waiting.send(match verdict.state {
                RequestState::Approved => Answer::Approved { command: verdict.command },
                RequestState::Rejected if verdict.by.is_none() => {
                    Answer::Forbidden { reason: verdict.reason }
                }
                RequestState::Rejected => Answer::Rejected { reason: verdict.reason },
                RequestState::Expired => Answer::Expired,
                RequestState::Cancelled | RequestState::Pending => Answer::Cancelled,
            });
        }
        self.settled.notify_waiters();
        Ok(request)
    }

    fn remember(&self, owner: &Arc<str>, request: &ApprovalRequest) {
        let mut inner = self.inner();
        if inner.settled.len() == MOST_SETTLED {
            inner.settled.pop_front();
        }
        inner.settled.push_back((Arc::clone(owner), request.clone()));
    }

    /// Nobody waits for it any more.
    pub fn withdraw(self: &Arc<Self>, id: &RequestId) {
        if self.leaving.load(Ordering::Relaxed) && self.store.is_some() {
            return;
        }
        let (desk, id) = (Arc::clone(self), id.clone());
        tokio::spawn(async move {
            let _turn = desk.answering.lock().await;
            let _ = desk.settle(&id, Verdict { state: RequestState::Cancelled, ..Verdict::default() }).await;
        });
    }

    /// The command of an approved request has ended.
    pub fn ran(&self, id: &RequestId) {
        if let Some(store) = &self.store {
            drop(store.finish_run(id, Moment::now()));
        }
    }

    /// What nobody answered in time is a no.
    pub async fn tend(&self, now: Instant) {
        if let Err(error) = self.ready().await {
            return tracing::debug!(%error, "requests of an earlier daemon cannot be read yet");
        }
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
    pub async fn list(
        &self,
        filter: &RequestListParams,
        may_see: impl Fn(&str) -> bool,
    ) -> Result<Vec<ApprovalRequest>, Error> {
        self.ready().await?;
        let state = filter.state.unwrap_or_default();
        let mut found: Vec<(Arc<str>, ApprovalRequest)> = match (&self.store, state) {
            (Some(store), state) if state != RequestState::Pending => {
                let session_id = filter.session_id.clone();
                let query = RequestQuery { session_id, state: Some(state), limit: None };
                let records = store.requests(query).await.map_err(storage)?;
                records.into_iter().map(|record| (owner_of(&record), record.request)).collect()
            }
            _ => {
                let inner = self.inner();
                let open = inner.open.values().map(|open| (Arc::clone(&open.owner), open.request.clone()));
                open.chain(inner.settled.iter().cloned()).collect()
            }
        };
        found.retain(|(owner, request)| {
            let session = filter.session_id.as_ref().is_none_or(|id| request.session_id.as_ref() == Some(id));
            session && request.state == state && may_see(owner)
        });
        found.sort_by(|(_, a), (_, b)| a.created_at.cmp(&b.created_at));
        Ok(found.into_iter().map(|(_, request)| request).collect())
    }

    /// One, whatever its state, and whose it is.
    pub async fn get(&self, id: &RequestId) -> Result<(Arc<str>, ApprovalRequest), Error> {
        self.ready().await?;
        let here = {
            let inner = self.inner();
            let open = inner.open.get(id).map(|open| (Arc::clone(&open.owner), open.request.clone()));
            open.or_else(|| inner.settled.iter().find(|(_, request)| request.request_id == *id).cloned())
        };
        if let Some(found) = here {
            return Ok(found);
        }
        let Some(store) = &self.store else { return Err(not_found(id)) };
        let record = store.request(id).await.map_err(storage)?.ok_or_else(|| not_found(id))?;
        Ok((owner_of(&record), record.request))
    }

    /// Until it is settled, or that late.
    pub async fn wait(&self, id: &RequestId, until: Option<Instant>) -> Result<ApprovalRequest, Error> {
        loop {
            let mut news = std::pin::pin!(self.settled.notified());
            news.as_mut().enable();
            let (_, request) = self.get(id).await?;
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

    /// How many wait.
    pub fn open(&self) -> usize {
        self.inner().open.len()
    }
}

/// The answer, and with a yes the claim to run it, in one write: after a crash nobody runs it a second time.
async fn keep_answer(
    store: &Store,
    request: &ApprovalRequest,
    redactor: trl_store::redact::Redactor,
) -> Result<(), Error> {
    let Some(resolution) = request.resolution.clone() else { return Ok(()) };
    let approved = request.state == RequestState::Approved;
    let answer = resolve::Answer {
        request_id: request.request_id.clone(),
        digest: None,
        state: request.state,
        resolution,
        plan: None,
        grants: lasting(request),
        claim: approved.then(|| request.execution_id.clone().unwrap_or_else(ExecutionId::random)),
        now: Moment::now(),
    };
    match store.resolve(redactor.clean(answer)).await.map_err(storage)? {
        Resolved::Done { .. } => Ok(()),
        Resolved::Already(record) => Err(too_late(&record.request)),
        // Its time was over by the wall clock; by ours it was not, or that is what we say.
        Resolved::Expired(record) if request.state != RequestState::Expired => Err(too_late(&record.request)),
        Resolved::Expired(_) => Ok(()),
        Resolved::DigestMismatch(_) | Resolved::NotFound => Err(not_found(&request.request_id)),
    }
}

/// What a yes allows for as long as there is the session.
fn lasting(request: &ApprovalRequest) -> Vec<NewGrant> {
    let scope = request.resolution.as_ref().and_then(|said| said.scope);
    let (RequestState::Approved, Some(Scope::Session), Some(session)) =
        (request.state, scope, &request.session_id)
    else {
        return Vec::new();
    };
    let grant =
        |rule| NewGrant { session_id: session.clone(), kind: GrantKind::Session { rule }, expires_at: None };
    granted_by(request).into_iter().map(grant).collect()
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
    let Some(resolution) = &request.resolution else { return error };
    let error = error.detail("resolved_at", resolution.resolved_at.clone());
    match &resolution.by {
        Some(by) => error.detail("by", by.clone()),
        None => error,
    }
}

fn not_found(id: &RequestId) -> Error {
    Error::new(ErrorCode::RequestNotFound, format!("no request {id}")).hint("hitl.list shows what waits")
}

/// A store that cannot be written to.
pub fn storage(error: StoreError) -> Error {
    let code = if error.is_storage() { ErrorCode::StorageFull } else { ErrorCode::InternalError };
    Error::new(code, error.to_string()).hint("make room on the disk of the data directory")
}
