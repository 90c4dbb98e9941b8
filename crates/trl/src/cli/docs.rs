//! What the command line says about itself: completions, manual pages, and all help texts as one document.
//!
//! The checked-in documents are made by these functions and compared with them by a test.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use trl_proto::Method;

use super::failure::Failure;
use super::{Cli, print};
use crate::config::{Config, Flag, KEYS};

/// Help texts in documents are as wide as this, whatever the terminal.
const WIDTH: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "trl", &mut script);
    print::exact(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(super) fn man(args: &ManArgs) -> Result<u8, Failure> {
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir)?;
            clap_mangen::generate_to(Cli::command(), dir)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            print::exact(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(0)
}

pub(super) fn help_all() -> Result<u8, Failure> {
    let mut document = String::from(
        "# The command line\n\nEvery help text, and the settings file. Generated from the code, and checked by a test:\n\
         `UPDATE_DOCS=1 cargo test -p trl --test cli_docs` writes it anew.\n",
    );
    let mut cli = Cli::command().term_width(WIDTH);
    cli.build();
    add_help(&mut document, &mut cli, "trl").map_err(io::Error::other)?;
    add_settings(&mut document).map_err(io::Error::other)?;
    print::exact(&document)?;
    Ok(0)
}

fn add_help(document: &mut String, command: &mut Command, path: &str) -> std::fmt::Result {
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    write!(document, "\n## `{path}`\n\n```text\n{}\n```\n", help.trim_end())?;
    for child in command.get_subcommands_mut().filter(|child| !child.is_hide_set()) {
        let path = format!("{path} {}", child.get_name());
        add_help(document, child, &path)?;
    }
    Ok(())
}

fn add_settings(document: &mut String) -> std::fmt::Result {
    let defaults = Config::for_documents();
    document.push_str("\n## Settings\n\nA flag wins over a variable, a variable over the file, the file over the default.\n");
    document.push_str("Any setting can be given to `trl serve` as `--set KEY=VALUE`. Sizes and durations are numbers of bytes and\n");
    document.push_str("seconds, or text with a unit: `\"16MiB\"`, `\"10m\"`.\n\n");
    document.push_str("| setting | default | variable | flag | meaning |\n| --- | --- | --- | --- | --- |\n");
    for key in KEYS {
        let flag = match key.flag {
            Flag::Global(name) | Flag::Engine(name) => format!("`--{name}`"),
            Flag::None => String::new(),
        };
        let env = key.env.map(|name| format!("`{name}`")).unwrap_or_default();
        let default = key.default_text(&defaults);
        writeln!(document, "| `{}` | {default} | {env} | {flag} | {} |", key.name, key.about)?;
    }
    Ok(())
}

/// The settings file, for the long help of `trl serve`.
pub(super) fn settings_help() -> String {
    let defaults = Config::for_documents();
    let mut help = String::from("Settings file (TOML), and what each setting is when nobody sets it:\n");
    let mut section = "";
    for key in KEYS {
        if key.section() != section {
            section = key.section();
            help.push_str(&format!("\n  [{section}]\n"));
        }
        let leaf = key.name.rsplit('.').next().unwrap_or(key.name);
        help.push_str(&format!("  {leaf}: {} [{}]\n", key.about, key.default_text(&defaults)));
    }
    help
}

/// The methods of the wire, for the long help of `trl call`.
pub(super) fn methods_help() -> String {
    let methods = Method::ALL.iter().map(|method| format!("  {:18}{}\n", method.name(), method.about()));
    format!("Methods:\n{}", methods.collect::<String>())
}
