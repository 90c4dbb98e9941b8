//! `system.doctor` and `system.log`: what a daemon finds out about the machine, and what it said last.

use serde::{Deserialize, Serialize};

/// How a fact is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Ok,
    /// Works, but less well than it could.
    Warn,
    /// Something will fail.
    Bad,
    /// Only to be known.
    Info,
}

/// One line of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable, for programs.
    pub id: String,
    /// For people.
    pub title: String,
    pub status: Health,
    pub value: String,
    /// What could be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        status: Health,
        value: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), title: title.into(), status, value: value.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The reply to `system.doctor`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    pub version: String,
    /// The worst of all findings.
    pub status: Health,
    pub rows: Vec<Finding>,
}

impl Diagnosis {
    pub fn of(version: impl Into<String>, rows: Vec<Finding>) -> Self {
        let has = |status: Health| rows.iter().any(|f| f.status == status);
        let worst = [Health::Bad, Health::Warn].into_iter().find(|status| has(*status));
        Self { version: version.into(), status: worst.unwrap_or(Health::Ok), rows }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LogParams {
    /// The newest of them; all that are kept when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The reply to `system.log`: oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogLines {
    pub lines: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnosis_is_as_bad_as_its_worst_finding() {
        let finding = |status| Finding::new("x", "x", status, "");
        let status = |all: &[Health]| Diagnosis::of("1", all.iter().copied().map(finding).collect()).status;
        assert_eq!(status(&[Health::Info, Health::Ok]), Health::Ok);
        assert_eq!(status(&[Health::Ok, Health::Warn]), Health::Warn);
        assert_eq!(status(&[Health::Bad, Health::Warn]), Health::Bad);
    }
}
