//! `session.*`: parameters and results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::AgentInfo;
use crate::checkpoint::RestoredFrom;
use crate::envelope::Dialect;
use crate::exec::Approval;
use crate::id::{ExecutionId, RequestId, SessionId};
use crate::limits::{Limits, LimitsInfo};
use crate::runtime::RuntimeWish;
use crate::sandbox::{SandboxParams, SandboxReport};
use crate::unique;

/// Where a session stands. Drawn in `docs/architecture.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Known from disk alone: the daemon that had it was killed before it could close it. Can be opened.
    Uninitialized,
    /// Its shell is starting.
    Creating,
    /// Resident; nothing has run since it was opened.
    Ready,
    /// A command is running.
    Running,
    /// A command waits for a person's yes.
    WaitingHitl,
    /// At least one command has ended.
    Idle,
    /// No processes; can be opened again.
    Closed,
    /// Gone; only its info is left, for a while.
    Terminated,
}

impl SessionState {
    /// The first clients know no `ready`.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        match (dialect, self) {
            (Dialect::Plain, Self::Ready) => Self::Idle,
            (_, state) => state,
        }
    }
}

/// What a command that ends its shell (`exit 3`) does to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnExit {
    /// The shell goes back to what it was before the command.
    #[default]
    Rollback,
    /// The session ends.
    Terminate,
}

/// When the rollback point is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Renewal {
    /// After every command: a rollback loses nothing but the failed command.
    #[default]
    Exact,
    /// After a moment of quiet: bursts run faster, a rollback may lose the burst (and says how much).
    Idle,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateParams {
    /// The shell program; `/bin/sh` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A direct command in place of a shell: the session lives as long as it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Like `env`, for values that must never be shown or kept.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<BTreeMap<String, String>>,
    /// Names to take from the daemon's own environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,
    /// The workspace's, when there is one; else the user's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The workspace whose files are the session's; an unknown one gets a directory of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Default timeout of this session's commands; 0 is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// The case it is created from; the configured one, if there is one, unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// Where its processes live; the configured runtime unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeWish>,
    /// What its programs may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The boundary around it; the configured one unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxParams>,
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exit: Option<OnExit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Renewal>,
    /// What is done while a person is asked about it; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// The reply to `session.create`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CreateReply {
    Done(Box<SessionInfo>),
    /// With `approval: return`, when a person has to be asked.
    Waiting(CreateWaiting),
}

/// A session that is made when a person has said yes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreateWaiting {
    /// What it will be called.
    pub session_id: SessionId,
    pub request_id: RequestId,
    /// `waiting_hitl`.
    pub state: SessionState,
}

/// A session as `create`, `list`, `info`, `get`, `close`, `reset` and `destroy` show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    pub session_id: SessionId,
    pub name: Option<String>,
    /// The shell program, or the first word of a direct command.
    pub shell: String,
    pub working_dir: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    pub state: SessionState,
    /// Who made it: `agent`, `operator`, or the id of a token.
    pub owner: String,
    pub created_at: String,
    pub last_activity: String,
    /// The case it was created from.
    #[serde(default)]
    pub case_id: Option<String>,
    /// Of that case's file as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_digest: Option<String>,
    /// Fields of that case without effect, as nobody trusted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    pub runtime: String,
    pub labels: BTreeMap<String, String>,
    /// Names only, never values.
    pub env_keys: Vec<String>,
    pub command_count: u64,
    /// Default command timeout in whole seconds; 0 is none.
    pub timeout_s: u64,
    pub on_exit: OnExit,
    pub renewal: Renewal,
    /// What its programs may use, and what holds them to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsInfo>,
    #[serde(default)]
    pub sandbox: SandboxReport,
    /// The shell's process, while there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// The one execution of a direct-command session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
    /// Approval requests waiting for a person.
    pub pending_requests: Vec<String>,
    /// The checkpoint its shell has its state from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<RestoredFrom>,
    /// Its agent, when its case names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentInfo>,
    /// Why it ended, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// The command a session is busy with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Running {
    pub execution_id: ExecutionId,
    pub command: String,
    pub elapsed_ms: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// `key` or `key=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Of exactly this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// That live in this runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionList {
    pub sessions: Vec<SessionInfo>,
}

/// Parameters of methods that only name a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionParams {
    pub session_id: SessionId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GetParams {
    pub session_id: SessionId,
    /// Secrets are never kept, so a closed session that had some needs them again.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DestroyParams {
    pub session_id: SessionId,
    /// Kill at once instead of asking first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Destroyed {
    pub session_id: SessionId,
    pub state: SessionState,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deleted {
    pub session_id: SessionId,
    pub deleted: bool,
}
