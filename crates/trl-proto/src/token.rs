//! `token.*`: parameters and results, and the ceilings of a token.
//!
//! [`Ceilings::check`] is the one pure answer to "may this token ask for that?". It fails closed: a ceiling about
//! something the request leaves to its default is held against that default.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode, Result};
use crate::id::{SessionId, TokenId};
use crate::method::Role;
use crate::runtime::{HOST, RuntimeWish};
use crate::sandbox::{Mode, Net, SandboxParams};

/// How much a sandbox lets through, narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    ReadOnly,
    WorkspaceWrite,
    Off,
}

impl From<Mode> for SandboxMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::ReadOnly => Self::ReadOnly,
            Mode::WorkspaceWrite => Self::WorkspaceWrite,
            // what is listed may be anything
            Mode::Custom | Mode::Off => Self::Off,
        }
    }
}

/// The most an agent token may have; what is absent is not bounded by the token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ceilings {
    /// Only these cases, and none without a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtimes: Option<Vec<String>>,
    /// Only these workspaces, and none without a workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Vec<String>>,
    /// The widest sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// Sessions of its own at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u64>,
}

/// The parameters that ceilings are about, wherever a request has them; all others are ignored.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Wish {
    #[serde(default)]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    pub case_id: Option<String>,
    #[serde(default)]
    pub workspace_id: Option<String>,
    #[serde(default)]
    pub working_dir: Option<String>,
    #[serde(default)]
    pub runtime: Option<RuntimeWish>,
    #[serde(default)]
    pub pass_env: Option<Vec<String>>,
    /// A mode, or an object with one; what it is matters only to those who have a ceiling.
    #[serde(default)]
    pub sandbox: Option<serde_json::Value>,
}

/// Whether a request starts a session: then what it does not name gets its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Making {
    Session,
    Nothing,
}

impl Wish {
    /// How wide a sandbox is asked for: as wide as none where it is open to the network, may turn out to be less than it
    /// says, lists paths of its own, or is not understood.
    fn sandbox(&self) -> SandboxMode {
        let asked = self.sandbox.as_ref().and_then(|s| SandboxParams::deserialize(s).ok());
        let Some(SandboxParams { mode, net, best_effort, .. }) = asked else { return SandboxMode::Off };
        if net == Some(Net::All) || best_effort == Some(true) {
            return SandboxMode::Off;
        }
        mode.into()
    }
}

impl Ceilings {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Does everything that `wish` names lie below these ceilings?
    pub fn check(&self, wish: &Wish, making: Making) -> Result<()> {
        let all = making == Making::Session;
        within("case_id", self.cases.as_deref(), wish.case_id.as_deref(), all)?;
        within("workspace_id", self.workspaces.as_deref(), wish.workspace_id.as_deref(), all)?;
        // Whoever may have only some must name one of them.
        let named = wish.runtime.as_ref().map(|wish| wish.name().unwrap_or_default());
        let runtime = named.or(all.then_some(HOST));
        within("runtime", self.runtimes.as_deref(), runtime, all)?;
        match self.sandbox {
            Some(widest) if (all || wish.sandbox.is_some()) && wish.sandbox() > widest => {
                Err(beyond("sandbox", "a wider sandbox than there may be here"))
            }
            _ => Ok(()),
        }
    }
}

fn within(field: &str, allowed: Option<&[String]>, asked: Option<&str>, must_name: bool) -> Result<()> {
    match (allowed, asked) {
        (None, _) => Ok(()),
        (Some(allowed), Some(asked)) if allowed.iter().any(|name| name == asked) => Ok(()),
        (Some(_), None) if !must_name => Ok(()),
        (Some(_), None) => Err(beyond(field, "this token must name one")),
        (Some(_), Some(_)) => Err(beyond(field, "not one this token may use")),
    }
}

