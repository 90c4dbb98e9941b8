//! The one table of settings: name, variable, flag, range, default and what it is for.
//!
//! The file reader, the environment layer, the flags of `trl serve`, `trl config show` and the generated
//! documents all walk this table; a setting that is not here does not exist.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::field::{self, Field, Raw};
use super::origin::{ConfigError, Origin};
use super::{Config, units};

/// The command line name of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Only by `--set KEY=VALUE`.
    None,
    /// Of every command, because every command has to find the daemon.
    Global(&'static str),
    /// Of the commands that start an engine.
    Engine(&'static str),
}

/// One setting.
pub(crate) struct Key {
    /// `section.name`, or `name` for the few at the top of the file.
    pub(crate) name: &'static str,
    pub(crate) env: Option<&'static str>,
    pub(crate) flag: Flag,
    pub(crate) about: &'static str,
    /// For defaults that depend on the user or the machine.
    default_words: Option<&'static str>,
    range: RangeInclusive<u64>,
    set: fn(&mut Config, &Raw<'_>, &RangeInclusive<u64>) -> Result<(), String>,
    get: fn(&Config) -> Value,
}

/// `key!("sessions.max", settings.max_sessions, "what it is for")`.
macro_rules! key {
    ($name:literal, $($place:ident).+, $about:literal) => {
        Key {
            name: $name,
            env: None,
            flag: Flag::None,
            about: $about,
            default_words: None,
            range: 0..=u64::MAX,
            set: |config, raw, range| field::assign(&mut config.$($place).+, raw, range),
            get: |config| config.$($place).+.show(),
        }
    };
}

const LONGEST_S: u64 = trl_proto::LONGEST.as_secs();
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

pub(crate) static KEYS: &[Key] = &[
    key!("socket", socket, "The Unix socket, in a directory that only you can enter")
        .env(trl_client::SOCKET_VARIABLE)
        .flag(Flag::Global("socket"))
        .default_words("$XDG_RUNTIME_DIR/trl/trl.sock or /tmp/trl-UID/trl.sock"),
    key!("data_dir", data_dir, "Where what outlives the daemon is kept")
        .env("TRL_DATA_DIR")
        .flag(Flag::Engine("data-dir"))
        .default_words("$XDG_DATA_HOME/trl"),
    key!("runtime_dir", settings.runtime_dir, "Where session directories are made; best in memory")
        .flag(Flag::Engine("runtime-dir"))
        .default_words("chosen by the engine"),
    key!("approvals.dir", settings.rules_dir, "Where rules for all commands are kept: approvals.yaml")
        .default_words("$XDG_CONFIG_HOME/trl"),
    key!("pass_env", settings.pass_env, "Variables every session takes from the daemon's environment"),
    key!("sessions.max", settings.max_sessions, "Sessions and terminals that may exist at once")
        .env("TRL_MAX_SESSIONS")
        .flag(Flag::Engine("max-sessions"))
        .range(1..=1_000_000),
    key!(
        "sessions.max_commands",
        settings.max_commands_per_session,
        "Commands one session may run in its life; 0 is no limit"
    ),
    key!("sessions.max_queue", settings.max_queue, "Commands that may wait in one session's queue")
        .range(0..=1_000_000),
    key!("sessions.idle_ttl_s", settings.idle_ttl, "A session idle for this long is closed; 0 is never")
        .range(0..=LONGEST_S),
    key!(
        "sessions.absolute_ttl_s",
        settings.absolute_ttl,
        "A session this old is closed whatever it does; 0 is never"
    )
    .range(0..=LONGEST_S),
    key!(
        "sessions.close_on_switch",
        settings.close_on_switch,
        "Whoever creates or opens a session has their other idle ones closed"
    ),
    key!(
        "sessions.terminated_ttl_s",
        settings.terminated_ttl,
        "How long a terminated session or an ended terminal can still be asked about"
    )
    .range(0..=LONGEST_S),
    key!("history.max_age_s", settings.history_age, "Older history is forgotten; 0 is never")
        .range(0..=LONGEST_S),
    key!(
        "history.max_bytes",
        settings.history_bytes,
        "The oldest of more history than this is forgotten; 0 is no limit"
    )
    .range(0..=TIB),
    key!("exec.timeout_s", settings.command_timeout, "Default timeout of a command; 0 is none")
        .flag(Flag::Engine("timeout"))
        .range(0..=LONGEST_S),
    key!("exec.grace_s", settings.grace, "Between the first signal to a command and KILL").range(0..=3600),
    key!(
        "output.stream_bytes",
        settings.output_bytes,
        "Output kept in memory per stream, half from its head and half from its tail"
    )
    .range(1024..=GIB),
    key!(
        "output.total_bytes",
        settings.output_total_bytes,
        "Output kept in memory by all executions together"
    )
    .range(1024..=TIB),
    key!("output.results", settings.results, "Finished executions whose results stay readable")
        .range(0..=10_000_000),
    key!("output.results_bytes", settings.results_bytes, "Output kept by finished executions").range(0..=TIB),
    key!("output.spill_dir", settings.spill_dir, "Where output that falls out of memory goes")
        .default_words("none: it is dropped and counted"),
    key!("output.spill_bytes", settings.spill_bytes, "Bytes one stream may spill").range(0..=TIB),
    key!("checkpoints.keep", settings.checkpoints.keep, "Kept states of a session's shell, of those made by themselves and of those asked for")
        .range(1..=10_000),
    key!(
        "checkpoints.interval_s",
        settings.checkpoints.interval,
        "A session in which something ran has its state written this often; 0 is never"
    )
    .range(0..=LONGEST_S),
    key!("checkpoints.on_close", settings.checkpoints.on_close, "Write the state of a session that closes"),
    key!(
        "checkpoints.restore_on_open",
        settings.checkpoints.restore_on_open,
        "A session that is opened again has its newest state"
    ),
    key!(
        "terminals.ring_bytes",
        settings.terminal_ring,
        "Output of a terminal that a client may have missed and still get, byte for byte"
    )
    .range(262_144..=GIB),
    key!(
        "terminals.scrollback_bytes",
        settings.terminal_scrollback,
        "Newest output of a terminal replayed to a client that asks for nothing better"
    )
    .range(0..=GIB),
    key!(
        "terminals.history_bytes",
        settings.terminal_history,
        "Memory for the lines that left a terminal's screen at the top"
    )
    .range(0..=GIB),
    key!("terminals.grace_s", settings.terminal_grace, "Between HUP and KILL when a terminal is destroyed")
        .range(0..=3600),
    key!(
        "terminals.idle_ttl_s",
        settings.terminal_idle_ttl,
        "A terminal that is quiet and has no client for this long is destroyed; 0 is never"
    )
    .range(0..=LONGEST_S),
    key!("cases.dir", settings.cases.dir, "Where the cases are that sessions can be created from")
        .default_words("$XDG_CONFIG_HOME/trl/cases"),
    key!("cases.default", settings.cases.default, "The case of sessions and terminals that name none")
        .default_words("none"),
    key!("wire.max_line_bytes", wire.max_line_bytes, "The longest request line").range(1024..=GIB),
    key!("wire.max_connections", wire.max_connections, "Connections that may be open at once")
        .range(1..=1_000_000),
    key!(
        "wire.client_buffer_bytes",
        wire.client_buffer_bytes,
        "Outgoing bytes a slow client may pile up before it is cut off"
    )
    .range(65_536..=TIB),
    key!("http.addr", http.addr, "Serve HTTP and WebSocket here: ADDRESS:PORT, or unix:PATH")
        .env("TRL_HTTP_ADDR")
        .flag(Flag::Engine("http"))
        .default_words("off"),
    key!("http.allow_remote", http.allow_remote, "Let http.addr be one that other machines can reach")
        .flag(Flag::Engine("http-allow-remote")),
    key!("http.allowed_hosts", http.allowed_hosts, "Names this daemon may be called by, beside its address"),
    key!("http.allowed_origins", http.allowed_origins, "Web pages of other origins that may use it"),
    key!(
        "http.request_timeout_s",
        http.request_timeout,
        "Headers, then the body of a request must come within this; so long a client may be idle, or take nothing"
    )
    .range(0..=3600),
    key!(
        "http.keep_alive_s",
        http.keep_alive,
        "A silent event stream or WebSocket is sent a sign of life this often"
    )
    .range(0..=3600),
    key!("http.ticket_ttl_s", http.ticket_ttl, "How long a ticket for a browser's WebSocket is good")
        .range(0..=300),
    key!(
        "http.auth_failures",
        http.auth_failures,
        "Wrong tokens an address may present in a minute before it has to wait"
    )
    .range(1..=1_000_000),
    key!(
        "agent.max_sessions",
        agent_max_sessions,
        "Sessions the socket's default agent may have; 0 is as many as the daemon"
    )
    .range(0..=1_000_000),
    key!(
        "limits.memory_bytes",
        settings.limits.memory_bytes,
        "Memory the programs of a session may use together; agents may ask for less, 0 is no limit"
    )
    .default_words("none")
    .range(0..=1024 * TIB),
    key!("limits.cpu", settings.limits.cpu, "Processors they may keep busy, such as 0.5").default_words("none"),
    key!("limits.cpu_time_s", settings.limits.cpu_time_s, "Processor time of one command").default_words("none"),
    key!("limits.pids", settings.limits.pids, "Processes and threads of a session").default_words("none"),
    key!("limits.open_files", settings.limits.open_files, "Descriptors of each process").default_words("none"),
    key!("limits.file_size_bytes", settings.limits.file_size_bytes, "The largest file a process may make")
        .default_words("none"),
    key!("limits.output_bytes", settings.limits.output_bytes, "What one command may print").default_words("none"),
    key!("limits.wall_s", settings.limits.wall_s, "How long one command may take, whatever timeout it asks for")
        .default_words("none"),
    key!(
        "sandbox.mode",
        settings.sandbox_mode,
        "What runs without asking for a sandbox gets this one, and no agent gets a wider one: off, read-only or workspace-write"
    ),
    key!(
        "sandbox.read_dirs",
        settings.sandbox_read_dirs,
        "Files and directories a sandbox may read beside the system and its workspace; ~/ is your home"
    ),
    key!(
        "sandbox.write_dirs",
        settings.sandbox_write_dirs,
        "Directories that workspace-write may write beside its workspace"
    ),
    key!(
        "sandbox.protect",
        settings.sandbox_protect,
        "Names in a workspace that no sandbox changes; .git/NAME is about every git directory in it"
    ),
    key!("sessions.runtime", settings.runtimes.usual, "Where sessions and terminals live that name no runtime"),
    key!("runtimes.host", settings.runtimes.host, "Let sessions and terminals live on this machine, too"),
    key!(
        "runtimes.grace_s",
        settings.runtimes.grace,
        "How long the two ends of a broken link to a runtime wait for each other"
    )
    .range(1..=LONGEST_S),
    key!("runtimes.connect_s", settings.runtimes.connect, "How long a request waits for a runtime to answer")
        .range(1..=3600),
    key!("files.max_bytes", files.max_bytes, "The largest file that is written to a workspace").range(0..=TIB),
    key!(
        "agents.linger_s",
        agents.linger,
        "How long an agent is kept after a message, for the next one; 0 is not at all"
    )
    .range(0..=86_400),
    key!("agents.max_warm", agents.max_warm, "Agents that are kept like that at once").range(0..=1000),
    key!("agents.start_s", agents.start, "How long an agent may take to start").range(1..=3600),
    key!(
        "agents.stop_grace_s",
        agents.stop_grace,
        "How long an agent that is stopped may take before it is killed"
    )
    .range(0..=3600),
    key!("log.level", log.level, "Level (error, warn, info, debug, trace) or filter of the log on stderr")
        .env("TRL_LOG")
        .flag(Flag::Engine("log-level")),
    key!("log.format", log.format, "text or json").env("TRL_LOG_FORMAT").flag(Flag::Engine("log-format")),
    key!(
        "machine.min_free_memory_bytes",
        settings.min_free_memory_bytes,
        "No new session while the machine has less free memory than this"
    )
    .range(0..=TIB),
];

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Key {
    const fn env(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self
    }

    const fn flag(mut self, flag: Flag) -> Self {
        self.flag = flag;
        self
    }

    const fn default_words(mut self, words: &'static str) -> Self {
        self.default_words = Some(words);
        self
    }

    const fn range(mut self, range: RangeInclusive<u64>) -> Self {
        self.range = range;
        self
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// `sessions` of `sessions.max`; empty at the top of the file.
    pub(crate) fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// The value of this setting in `config`.
    pub(crate) fn value(&self, config: &Config) -> Value {
        (self.get)(config)
    }

    /// Reads `raw` into `config` and remembers where it came from.
    pub(super) fn apply(
        &self,
        config: &mut Config,
        raw: &Raw<'_>,
        origin: Origin,
    ) -> Result<(), ConfigError> {
        match (self.set)(config, raw, &self.range) {
            Ok(()) => {
                config.origins.insert(self.name, origin);
                Ok(())
            }
            Err(reason) => Err(ConfigError::BadValue { origin, key: self.name.into(), reason }),
        }
    }

    /// What the value is when nobody sets it, in words that are the same on every machine.
    pub(crate) fn default_text(&self, defaults: &Config) -> String {
        if let Some(words) = self.default_words {
            return words.into();
        }
        match self.value(defaults) {
            Value::String(text) => text,
            Value::Array(items) if items.is_empty() => "none".into(),
            Value::Number(n) if self.name.ends_with("_bytes") => {
                n.as_u64().map_or(n.to_string(), units::size)
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_variables_and_flags_are_unique() {
        let mut seen = HashSet::new();
        for key in KEYS {
            assert!(seen.insert(key.name), "{}", key.name);
            assert!(key.env.is_none_or(|env| seen.insert(env)), "{}", key.name);
            if let Flag::Global(flag) | Flag::Engine(flag) = key.flag {
                assert!(seen.insert(flag) || flag == key.name, "{}", key.name);
            }
        }
    }
}
