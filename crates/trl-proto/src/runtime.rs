//! `runtime.*`: the places where processes can live.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::unique;

/// What sessions have that name no other.
pub const HOST: &str = "host";

/// How a runtime is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuntimeKind {
    /// This machine.
    Host,
    /// A machine behind the system's `ssh`.
    Ssh,
    /// A container.
    Docker,
    /// Whatever a program gives a byte stream to.
    Command,
}

/// How the program gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Binary {
    /// This one, copied there once.
    #[default]
    Copy,
    /// There is one on its `PATH`, of the same version.
    Installed,
}

impl Binary {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A directory of the machine that a container sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub source: String,
    /// The same path unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default)]
    pub read_only: bool,
}

/// A runtime as it is written down: `[runtimes.<name>]` in the settings, and `runtime.add`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuntimeSpec {
    /// Of `runtime.add`; in the settings it is the name of the section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub kind: RuntimeKind,
    /// `command`: the program; `{key}` in it is the name of the link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// `ssh`: where to, as `ssh` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `ssh`: words before the target, such as `-p 2222`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// `docker`: each session has a container of this image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// `docker`: all sessions are in this one, which is there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// `docker`: the name of a network, or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// `docker`: whose process it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `docker`: where its daemon listens; `/var/run/docker.sock` unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// `docker`: what a container may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    #[serde(default, skip_serializing_if = "Binary::is_usual")]
    pub binary: Binary,
    /// By which it is chosen.
    #[serde(default, deserialize_with = "unique::optional", skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// How much it can take, compared with others; 1 unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Sessions and terminals it may have at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<usize>,
}

impl RuntimeSpec {
    /// One of this kind, of which nothing else is said.
    pub fn new(kind: RuntimeKind) -> Self {
        Self {
            name: None,
            kind,
            argv: Vec::new(),
            target: None,
            options: Vec::new(),
            image: None,
            container: None,
            mounts: Vec::new(),
            network: None,
            user: None,
            socket: None,
            limits: None,
            binary: Binary::default(),
            labels: None,
            weight: None,
            max_sessions: None,
        }
    }
}

/// Where a session is to live: a name, or any that has labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RuntimeWish {
    Named(String),
    Any(AnyRuntime),
}

impl RuntimeWish {
    /// The one it names.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Any(_) => None,
        }
    }
}

/// `{any: {label: value}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnyRuntime {
    pub any: BTreeMap<String, String>,
}

/// How it stands with a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuntimeState {
    /// Nobody has needed it yet.
    Idle,
    Connecting,
    Up,
    /// The connection was lost, and is tried again after a while.
    Waiting,
    /// No new sessions; those there are go on.
    Draining,
}

impl RuntimeState {
    pub const ALL: [Self; 5] = [Self::Idle, Self::Connecting, Self::Up, Self::Waiting, Self::Draining];

    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Up => "up",
            Self::Waiting => "waiting",
            Self::Draining => "draining",
        }
    }
}

/// A runtime as `runtime.list`, `get` and `add` show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuntimeInfo {
    pub state: RuntimeState,
    /// Sessions and terminals it has.
    pub sessions: usize,
    /// How often a connection to its engine took the place of one that broke.
    #[serde(default)]
    pub reconnects: u64,
    /// The last thing that went wrong, while it is not up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What its engine says of itself, once it was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineInfo>,
    /// From the settings, or added since.
    pub configured: bool,
    #[serde(flatten)]
    pub spec: RuntimeSpec,
}

impl RuntimeInfo {
    /// What those see of it who may only use it: by which it is chosen, and how it stands. How it is reached, and what is
    /// found there, can name machines, people, paths and passwords.
    #[must_use]
    pub fn for_users(self) -> Self {
        let RuntimeSpec { name, kind, labels, .. } = self.spec;
        let spec = RuntimeSpec { name, labels, ..RuntimeSpec::new(kind) };
        Self { trouble: None, engine: None, spec, ..self }
    }
}

/// The other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineInfo {
    pub version: String,
    pub os: String,
    pub arch: String,
    pub host: String,
    pub pid: u32,
}

/// `runtime.get`, `runtime.health`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuntimeParams {
    pub name: String,
}

/// `runtime.remove`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuntimeRemoveParams {
    pub name: String,
    /// Only stop giving it new sessions, and remove it when the last has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
    /// Close the sessions it has, rather than refuse because of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// The reply to `runtime.remove`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuntimeRemoved {
    /// Or it goes when its last session has ended.
    pub removed: bool,
    #[serde(flatten)]
    pub info: RuntimeInfo,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuntimeList {
    pub runtimes: Vec<RuntimeInfo>,
}

/// `runtime.health`: it was asked just now.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuntimeHealth {
    pub name: String,
    pub healthy: bool,
    /// To its engine and back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl RuntimeHealth {
    /// As [`RuntimeInfo::for_users`].
    #[must_use]
    pub fn for_users(self) -> Self {
        Self { trouble: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn users_see_nothing_of_how_a_runtime_is_reached() {
        let every_field = json!({
            "name": "box", "kind": "docker", "argv": ["SECRET"], "target": "SECRET", "options": ["SECRET"],
            "image": "SECRET", "container": "SECRET", "mounts": [{"source": "SECRET"}], "network": "SECRET",
            "user": "SECRET", "socket": "SECRET", "limits": {"pids": 1}, "binary": "installed",
            "labels": {"gpu": "yes"}, "weight": 2.0, "max_sessions": 3,
            "state": "waiting", "sessions": 1, "reconnects": 2, "trouble": "SECRET", "configured": true,
            "engine": {"version": "1", "os": "linux", "arch": "x", "host": "SECRET", "pid": 1},
        });
        let info: RuntimeInfo = serde_json::from_value(every_field).unwrap();
        let seen = serde_json::to_value(info.for_users()).unwrap();
        assert_eq!(
            seen,
            json!({
                "name": "box", "kind": "docker", "labels": {"gpu": "yes"},
                "state": "waiting", "sessions": 1, "reconnects": 2, "configured": true,
            })
        );
        let asked = RuntimeHealth {
            name: "box".into(),
            healthy: false,
            round_trip_us: None,
            trouble: Some("SECRET".into()),
        };
        assert_eq!(
            serde_json::to_value(asked.for_users()).unwrap(),
            json!({"name": "box", "healthy": false})
        );
    }
}