fn beyond(field: &str, why: &str) -> Error {
    Error::new(ErrorCode::Forbidden, format!("`{field}`: {why}")).detail("ceiling", field)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateTokenParams {
    /// For people.
    pub name: String,
    pub role: Role,
    /// Never, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<f64>,
    /// Of an agent token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenInfo {
    pub token_id: TokenId,
    pub name: String,
    pub role: Role,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// To the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    #[serde(default, skip_serializing_if = "Ceilings::is_empty")]
    pub ceilings: Ceilings,
}

/// The one reply that holds the token itself.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenCreated {
    pub token: String,
    #[serde(flatten)]
    pub info: TokenInfo,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenList {
    pub tokens: Vec<TokenInfo>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TokenParams {
    pub token_id: TokenId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenRevoked {
    pub token_id: TokenId,
    pub revoked: bool,
}

/// What a browser presents once in place of a token (`POST /api/tickets`).
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ticket {
    pub ticket: String,
    pub expires_in_s: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(json: &str) -> Wish {
        serde_json::from_str(json).unwrap()
    }

    fn ceilings(json: &str) -> Ceilings {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn without_ceilings_everything_may_be_asked_for() {
        for text in ["{}", r#"{"case_id":"a","runtime":"x","sandbox":"off","workspace_id":"w"}"#] {
            assert!(Ceilings::default().check(&wish(text), Making::Session).is_ok());
        }
    }

    #[test]
    fn what_is_named_must_be_allowed_and_what_is_not_named_is_its_default() {
        for (ceiling, asked, new_session, otherwise) in [
            (r#"{"runtimes":["host"]}"#, "{}", true, true),
            (r#"{"runtimes":["box"]}"#, "{}", false, true),
            (r#"{"runtimes":["box"]}"#, r#"{"runtime":"box"}"#, true, true),
            (r#"{"runtimes":["box"]}"#, r#"{"runtime":"host"}"#, false, false),
            (r#"{"cases":["careful"]}"#, "{}", false, true),
            (r#"{"cases":["careful"]}"#, r#"{"case_id":"careful"}"#, true, true),
            (r#"{"cases":["careful"]}"#, r#"{"case_id":"wild"}"#, false, false),
            (r#"{"workspaces":[]}"#, r#"{"workspace_id":"w"}"#, false, false),
            (r#"{"workspaces":["w"]}"#, r#"{"workspace_id":"w"}"#, true, true),
            (r#"{"sandbox":"workspace-write"}"#, "{}", false, true),
            (r#"{"sandbox":"workspace-write"}"#, r#"{"sandbox":"read-only"}"#, true, true),
            (r#"{"sandbox":"workspace-write"}"#, r#"{"sandbox":{"mode":"workspace-write"}}"#, true, true),
            (r#"{"sandbox":"read-only"}"#, r#"{"sandbox":"workspace-write"}"#, false, false),
            (r#"{"sandbox":"read-only"}"#, r#"{"sandbox":{"mode":"custom"}}"#, false, false),
            (
                r#"{"sandbox":"workspace-write"}"#,
                r#"{"sandbox":{"mode":"read-only","net":"loopback"}}"#,
                true,
                true,
            ),
            (
                r#"{"sandbox":"workspace-write"}"#,
                r#"{"sandbox":{"mode":"read-only","net":"all"}}"#,
                false,
                false,
            ),
            (
                r#"{"sandbox":"workspace-write"}"#,
                r#"{"sandbox":{"mode":"read-only","best_effort":true}}"#,
                false,
                false,
            ),
            (
                r#"{"sandbox":"workspace-write"}"#,
                r#"{"sandbox":{"mode":"read-only","unknown":1}}"#,
                false,
                false,
            ),
            (r#"{"sandbox":"off"}"#, "{}", true, true),
        ] {
            let (ceiling, asked) = (ceilings(ceiling), wish(asked));
            assert_eq!(ceiling.check(&asked, Making::Session).is_ok(), new_session, "{ceiling:?} {asked:?}");
            assert_eq!(ceiling.check(&asked, Making::Nothing).is_ok(), otherwise, "{ceiling:?} {asked:?}");
        }
    }
}
