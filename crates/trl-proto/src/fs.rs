//! `fs.*`: parameters and results.
//!
//! Paths are relative to the root of the workspace. One that is not UTF-8 stands as base64, with `path_encoding` beside
//! it, in requests as in replies. Paths in replies are places: no part of them is a link.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::exec::Approval;
use crate::id::{RequestId, SessionId, StreamId};
use crate::session::SessionState;
use crate::text::{self, Encoding};

/// A path as it stands in JSON.
pub fn encode_path(bytes: &[u8]) -> (String, Option<Encoding>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), None),
        Err(_) => (text::to_base64(bytes), Some(Encoding::Base64)),
    }
}

/// The bytes of a path in JSON.
pub fn decode_path(path: Option<String>, encoding: Option<Encoding>) -> Result<Vec<u8>> {
    text::decode(path.unwrap_or_default(), encoding.unwrap_or_default())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Dir,
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

/// `fs.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// From the root of the workspace; the root itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// How many levels; 1 unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Entries at most; 1000 unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// `fs.stat`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// From the root of the workspace; the root itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
}

/// `fs.read`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    pub path: String,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Bytes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// `fs.write`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WriteParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    pub path: String,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub data: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Permission bits in octal digits, such as `0755`; those of the old file, or the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Make missing directories on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_dirs: Option<bool>,
    /// Only in place of the file of this version; empty: only where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<String>,
    /// What is done while a person is asked; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// `fs.mkdir`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MkdirParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    pub path: String,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// Make missing directories on the way, and do not mind one that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_dirs: Option<bool>,
    /// What is done while a person is asked; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// `fs.move`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    pub path: String,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub to: String,
    /// `base64` for a `to` that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_encoding: Option<Encoding>,
    /// Replace what is at `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
    /// What is done while a person is asked; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// `fs.remove`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RemoveParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    pub path: String,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// A directory with all that is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursive: Option<bool>,
    /// What is done while a person is asked; `wait` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// `fs.glob`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GlobParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// `*` stays within a name, `**` does not.
    pub pattern: String,
    /// The directory to search; the pattern is held against paths from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// Also what `.gitignore` and `.ignore` name, and `.git`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_ignored: Option<bool>,
    /// Files at most; 1000 unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// `fs.grep`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GrepParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// A regular expression of Rust's `regex`, held against each line.
    pub pattern: String,
    /// The directory or file to search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// Only files whose path matches, as in `fs.glob`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Lines before and after each match; at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The pattern is the text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literal: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_case: Option<bool>,
    /// Also what `.gitignore` and `.ignore` name, and `.git`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_ignored: Option<bool>,
    /// Matches at most; 1000 unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// `fs.watch`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WatchParams {
    /// Of this session: its workspace, or the directory it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of this workspace; one of the two is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// From the root of the workspace; the root itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `base64` for a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// Everything below as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursive: Option<bool>,
}

/// One file, as `fs.stat` and `fs.list` show it; a link is a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileInfo {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub kind: FileKind,
    pub size: u64,
    /// Permission bits in octal digits.
    pub mode: String,
    pub modified_at: String,
    /// Another for any other content.
    pub version: String,
    /// What a link says, wherever that leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Beside a target that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_encoding: Option<Encoding>,
}

/// In the order of names, those of a directory right after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileList {
    pub entries: Vec<FileInfo>,
    /// There are more.
    pub truncated: bool,
}

/// Some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSlice {
    pub data: String,
    pub encoding: Encoding,
    pub offset: u64,
    /// Of the whole file.
    pub size: u64,
    /// Where to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    pub version: String,
}

/// What came of a change to files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ChangeReply<T> {
    Done(T),
    /// With `approval: return`, when a person has to be asked.
    Waiting(ChangeWaiting),
}

/// A change that is made when a person has said yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeWaiting {
    pub request_id: RequestId,
    /// `waiting_hitl`.
    pub state: SessionState,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileWritten {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub size: u64,
    /// Nothing was there before.
    pub created: bool,
    pub version: String,
}

/// A directory that is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirMade {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub created: bool,
}

/// What has another name now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMoved {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub to: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_encoding: Option<Encoding>,
}

/// What is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileRemoved {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
}

/// A path that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilePath {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
}

/// In the order of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Globbed {
    pub files: Vec<FilePath>,
    /// There are more.
    pub truncated: bool,
}

/// A line that matches. Texts are lossy UTF-8 and cut after 1000 bytes; `fs.read` has the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Match {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    /// From 1.
    pub line: u64,
    /// Where the line begins, in bytes.
    pub offset: u64,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// By file and line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matches {
    pub matches: Vec<Match>,
    /// There are more.
    pub truncated: bool,
}

/// What changes is pushed as `fs.changed`, for as long as the connection lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watching {
    pub stream_id: StreamId,
    /// There are more directories than are watched.
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Modified,
    Removed,
}

/// A rename is two of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChange {
    pub path: String,
    /// Beside a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<Encoding>,
    pub kind: ChangeKind,
    pub is_dir: bool,
}

/// The push `fs.changed`: at most one change for each path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedPush {
    pub stream_id: StreamId,
    pub changes: Vec<FileChange>,
    /// More happened than is told: look again.
    pub missed: bool,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_path_comes_back_as_it_was(bytes: Vec<u8>) {
            let (path, encoding) = encode_path(&bytes);
            prop_assert_eq!(decode_path(Some(path), encoding).unwrap(), bytes);
        }
    }
}
