//! The settings of one process: defaults < file < environment < flags.
//!
//! 1. [`Config::load`] starts from the defaults of the user and the engine.
//! 2. [`mod@file`] reads the TOML file, if there is one, and refuses names it does not know; [`runtimes`] reads its
//!    `[runtimes.NAME]` tables.
//! 3. Variables, then flags, overwrite what they name. Every step goes through the one table in [`keys`].
//! 4. Each value remembers its [`Origin`], so that `trl config show` can say where it came from.
//!
//! It does not watch the file: settings are read once, when the process starts.

mod field;
mod file;
mod http;
mod keys;
mod origin;
mod runtimes;
pub(crate) mod units;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use trl_client::{Secret, TOKEN_VARIABLE};
use trl_core::Settings;
use trl_core::settings::CaseSettings;

use field::Raw;
pub(crate) use http::{HttpAddr, HttpSettings};
pub(crate) use keys::{Flag, KEYS, Key};
pub(crate) use origin::{ConfigError, Origin};
use trl_sys::places::{self, Env, Places};

/// Names the settings file.
const FILE_VARIABLE: &str = "TRL_CONFIG";

/// Everything an operator decides, put together.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) socket: PathBuf,
    /// What outlives the daemon.
    pub(crate) data_dir: PathBuf,
    pub(crate) wire: WireLimits,
    /// The door for programs and browsers.
    pub(crate) http: HttpSettings,
    /// Ceiling of the socket's default agent; 0 is as many as the daemon.
    pub(crate) agent_max_sessions: usize,
    pub(crate) log: LogSettings,
    pub(crate) files: FileSettings,
    pub(crate) agents: AgentSettings,
    /// From the environment, read once. It is no setting: nothing shows it and no file may hold it.
    pub(crate) operator_token: Option<Secret>,
    /// Where the daemon keeps the operator's token for people at a terminal.
    pub(crate) operator_token_file: PathBuf,
    /// The settings file that was read.
    pub(crate) file: Option<PathBuf>,
    settings: Settings,
    origins: BTreeMap<&'static str, Origin>,
}

/// What one client may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireLimits {
    /// The longest request line.
    pub(crate) max_line_bytes: usize,
    pub(crate) max_connections: usize,
    /// Outgoing bytes a slow client may pile up before it is cut off.
    pub(crate) client_buffer_bytes: usize,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self { max_line_bytes: 16 << 20, max_connections: 1024, client_buffer_bytes: 32 << 20 }
    }
}

/// Files of workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSettings {
    /// The largest that is written.
    pub(crate) max_bytes: u64,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self { max_bytes: 4 << 30 }
    }
}

/// Agents of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentSettings {
    /// How long one is kept after a message.
    pub(crate) linger: Duration,
    /// How many are kept at once.
    pub(crate) max_warm: usize,
    /// How long one may take to start.
    pub(crate) start: Duration,
    /// How long one may take to stop.
    pub(crate) stop_grace: Duration,
}

impl Default for AgentSettings {
    fn default() -> Self {
        let s = Duration::from_secs;
        Self { linger: s(90), max_warm: 8, start: s(60), stop_grace: s(5) }
    }
}

/// How the log looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LogSettings {
    pub(crate) level: LogFilter,
    pub(crate) format: LogFormat,
}

/// A level or a filter that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFilter(pub(crate) String);

