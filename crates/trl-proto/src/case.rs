//! A case: the named profile a session is created from, as people write it, and `case.*`.
//!
//! [`CaseSpec`] is the shape of the file (`docs/case.schema.json` is made from it). What a field means, and who may say it, is
//! in `docs/cases.md`; that it makes sense is judged by whoever reads the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::approval::ApprovalSpec;
use crate::limits::Limits;
use crate::sandbox::SandboxParams;
use crate::session::{OnExit, Renewal};
use crate::unique;

/// A case file: `ID.yaml` in the directory of cases, or in `.trl/cases/` of a workspace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseSpec {
    /// The name of the file without `.yaml`, which it is in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The shell program of a session, unless it asks for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// The one program sessions of this case run, in place of a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Variables, below those of the session.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Names of variables whose values are secret: they come with the request or from the daemon's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<Vec<String>>,
    /// Names to take from the daemon's own environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,
    /// Where sessions start, unless they say so: an absolute path, in which `{workspace}`, `{home}` and `{session_id}` stand
    /// for what they say. What is missing of a path with one of these is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The id of the workspace sessions are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Where programs live; `host` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The boundary, and the widest a request may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxParams>,
    /// What programs may use, and the most a request may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Default timeout of commands; 0 is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// A session idle for so long is closed; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ttl_s: Option<f64>,
    /// A session this old is closed whatever it does; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute_ttl_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exit: Option<OnExit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Renewal>,
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Which commands run, which wait for a person, and which never do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalSpec>,
    /// Files of the working directory may be kept with checkpoints, up to this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<SnapshotSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSpec>,
}

/// How much is kept of files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SnapshotSpec {
    /// 50 000 unless told otherwise; with more than that none is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
    /// Of all together; 256 MiB unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// A larger file is left out; 32 MiB unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<u64>,
}

#[cfg(feature = "schema")]
impl CaseSpec {
    /// What editors check a case file with.
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Self);
        schema.insert("title".into(), "A case of TRL".into());
        let mut schema = schema.to_value();
        // Whichever way maps are ordered in this build.
        schema.sort_all_objects();
        schema
    }
}

/// The agent that answers messages to a session of this case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Whether it may run commands without the daemon; `off` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_shell: Option<OwnShell>,
    /// Variables of the agent alone.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// How long it may take over one message; 0 is for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// How long it is kept after one, for the next; 0 is not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linger_s: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OwnShell {
    /// All it runs goes through the daemon.
    #[default]
    Off,
    On,
}

/// Where a case was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CaseOrigin {
    /// The directory of cases, which is the operator's.
    Config,
    /// A workspace, where agents write.
    Workspace,
}

/// Something wrong with a case file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseError {
    /// From 1; absent when it is about the file as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The field, such as `approval.rules.0.allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub message: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl CaseError {
    /// `file:line:column: message`, with as much of the place as is known.
    pub fn in_file(&self, file: &str) -> String {
        let place: String = [self.line, self.column].into_iter().flatten().map(|n| format!(":{n}")).collect();
        format!("{file}{place}: {}", self.message)
    }
}

/// A case as `case.list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseInfo {
    pub case_id: String,
    pub description: Option<String>,
    /// The file.
    pub source: String,
    pub origin: CaseOrigin,
    /// SHA-256 of the file, in hexadecimal; absent when it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// All of it takes effect.
    pub trusted: bool,
    /// Sessions that name no case get this one.
    pub default: bool,
    /// Fields that have no effect until it is trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Why no session can be created from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CaseError>,
}

/// `case.list`: the cases of the daemon, and of a workspace if one is named.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Or the workspace's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseList {
    /// By their ids; those of the daemon first.
    pub cases: Vec<CaseInfo>,
    /// Files beyond what is looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseParams {
    pub case_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Or the workspace's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// `case.get`: a case that sessions can be created from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseDetail {
    #[serde(flatten)]
    pub info: CaseInfo,
    /// What has effect: of an untrusted case with what it narrows. Values of variables are shown to operators only.
    pub case: CaseSpec,
    /// Names of its variables, secret ones included.
    pub env_keys: Vec<String>,
}

/// `case.validate`: is this text a case?
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseValidateParams {
    /// The contents of a case file.
    pub text: String,
    /// The name it is to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseValidated {
    pub valid: bool,
    pub errors: Vec<CaseError>,
    /// SHA-256 of the text, in hexadecimal.
    pub digest: String,
}

/// `case.trust`: let all of a workspace's case take effect, as long as the file stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseTrustParams {
    pub case_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Or the workspace's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of the file as it was seen.
    pub digest: String,
    /// `false` takes it back, whatever the file is by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hitl::Verdict;

    #[test]
    fn the_example_of_the_wire_is_a_case() {
        let case: CaseSpec = serde_json::from_value(serde_json::json!({
            "id": "careful", "description": "Ask before anything that is not read-only",
            "shell": "/bin/bash", "env": {"LANG": "C.UTF-8"}, "sandbox": "workspace-write",
            "limits": {"memory_bytes": 1_073_741_824, "pids": 256}, "timeout_s": 120,
            "approval": {"default": "ask", "timeout_s": 1800, "rules": [
                {"allow": ["echo", "git status"], "match": ["git status -s"], "not_match": ["git push"]},
                {"deny": ["git push --force"], "reason": "protected branches"},
            ]},
            "agent": {"command": ["opencode", "acp"], "own_shell": "off"},
        }))
        .unwrap();
        assert_eq!(case.approval.as_ref().and_then(|a| a.default), Some(Verdict::Ask));
        assert_eq!(case.agent.as_ref().and_then(|a| a.own_shell), Some(OwnShell::Off));
        let again: CaseSpec = serde_json::from_str(&serde_json::to_string(&case).unwrap()).unwrap();
        assert_eq!(again, case);
    }

    #[test]
    fn a_place_is_shown_as_far_as_it_is_known() {
        let mut error = CaseError {
            line: Some(3),
            column: Some(5),
            field: None,
            message: "unknown field `sandox`".into(),
            hint: None,
        };
        assert_eq!(error.in_file("x.yaml"), "x.yaml:3:5: unknown field `sandox`");
        (error.line, error.column) = (None, None);
        assert_eq!(error.in_file("x.yaml"), "x.yaml: unknown field `sandox`");
    }
}
