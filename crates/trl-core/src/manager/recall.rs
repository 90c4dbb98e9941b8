//! Sessions of earlier daemons: known again after a start, found in the store when memory has let them go, and deleted.
//!
//! 1. [`Manager::recall`] runs once, beside the first requests. A session that was closed is closed; one that was not, because
//!    its daemon was killed, is uninitialized. Either can be opened.
//! 2. [`Manager::recalled`] is where requests that need them wait for that.
//! 3. [`Manager::remember`] looks for a single one in the store, once, and takes it back into memory.
//! 4. [`Manager::delete`] leaves nothing of one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use trl_proto::runtime::HOST;
use trl_proto::sandbox::SandboxReport;
use trl_proto::session::SessionState;
use trl_proto::{Error, SessionId};
use trl_store::grant::{Grant, GrantKind};
use trl_store::session::{SessionQuery, SessionRecord, StoredState};
use trl_store::{Store, StoreError};

use super::Manager;
use super::housekeeping::MAX_CLOSED;
use crate::approval::pin::FirstStart;
use crate::approval::{Rules, storage};
use crate::case::recorded::RecordedCase;
use crate::case::{Case, Where};
use crate::clock::Stamp;
use crate::diagnostics;
use crate::engine::{Counters, Engine};
use crate::records::{APART, CASE, KIND, LIMITS, ROOT};
use crate::sandbox::Boundary;
use crate::session::handle::{Past, Session};
use crate::session::messages::{Ending, Manner};
use crate::session::spec::{Elsewhere, Origin, Program, Secrets, Spec};
use crate::shell::Kind;

/// Records read at once.
const PAGE: usize = 500;

impl Manager {
    /// Learns which sessions there were. Runs once, when the daemon starts.
    pub async fn recall(self: Arc<Self>) {
        if let Some(store) = &self.engine.store
            && let Err(error) = self.recall_from(store).await
        {
            tracing::error!(code = error.code(), %error, "earlier sessions are not known: the store cannot be read");
        }
        self.recalled.send_replace(true);
    }

    async fn recall_from(&self, store: &Store) -> Result<(), StoreError> {
        let mut query = SessionQuery {
            without: Some(StoredState::Terminated),
            limit: Some(PAGE),
            ..SessionQuery::default()
        };
        let mut rules: HashMap<SessionId, Vec<String>> = HashMap::new();
        for (session, rule) in store.session_rules().await? {
            rules.entry(session).or_default().push(rule);
        }
        let mut known = 0;
        while known < MAX_CLOSED {
            let page = store.sessions(query.clone()).await?;
            let Some(last) = page.last() else { break };
            query.after = Some((last.last_activity, last.id.clone()));
            known += page.len();
            let engine = Arc::clone(&self.engine);
            // Each asks the file system about its shell.
            let revived = move || page.into_iter().map(|record| revive(&engine, record)).collect::<Vec<_>>();
            let sessions = tokio::task::spawn_blocking(revived).await.unwrap_or_default();
            let mut all = self.sessions();
            for session in sessions {
                session.restore_rules(rules.remove(&session.spec.id));
                all.entry(session.spec.id.clone()).or_insert(session);
            }
        }
        tracing::debug!(known, "earlier sessions are known");
        Ok(())
    }

    /// Resolves when the sessions of earlier daemons are known.
    pub async fn recalled(&self) {
        let mut recalled = self.recalled.subscribe();
        let _ = recalled.wait_for(|done| *done).await;
    }

