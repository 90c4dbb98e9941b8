//! `agent.*`: messages to the agent of a session, and what it does about them.
//!
//! ```text
//!  agent.send_message ──▶ update 1, 2, 3 ... ──▶ done        pushed as they come; agent.follow goes on at any of them
//! ```
//!
//! The words are TRL's own, whatever the protocol is that the agent speaks: `docs/agents.md` explains each of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exec::Refusal;
use crate::hitl::RequestState;
use crate::id::{ExecutionId, MessageId, RequestId, SessionId, StreamId};

/// `agent.send_message`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentSendParams"))]
#[serde(deny_unknown_fields)]
pub struct SendParams {
    pub session_id: SessionId,
    /// Text, at most 1 MiB.
    pub message: String,
}

/// The reply to `agent.send_message` and `agent.follow`; pushes come after it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageStream {
    pub message_id: MessageId,
    pub stream_id: StreamId,
    /// Over plain HTTP, which has no pushes: where to read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<String>,
}

/// `agent.stop`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentStopParams"))]
#[serde(deny_unknown_fields)]
pub struct StopParams {
    pub session_id: SessionId,
    /// Only if it is this one that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentStopped {
    pub session_id: SessionId,
    /// The message that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Whether there was one to stop.
    pub stopped: bool,
}

/// `agent.history`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentHistoryParams"))]
#[serde(deny_unknown_fields)]
pub struct HistoryParams {
    pub session_id: SessionId,
    /// Only what was sent before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MessageId>,
    /// 20 unless told otherwise, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentHistory {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// There are older ones.
    pub more: bool,
}

/// `agent.follow`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentFollowParams"))]
#[serde(deny_unknown_fields)]
pub struct FollowParams {
    pub session_id: SessionId,
    /// The newest unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The last update that is known already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// A message and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentMessage"))]
pub struct Message {
    pub message_id: MessageId,
    pub session_id: SessionId,
    pub text: String,
    pub state: MessageState,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
    pub updates: Vec<Numbered>,
    /// Of its last update; 0 when there is none.
    pub last_seq: u64,
    /// There was no room for its updates: `agent.follow` has them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cut: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    Running,
    /// A person has to answer first.
    Waiting,
    Done,
}

/// Why a message is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentStopReason"))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    /// Somebody stopped it, or its session ended.
    Cancelled,
    /// The daemon ended.
    Interrupted,
    Error,
}

impl StopReason {
    /// As the wire has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::EndTurn,
            Self::MaxTokens,
            Self::MaxTurnRequests,
            Self::Refusal,
            Self::Cancelled,
            Self::Interrupted,
            Self::Error,
        ];
        all.into_iter().find(|reason| reason.name() == name)
    }
}

/// An update with its place in the message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentNumberedUpdate"))]
pub struct Numbered {
    /// From 1, without gaps.
    pub seq: u64,
    pub time: String,
    pub update: Update,
}

/// The push `agent.update`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UpdatePush {
    /// Absent in events of plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_id: Option<StreamId>,
    pub session_id: SessionId,
    pub message_id: MessageId,
    #[serde(flatten)]
    pub numbered: Numbered,
}

/// The push `agent.done`, the last of a stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DonePush {
    /// Absent in events of plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_id: Option<StreamId>,
    pub session_id: SessionId,
    pub message_id: MessageId,
    /// One more than that of the last update.
    pub seq: u64,
    pub time: String,
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
}

