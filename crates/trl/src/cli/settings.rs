//! `trl config`: the settings as they came out, and where each came from.

use serde_json::{Map, Value, json};
use trl_client::TOKEN_VARIABLE;

use super::failure::Failure;
use super::flags::EngineFlags;
use super::print::{self, Format, Output};
use super::table::Table;
use crate::config::{Config, Flags, KEYS};

#[derive(Debug, clap::Subcommand)]
pub(super) enum ConfigCommand {
    /// Show every setting, its value and its origin
    Show(ShowArgs),
    /// Print the path of the settings file, whether it exists or not
    Path,
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    engine: EngineFlags,
}

pub(super) fn show(command: ConfigCommand, base: Flags) -> Result<u8, Failure> {
    match command {
        ConfigCommand::Path => {
            let config = Config::load(&base)?;
            let path = config.file.clone().unwrap_or_else(|| config.default_file());
            print::value(&path.to_string_lossy())?;
        }
        ConfigCommand::Show(args) => {
            let config = Config::load(&args.engine.over(base))?;
            match args.output.format() {
                Format::Json => print::json(&as_json(&config))?,
                Format::People => print::text(&as_table(&config))?,
            }
        }
    }
    Ok(0)
}

/// Only whether there is a token, and from where.
fn token_origin(config: &Config) -> String {
    match &config.operator_token {
        Some(_) => format!("env {TOKEN_VARIABLE}"),
        None => format!("file {}", config.operator_token_file.display()),
    }
}

pub(super) fn as_json(config: &Config) -> Value {
    let settings: Map<String, Value> = KEYS
        .iter()
        .map(|key| {
            let origin = config.origin(key).to_string();
            (key.name.to_string(), json!({"value": key.value(config), "origin": origin}))
        })
        .collect();
    let file = config.file.as_ref().map(|path| path.to_string_lossy());
    json!({"file": file, "settings": settings, "operator_token": {"origin": token_origin(config)}})
}

fn as_table(config: &Config) -> String {
    let mut table = Table::new(&["SETTING", "VALUE", "ORIGIN"]);
    for key in KEYS {
        let value = print::words(&key.value(config)).unwrap_or_else(|| "-".into());
        table.row([key.name.into(), value, config.origin(key).to_string()]);
    }
    table.row(["operator_token".into(), "(hidden)".into(), token_origin(config)]);
    table.render()
}
