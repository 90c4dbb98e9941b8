//! Flags made from the table of settings, so that a setting and its flag cannot drift apart.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::OsStringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::config::{Config, Flag, Flags, KEYS, Key};

/// Headings in the help, so that a command's own options come first.
const GLOBAL: &str = "Options of every command";
const SETTINGS: &str = "Settings";

/// Flags of every command: how to find the daemon.
#[derive(Debug, Clone, Default)]
pub(super) struct GlobalFlags(Flags);

/// Flags of the commands that start an engine.
#[derive(Debug, Clone, Default)]
pub(super) struct EngineFlags(Flags);

impl GlobalFlags {
    pub(super) fn into_flags(self) -> Flags {
        self.0
    }
}

impl EngineFlags {
    /// These flags added to the global ones.
    pub(super) fn over(self, mut base: Flags) -> Flags {
        base.named.extend(self.0.named);
        base.assigned.extend(self.0.assigned);
        base
    }
}

fn global_name(key: &Key) -> Option<&'static str> {
    match key.flag {
        Flag::Global(name) => Some(name),
        Flag::Engine(_) | Flag::None => None,
    }
}

fn engine_name(key: &Key) -> Option<&'static str> {
    match key.flag {
        Flag::Engine(name) => Some(name),
        Flag::Global(_) | Flag::None => None,
    }
}

type NameOf = fn(&Key) -> Option<&'static str>;

fn add_keys(mut command: Command, name_of: NameOf) -> Command {
    let defaults = Config::for_documents();
    for key in KEYS {
        let Some(name) = name_of(key) else { continue };
        let mut help = format!("{} [default: {}]", key.about, key.default_text(&defaults));
        if let Some(env) = key.env {
            help.push_str(&format!(" [env: {env}]"));
        }
        let arg = Arg::new(key.name)
            .long(name)
            .help(help)
            .value_name(value_name(key.name))
            .value_parser(OsStringValueParser::new());
        // A switch; `=false` takes back what the file or the environment said.
        let arg = match key.value(&defaults) {
            serde_json::Value::Bool(_) => {
                arg.num_args(0..=1).require_equals(true).default_missing_value("true")
            }
            _ => arg,
        };
        command = command.arg(match key.flag {
            Flag::Global(_) => arg.global(true).help_heading(GLOBAL),
            Flag::Engine(_) | Flag::None => arg.help_heading(SETTINGS),
        });
    }
    command
}

/// The units are in the names of the settings.
fn value_name(key: &str) -> &'static str {
    match key {
        "socket" => "PATH",
        name if name.ends_with("_dir") => "DIR",
        name if name.ends_with("_s") => "DURATION",
        "http.addr" => "ADDR",
        "http.allow_remote" => "BOOL",
        "log.level" => "FILTER",
        "log.format" => "FORMAT",
        _ => "N",
    }
}

fn given_keys(matches: &ArgMatches, name_of: NameOf) -> Vec<(&'static Key, OsString)> {
    KEYS.iter()
        .filter(|key| name_of(key).is_some())
        .filter_map(|key| matches.get_one::<OsString>(key.name).map(|value| (key, value.clone())))
        .collect()
}

impl Args for GlobalFlags {
    fn augment_args(command: Command) -> Command {
        add_keys(command, global_name).arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .help("Settings file [default: $XDG_CONFIG_HOME/trl/config.toml] [env: TRL_CONFIG]")
                .value_parser(clap::value_parser!(PathBuf))
                .help_heading(GLOBAL)
                .global(true),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GlobalFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file = matches.get_one::<PathBuf>("config").cloned();
        Ok(Self(Flags { file, named: given_keys(matches, global_name), assigned: Vec::new() }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for EngineFlags {
    fn augment_args(command: Command) -> Command {
        add_keys(command, engine_name).arg(
            Arg::new("set")
                .long("set")
                .value_name("KEY=VALUE")
                .help("Any setting by its name in the file, such as sessions.idle_ttl_s=10m")
                .help_heading(SETTINGS)
                .action(ArgAction::Append),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for EngineFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let assigned = matches.get_many::<String>("set").map(|given| given.cloned().collect());
        let named = given_keys(matches, engine_name);
        Ok(Self(Flags { file: None, named, assigned: assigned.unwrap_or_default() }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
