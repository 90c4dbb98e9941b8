//! `checkpoint.*`: parameters and results.

use serde::{Deserialize, Serialize};

use crate::id::{CheckpointId, ExecutionId, RequestId, SessionId};

/// Why a checkpoint was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Somebody asked for it.
    Request,
    /// Its session was closed.
    Close,
    /// It was due.
    Interval,
    /// A command began to wait for a person, or the next one might.
    Approval,
}

/// One part of a shell's state, by what it is and what it is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartName {
    /// `variable`, `function`, `alias`, `trap`, `option`, `directory` and so on.
    pub what: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateParams {
    pub session_id: SessionId,
    /// What it is called in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The files of the session's working directory as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<bool>,
}

/// A checkpoint as `create` and `list` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointInfo {
    pub checkpoint_id: CheckpointId,
    pub session_id: SessionId,
    pub created_at: String,
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The shell whose state it is.
    pub shell: String,
    pub size_bytes: u64,
    /// Commands the session had run.
    pub commands: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// The last command in it: where its history stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_execution_id: Option<ExecutionId>,
    /// Approval requests that were waiting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_requests: Vec<RequestId>,
    /// Parts that hold secrets and are not in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PartName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesInfo>,
}

/// What is kept of a directory's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesInfo {
    pub dir: String,
    pub count: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    pub session_id: SessionId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointList {
    /// Newest first.
    pub checkpoints: Vec<CheckpointInfo>,
    /// Files that are not what was written, and are not used.
    pub corrupt: Vec<CorruptInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorruptInfo {
    pub checkpoint_id: String,
    pub why: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RestoreParams {
    pub session_id: SessionId,
    pub checkpoint_id: CheckpointId,
    /// The files as well, if the checkpoint has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<bool>,
    /// Change nothing; only say which files would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<bool>,
    /// With `files`: the one of a preview. If something else would be done by now, nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_digest: Option<String>,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restored {
    pub session_id: SessionId,
    pub checkpoint_id: CheckpointId,
    pub restored: Vec<RestoredPart>,
    pub not_restored: Vec<NotRestored>,
    /// Paths that were changed, or would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileChange>>,
    /// Of a preview: stands for what was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_digest: Option<String>,
}

/// So many parts of one kind are as they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredPart {
    pub what: String,
    pub count: u64,
}

/// Something that is not as it was, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotRestored {
    pub what: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub why: String,
}

/// What restoring does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RestoredFile"))]
pub struct FileChange {
    pub path: String,
    pub change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Created,
    Overwritten,
    Removed,
}

/// From which checkpoint a session that was opened again has its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredFrom {
    pub checkpoint_id: CheckpointId,
    pub created_at: String,
    /// Commands that ran after it: what they changed in the shell is lost.
    #[serde(default)]
    pub lost_commands: u64,
    /// What it has not; all of it is known once its shell runs.
    #[serde(default)]
    pub not_restored: Vec<NotRestored>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeleteParams {
    pub session_id: SessionId,
    pub checkpoint_id: CheckpointId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deleted {
    pub session_id: SessionId,
    pub checkpoint_id: CheckpointId,
}
