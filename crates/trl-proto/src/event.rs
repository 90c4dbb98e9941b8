//! `events.subscribe` and the push `event`.

use serde::{Deserialize, Serialize};

use crate::agent::StopReason;
use crate::exec::ShellState;
use crate::hitl::RequestState;
use crate::id::{ExecutionId, MessageId, RequestId, SessionId, StreamId, TerminalId};
use crate::session::SessionState;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SubscribeParams {
    /// Only these kinds; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<Kind>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Also what happened after this sequence number, as far as it is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subscribed {
    pub stream_id: StreamId,
    /// The newest event at the time of subscribing.
    pub seq: u64,
}

/// One thing that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    pub seq: u64,
    pub time: String,
    #[serde(flatten)]
    pub what: Happening,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind")]
pub enum Happening {
    #[serde(rename = "session.created")]
    SessionCreated { session_id: SessionId, shell: String },
    #[serde(rename = "session.state")]
    SessionState { session_id: SessionId, state: SessionState },
    /// Closed or terminated, and why.
    #[serde(rename = "session.ended")]
    SessionEnded { session_id: SessionId, state: SessionState, reason: String },
    /// The shell was lost and replaced, during a command or while idle.
    #[serde(rename = "shell.replaced")]
    ShellReplaced { session_id: SessionId, shell_state: ShellState },
    #[serde(rename = "exec.started")]
    ExecStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal_id: Option<TerminalId>,
        execution_id: ExecutionId,
    },
    #[serde(rename = "exec.finished")]
    ExecFinished {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal_id: Option<TerminalId>,
        execution_id: ExecutionId,
        exit_code: i32,
        timed_out: bool,
        cancelled: bool,
    },
    #[serde(rename = "terminal.created")]
    TerminalCreated { terminal_id: TerminalId, shell: String },
    #[serde(rename = "terminal.ended")]
    TerminalEnded { terminal_id: TerminalId, exit_code: i32, reason: String },
    /// A command waits for a person; `hitl.list` and `hitl.get` show it.
    #[serde(rename = "hitl.requested")]
    HitlRequested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution_id: Option<ExecutionId>,
        request_id: RequestId,
    },
    /// It waits no longer.
    #[serde(rename = "hitl.resolved")]
    HitlResolved {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        request_id: RequestId,
        state: RequestState,
    },
    /// The session's agent has a message.
    #[serde(rename = "agent.started")]
    AgentStarted { session_id: SessionId, message_id: MessageId },
    /// It is done with it.
    #[serde(rename = "agent.finished")]
    AgentFinished { session_id: SessionId, message_id: MessageId, stop_reason: StopReason },
    /// A sandbox has ended, and a git directory that was made meanwhile makes git run programs for whoever uses it next.
    #[serde(rename = "sandbox.made")]
    SandboxMade {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal_id: Option<TerminalId>,
        /// The directory the sandbox was around.
        workspace: String,
        /// The git directory, relative to that.
        path: String,
        /// Hooks and settings: `hooks/NAME`, `config: core.fsmonitor`, `commondir`.
        reasons: Vec<String>,
    },
    /// This subscriber was too slow: events between the last one and this were dropped.
    #[serde(rename = "events.missed")]
    Missed { from: u64, to: u64 },
}

/// The name of a [`Happening`] without its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Kind {
    #[serde(rename = "session.created")]
    SessionCreated,
    #[serde(rename = "session.state")]
    SessionState,
    #[serde(rename = "session.ended")]
    SessionEnded,
    #[serde(rename = "shell.replaced")]
    ShellReplaced,
    #[serde(rename = "exec.started")]
    ExecStarted,
    #[serde(rename = "exec.finished")]
    ExecFinished,
    #[serde(rename = "terminal.created")]
    TerminalCreated,
    #[serde(rename = "terminal.ended")]
    TerminalEnded,
    #[serde(rename = "hitl.requested")]
    HitlRequested,
    #[serde(rename = "hitl.resolved")]
    HitlResolved,
    #[serde(rename = "agent.started")]
    AgentStarted,
    #[serde(rename = "agent.finished")]
    AgentFinished,
    #[serde(rename = "sandbox.made")]
    SandboxMade,
    #[serde(rename = "events.missed")]
    Missed,
}

impl Happening {
    pub fn kind(&self) -> Kind {
        match self {
            Self::SessionCreated { .. } => Kind::SessionCreated,
            Self::SessionState { .. } => Kind::SessionState,
            Self::SessionEnded { .. } => Kind::SessionEnded,
            Self::ShellReplaced { .. } => Kind::ShellReplaced,
            Self::ExecStarted { .. } => Kind::ExecStarted,
            Self::ExecFinished { .. } => Kind::ExecFinished,
            Self::TerminalCreated { .. } => Kind::TerminalCreated,
            Self::TerminalEnded { .. } => Kind::TerminalEnded,
            Self::HitlRequested { .. } => Kind::HitlRequested,
            Self::HitlResolved { .. } => Kind::HitlResolved,
            Self::AgentStarted { .. } => Kind::AgentStarted,
            Self::AgentFinished { .. } => Kind::AgentFinished,
            Self::SandboxMade { .. } => Kind::SandboxMade,
            Self::Missed { .. } => Kind::Missed,
        }
    }

    pub fn session_id(&self) -> Option<&SessionId> {
        match self {
            Self::SessionCreated { session_id, .. }
            | Self::SessionState { session_id, .. }
            | Self::SessionEnded { session_id, .. }
            | Self::ShellReplaced { session_id, .. }
            | Self::AgentStarted { session_id, .. }
            | Self::AgentFinished { session_id, .. } => Some(session_id),
            Self::ExecStarted { session_id, .. }
            | Self::ExecFinished { session_id, .. }
            | Self::HitlRequested { session_id, .. }
            | Self::SandboxMade { session_id, .. }
            | Self::HitlResolved { session_id, .. } => session_id.as_ref(),
            Self::TerminalCreated { .. } | Self::TerminalEnded { .. } | Self::Missed { .. } => None,
        }
    }

    pub fn terminal_id(&self) -> Option<&TerminalId> {
        match self {
            Self::TerminalCreated { terminal_id, .. } | Self::TerminalEnded { terminal_id, .. } => {
                Some(terminal_id)
            }
            Self::ExecStarted { terminal_id, .. }
            | Self::ExecFinished { terminal_id, .. }
            | Self::SandboxMade { terminal_id, .. } => terminal_id.as_ref(),
            _ => None,
        }
    }
}