    /// Has a session in memory if there is one at all.
    pub async fn remember(&self, id: &SessionId) {
        let counters = &self.engine.counters;
        let known = self.sessions().get(id).cloned();
        if known.as_ref().is_some_and(|session| !session.awaits_case()) {
            return Counters::add(&counters.session_hits);
        }
        let Some(store) = &self.engine.store else { return };
        self.engine.records.caught_up().await;
        let found = match store.session(id).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(code = error.code(), %error, "the store cannot be read");
                None
            }
        };
        diagnostics::cache_miss(counters, id, "session", found.is_some());
        if let Some(record) = found {
            let session = revive(&self.engine, record);
            match store.grants(id, trl_store::Moment::now()).await {
                Ok(grants) => session.restore_rules(Some(grants.into_iter().filter_map(lasting).collect())),
                // It asks again.
                Err(error) => tracing::warn!(code = error.code(), %error, "grants cannot be read"),
            }
            let mut sessions = self.sessions();
            // Meanwhile somebody may have opened it.
            if !sessions.get(id).is_some_and(|now| known.is_none() || !now.awaits_case()) {
                self.engine.residents.settle(id, session.spec.case.clone());
                sessions.insert(id.clone(), session);
            }
        }
    }

    /// Ends it if it lives, and leaves nothing of it: no record, no history, no file.
    pub async fn delete(&self, session: &Session) -> Result<(), Error> {
        let id = &session.spec.id;
        self.end(session, Ending::Terminated, Manner::Graceful, "deleted on request").await?;
        self.engine.records.caught_up().await;
        self.sessions().remove(id);
        for execution in self.engine.executions.list(Some(id)) {
            self.engine.executions.forget(&execution.id);
        }
        let Some(store) = &self.engine.store else { return Ok(()) };
        store.delete_session(id).await.map_err(storage)?;
        let dir = private_dir(store, id);
        let removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(dir)).await;
        match removed {
            Ok(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::internal(format!("its files could not be removed: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// With `sessions.close_on_switch`: whoever has turned to this session is done with the others.
    pub fn close_others(self: &Arc<Self>, session: &Session) {
        if !self.engine.settings.close_on_switch || !session.is_recorded() {
            return;
        }
        let rests = |other: &Session| matches!(other.state(), SessionState::Idle | SessionState::Ready);
        let spec = &session.spec;
        let others = self.sessions().values().cloned().collect::<Vec<_>>();
        for other in others {
            let same = other.spec.owner == spec.owner && other.spec.id != spec.id && other.is_recorded();
            if same && rests(&other) {
                let manager = Arc::clone(self);
                let reason = "another session was turned to";
                tokio::spawn(
                    async move { manager.end(&other, Ending::Closed, Manner::Graceful, reason).await },
                );
            }
        }
    }

    /// Forgets what is too old or too much, now and then.
    pub(super) fn prune(&self, now: Instant) {
        /// While something is written, and otherwise.
        const BUSY: Duration = Duration::from_secs(5);
        const QUIET: Duration = Duration::from_secs(3600);
        let Some(store) = self.engine.store.clone() else { return };
        let written = self.engine.records.tally().written.load(Ordering::Relaxed);
        {
            let mut pruned = self.pruned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let wait = if pruned.written == written { QUIET } else { BUSY };
            if pruned.busy.load(Ordering::Relaxed) || now.saturating_duration_since(pruned.at) < wait {
                return;
            }
            pruned.at = now;
            pruned.written = written;
            pruned.busy.store(true, Ordering::Relaxed);
        }
        let settings = &self.engine.settings;
        let keep = trl_store::retention::Retention {
            max_age: Some(settings.history_age).filter(|age| !age.is_zero()),
            max_bytes: Some(settings.history_bytes).filter(|bytes| *bytes > 0),
            ..trl_store::retention::Retention::default()
        };
        let busy = Arc::clone(&self.pruned.lock().unwrap_or_else(std::sync::PoisonError::into_inner).busy);
        tokio::spawn(async move {
            match store.prune(trl_store::Moment::now(), keep).await {
                Ok(gone) if gone.executions > 0 => {
                    tracing::debug!(executions = gone.executions, "old history is forgotten");
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(code = error.code(), %error, "old history could not be forgotten");
                }
            }
            busy.store(false, Ordering::Relaxed);
        });
    }
}

fn lasting(grant: Grant) -> Option<String> {
    match grant.kind {
        GrantKind::Session { rule } => Some(rule),
        GrantKind::Once { .. } => None,
    }
}

/// The session's own place, outside every workspace.
fn private_dir(store: &Store, id: &SessionId) -> PathBuf {
    store.path().with_file_name("workspaces").join(id.as_str())
}

/// A session without processes, as it was recorded.
fn revive(engine: &Engine, record: SessionRecord) -> Arc<Session> {
    let state = match record.state {
        StoredState::Closed => SessionState::Closed,
        StoredState::Terminated => SessionState::Terminated,
        _ => SessionState::Uninitialized,
    };
    let past = Past { created: Stamp::of_past(record.created_at.millis()), commands: record.command_count };
    let active = Stamp::of_past(record.last_activity.millis());
    let reason = match (state, record.closed_reason.clone()) {
        (SessionState::Uninitialized, _) => "its daemon ended without closing it".into(),
        (_, reason) => reason.unwrap_or_default(),
    };
    let limits = record.spec.more.get(LIMITS).and_then(|info| serde_json::from_value(info.clone()).ok());
    let spec = spec_of(engine, record);
    let rules = Some(Rules::watched(&engine.book, spec.case.as_ref()));
    Session::recalled(spec, rules, past, |public| {
        public.state = state;
        public.last_activity = active;
        public.limits = limits;
        public.ended = Some((reason, Instant::now()));
    })
}

/// None when it had none, or when nothing can stand in for it. It is looked for again when the session is asked for.
fn case_of(engine: &Engine, record: &SessionRecord, root: &str) -> Option<Arc<Case>> {
    let workspace_id = record.workspace_id.as_deref();
    let recorded = RecordedCase {
        id: record.case_id.as_deref()?,
        digest: record.case_digest.as_deref(),
        copy: record.spec.more.get(CASE),
        place: Where { workspace_id, path: Some(root).filter(|_| workspace_id.is_none()) },
    };
    match engine.cases.recorded(&recorded) {
        Ok(case) => Some(case),
        Err(error) => {
            tracing::warn!(sessionId = %record.id, caseId = recorded.id, %error, "the case of a session cannot be read");
            None
        }
    }
}

fn spec_of(engine: &Engine, record: SessionRecord) -> Spec {
    let working_dir = record.spec.working_dir.clone().unwrap_or_else(|| "/".into());
    let root = record.spec.more.get(ROOT).and_then(|root| root.as_str()).unwrap_or(&working_dir).to_string();
    let case = case_of(engine, &record, &root);
    let SessionRecord { id, name, owner, spec: kept, case_id, workspace_id: workspace, .. } = record;
    let path = PathBuf::from(kept.shell.unwrap_or_else(|| "/bin/sh".into()));
    let pass: Vec<String> = engine.settings.pass_env.iter().chain(&kept.pass_env).cloned().collect();
    let mut env = engine.inherited.base(&pass);
    env.extend(kept.env.clone());
    let sandbox = kept.sandbox.and_then(|wish| serde_json::from_value(wish).ok()).unwrap_or_default();
    let runtime = kept.runtime.filter(|name| name != HOST);
    let known = runtime.as_deref().and_then(|name| engine.runtimes.find(name).ok());
    let is_apart = kept.more.get(APART).and_then(serde_json::Value::as_bool).unwrap_or(false);
    let kind = kept.more.get(KIND).and_then(|kind| kind.as_str()).and_then(Kind::named);
    let origin = Origin { env: kept.env, pass_env: kept.pass_env, sandbox, root, case_id, runtime };
    let mut spec = Spec {
        id: id.clone(),
        case: None,
        workspace,
        owner: owner.into(),
        name,
        labels: kept.labels,
        // One that is no shell any more does not start.
        program: Program::Shell { kind: kind.or_else(|| Kind::detect(&path)).unwrap_or(Kind::Dash), path },
        env,
        secrets: Secrets::named(kept.secret_names),
        working_dir,
        timeout: Duration::try_from_secs_f64(kept.timeout_s.unwrap_or(0.0)).unwrap_or_default(),
        on_exit: kept.on_exit,
        renewal: kept.renewal,
        limits: kept.limits.unwrap_or_default(),
        sandbox: Boundary::None,
        elsewhere: known.map(|runtime| Elsewhere { runtime, is_apart }),
        origin: Arc::new(origin),
        beside: None,
        pin: FirstStart::default(),
    };
    spec.adopt(id, case);
    if spec.origin.runtime.is_some() {
        spec.confine(SandboxReport::off().into());
        return spec;
    }
    // One that cannot be drawn now is tried again before the session is opened, and refused then.
    if let Ok(sandbox) =
        engine.sandbox(Some(spec.origin.sandbox.clone()), spec.id.as_str(), &spec.origin.root)
    {
        spec.confine(sandbox.into());
    }
    spec
}
