//! The case of a session that an earlier daemon recorded. Looked for in this order:
//!
//! 1. The file. The operator's counts as it is now. One of a workspace counts while it is the version that the session was
//!    created with, because an agent could have written any other.
//! 2. The copy in the session's record.
//! 3. The default case, less all that could give the session more than it had. What the lost case denied is not known any
//!    more, so every command is asked about ([`Trust::Lost`]).
//!
//! The sandbox, limits and timeout of a session are in its record and never come from here.

use std::sync::Arc;

use serde_json::Value;
use trl_proto::case::{CaseOrigin, CaseSpec};
use trl_proto::{Error, one_line};
use trl_store::redact::MARK;

use super::{Case, Cases, Trust, Where};

/// The case of a session as its record has it.
#[derive(Debug)]
pub struct RecordedCase<'a> {
    pub id: &'a str,
    /// Digest of the version that the session was created with.
    pub digest: Option<&'a str>,
    /// What [`Case::to_record`] made of it, after redaction.
    pub copy: Option<&'a Value>,
    /// The workspace that the session was created in.
    pub place: Where<'a>,
}

impl Case {
    /// The copy for the record of a session: all that takes effect after its creation, without values of variables.
    pub fn to_record(&self) -> Option<Value> {
        let mut copy = self.clone();
        let CaseSpec { description, env, labels, agent, .. } = &mut copy.spec;
        (*description, *env, *labels) = (None, None, None);
        if let Some(agent) = agent {
            agent.env = None;
        }
        serde_json::to_value(copy).ok()
    }

    /// None when redaction took something out of the copy: a rule with a hole no longer matches what it denied.
    fn from_record(copy: &Value) -> Option<Self> {
        fn is_whole(value: &Value) -> bool {
            match value {
                Value::String(text) => !text.contains(MARK),
                Value::Array(items) => items.iter().all(is_whole),
                Value::Object(fields) => fields.iter().all(|(name, v)| !name.contains(MARK) && is_whole(v)),
                Value::Null | Value::Bool(_) | Value::Number(_) => true,
            }
        }
        is_whole(copy).then(|| serde_json::from_value(copy.clone()).ok()).flatten()
    }

    /// In place of a case of which only the name and the digest are left.
    fn lost(recorded: &RecordedCase<'_>, default: Option<Arc<Self>>) -> Self {
        let default = default.map(|case| case.spec.clone()).unwrap_or_default();
        let spec = CaseSpec {
            idle_ttl_s: default.idle_ttl_s,
            absolute_ttl_s: default.absolute_ttl_s,
            approval: Some(default.approval.unwrap_or_default()),
            snapshots: default.snapshots,
            ..CaseSpec::default()
        };
        Self {
            id: recorded.id.into(),
            spec,
            source: recorded.id.into(),
            origin: CaseOrigin::Config,
            digest: recorded.digest.unwrap_or_default().into(),
            trust: Trust::Lost,
            ignored: Vec::new(),
            workspace: None,
            fallback: None,
        }
    }
}

impl Cases {
    /// # Errors
    /// When the file and the copy are gone and the default case cannot be read either.
    pub fn recorded(&self, recorded: &RecordedCase<'_>) -> Result<Arc<Case>, Error> {
        let copy = recorded.copy.and_then(Case::from_record);
        let why = match self.of_request(Some(recorded.id), recorded.place) {
            Ok(Some(file)) if is_the_same(&file, recorded, copy.as_ref()) => return Ok(file),
            Ok(_) => "another file has taken its place".to_string(),
            Err(error) => one_line(&error.message),
        };
        let (case, what) = match copy {
            Some(copy) => (self.still_trusted(copy)?, "the session's own copy is taken"),
            None => (
                Case::lost(recorded, self.default_case()?),
                "there is no copy, so every command is asked about",
            ),
        };
        let fallback = Some(format!("{why}; {what}"));
        Ok(Arc::new(Case { fallback, ..case }))
    }

    /// A copy of a workspace's case, as it takes effect if its version is not trusted any more.
    fn still_trusted(&self, copy: Case) -> Result<Case, Error> {
        let revocable = copy.trust == Trust::Whole && copy.origin == CaseOrigin::Workspace;
        if !revocable || self.trusts(&copy.source, &copy.digest) {
            return Ok(copy);
        }
        let (spec, ignored) = self.narrowing(&copy.spec)?;
        Ok(Case { spec, ignored, trust: Trust::Narrowing, ..copy })
    }
}

/// Returns whether the case file that is there now may be used for a recorded session. An operator's file may, at any version,
/// unless the stored copy is a workspace's. A workspace's file may only with the recorded digest.
fn is_the_same(file: &Case, recorded: &RecordedCase<'_>, copy: Option<&Case>) -> bool {
    match file.origin {
        CaseOrigin::Config => copy.is_none_or(|copy| copy.origin == CaseOrigin::Config),
        CaseOrigin::Workspace => recorded.digest == Some(file.digest.as_str()),
    }
}
