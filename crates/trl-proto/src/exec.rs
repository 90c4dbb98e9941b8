//! `exec.*`: parameters and results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::envelope::Dialect;
use crate::error::{Error, ErrorCode};
use crate::history::HistoryEntry;
use crate::id::{ExecutionId, RequestId, SessionId, StreamId, TerminalId};
use crate::limits::Usage;
use crate::runtime::RuntimeWish;
use crate::sandbox::{Denied, OnDenied, SandboxParams, SandboxReport};
use crate::session::SessionState;
use crate::start::Progress;
use crate::text::{Encoding, Text};
use crate::unique;

/// What happens to a command when the connection that asked for it goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    #[default]
    Continue,
    Cancel,
}

/// What is done when the rules want a person to be asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The call waits for the answer, then for the command.
    #[default]
    Wait,
    /// The call returns with the id of the request; the command runs whenever it is approved.
    Return,
    /// The call fails with `APPROVAL_REQUIRED`, and nobody is asked.
    Fail,
}

/// `exec.run` and `exec.stream`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    /// None: a throw-away session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub command: String,
    /// 0 is none; the session's default otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_encoding: Option<Encoding>,
    /// Keep stdin open (after `stdin`, if given) for `exec.input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_stdin: Option<bool>,
    /// For this command only.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// For this command only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Wait for the session instead of `SESSION_BUSY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// Bytes kept in memory per stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// The same key returns the same execution instead of running twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_disconnect: Option<OnDisconnect>,
    /// When a person has to be asked; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Of a throw-away session; the configured one, if there is one, unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// Of a throw-away session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Of a throw-away session, whose workspace is `working_dir`; a session has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxParams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_denied: Option<OnDenied>,
    /// Where a throw-away session lives; the configured runtime unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeWish>,
}

/// What became of the session's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShellState {
    /// The command's effects are in it.
    Kept,
    /// It is what it was before the command.
    RolledBack,
    /// It is fresh, in the last known directory, with the session's environment.
    Reset,
    /// There is none any more: the session ended with the command.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    pub from: u64,
    pub to: u64,
}

/// Ranges that fell out of the middle of the streams.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Omitted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Range>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Range>,
}

/// How a command ended: everything but its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    pub execution_id: ExecutionId,
    /// 128+n when it was killed by signal n.
    pub exit_code: i32,
    /// `KILL`, `TERM`, ... when the shell itself died of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    pub duration_ms: u64,
    pub waited_ms: u64,
    pub timed_out: bool,
    pub cancelled: bool,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    pub shell_state: ShellState,
    /// With `renewal: idle`: how many finished commands the rollback lost as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_commands: Option<u64>,
    /// Processes it left running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_pids: Option<Vec<i32>>,
    pub working_dir: String,
    /// What it used; only with limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The boundary it ran in.
    #[serde(default)]
    pub sandbox: SandboxReport,
    /// What that refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denied>,
}

/// A result with its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    pub stdout: String,
    pub stdout_encoding: Encoding,
    pub stderr: String,
    pub stderr_encoding: Encoding,
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl RunResult {
    pub fn new(outcome: Outcome, stdout: &[u8], stderr: &[u8], dialect: Dialect) -> Self {
        let text = |bytes| match dialect {
            Dialect::JsonRpc => Text::exact(bytes),
            Dialect::Plain => Text::lossy(bytes),
        };
        let (out, err) = (text(stdout), text(stderr));
        Self {
            stdout: out.data.into_owned(),
            stdout_encoding: out.encoding,
            stderr: err.data.into_owned(),
            stderr_encoding: err.encoding,
            outcome,
        }
    }
}

/// The reply to `exec.run`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RunReply {
    Done(RunResult),
    /// With `approval: return`, when a person has to be asked.
    Waiting(Waiting),
}

/// A command that has not begun: a person is asked first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    pub execution_id: ExecutionId,
    pub request_id: RequestId,
    /// `waiting_hitl`.
    pub state: SessionState,
}

/// The reply to `exec.stream`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamStarted {
    pub stream_id: StreamId,
    pub execution_id: ExecutionId,
    /// When a person is asked before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Over plain HTTP, which has no pushes: where to read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    #[default]
    Stdout,
    Stderr,
    /// Both, of an execution on a terminal.
    Tty,
}

