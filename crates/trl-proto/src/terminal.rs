//! `terminal.*`: parameters and results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exec::Approval;
use crate::id::TerminalId;
use crate::limits::{Limits, LimitsInfo, Usage};
use crate::runtime::RuntimeWish;
use crate::sandbox::{SandboxParams, SandboxReport};
use crate::text::Encoding;
use crate::unique;

/// Whose window decides how large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SizePolicy {
    /// That of the client that typed last, or claimed it.
    #[default]
    Driver,
    /// Nobody's: only `terminal.resize` changes it.
    Pinned,
    /// The smallest of all that may type.
    Smallest,
}

/// Where a terminal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TerminalState {
    Running,
    /// Its program has ended; what it showed stays readable for a while.
    Exited,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateParams {
    /// The shell program, started as an interactive one; the user's own unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A direct command in place of a shell.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// The case it is created from; the configured one, if there is one, unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// The group of terminals it is listed under, whose cases it may be created from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Only `host` so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeWish>,
    /// What its programs may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The boundary around it; the configured one unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxParams>,
    /// Newest bytes replayed to a client that asks for nothing better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrollback_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_policy: Option<SizePolicy>,
    /// When a person has to be asked: `wait` unless told otherwise, or `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// A terminal as `create`, `list` and `get` show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalInfo {
    pub terminal_id: TerminalId,
    pub name: Option<String>,
    pub workspace_id: Option<String>,
    /// The case it was created from.
    #[serde(default)]
    pub case_id: Option<String>,
    /// Of that case's file as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_digest: Option<String>,
    /// Fields of that case without effect, as nobody trusted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// The program.
    pub shell: String,
    pub state: TerminalState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// This incarnation of the terminal: offsets of another mean nothing here.
    #[serde(rename = "gen")]
    pub generation: String,
    pub cols: u16,
    pub rows: u16,
    pub size_policy: SizePolicy,
    /// What the program calls itself.
    pub title: String,
    /// Where the shell says it is, or where it was started.
    pub working_dir: String,
    /// Bytes of output so far.
    pub head: u64,
    /// The oldest byte that can still be replayed.
    pub ring_start: u64,
    /// Clients that are attached.
    pub clients: u64,
    pub runtime: String,
    pub created_at: String,
    pub last_activity: String,
    /// Names only, never values.
    pub env_keys: Vec<String>,
    #[serde(default)]
    pub sandbox: SandboxReport,
    /// 128 + n when a signal ended the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Why it ended, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What its programs may use, and what holds them to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsInfo>,
    /// What they used, once it has ended; only with limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// When it will be destroyed, if nobody takes that back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destroy_in_s: Option<f64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalList {
    pub terminals: Vec<TerminalInfo>,
}

/// Parameters of methods that only name a terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TerminalParams {
    pub terminal_id: TerminalId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InputParams {
    pub terminal_id: TerminalId,
    /// Typed as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Pressed after that, by name: `Up`, `C-c`, `F5`; sent as the program wants them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputTaken {
    pub terminal_id: TerminalId,
    pub written_bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResizeParams {
    pub terminal_id: TerminalId,
    pub cols: u16,
    pub rows: u16,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignalParams {
    pub terminal_id: TerminalId,
    pub signal: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signalled {
    pub terminal_id: TerminalId,
    /// How many processes got it.
    pub processes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SnapshotParams {
    pub terminal_id: TerminalId,
    /// Lines of history to put before the screen; all there are when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_lines: Option<u64>,
}

/// Bytes that bring a fresh terminal of this size to the same state.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    pub terminal_id: TerminalId,
    #[serde(rename = "gen")]
    pub generation: String,
    /// Live output continues here.
    pub offset: u64,
    pub cols: u16,
    pub rows: u16,
    pub data: String,
    pub encoding: Encoding,
}

/// How a screen is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScreenFormat {
    #[default]
    Text,
    /// With colours, as escape sequences.
    Ansi,
    /// Cells with their attributes.
    Json,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScreenParams {
    pub terminal_id: TerminalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ScreenFormat>,
}

/// What a person would see.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Screen {
    pub terminal_id: TerminalId,
    /// Bytes of output this shows.
    pub offset: u64,
    pub cols: u16,
    pub rows: u16,
    pub title: String,
    /// Where the shell says it is.
    pub working_dir: String,
    /// The alternate screen, as full-screen programs use it.
    pub alternate: bool,
    /// Column and row, from 0.
    pub cursor: ScreenCursor,
    /// With `text` and `ansi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// With `json`: rows of spans of equal attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenCursor {
    pub col: u16,
    pub row: u16,
    pub visible: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DestroyParams {
    pub terminal_id: TerminalId,
    /// Until then `terminal.keep` takes it back; at once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_s: Option<f64>,
}