/// Something an agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentUpdate"))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Update {
    /// It has the message.
    Started(Started),
    /// The next piece of its answer.
    Text { text: String },
    /// The next piece of what it thinks.
    Thought { text: String },
    /// A tool is used, or something about that has changed.
    ToolCall(ToolCall),
    /// The whole plan.
    Plan { entries: Vec<PlanEntry> },
    /// It runs a command.
    Terminal { terminal_id: String, execution_id: ExecutionId, command: String, working_dir: String },
    /// It read or wrote a file through TRL.
    File { op: FileOp, path: String, ok: bool },
    /// A person is asked.
    Permission {
        request_id: RequestId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
        title: String,
        options: Vec<PermissionOption>,
    },
    PermissionResolved {
        request_id: RequestId,
        state: RequestState,
        /// What the agent was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option_id: Option<String>,
    },
    /// It works in another mode.
    Mode { mode_id: String },
    /// Slash commands it takes.
    Commands { commands: Vec<SlashCommand> },
    /// Of its context, in tokens.
    Usage { used: u64, size: u64 },
    /// One of the protocol that TRL does not know.
    Other { name: String, content: Value },
    /// So many further ones were too many to be kept.
    Omitted { updates: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentStarted"))]
pub struct Started {
    pub agent: AgentName,
    /// Its own id of the conversation.
    pub agent_session_id: String,
    /// It was running.
    pub warm: bool,
    pub resumed: Resumed,
    /// It was given TRL's tools.
    pub mcp: bool,
    pub own_shell: ShellWord,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentName {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What it knows of earlier messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Resumed {
    /// It is the same process.
    Same,
    /// It was given its earlier session.
    Loaded,
    New,
}

/// Whether an agent runs commands without TRL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShellWord {
    /// It was told not to, in the way it documents.
    Off,
    On,
    /// It has no such way that TRL knows of.
    Unknown,
}

/// Only what is new of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentToolCall"))]
pub struct ToolCall {
    pub tool_call_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_kind: Option<String>,
    /// `pending`, `in_progress`, `completed` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentToolContent"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    Text {
        text: String,
    },
    Diff {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        new_text: String,
    },
    /// A command it runs through TRL.
    Terminal {
        terminal_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution_id: Option<ExecutionId>,
    },
    /// A picture, say.
    Other {
        content: Value,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AgentLocation"))]
pub struct Location {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanEntry {
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileOp {
    Read,
    Write,
}

/// One of the answers an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionOption {
    pub option_id: String,
    pub name: String,
    pub kind: OptionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    /// TRL does not know it, and never chooses it.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
}

/// The permission an agent asks for, in its approval request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Permission {
    pub message_id: MessageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_kind: Option<String>,
    pub options: Vec<PermissionOption>,
}

/// Where the agent of a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    #[default]
    Absent,
    Starting,
    Running,
    /// A person has to answer first.
    Waiting,
    Stopping,
    /// It is kept for the next message.
    Warm,
}

/// The agent of a session, in `session.info`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentInfo {
    pub state: AgentState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its own id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session_id: Option<String>,
    /// The newest message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Until when it is kept, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_until: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_read_as_the_wire_has_them() {
        for text in [
            r#"{"kind":"text","text":"hello"}"#,
            r#"{"kind":"tool_call","tool_call_id":"c1","title":"ls","tool_kind":"execute","status":"pending"}"#,
            r#"{"kind":"tool_call","tool_call_id":"c1","content":[{"type":"terminal","terminal_id":"t1"}]}"#,
            r#"{"kind":"plan","entries":[{"content":"look","priority":"high","status":"pending"}]}"#,
            r#"{"kind":"permission_resolved","request_id":"r-abcdefghij","state":"approved","option_id":"yes"}"#,
            r#"{"kind":"started","agent":{"name":"x"},"agent_session_id":"1","warm":false,"resumed":"new","mcp":true,"own_shell":"unknown"}"#,
        ] {
            let update: Update = serde_json::from_str(text).unwrap();
            let (again, before): (Value, Value) =
                (serde_json::to_value(&update).unwrap(), serde_json::from_str(text).unwrap());
            assert_eq!(again, before);
        }
    }

    #[test]
    fn reasons_have_names() {
        assert_eq!(StopReason::named("max_turn_requests"), Some(StopReason::MaxTurnRequests));
        assert_eq!(StopReason::named("bored"), None);
    }
}
