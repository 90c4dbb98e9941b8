//! Cases: the named profiles that sessions are created from.
//!
//! 1. [`files`] reads a file without being led elsewhere; [`parse`] makes a case of its text or says what is wrong and
//!    where ([`check`] what it means, [`locate`] where it stands).
//! 2. [`registry`] is all of them: looked at when somebody asks, so that a file that changed is a changed case. Whoever has a
//!    [`Case`] keeps it as it was.
//! 3. [`pins`] remembers which files of workspaces an operator trusts, by their digests. One that is not trusted only narrows
//!    what there is without it: [`narrow`].
//! 4. [`request`] puts what a request asks for on top of its case.
//! 5. [`resident`] answers "which case does this session have?"; [`recorded`] does for sessions of an earlier daemon.
//!
//! The approval rules of a case are carried along; they are judged elsewhere.

pub mod check;
pub mod files;
mod locate;
pub mod narrow;
pub mod parse;
pub mod pins;
pub mod recorded;
pub mod registry;
pub mod request;
pub mod resident;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trl_proto::case::{CaseOrigin, CaseSpec};

pub use self::registry::{Cases, Where};

/// One version of a case, as it takes effect. It never changes: an edited file is another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub id: String,
    /// What has effect: of an untrusted file with what it narrows.
    pub spec: CaseSpec,
    pub source: PathBuf,
    pub origin: CaseOrigin,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    pub trust: Trust,
    /// Fields of the file without effect.
    pub ignored: Vec<String>,
    /// The workspace it is in.
    pub workspace: Option<PathBuf>,
    /// Why this stands in for what the file says: a session of an earlier daemon cannot have that.
    #[serde(skip)]
    pub fallback: Option<String>,
}

/// Whether all of a case takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    Whole,
    /// An agent may have written it: it only narrows.
    Narrowing,
    /// Its rules are lost: every command is asked about.
    Lost,
}

impl Case {
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Whole
    }
}
