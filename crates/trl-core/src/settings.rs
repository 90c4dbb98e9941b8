//! What an operator may set: the numbers the engine works with. Read from files and flags elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use trl_proto::limits::Limits;
use trl_proto::runtime::{HOST, RuntimeSpec};
use trl_proto::sandbox::Mode;

/// Where people have their tools, without the places where those keep credentials.
const TOOLCHAINS: [&str; 20] = [
    "~/.asdf",
    "~/.bun/bin",
    "~/.cargo/bin",
    "~/.cargo/config.toml",
    "~/.cargo/git",
    "~/.cargo/registry",
    "~/.config/git/attributes",
    "~/.config/git/config",
    "~/.config/git/ignore",
    "~/.deno/bin",
    "~/.gitconfig",
    "~/.local/bin",
    "~/.local/lib",
    "~/.local/share/mise",
    "~/.nvm",
    "~/.pyenv",
    "~/.rustup",
    "~/.sdkman/candidates",
    "~/.volta",
    "~/go",
];

/// Where cases are, and which one is for those that name none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaseSettings {
    /// The directory of trusted ones.
    pub dir: Option<PathBuf>,
    /// The id of the one for whatever names none.
    pub default: Option<String>,
    /// Where workspaces without a place of their own are, and what is trusted is remembered.
    pub data_dir: Option<PathBuf>,
}

/// Settings of one engine. Every field has a default that suits one person's machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where session directories are made; chosen by [`crate::place`] when None.
    pub runtime_dir: Option<PathBuf>,
    /// Where people keep rules for all commands (`approvals.yaml`); None: nowhere.
    pub rules_dir: Option<PathBuf>,
    pub max_sessions: usize,
    /// Commands one session may run in its life; 0 is no limit.
    pub max_commands_per_session: u64,
    /// Commands that may wait in one session's queue.
    pub max_queue: usize,
    /// Default command timeout; zero is none.
    pub command_timeout: Duration,
    /// Between the first signal and KILL.
    pub grace: Duration,
    /// A session without activity for this long is closed; zero is never.
    pub idle_ttl: Duration,
    /// A session this old is closed whatever it does; zero is never.
    pub absolute_ttl: Duration,
    /// Whoever creates or opens a session has their other idle ones closed.
    pub close_on_switch: bool,
    /// Older history is forgotten; zero is never.
    pub history_age: Duration,
    /// So is the oldest of more than this; zero is no limit.
    pub history_bytes: u64,
    /// How long the info of a terminated session is kept.
    pub terminated_ttl: Duration,
    /// Bytes of output kept in memory per stream, half from its head and half from its tail.
    pub output_bytes: usize,
    /// Bytes of output kept in memory by all executions together.
    pub output_total_bytes: usize,
    /// Finished executions kept for `exec.result` and `exec.output`.
    pub results: usize,
    /// Bytes of output kept by finished executions.
    pub results_bytes: usize,
    /// Where output that falls out of memory goes; None drops (and counts) it.
    pub spill_dir: Option<PathBuf>,
    /// Bytes one stream may spill.
    pub spill_bytes: u64,
    /// Names every session takes from the daemon's environment.
    pub pass_env: Vec<String>,
    pub cases: CaseSettings,
    /// The boundary of whatever does not ask for one, and the widest an agent may ask for.
    pub sandbox_mode: Mode,
    /// Readable in the modes that have a workspace; `~/` is the home.
    pub sandbox_read_dirs: Vec<String>,
    /// Writable where the workspace is.
    pub sandbox_write_dirs: Vec<String>,
    /// Names in a workspace that stay as they are.
    pub sandbox_protect: Vec<String>,
    /// What of the daemon's no sandbox reaches: its socket, data and tokens.
    pub own_dirs: Vec<PathBuf>,
    /// `session.create` is refused while the machine has less free memory than this.
    pub min_free_memory_bytes: u64,
    /// What programs may use unless the operator says otherwise; agents may ask for less.
    pub limits: Limits,
    pub checkpoints: CheckpointSettings,
    pub runtimes: RuntimeSettings,
    /// Bytes of a terminal's output that a client may have missed and still get.
    pub terminal_ring: usize,
    /// Newest bytes replayed to a client that asks for nothing better.
    pub terminal_scrollback: usize,
    /// Memory for the lines that left a terminal's screen at the top.
    pub terminal_history: usize,
    /// Between HUP and KILL when a terminal is destroyed.
    pub terminal_grace: Duration,
    /// A terminal nobody is attached to, and that says nothing, is destroyed after this; zero is never.
    pub terminal_idle_ttl: Duration,
}

/// Where sessions can live, and how links to elsewhere behave.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeSettings {
    /// Of sessions that name none.
    pub usual: String,
    /// Whether any may live on this machine.
    pub host: bool,
    /// By name.
    pub known: BTreeMap<String, RuntimeSpec>,
    /// How long the two ends of a broken link wait for each other.
    pub grace: Duration,
    /// How long a request waits for a link to come up.
    pub connect: Duration,
    /// What is made elsewhere for this daemon is known by it, also to its successor.
    pub gateway: String,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            usual: HOST.into(),
            host: true,
            known: BTreeMap::new(),
            grace: Duration::from_secs(600),
            connect: Duration::from_secs(10),
            gateway: String::new(),
        }
    }
}

/// When a session's state is kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSettings {
    /// How many are kept for each session, of those made by themselves and of those asked for.
    pub keep: usize,
    /// The state of a session in which something ran is written this often; zero is never.
    pub interval: Duration,
    /// It is written when a session closes.
    pub on_close: bool,
    /// A session that is opened again has its newest state.
    pub restore_on_open: bool,
    /// Files one snapshot of a working directory may hold.
    pub max_files: u64,
    /// Bytes they may hold together.
    pub max_files_bytes: u64,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self {
            keep: 10,
            interval: Duration::from_secs(60),
            on_close: true,
            restore_on_open: true,
            max_files: 20_000,
            max_files_bytes: 256 << 20,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            runtime_dir: None,
            rules_dir: None,
            max_sessions: 256,
            max_commands_per_session: 0,
            max_queue: 64,
            command_timeout: Duration::from_secs(120),
            grace: Duration::from_secs(5),
            idle_ttl: Duration::from_secs(3600),
            absolute_ttl: Duration::ZERO,
            close_on_switch: false,
            history_age: Duration::from_secs(90 * 24 * 3600),
            history_bytes: 256 << 20,
            terminated_ttl: Duration::from_secs(600),
            output_bytes: 1 << 20,
            output_total_bytes: 256 << 20,
            results: 1000,
            results_bytes: 64 << 20,
            spill_dir: None,
            spill_bytes: 256 << 20,
            pass_env: Vec::new(),
            cases: CaseSettings::default(),
            sandbox_mode: Mode::Off,
            sandbox_read_dirs: TOOLCHAINS.map(String::from).to_vec(),
            sandbox_write_dirs: Vec::new(),
            sandbox_protect: trl_sys::sandbox::PROTECTED.map(String::from).to_vec(),
            own_dirs: Vec::new(),
            min_free_memory_bytes: 64 << 20,
            limits: Limits::default(),
            checkpoints: CheckpointSettings::default(),
            runtimes: RuntimeSettings::default(),
            terminal_ring: 1 << 20,
            terminal_scrollback: 64 << 10,
            terminal_history: 1 << 20,
            terminal_grace: Duration::from_secs(1),
            terminal_idle_ttl: Duration::ZERO,
        }
    }
}
