//! `hitl.*`: commands that wait for a person, and the answers to them.
//!
//! ```text
//!  pending ──▶ approved    hitl.respond, once, for the session or for always
//!     ├─────▶ rejected    hitl.respond
//!     ├─────▶ expired     nobody answered until `expires_at`
//!     └─────▶ cancelled   the execution or its session ended before
//! ```
//!
//! A request is answered once: whoever comes second gets `ALREADY_RESOLVED` with `state`, `by` and `resolved_at`, or
//! `APPROVAL_EXPIRED`; one that is forgotten is `REQUEST_NOT_FOUND`.

use serde::{Deserialize, Serialize};

use crate::agent::Permission;
use crate::exec::Range;
use crate::id::{ExecutionId, RequestId, SessionId, TerminalId};

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    #[default]
    Pending,
    Approved,
    Rejected,
    /// Nobody answered in time; that is a no.
    Expired,
    /// What asked is gone.
    Cancelled,
}

/// What the rules say of a part of a command, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    /// A person decides.
    Ask,
    Deny,
}

/// Whether the rules can be got round by the command itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalBoundary {
    /// A sandbox, another user or another runtime holds what was not approved.
    Enforced,
    /// It runs as the daemon's user without a sandbox: the rules are advice to it.
    Advisory,
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This command, now.
    #[default]
    Once,
    /// What [`Segment::would_allow`] names, until the session ends.
    Session,
    /// The same, from now on, in every session of the case.
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Reject,
}

/// One simple command of a command line, as the rules see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// As it is written.
    pub text: String,
    /// Its bytes in `command`; absent when it does not stand there literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Range>,
    pub verdict: Verdict,
    /// The rule that decided, as the case has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The prefix that a yes for the session or for always would allow from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_allow: Option<String>,
    /// The commands that stand in a text that cannot be taken apart, as far as they can be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

/// What a name in a command stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Executable {
    pub name: String,
    /// `file`, `builtin`, `function`, `alias`, `keyword`, `missing`, `directory` (`.`), `trap`, `variable` or `unknown`.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Device, inode, size and time of change of the file; of a fresh process also its rights and SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// A command that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalRequest {
    pub request_id: RequestId,
    /// Stands for everything that is decided on; an answer repeats it, so that nobody approves what they did not see.
    pub digest: String,
    /// Where it is to run; absent for a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The terminal that is to be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<TerminalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// The command; absent for a terminal that is no execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// Who asked for the command: `agent`, `operator`, or the id of a token.
    pub origin: String,
    pub command: String,
    /// The parts of `command`, in its order.
    pub segments: Vec<Segment>,
    pub working_dir: String,
    /// What its names stood for when it was asked about; they must still when it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executables: Vec<Executable>,
    pub runtime: String,
    pub created_at: String,
    pub expires_at: String,
    pub state: RequestState,
    pub approval_boundary: ApprovalBoundary,
    /// How far a yes may reach here.
    pub scopes: Vec<Scope>,
    /// When it is an agent that asks, for something it does itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

impl ApprovalRequest {
    /// The session or terminal it is about.
    pub fn place(&self) -> &str {
        let session = self.session_id.as_ref().map(SessionId::as_str);
        session.or(self.terminal_id.as_ref().map(TerminalId::as_str)).unwrap_or_default()
    }
}

/// How a request was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    pub resolved_at: String,
    /// `operator` or the id of a token; absent when nobody answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What was run in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// `pending` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RequestState>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestList {
    /// Oldest first.
    pub requests: Vec<ApprovalRequest>,
}

/// Parameters of methods that only name a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestParams {
    pub request_id: RequestId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RespondParams {
    pub request_id: RequestId,
    pub decision: Decision,
    /// Of the request as it was seen.
    pub digest: String,
    /// `once` unless told otherwise; only with `approve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// To run in its place; only with `approve`, and only once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Told to whoever asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestWaitParams {
    pub request_id: RequestId,
    /// 0 is none: it ends with the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
}

/// `hitl.audit`: decisions, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuditParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Only those before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// 100 unless told otherwise, at most 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    pub seq: u64,
    pub time: String,
    /// `requested`, `approved`, `rejected`, `expired`, `cancelled`, `denied` (by a rule), `granted` (an earlier answer).
    pub what: String,
    /// Who decided, if anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audit {
    pub entries: Vec<AuditEntry>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_as_the_wire_has_it() {
        let request: ApprovalRequest = serde_json::from_value(serde_json::json!({
            "request_id": "r-abcdefghij", "digest": "d", "session_id": "s-abcdefgh",
            "execution_id": "e-abcdefghij", "origin": "agent", "command": "cd /x && git push",
            "segments": [
                {"text": "cd /x", "at": {"from": 0, "to": 5}, "verdict": "allow"},
                {"text": "git push", "at": {"from": 9, "to": 17}, "verdict": "ask", "would_allow": "git push"},
            ],
            "working_dir": "/x", "runtime": "host", "created_at": "2026-01-01T00:00:00.000Z",
            "expires_at": "2026-01-01T00:30:00.000Z", "state": "pending", "approval_boundary": "advisory",
            "scopes": ["once", "session", "always"],
        }))
        .unwrap();
        assert_eq!(request.segments[1].verdict, Verdict::Ask);
        let part = request.segments[1].at.unwrap();
        let bytes = usize::try_from(part.from).unwrap()..usize::try_from(part.to).unwrap();
        assert_eq!(&request.command[bytes], request.segments[1].text);
    }

    #[test]
    fn an_answer_says_no_more_than_it_has_to() {
        let params: RespondParams =
            serde_json::from_str(r#"{"request_id":"r-ab","decision":"reject","digest":"d"}"#).unwrap();
        assert_eq!(
            serde_json::to_string(&params).unwrap(),
            r#"{"request_id":"r-ab","decision":"reject","digest":"d"}"#
        );
        assert!(
            serde_json::from_str::<RespondParams>(r#"{"request_id":"r-ab","decision":"approve"}"#).is_err()
        );
    }
}
