//! `trl --help` and `trl help`: the commands by group, and examples.
//!
//! clap lists all subcommands under one heading (clap issue 1553). The top level therefore has a help template with
//! the list already in it, made from the [`GROUPS`] and the one-line texts of the [`clap::Command`] itself. The help
//! of every other command is clap's own.

use std::iter::once;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::Cli;
use super::commands::{GROUPS, Group};
use super::failure::Failure;

/// Shown after the options of `trl --help`. A test runs every line that is indented by four spaces.
pub(super) const EXAMPLES: &str = "\
Examples:
  Run one command (this starts the daemon if none is running):
    trl run 'uname -a'

  Keep a directory and variables between commands:
    trl session new --name work
    trl run -s work 'cd /tmp && export WHO=me'
    trl run -s work 'echo \"$WHO in $PWD\"'

  Start a terminal and attach to it (C-\\ d detaches and leaves it running):
    trl term new --name demo
    trl attach demo";

/// Commands that end, remove or withdraw something. A typing error must not lead to one of these.
const DESTRUCTIVE: [&str; 9] =
    ["stop", "rm", "close", "reset", "cancel", "signal", "revoke", "restore", "delete"];

/// The error without the destructive commands among those that it suggests: `trl top` is not answered with `stop`.
pub(super) fn without_dangerous_advice(mut error: clap::Error) -> clap::Error {
    let kind = ContextKind::SuggestedSubcommand;
    let is_safe = |name: &&String| !DESTRUCTIVE.contains(&name.as_str());
    let safe: Vec<String> = match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name).filter(is_safe).cloned().into_iter().collect(),
        Some(ContextValue::Strings(names)) => names.iter().filter(is_safe).cloned().collect(),
        _ => return error,
    };
    let _suggested = match safe.is_empty() {
        true => error.remove(kind),
        false => error.insert(kind, ContextValue::Strings(safe)),
    };
    error
}

#[derive(Debug, clap::Args)]
pub(super) struct HelpArgs {
    /// The command, such as `session new`
    command: Vec<String>,
}

/// For the derive attribute of [`Cli`], which calls methods of [`Command`] only.
pub(super) trait ListInGroups {
    /// Lists the visible subcommands in groups in the help of this command.
    fn list_in_groups(self) -> Self;
}

impl ListInGroups for Command {
    fn list_in_groups(self) -> Self {
        let template = template(&self);
        self.help_template(template)
    }
}

/// clap's own template, with the groups in place of the list of subcommands.
fn template(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let groups: String = GROUPS.iter().map(|group| section(command, group)).collect();
    format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n\
         {groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    )
}

/// The heading, a line for each command, and an empty line.
fn section(command: &Command, group: &Group) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let width = visible(command).map(|child| child.get_name().len()).max().unwrap_or_default();
    let lines = visible(command).filter(|child| (group.has)(child.get_name())).map(|child| {
        let about = child.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {literal}{:width$}{literal:#}  {about}\n", child.get_name())
    });
    format!("{header}{}:{header:#}\n{}\n", group.heading, lines.collect::<String>())
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|child| !child.is_hide_set())
}

/// `trl help [COMMAND]...`: prints what `trl [COMMAND]... --help` prints.
pub(super) fn show(args: &HelpArgs) -> Result<u8, Failure> {
    let cli = Cli::command();
    let mut command = &cli;
    for name in &args.command {
        let unknown = || Cli::command().error(ErrorKind::InvalidSubcommand, format!("no command '{name}'"));
        command = command.find_subcommand(name).unwrap_or_else(|| unknown().exit());
    }
    let words = args.command.iter().map(String::as_str);
    match Cli::command().try_get_matches_from(once("trl").chain(words).chain(once("--help"))) {
        Err(help) => help.print()?,
        Ok(_) => return Err(Failure::Usage("this command has no help".into())),
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use clap::builder::StyledStr;

    use super::*;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let cli = Cli::command();
        for command in visible(&cli) {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|group| (group.has)(name));
            let headings: Vec<&str> = groups.map(|group| group.heading).collect();
            assert_eq!(headings.len(), 1, "`trl {name}` must be in one group, and is in {headings:?}");
        }
    }

    #[test]
    fn every_group_has_visible_commands() {
        let cli = Cli::command();
        for group in GROUPS {
            let heading = group.heading;
            assert!(visible(&cli).any(|command| (group.has)(command.get_name())), "{heading} is empty");
        }
    }

    /// clap does not wrap the text of a template.
    #[test]
    fn the_list_of_commands_fits_80_columns() {
        let cli = Cli::command();
        for group in GROUPS {
            for line in StyledStr::from(section(&cli, &group)).to_string().lines() {
                assert!(line.chars().count() <= 80 && !line.contains('{'), "{line}");
            }
        }
    }
}
