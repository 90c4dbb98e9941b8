//! Checkpoints: what is needed to go on with a session's shell later, in a fresh process or a fresh daemon.
//!
//! 1. The session's task has its shell print its state ([`crate::shell::state`]) and says what else it saw: [`Captured`].
//! 2. [`secrets`] takes out what may not be kept, and lists it; [`heard`] is what commands were given in confidence.
//! 3. [`file`](mod@file) is the form on disk, checksummed; [`store`] puts it there whole or not at all, and keeps the last few.
//! 4. A restore reads it back; the task starts a fresh shell, has it take the state on, looks at what came of it, and
//!    says what did not come about.
//!
//! Why there is no text after each command: `docs/design/0010-checkpoints.md`.

pub mod file;
pub mod heard;
pub mod secrets;
pub mod store;

use serde::{Deserialize, Serialize};
use trl_proto::checkpoint::{CheckpointInfo, NotRestored, Origin, PartName, RestoredFrom};
use trl_proto::{CheckpointId, ExecutionId, RequestId, SessionId};

use crate::clock::Stamp;
use crate::shell::state::State;

pub use heard::Heard;
pub use secrets::Hidden;
pub use store::Checkpoints;

/// What a session's task found.
#[derive(Debug, Clone)]
pub struct Captured {
    /// With every secret in it: only for memory.
    pub state: State,
    pub around: Around,
    pub stand: Stand,
    pub hidden: Hidden,
}

/// Where its session stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stand {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_id: Option<String>,
    /// Commands it had run.
    pub commands: u64,
    /// The last entry of its history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_execution: Option<ExecutionId>,
    /// Approval requests that were waiting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_requests: Vec<RequestId>,
}

/// What no fresh shell can be given, so that a restore can say that it is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// Processes earlier commands left running.
    pub jobs: Vec<i32>,
    /// Descriptors the user opened.
    pub descriptors: Vec<u32>,
    /// Each limit of the shell's, one line.
    pub limits: Vec<String>,
}

/// What is known of a checkpoint beside the state itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub checkpoint_id: CheckpointId,
    #[serde(flatten)]
    pub stand: Stand,
    pub created_at: String,
    /// To sort by.
    pub created_us: i64,
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The shell whose state it is.
    pub shell: String,
    /// Parts that hold secrets and are not in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PartName>,
    pub around: Around,
    /// The workspace's files, as a commit of the session's own repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesMark>,
}

/// A snapshot of workspace files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesMark {
    pub commit: String,
    /// The directory they are of.
    pub dir: String,
    pub count: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub manifest: Manifest,
    pub state: State,
}

/// What the caller adds to a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct Remarks {
    pub label: Option<String>,
    pub files: Option<FilesMark>,
}

impl Checkpoint {
    /// Without the secrets, and with a list of what that cost.
    pub fn new(origin: Origin, captured: Captured) -> Self {
        let Captured { state, around, stand, hidden } = captured;
        let shell = state.kind.name().to_string();
        let (state, left_out) = secrets::without(state, &hidden);
        let now = Stamp::now();
        let manifest = Manifest {
            checkpoint_id: CheckpointId::random(),
            stand,
            created_at: now.rfc3339(),
            created_us: now.unix_micros(),
            origin,
            label: None,
            shell,
            left_out,
            around,
            files: None,
        };
        Self { manifest, state }
    }

    #[must_use]
    pub fn with(mut self, remarks: Remarks) -> Self {
        let Remarks { label, files } = remarks;
        self.manifest = Manifest { label, files, ..self.manifest };
        self
    }

    /// As `session.info` says it.
    pub fn restored_from(&self, not_restored: Vec<NotRestored>) -> RestoredFrom {
        RestoredFrom {
            checkpoint_id: self.manifest.checkpoint_id.clone(),
            created_at: self.manifest.created_at.clone(),
            lost_commands: 0,
            not_restored,
        }
    }

    /// What no shell will have of it; `is_given` says which variables it has from elsewhere.
    pub fn lost(&self, is_given: impl Fn(&str) -> bool) -> Vec<NotRestored> {
        let not =
            |what: &str, name: String, why: &str| NotRestored { what: what.into(), name, why: why.into() };
        let Manifest { left_out, around, .. } = &self.manifest;
        let secret = left_out.iter().filter(|part| part.what != "variable" || !is_given(&part.name));
        let secret = secret
            .map(|part| not(&part.what, part.name.clone(), "it holds a secret, and secrets are not kept"));
        let functions = (!self.state.kind.prints_functions())
            .then(|| not("functions", String::new(), "this shell cannot print them"));
        let jobs = around.jobs.iter().map(|pid| not("job", pid.to_string(), "it belonged to another shell"));
        let descriptors =
            around.descriptors.iter().map(|n| not("descriptor", n.to_string(), "open files are not kept"));
        secret.chain(functions).chain(jobs).chain(descriptors).collect()
    }

    /// Names of variables that are not in it on purpose.
    pub fn spared(&self) -> Vec<Vec<u8>> {
        let variables = self.manifest.left_out.iter().filter(|part| part.what == "variable");
        variables.map(|part| part.name.clone().into_bytes()).collect()
    }
}

impl Manifest {
    /// Of a state that is on its way to whoever keeps it.
    pub fn passing(stand: Stand, around: Around, state: &State) -> Self {
        Self {
            checkpoint_id: CheckpointId::random(),
            stand,
            created_at: String::new(),
            created_us: 0,
            origin: Origin::Request,
            label: None,
            shell: state.kind.name().into(),
            left_out: Vec::new(),
            around,
            files: None,
        }
    }

    pub fn info(&self, size_bytes: u64) -> CheckpointInfo {
        CheckpointInfo {
            checkpoint_id: self.checkpoint_id.clone(),
            session_id: self.stand.session_id.clone(),
            case_id: self.stand.case_id.clone(),
            last_execution_id: self.stand.last_execution.clone(),
            pending_requests: self.stand.pending_requests.clone(),
            created_at: self.created_at.clone(),
            origin: self.origin,
            label: self.label.clone(),
            shell: self.shell.clone(),
            size_bytes,
            commands: self.stand.commands,
            left_out: self.left_out.clone(),
            files: self.files.as_ref().map(|mark| trl_proto::checkpoint::FilesInfo {
                dir: mark.dir.clone(),
                count: mark.count,
                bytes: mark.bytes,
            }),
        }
    }
}
