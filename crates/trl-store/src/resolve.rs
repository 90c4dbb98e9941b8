//! The answer to a request: one transaction that settles it, writes it down and lets what follows from it happen.
//!
//! 1. A request that is not pending keeps the answer it has.
//! 2. One whose time is over becomes expired, whatever the answer says.
//! 3. An answer must quote the digest of what was shown.
//! 4. A yes makes a run ([`crate::run`]), or a one-shot grant when whoever waited is gone, and the grants it came with.
//!
//! All of it is there after a crash, or none.

use rusqlite::{Connection, params};
use serde_json::json;
use trl_proto::hitl::{RequestState, Resolution};
use trl_proto::id::{ExecutionId, RequestId, SessionId};

use crate::audit;
use crate::error::Result;
use crate::grant::{self, GrantKind, NewGrant};
use crate::moment::Moment;
use crate::queue::{Label, Ticket};
use crate::redact::{Clean, Redact, Redactor};
use crate::request::{self, RequestRecord, RunPlan, entry_of};
use crate::run;
use crate::store::Store;
use crate::word;

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub request_id: RequestId,
    /// Of the request as it was seen; none for what nobody looked at (cancelled, expired).
    pub digest: Option<String>,
    /// Anything but pending.
    pub state: RequestState,
    pub resolution: Resolution,
    /// What is to be run instead, when the command was edited.
    pub plan: Option<RunPlan>,
    /// Given together with the answer.
    pub grants: Vec<NewGrant>,
    /// With a yes: it is begun at once, as this execution. Nobody else can begin it then.
    pub claim: Option<ExecutionId>,
    pub now: Moment,
}

impl Redact for Answer {
    fn redact(&mut self, with: &Redactor) {
        let edited = self.resolution.command.as_mut().is_some_and(|command| with.string(command));
        with.strings(&mut self.resolution.reason);
        if let Some(plan) = &mut self.plan {
            plan.redact(with);
            plan.redacted |= edited;
        }
        self.grants.iter_mut().for_each(|grant| grant.redact(with));
    }
}

/// What follows from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It was no yes.
    Nothing,
    /// It may be run, once: [`Store::claim_run`], unless the answer came with the claim.
    Run,
    /// Nobody waits for it: the session may run it once, until it expires. [`Store::take_grant`].
    Granted,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    Done {
        record: RequestRecord,
        next: Next,
    },
    /// As somebody else answered it.
    Already(RequestRecord),
    /// Its time was over, now or before.
    Expired(RequestRecord),
    /// The answer was to something else.
    DigestMismatch(RequestRecord),
    NotFound,
}

impl Store {
    /// The first answer wins; see the head of `resolve.rs`.
    pub fn resolve(&self, answer: Clean<Answer>) -> Ticket<Resolved> {
        self.write(Label::durable("resolve", 1024), move |conn| resolve(conn, &answer))
    }

    /// Settles every pending request whose time is over.
    pub fn expire_requests(&self, now: Moment) -> Ticket<Vec<RequestRecord>> {
        self.write(Label::durable("expire", 0), move |conn| {
            let due = request::find(conn, "WHERE state = 'pending' AND expires_at <= ?1", params![now])?;
            due.into_iter().map(|record| expire(conn, record, now)).collect()
        })
    }

    /// Settles every pending request of a session that ends.
    pub fn cancel_requests(
        &self,
        session: &SessionId,
        reason: &str,
        now: Moment,
    ) -> Ticket<Vec<RequestRecord>> {
        let (session, reason) = (session.clone(), Redactor::default().text(reason).into_owned());
        self.write(Label::durable("cancel", reason.len()), move |conn| {
            let rest = "WHERE state = 'pending' AND session_id = ?1";
            let pending = request::find(conn, rest, params![session.as_str()])?;
            let resolution = || Resolution { reason: Some(reason.clone()), ..nobody(now) };
            pending
                .into_iter()
                .map(|record| settle(conn, record, RequestState::Cancelled, resolution(), now))
                .collect()
        })
    }
}

fn nobody(now: Moment) -> Resolution {
    Resolution { resolved_at: now.rfc3339(), by: None, scope: None, command: None, reason: None }
}

fn resolve(conn: &Connection, answer: &Answer) -> Result<Resolved> {
    let Some(mut record) = request::get(conn, &answer.request_id)? else { return Ok(Resolved::NotFound) };
    match record.request.state {
        RequestState::Pending => {}
        RequestState::Expired => return Ok(Resolved::Expired(record)),
        _ => return Ok(Resolved::Already(record)),
    }
    if record.expires_at <= answer.now && answer.state != RequestState::Cancelled {
        return Ok(Resolved::Expired(expire(conn, record, answer.now)?));
    }
    if answer.digest.as_ref().is_some_and(|digest| *digest != record.request.digest) {
        return Ok(Resolved::DigestMismatch(record));
    }
    if let Some(plan) = &answer.plan {
        record.plan = plan.clone();
    }
    let record = settle(conn, record, answer.state, answer.resolution.clone(), answer.now)?;
    for new in &answer.grants {
        grant::add(conn, new, Some(&answer.request_id), answer.now)?;
    }
    let next = match answer.state {
        RequestState::Approved => follow(conn, &record, answer)?,
        _ => Next::Nothing,
    };
    Ok(Resolved::Done { record, next })
}

fn follow(conn: &Connection, record: &RequestRecord, answer: &Answer) -> Result<Next> {
    let request = &record.request;
    if !record.orphan {
        run::approve(conn, request, answer.now)?;
        if let Some(execution) = &answer.claim {
            run::claim(conn, &request.request_id, execution, answer.now)?;
        }
        return Ok(Next::Run);
    }
    if let Some(grant) = one_shot(record) {
        grant::add(conn, &grant, Some(&request.request_id), answer.now)?;
    }
    Ok(Next::Granted)
}

/// For the very command that was shown, as long as its answer would have been waited for.
/// A terminal has nobody to use it.
pub(crate) fn one_shot(record: &RequestRecord) -> Option<NewGrant> {
    Some(NewGrant {
        session_id: record.request.session_id.clone()?,
        kind: GrantKind::Once { digest: record.request.digest.clone() },
        expires_at: Some(record.expires_at),
    })
}

fn expire(conn: &Connection, record: RequestRecord, now: Moment) -> Result<RequestRecord> {
    settle(conn, record, RequestState::Expired, nobody(now), now)
}

fn settle(
    conn: &Connection,
    mut record: RequestRecord,
    state: RequestState,
    resolution: Resolution,
    now: Moment,
) -> Result<RequestRecord> {
    let who = resolution.by.clone().unwrap_or_else(|| "trl".into());
    let word = word::to_word(&state)?;
    let mut entry = entry_of(&record.request, now, &who, &format!("request.{word}"));
    entry.detail = json!({
        "command": record.request.command, "digest": record.request.digest, "resolution": resolution,
    });
    record.request.state = state;
    record.request.resolution = Some(resolution);
    let sql = "UPDATE requests SET state = ?2, resolved_at = ?3, request = ?4, run = ?5 WHERE id = ?1";
    conn.prepare_cached(sql)?.execute(params![
        record.request.request_id.as_str(),
        word,
        now,
        serde_json::to_string(&record.request)?,
        serde_json::to_string(&record.plan)?,
    ])?;
    audit::append(conn, &entry)?;
    Ok(record)
}
