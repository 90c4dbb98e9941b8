//! `exec.start` and what goes with it: a process that may outlive the call, asked about by calls that never wait longer
//! than they said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exec::{Approval, ExecutionStatus, Omitted, OnDisconnect, Outcome, Stream, StreamStarted};
use crate::id::{ExecutionId, RequestId, SessionId, TerminalId};
use crate::limits::Limits;
use crate::runtime::RuntimeWish;
use crate::sandbox::{SandboxParams, SandboxReport};
use crate::text::Encoding;
use crate::unique;

/// How long a call that yields waits, in milliseconds: what was asked for, within these.
pub const YIELD_MS: std::ops::RangeInclusive<u64> = 250..=30_000;
/// Of `exec.start`.
pub const USUAL_YIELD_MS: u64 = 10_000;

/// `exec.start`: a fresh process unless a session is named.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StartParams {
    /// Text for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Or a program and its arguments, with no shell between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Run `command` in this session's shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The shell for `command`; `/bin/sh` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// On a terminal of its own, which people can watch and type into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// `open` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<StartStdin>,
    /// Of a fresh process on pipes: `stdout` puts both streams in one, in the order they were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrTo>,
    /// Of a fresh process; `0022` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<Umask>,
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Like `env`, for values that must never be shown or kept.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<BTreeMap<String, String>>,
    /// Names to take from the daemon's own environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The case of a fresh process; the configured one, if there is one, unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// Of a fresh process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// What a fresh process may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Reply as soon as it has begun, and push every byte and the end as `exec.stream` does; it waits for whoever reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// How long this call waits for the end; 10000, and between 250 and 30000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yield_ms: Option<u64>,
    /// How long the process may run; 0, which is the default of a fresh process, is for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// Bytes kept in memory per stream, and shown in one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// In a session: wait for it instead of `SESSION_BUSY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// The same key returns the same execution instead of starting another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_disconnect: Option<OnDisconnect>,
    /// When a person has to be asked; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The boundary around a fresh process, whose workspace is `working_dir`; a session has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxParams>,
    /// Where a fresh process lives; the configured runtime unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeWish>,
}

/// What a process reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "`stdin` is \"open\", \"null\" or an object with `data`")]
pub enum StartStdin {
    Named(StdinName),
    /// These bytes, then the end.
    Bytes(StdinBytes),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StdinName {
    /// Whatever `exec.input` brings.
    Open,
    /// Nothing.
    Null,
}

/// Where errors go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StderrTo {
    /// Into a stream of their own.
    #[default]
    Stderr,
    Stdout,
}

/// The permissions that files are made without, in octal digits as `umask` prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct Umask(u32);

impl Umask {
    /// Of these bits, those that a mask can have.
    pub fn of(bits: impl Into<u32>) -> Self {
        Self(bits.into() & 0o777)
    }

    pub fn bits(self) -> u32 {
        self.0
    }
}

impl Default for Umask {
    fn default() -> Self {
        Self(0o022)
    }
}

impl TryFrom<String> for Umask {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let bits = u32::from_str_radix(&text, 8).ok().filter(|bits| digits && *bits <= 0o777);
        bits.map(Self).ok_or_else(|| format!("`umask` is octal, from \"0000\" to \"0777\", and not {text:?}"))
    }
}

impl From<Umask> for String {
    fn from(Umask(bits): Umask) -> Self {
        format!("{bits:04o}")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StdinBytes {
    pub data: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

/// How far an execution has come: what it wrote since the last call that was told, and its end, once it has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    pub status: ExecutionStatus,
    /// While a person has to be asked before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Where it runs, with `tty`; everything it writes is `stdout` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<TerminalId>,
    pub stdout: String,
    pub stdout_encoding: Encoding,
    pub stderr: String,
    pub stderr_encoding: Encoding,
    /// Ranges of the streams that are not in this reply, of what it should have told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Omitted>,
    /// Where the next call goes on.
    pub next: Next,
    #[serde(flatten)]
    pub end: ProgressEnd,
}

/// The reply to `exec.start`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum StartReply {
    Progress(Box<Progress>),
    /// With `follow`.
    Following(StreamStarted),
}

/// Offsets of both streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Next {
    pub stdout: u64,
    pub stderr: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ProgressEnd {
    Done(Outcome),
    NotYet {
        execution_id: ExecutionId,
        elapsed_ms: u64,
        /// The boundary around it.
        sandbox: SandboxReport,
    },
}

/// `exec.wait`: until one of these holds, the end in any case. Waiting ends nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitParams {
    pub execution_id: ExecutionId,
    /// The end, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// 30 unless told otherwise, at most 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// Shown in the reply, per stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
}

/// The first that holds ends the wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The end always ends the wait; `true` says that nothing else does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<bool>,
    /// A regular expression that the output matches, from `since` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Nothing was written for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// So many bytes were written from `since` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Only this stream counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Where `pattern` and `bytes` begin in the stream; 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Exit,
    Pattern,
    Idle,
    Bytes,
    Timeout,
}

/// Where the output matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matched {
    pub stream: Stream,
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waited {
    pub reason: Reason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    #[serde(flatten)]
    pub progress: Progress,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResizeParams {
    pub execution_id: ExecutionId,
    pub cols: u16,
    pub rows: u16,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resized {
    pub execution_id: ExecutionId,
    pub terminal_id: TerminalId,
    pub cols: u16,
    pub rows: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_umask_is_octal_digits() {
        let read = |text: &str| serde_json::from_value::<Umask>(text.into());
        for (text, bits) in [("0077", 0o077), ("22", 0o022), ("0", 0), ("777", 0o777)] {
            assert_eq!(read(text).unwrap().bits(), bits, "{text}");
        }
        for wrong in ["", "8", "+7", "-1", "01000", "0o22", " 22"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(serde_json::to_value(Umask::default()).unwrap(), "0022");
    }
}