impl Default for LogFilter {
    fn default() -> Self {
        Self("info".into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// What the command line says about settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// `--config FILE`.
    pub(crate) file: Option<PathBuf>,
    /// Settings that have a flag of their own.
    pub(crate) named: Vec<(&'static Key, OsString)>,
    /// `--set KEY=VALUE`, in the order given.
    pub(crate) assigned: Vec<String>,
}

impl Config {
    /// The settings of this process.
    pub(crate) fn load(flags: &Flags) -> Result<Self, ConfigError> {
        Self::from_layers(&|name| std::env::var_os(name), places::user_id(), flags)
    }

    fn from_layers(env: &Env<'_>, uid: u32, flags: &Flags) -> Result<Self, ConfigError> {
        // An empty variable is how shells spell "unset for this command".
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let places = Places::of_user(&env, uid);
        let mut config = Self::with_defaults(&places);
        if let Some(path) = chosen_file(&env, &places, flags) {
            file::apply(&mut config, &path)?;
            config.file = Some(path);
        }
        config.apply_env(&env)?;
        config.apply_flags(flags)?;
        config.operator_token = env(TOKEN_VARIABLE).and_then(Secret::from_os);
        Ok(config)
    }

    fn with_defaults(places: &Places) -> Self {
        Self {
            socket: places.socket.clone(),
            data_dir: places.data_dir.clone(),
            wire: WireLimits::default(),
            http: HttpSettings::default(),
            agent_max_sessions: 0,
            log: LogSettings::default(),
            files: FileSettings::default(),
            agents: AgentSettings::default(),
            operator_token: None,
            operator_token_file: places.operator_token(),
            file: None,
            settings: Settings { rules_dir: Some(places.config_dir.clone()), ..Settings::default() },
            origins: BTreeMap::new(),
        }
    }

    /// Defaults of nobody in particular, for documents that must read the same everywhere.
    pub(crate) fn for_documents() -> Self {
        Self::with_defaults(&Places::of_user(&|name| (name == "HOME").then(|| "/home/user".into()), 0))
    }

    fn apply_env(&mut self, env: &Env<'_>) -> Result<(), ConfigError> {
        for key in KEYS {
            if let Some((name, value)) = key.env.and_then(|name| Some((name, env(name)?))) {
                key.apply(self, &Raw::Text(&value), Origin::Env(name))?;
            }
        }
        Ok(())
    }

    fn apply_flags(&mut self, flags: &Flags) -> Result<(), ConfigError> {
        for assignment in &flags.assigned {
            let origin = Origin::Flag("--set".into());
            let (name, value) =
                assignment.split_once('=').ok_or_else(|| ConfigError::NotAssignment(assignment.clone()))?;
            let key =
                Key::find(name.trim()).ok_or_else(|| file::unknown_whole(origin.clone(), name.trim()))?;
            key.apply(self, &Raw::Text(OsStr::new(value)), origin)?;
        }
        for (key, value) in &flags.named {
            if let Flag::Global(flag) | Flag::Engine(flag) = key.flag {
                key.apply(self, &Raw::Text(value), Origin::Flag(format!("--{flag}")))?;
            }
        }
        Ok(())
    }

    /// What the engine works with.
    pub(crate) fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// Directories that nothing in a sandbox reaches, and files of ours elsewhere.
    pub(crate) fn own_dirs(&self) -> Vec<PathBuf> {
        let parents = [&self.socket, &self.operator_token_file].into_iter().filter_map(|file| file.parent());
        let http = match &self.http.addr {
            Some(HttpAddr::Unix(path)) => path.parent(),
            _ => None,
        };
        let cases = self.settings.cases.dir.as_deref();
        let dirs =
            parents.chain(http).chain(cases).chain([self.data_dir.as_path()]).chain(self.file.as_deref());
        dirs.filter(|dir| dir.is_absolute()).map(PathBuf::from).collect()
    }

    /// Where cases are and what is known of them.
    pub(crate) fn cases(&self) -> CaseSettings {
        let usual = || self.operator_token_file.with_file_name("cases");
        CaseSettings {
            dir: Some(self.settings.cases.dir.clone().unwrap_or_else(usual)),
            data_dir: Some(self.data_dir.clone()),
            ..self.settings.cases.clone()
        }
    }

    /// Which layer set `key`.
    pub(crate) fn origin(&self, key: &Key) -> Origin {
        self.origins.get(key.name).cloned().unwrap_or(Origin::Default)
    }

    /// Where the settings file is looked for when nobody names one.
    pub(crate) fn default_file(&self) -> PathBuf {
        self.operator_token_file.with_file_name("config.toml")
    }
}

/// A file somebody named must exist; the one in the usual place need not.
fn chosen_file(env: &Env<'_>, places: &Places, flags: &Flags) -> Option<PathBuf> {
    let usual = || Some(places.config_dir.join("config.toml")).filter(|path| path.exists());
    let chosen = flags.file.clone().or_else(|| env(FILE_VARIABLE).map(PathBuf::from)).or_else(usual)?;
    Some(std::path::absolute(&chosen).unwrap_or(chosen))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct World {
        dir: tempfile::TempDir,
        vars: Vec<(&'static str, String)>,
        flags: Flags,
    }

    impl World {
        fn new(file: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("trl")).unwrap();
            std::fs::write(dir.path().join("trl/config.toml"), file).unwrap();
            let vars = vec![("XDG_CONFIG_HOME", dir.path().to_str().unwrap().to_string())];
            Self { dir, vars, flags: Flags::default() }
        }

        fn var(mut self, name: &'static str, value: &str) -> Self {
            self.vars.push((name, value.into()));
            self
        }

        fn flag(mut self, key: &str, value: &str) -> Self {
            self.flags.named.push((Key::find(key).unwrap(), value.into()));
            self
        }

        fn set(mut self, assignment: &str) -> Self {
            self.flags.assigned.push(assignment.into());
            self
        }

        fn load(&self) -> Result<Config, ConfigError> {
            let env = |name: &str| self.vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
            Config::from_layers(&env, 7, &self.flags)
        }

        fn error(&self) -> String {
            let path = self.dir.path().to_str().unwrap();
            self.load().unwrap_err().to_string().replace(path, "DIR")
        }
    }

    fn origin(config: &Config, key: &str) -> String {
        config.origin(Key::find(key).unwrap()).to_string()
    }

    #[test]
    fn later_layers_win_and_are_named() {
        let world = World::new("[sessions]\nmax = 3\nmax_queue = 5\n");
        let config = world.load().unwrap();
        assert_eq!(config.settings().max_sessions, 3);
        assert!(origin(&config, "sessions.max").ends_with("trl/config.toml:2"));
        assert_eq!(origin(&config, "sessions.max_commands"), "default");

        let world = world.var("TRL_MAX_SESSIONS", "4");
        let config = world.load().unwrap();
        assert_eq!(config.settings().max_sessions, 4);
        assert_eq!(origin(&config, "sessions.max"), "env TRL_MAX_SESSIONS");

        let config = world.flag("sessions.max", "5").set("exec.timeout_s=2m").load().unwrap();
        assert_eq!(config.settings().max_sessions, 5);
        assert_eq!(config.settings().max_queue, 5);
        assert_eq!(config.settings().command_timeout, Duration::from_secs(120));
        assert_eq!(origin(&config, "sessions.max"), "flag --max-sessions");
        assert_eq!(origin(&config, "exec.timeout_s"), "flag --set");
    }

    #[test]
    fn every_default_is_the_engines_own() {
        let config = World::new("").load().unwrap();
        let rules_dir = config.settings().rules_dir;
        assert!(rules_dir.as_ref().is_some_and(|dir| dir.ends_with("trl")));
        assert_eq!(config.settings(), Settings { rules_dir, ..Settings::default() });
        assert_eq!(config.wire, WireLimits::default());
        assert_eq!(config.http, HttpSettings::default());
        assert!(KEYS.iter().all(|key| config.origin(key) == Origin::Default));
    }

    #[test]
    fn every_shown_value_can_be_set_again() {
        let config = World::new("").load().unwrap();
        for key in KEYS {
            let text = match key.value(&config) {
                serde_json::Value::Null => continue,
                serde_json::Value::Array(items) => {
                    items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join(",")
                }
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            let again = World::new("").set(&format!("{}={text}", key.name)).load().unwrap();
            assert_eq!(key.value(&again), key.value(&config), "{}", key.name);
        }
    }

    #[test]
    fn unknown_names_are_refused_with_their_neighbour() {
        for (file, message) in [
            ("sokcet = \"/x\"", "DIR/trl/config.toml:1: unknown setting `sokcet`; did you mean `socket`?"),
            (
                "\n[sessions]\nmaks = 1",
                "DIR/trl/config.toml:3: unknown setting `sessions.maks`; did you mean `sessions.max`?",
            ),
            (
                "[session]\nmax = 1",
                "DIR/trl/config.toml:1: unknown setting `session`; did you mean `sessions`?",
            ),
            ("[log]\nqqqqqqqqqq = 1", "DIR/trl/config.toml:2: unknown setting `log.qqqqqqqqqq`"),
        ] {
            assert_eq!(World::new(file).error(), message);
        }
        for (given, meant) in [
            ("session.max", "; did you mean `sessions.max`?"),
            ("sessions.maks", "; did you mean `sessions.max`?"),
            ("max", "; did you mean `sessions.max`?"),
            ("timeout", "; did you mean `exec.timeout_s`?"),
            ("exec.level", "; did you mean `log.level`?"),
            ("sokcet", "; did you mean `socket`?"),
            ("sessions", "; did you mean `sessions.max`?"),
            ("foo", ""),
        ] {
            let flag = World::new("").set(&format!("{given}=1")).error();
            assert_eq!(flag, format!("flag --set: unknown setting `{given}`{meant}"));
        }
    }

    #[test]
    fn wrong_types_and_ranges_are_refused() {
        for (file, message) in [
            ("[sessions]\nmax = \"many\"", "2: `sessions.max` must be a whole number, 0 or more"),
            ("[sessions]\nmax = -1", "2: `sessions.max` must be a whole number, 0 or more"),
            ("[sessions]\nmax = 0", "2: `sessions.max` must be between 1 and 1000000"),
            ("[exec]\ntimeout_s = true", "2: `exec.timeout_s` must be a number of seconds"),
            ("socket = \"rel/trl.sock\"", "1: `socket` must be an absolute path"),
            ("pass_env = [1]", "1: `pass_env` must be a list of names"),
            ("[log]\nformat = \"xml\"", "2: `log.format` must be \"text\" or \"json\""),
            ("sessions = 3", "1: `sessions` is a section: write [sessions] and its settings below"),
            ("[socket]\nx = 1", "1: `socket` must be a path in quotes"),
        ] {
            assert_eq!(World::new(file).error(), format!("DIR/trl/config.toml:{message}"));
        }
        assert!(World::new("[sessions\n").error().starts_with("DIR/trl/config.toml:1: not valid TOML: "));
        let variable = World::new("").var("TRL_MAX_SESSIONS", "x").error();
        assert_eq!(variable, "env TRL_MAX_SESSIONS: `sessions.max` must be a whole number, 0 or more");
    }

    #[test]
    fn a_named_file_must_exist_and_units_are_understood() {
        let mut world =
            World::new("[exec]\ngrace_s = 0.5\ntimeout_s = \"2m\"\n[output]\nstream_bytes = \"2MiB\"");
        let settings = world.load().unwrap().settings();
        assert_eq!(settings.grace, Duration::from_millis(500));
        assert_eq!(settings.command_timeout, Duration::from_secs(120));
        assert_eq!(settings.output_bytes, 2 << 20);
        world.flags.file = Some(world.dir.path().join("nope.toml"));
        assert!(world.error().starts_with("cannot read the settings file DIR/nope.toml: "));
    }

    #[test]
    fn the_token_is_read_but_never_shown() {
        let config = World::new("").var("TRL_AUTH_TOKEN", "hunter2").load().unwrap();
        assert_eq!(config.operator_token.as_ref().map(Secret::expose), Some("hunter2"));
        assert!(!format!("{config:?}").contains("hunter2"));
        assert!(World::new("").var("TRL_AUTH_TOKEN", "").load().unwrap().operator_token.is_none());
    }
}