/// The push `exec.output`, to be written.
#[derive(Debug, Clone)]
pub struct OutputPush<'a> {
    pub stream_id: StreamId,
    pub execution_id: ExecutionId,
    pub stream: Stream,
    /// Where `bytes` begins in the stream.
    pub offset: u64,
    pub bytes: &'a [u8],
    pub gap: Option<Range>,
}

/// The push `exec.output`, as it is read.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputPushed {
    pub stream_id: StreamId,
    pub execution_id: ExecutionId,
    pub stream: Stream,
    /// Where `data` begins in the stream.
    pub offset: u64,
    pub data: String,
    pub encoding: Encoding,
    /// The range this reader was too slow for, just before `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Range>,
}

/// The push `exec.exit`, the last of a stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExitPush {
    pub stream_id: StreamId,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The push `exec.refused`, the last of a stream whose command was not run after all.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedPush {
    /// Absent in events of plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_id: Option<StreamId>,
    pub execution_id: ExecutionId,
    pub error: Refusal,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Refused"))] // a refusal is the body of an answer there
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Further facts.
    #[serde(flatten)]
    pub details: serde_json::Map<String, serde_json::Value>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { code: error.code, message: error.message, hint: error.hint, details: error.details }
    }
}

impl From<Refusal> for Error {
    fn from(said: Refusal) -> Self {
        Self { code: said.code, message: said.message, hint: said.hint, details: said.details }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CancelParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
    /// What is sent first; `TERM`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How long until `KILL`; 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_s: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cancelled {
    pub execution_id: ExecutionId,
    /// False when the command had ended by itself before the cancel reached it.
    pub cancelled: bool,
}

/// `exec.input`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InputParams {
    pub execution_id: ExecutionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// End of input after `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<bool>,
    /// The same id is taken once: a request whose reply was lost can be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_id: Option<String>,
    /// Then wait so long for the end, and tell what was written; between 250 and 30000. Without `data` it only waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yield_ms: Option<u64>,
    /// Shown in the reply, per stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
}

impl InputParams {
    /// Nothing, to this one.
    pub fn to(execution_id: ExecutionId) -> Self {
        Self {
            execution_id,
            data: None,
            encoding: None,
            close: None,
            input_id: None,
            yield_ms: None,
            max_output_bytes: None,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputTaken {
    pub execution_id: ExecutionId,
    /// What the process, or the pipe to it, has taken by now; the rest stands in line.
    pub written_bytes: u64,
    /// With `yield_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignalParams {
    pub execution_id: ExecutionId,
    /// `INT`, `SIGINT` or `2`.
    pub signal: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signalled {
    pub execution_id: ExecutionId,
    /// How many processes got it.
    pub processes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OutputParams {
    pub execution_id: ExecutionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputSlice {
    pub data: String,
    pub encoding: Encoding,
    /// Where `data` begins.
    pub offset: u64,
    /// Ask for this next.
    pub next: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Range>,
    /// No more will come: every writer is gone and `next` is the end.
    pub done: bool,
}

/// Parameters of methods that only name an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExecutionParams {
    pub execution_id: ExecutionId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    Queued,
    /// Until a person has said yes.
    WaitingHitl,
    Running,
    Done,
    /// The daemon that ran it died: nobody knows how it ended, and it is not run again.
    Unknown,
}

/// `exec.result`: the status, and the result once there is one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultReply {
    pub status: ExecutionStatus,
    #[serde(flatten)]
    pub body: ResultBody,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ResultBody {
    Done(RunResult),
    /// Only what the history has of it is left.
    Recorded {
        execution_id: ExecutionId,
        recorded: Box<HistoryEntry>,
    },
    NotYet {
        execution_id: ExecutionId,
    },
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExecListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutionInfo {
    pub execution_id: ExecutionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Where it runs, if it has a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<TerminalId>,
    pub command: String,
    pub status: ExecutionStatus,
    pub created_at: String,
    pub elapsed_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}

impl ExecutionInfo {
    /// The session or terminal it runs in.
    pub fn place(&self) -> String {
        let session = self.session_id.as_ref().map(SessionId::as_str);
        session.or(self.terminal_id.as_ref().map(TerminalId::as_str)).unwrap_or_default().into()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutionList {
    pub executions: Vec<ExecutionInfo>,
}
