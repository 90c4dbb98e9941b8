//! Who decided what, and when: in the store, or remembered for a while.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use trl_proto::hitl::{ApprovalRequest, AuditEntry, AuditParams, Resolution};
use trl_proto::{Error, SessionId};
use trl_store::audit::{self, AuditQuery, Audited};
use trl_store::redact::Redactor;
use trl_store::{Moment, Store};

use super::storage;
use crate::approval::Judgement;
use crate::clock::Stamp;

/// Decisions remembered without a store.
const MOST: usize = 1000;

#[derive(Debug)]
pub struct Log {
    store: Option<Store>,
    remembered: Mutex<Remembered>,
}

#[derive(Debug, Default)]
struct Remembered {
    entries: VecDeque<AuditEntry>,
    seq: u64,
}

impl Log {
    pub(super) fn new(store: Option<Store>) -> Self {
        Self { store, remembered: Mutex::default() }
    }

    /// Remembers a step of a request; the store writes its own.
    pub(super) fn note(&self, request: &ApprovalRequest, what: &str, settled: Option<&ApprovalRequest>) {
        let resolution = settled.and_then(|settled| settled.resolution.as_ref());
        self.remember(AuditEntry {
            seq: 0,
            time: Stamp::now().rfc3339(),
            what: what.into(),
            by: resolution.and_then(|r| r.by.clone()),
            session_id: request.session_id.clone(),
            request_id: Some(request.request_id.clone()),
            command: resolution.and_then(|r| r.command.clone()).unwrap_or_else(|| request.command.clone()),
            scope: resolution.and_then(|r| r.scope),
            reason: resolution.and_then(|r| r.reason.clone()),
        });
    }

    /// A rule said no, and nobody was asked.
    pub fn denied(
        &self,
        session: Option<&SessionId>,
        (command, redactor): (&str, &Redactor),
        judgement: &Judgement,
    ) {
        let Some(store) = &self.store else {
            return self.remember(AuditEntry {
                seq: 0,
                time: Stamp::now().rfc3339(),
                what: "denied".into(),
                by: None,
                session_id: session.cloned(),
                request_id: None,
                command: command.into(),
                scope: None,
                reason: judgement.reason.clone(),
            });
        };
        let entry = audit::AuditEntry {
            session_id: session.cloned(),
            detail: serde_json::json!({"command": command, "resolution": {"reason": judgement.reason}}),
            ..audit::AuditEntry::new(Moment::now(), "trl", "denied")
        };
        drop(store.audit(redactor.clean(entry)));
    }

    fn remember(&self, mut entry: AuditEntry) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.seq += 1;
        entry.seq = remembered.seq;
        if remembered.entries.len() == MOST {
            remembered.entries.pop_front();
        }
        remembered.entries.push_back(entry);
    }

    /// Newest first.
    pub async fn read(&self, params: &AuditParams) -> Result<Vec<AuditEntry>, Error> {
        let limit = usize::try_from(params.limit.unwrap_or(100).min(1000)).unwrap_or(100);
        if let Some(store) = &self.store {
            let query = AuditQuery {
                session_id: params.session_id.clone(),
                before: params.before.map(|before| i64::try_from(before).unwrap_or(i64::MAX)),
                limit: Some(limit),
                ..AuditQuery::default()
            };
            // What a rule denied is written without anybody waiting for it.
            let _ = store.flush().await;
            let found = store.audit_log(query).await.map_err(storage)?;
            return Ok(found.into_iter().map(entry).collect());
        }
        let wanted = |entry: &&AuditEntry| {
            params.session_id.as_ref().is_none_or(|id| entry.session_id.as_ref() == Some(id))
                && params.before.is_none_or(|before| entry.seq < before)
        };
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(remembered.entries.iter().rev().filter(wanted).take(limit).cloned().collect())
    }
}

/// As the wire has it.
fn entry(found: Audited) -> AuditEntry {
    let Audited { id, entry } = found;
    let resolution: Option<Resolution> =
        entry.detail.get("resolution").and_then(|r| serde_json::from_value(r.clone()).ok());
    let said = |key: &str| entry.detail.get(key).and_then(|v| v.as_str()).map(String::from);
    let reason = entry.detail.pointer("/resolution/reason").and_then(|v| v.as_str()).map(String::from);
    AuditEntry {
        seq: u64::try_from(id).unwrap_or(0),
        time: entry.at.rfc3339(),
        what: match entry.what.strip_prefix("request.") {
            Some("created") => "requested".into(),
            Some(state) => state.into(),
            None => entry.what.clone(),
        },
        by: (entry.who != "trl").then_some(entry.who),
        session_id: entry.session_id,
        request_id: entry.request_id,
        command: resolution.as_ref().and_then(|r| r.command.clone()).or(said("command")).unwrap_or_default(),
        scope: resolution.and_then(|r| r.scope),
        reason,
    }
}
