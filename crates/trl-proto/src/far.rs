//! `far.*`: what a gateway asks of an engine behind a link, beside the methods everybody has. Not for clients: the engine
//! serves them on links alone, gateway and engine are of the same version, and so these shapes may change.
//!
//! Ids are the gateway's, for sessions, executions and terminals alike: what is told of them there is passed on as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::checkpoint::{NotRestored, RestoredPart};
use crate::exec::RunParams;
use crate::fs::FilePath;
use crate::hitl::Executable;
use crate::id::{ExecutionId, SessionId, TerminalId};
use crate::limits::{LimitsInfo, Usage};
use crate::sandbox::{Denied, SandboxReport};
use crate::session::CreateParams;
use crate::text::Encoding;

macro_rules! methods {
    ($($variant:ident $name:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FarMethod { $($variant),* }

        impl FarMethod {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

methods! {
    Resolve  "far.resolve";
    Create   "far.create";
    Run      "far.run";
    Probe    "far.probe";
    Capture  "far.capture";
    Restore  "far.restore";
    AtRest   "far.at_rest";
    ResolveTerminal "far.resolve_terminal";
    Terminal "far.terminal";
    Change   "far.change";
}

impl FarMethod {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.name() == name)
    }
}

/// The first words of an engine: who it is, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub version: String,
    pub protocol: u32,
    pub os: String,
    pub arch: String,
    pub host: String,
    pub uid: u32,
    /// Of the running system, and of the process namespace: two engines that share both share everything.
    pub boot_id: String,
    pub pid_ns: String,
    pub pid: u32,
}

/// `far.resolve`: what would a session be there? Nothing is started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResolveParams {
    pub session_id: SessionId,
    pub create: CreateParams,
}

/// What only that machine knows of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resolved {
    /// The kind of its shell, by name; none for a direct command.
    pub kind: Option<String>,
    /// The shell, or the words of a direct command, with the program's own path.
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub working_dir: String,
    pub sandbox: SandboxReport,
}

/// `far.create`: the session itself. With a direct command its output follows as pushes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarCreate {
    pub session_id: SessionId,
    pub create: CreateParams,
    /// The directory it was first made in, which its boundary is drawn around; it starts where it was last, or where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<FarDirect>,
}

/// The one execution of a session without a shell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarDirect {
    pub execution_id: ExecutionId,
    /// As it is shown.
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_encoding: Option<Encoding>,
    pub open_stdin: bool,
    pub timeout_s: f64,
}

/// The reply to `far.create`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarCreated {
    pub pid: Option<i32>,
    pub working_dir: String,
    pub sandbox: SandboxReport,
    pub limits: Option<LimitsInfo>,
}

/// `far.run`: a command that has been cleared; pushed as by `exec.stream`, and the command waits for the reader.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarRun {
    pub execution_id: ExecutionId,
    pub run: RunParams,
}

/// `far.probe`: what do these names stand for in that shell?
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProbeParams {
    pub session_id: SessionId,
    pub names: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub working_dir: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probed {
    pub intercepted: bool,
    pub executables: Vec<Executable>,
}

/// `far.capture`, `far.at_rest`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OfSession {
    pub session_id: SessionId,
}

/// The state of a shell with every secret in it, in the form of a checkpoint's file, as base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarState {
    pub state: String,
}

/// `far.restore`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarRestore {
    pub session_id: SessionId,
    /// A checkpoint's file, as base64.
    pub state: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarRestored {
    pub working_dir: String,
    pub restored: Vec<RestoredPart>,
    pub not_restored: Vec<NotRestored>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AtRest {
    pub at_rest: bool,
}

/// `far.resolve_terminal`, which answers as `far.resolve` does, and `far.terminal`. Everything its program writes follows as
/// pushes, every change of size in its place among the bytes, and at last its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarTerminal {
    pub terminal_id: TerminalId,
    pub create: crate::terminal::CreateParams,
    /// What its program is, when it was started as an execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<TerminalExecution>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TerminalExecution {
    pub execution_id: ExecutionId,
    pub command: String,
}

/// `far.change`: a change to files, by the method and the parameters of a client. It is made when every place it would write to
/// is among those that are approved; else nothing is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarChange {
    pub method: String,
    pub params: Box<RawValue>,
    /// Absolute, and no part of them is a link.
    pub approved: Vec<FilePath>,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FarChanged<T> {
    /// The reply of that method.
    Done(T),
    Stopped(FarStopped),
}

/// The first places that are not approved, in the order in which they were come upon.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FarStopped {
    /// The directory whose files they are.
    pub root: FilePath,
    pub places: Vec<FilePath>,
}

/// `far.shown`: bytes, as base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    pub data: String,
}

/// `far.resized`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResizedTo {
    pub cols: u16,
    pub rows: u16,
}

/// `far.ended`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TerminalEnd {
    pub exit_code: i32,
    /// By number, when it died of one.
    pub signal: Option<i32>,
    pub reason: String,
    pub usage: Option<Usage>,
    /// What its sandbox was in the way of, when it is an execution.
    pub denied: Option<Denied>,
}
