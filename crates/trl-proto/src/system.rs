//! `system.*`: parameters and results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::method::Role;
use crate::runtime::RuntimeState;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {
    pub uptime_s: u64,
    pub version: String,
    pub protocol: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    pub active_sessions: u64,
    pub total_commands_run: u64,
    pub uptime_s: u64,
    pub memory_rss_bytes: u64,
    pub open_fds: u64,
    pub threads: u64,
    pub connections: u64,
    pub running_executions: u64,
    pub retained_executions: u64,
    pub output_memory_bytes: u64,
    /// What commands and terminals wrote since the daemon started.
    pub output_bytes: u64,
    /// How long commands ran, since the daemon started.
    pub command_duration_ms: Distribution,
    /// How long they waited before that.
    pub command_wait_ms: Distribution,
    pub rollbacks: u64,
    pub resets: u64,
    pub timeouts: u64,
    pub sessions_created: u64,
    pub events_seq: u64,
    /// Sessions that take commands.
    pub resident_sessions: u64,
    /// Commands that began, and microseconds from their requests to their processes, without queues and people.
    pub execution_builds: u64,
    pub execution_build_us: u64,
    /// How long people took to answer.
    pub approval_wait_ms: Distribution,
    /// Requests that wait for a person.
    #[serde(default)]
    pub pending_requests: u64,
    /// Sessions that were asked for and found in memory, and those that were looked for in the store.
    pub session_hits: u64,
    pub session_misses: u64,
    /// Writes to the store, those it refused, and executions it was not told of.
    pub records_written: u64,
    pub records_failed: u64,
    pub records_dropped: u64,
    /// Writes that wait.
    pub store_queue_bytes: u64,
    /// How many runtimes there are in each state they can be in.
    #[serde(default)]
    pub runtimes: BTreeMap<RuntimeState, u64>,
    /// What each of those the caller may use has.
    #[serde(default)]
    pub runtime_sessions: BTreeMap<String, u64>,
    /// Connections to engines elsewhere that took the place of broken ones.
    #[serde(default)]
    pub runtime_reconnects: u64,
}

/// How many took how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    pub count: u64,
    pub sum_ms: u64,
    /// By rising bound; each counts all that took no longer. What took longer than the last is in `count` alone.
    pub buckets: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    pub le_ms: u64,
    pub count: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Info {
    pub version: String,
    pub protocol: u32,
    pub pid: u32,
    pub socket: Option<String>,
    pub runtime_dir: String,
    /// Whether session files live in memory; otherwise command text and stdin go through FIFOs.
    pub runtime_dir_in_memory: bool,
    pub max_sessions: u64,
    pub role: Role,
    /// The session this connection belongs to, when it comes from inside one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_to: Option<String>,
    pub methods: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuthParams {
    pub token: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Authenticated {
    pub role: Role,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShutdownParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShuttingDown {
    pub sessions: u64,
}
