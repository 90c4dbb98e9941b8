//! What a session's life looks like in the log: the events of the runtime, each by its name and with its fields.
//!
use trl_proto::{ExecutionId, RequestId, SessionId};

use crate::engine::Counters;

/// It takes commands: it is new, or it was opened again.
pub fn session_ready(session: &SessionId, case: Option<&str>) {
    tracing::info!(target: "runtime.session.ready", sessionId = %session, caseId = case.unwrap_or_default(), "a session takes commands");
}

pub fn execution_start(session: &SessionId, execution: &ExecutionId) {
    tracing::info!(target: "runtime.execution.start", sessionId = %session, executionId = %execution, "a command runs");
}

pub fn execution_end(session: &SessionId, execution: &ExecutionId, duration_ms: u64, status: &str) {
    tracing::info!(
        target: "runtime.execution.end",
        sessionId = %session, executionId = %execution, durationMs = duration_ms, status, "a command is over"
    );
}

/// What was not in memory and was looked for elsewhere. Counted where it is logged, so that the hit rate is of these.
pub fn cache_miss(counters: &Counters, session: &SessionId, what: &str, found: bool) {
    Counters::add(&counters.session_misses);
    tracing::info!(target: "runtime.cache.miss", sessionId = %session, what, found, "looked for beyond memory");
}

/// A person is asked.
pub fn hitl_pending(request: &RequestId, place: &str, action: &str) {
    tracing::info!(
        target: "runtime.hitl.pending",
        requestId = %request, sessionId = place, actionType = action, "a person is asked"
    );
}

/// It was answered, or nobody answers it any more.
pub fn hitl_resolved(request: &RequestId, place: &str, action: &str, state: &str) {
    tracing::info!(
        target: "runtime.hitl.resolved",
        requestId = %request, sessionId = place, actionType = action, state, "a request was settled"
    );
}

/// A session gets the default case, or one that stands in for the case it was created from.
pub fn fell_back(session: &str, reason: &str) {
    tracing::info!(
        target: "runtime.fallback.defaultConfig",
        sessionId = session, reason, "the file of a case of its own does not decide"
    );
}
