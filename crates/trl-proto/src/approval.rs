//! The part of a case that says which commands run, which wait for a person, and which never do.
//!
//! These are the shapes people write; what they mean for a command is judged elsewhere.

use serde::{Deserialize, Serialize};

use crate::hitl::Verdict;

/// Of a case, or of everything (`approvals.yaml` beside the cases).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalSpec {
    /// For commands that no rule knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Verdict>,
    /// After this long without an answer a request is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSpec>,
}

/// One rule: a verdict on commands that begin with given words. `deny` wins over `ask`, `ask` over `allow`, wherever they
/// stand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Each a command's first words, such as `git status`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Commands this rule must decide: checked when it is read.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Commands it must not decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
    /// Told to whoever asked for the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
