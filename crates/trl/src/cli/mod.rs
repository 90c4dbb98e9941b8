//! The command line: what was typed, to the function that does it, to an exit code.
//!
//! 1. [`main`] parses the arguments ([`Cli`], with the [`commands`] by group) and puts the settings together.
//! 2. `serve` and `stdio` hand over to the server; the commands that need no daemon ([`docs`], [`settings`]) print.
//! 3. Every other command gets a small runtime and a connection, and lives in the file of its noun.
//! 4. What goes wrong is a [`Failure`], shown as one line and a hint.
//!
//! Data goes to stdout, words about it to stderr.

// What is printed goes through `print`, which lets a terminal act on nothing that others wrote.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod approve;
mod attach;
mod call;
mod card;
mod case;
mod chat;
mod checkpoint;
mod commands;
mod daemon;
mod debug;
mod digest;
mod docs;
mod doctor;
mod events;
mod exec;
mod failure;
mod flags;
mod forward;
mod fs;
mod help;
mod history;
mod print;
mod quote;
mod record;
mod run;
mod runtime;
mod sandbox;
mod send;
mod session;
mod settings;
pub(crate) mod sh;
mod start;
mod table;
mod term;
mod token;
mod transfer;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use crate::config::{Config, Flags};
use crate::logging::{self, Sink};
use crate::serve;
use crate::serve::far::Starter;
use commands::{
    ApprovalGroup, Command, DaemonGroup, FileGroup, HiddenGroup, IntegrationGroup, RunGroup, ServeArgs,
    SessionGroup, StdioArgs, TerminalGroup,
};
use failure::Failure;
use flags::GlobalFlags;
use help::ListInGroups;

/// Shells and processes for AI agents, owned by a daemon
///
/// TRL keeps shell sessions alive between commands, runs what it is asked to, and reports exactly what happened:
/// the bytes of both streams, the exit code, and what became of the shell.
#[derive(Debug, Parser)]
#[command(name = "trl", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(list_in_groups(), after_help = help::EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalFlags,
    #[command(subcommand)]
    command: Command,
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| help::without_dangerous_advice(error).exit());
    let trouble = match cli.command {
        // Like env(1) and timeout(1): distinguishable from what the command itself would exit with.
        Command::Run(RunGroup::Run(_)) => 125,
        _ => 1,
    };
    match dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(trouble),
    }
}

fn dispatch(cli: Cli) -> Result<u8, Failure> {
    let base = cli.global.into_flags();
    match cli.command {
        Command::Run(command) => run_group(command, base),
        Command::Sessions(command) => session_group(command, base),
        Command::Terminals(command) => terminal_group(command, base),
        Command::Approvals(command) => approval_group(command, base),
        Command::Files(command) => file_group(command, base),
        Command::Daemon(command) => daemon_group(command, base),
        Command::Integrations(command) => integration_group(command, base),
        Command::Hidden(command) => hidden_group(command),
    }
}

fn run_group(command: RunGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        RunGroup::Run(args) => talk(&base, async |config| run::run(config, args).await),
        RunGroup::Exec(command) => talk(&base, async |config| exec::run(config, command).await),
        RunGroup::History(args) => talk(&base, async |config| history::show(config, args).await),
    }
}

fn session_group(command: SessionGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        SessionGroup::Session(command) => talk(&base, async |config| session::run(config, command).await),
        SessionGroup::Checkpoint(command) => {
            talk(&base, async |config| checkpoint::run(config, command).await)
        }
        SessionGroup::Chat(args) => talk(&base, async |config| chat::chat(config, args).await),
        SessionGroup::Events(args) => talk(&base, async |config| events::follow(config, args).await),
        SessionGroup::Case(command) => talk(&base, async |config| case::run(config, command).await),
        SessionGroup::Runtime(command) => talk(&base, async |config| runtime::run(config, command).await),
    }
}

fn terminal_group(command: TerminalGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        TerminalGroup::Term(command) => talk(&base, async |config| term::run(config, command).await),
        TerminalGroup::Attach(args) => talk(&base, async |config| attach::attach(config, args).await),
    }
}

fn approval_group(command: ApprovalGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        ApprovalGroup::Approve(args) => talk(&base, async |config| approve::approve(config, args).await),
        ApprovalGroup::Reject(args) => talk(&base, async |config| approve::reject(config, args).await),
    }
}

fn file_group(command: FileGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        FileGroup::Fs(command) => talk(&base, async |config| fs::run(config, command).await),
        FileGroup::Workspace(command) => talk(&base, async |config| workspace::run(config, command).await),
    }
}

fn daemon_group(command: DaemonGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        DaemonGroup::Serve(args) => serve_daemon(args, base),
        DaemonGroup::Stop(args) => talk(&base, async |config| daemon::stop(config, &args).await),
        DaemonGroup::Ping(output) => talk(&base, async |config| daemon::ping(config, output).await),
        DaemonGroup::Info(output) => talk(&base, async |config| daemon::info(config, output).await),
        DaemonGroup::Stats(output) => talk(&base, async |config| daemon::stats(config, output).await),
        DaemonGroup::Doctor(args) => talk(&base, async |config| doctor::show(config, args).await),
        DaemonGroup::Debug(command) => talk(&base, async |config| debug::run(config, command).await),
        DaemonGroup::Config(command) => settings::show(command, base),
        DaemonGroup::Token(command) => talk(&base, async |config| token::run(config, command).await),
    }
}

fn integration_group(command: IntegrationGroup, base: Flags) -> Result<u8, Failure> {
    match command {
        IntegrationGroup::Mcp => talk(&base, async |config| {
            crate::mcp::serve_stdio(config).await.map_err(Failure::Usage)?;
            Ok(0)
        }),
        IntegrationGroup::Sh(args) => Ok(sh::run(args, &base)),
        IntegrationGroup::Stdio(args) => serve_stdio(args, base),
        IntegrationGroup::Call(args) => talk(&base, async |config| call::call(config, &args).await),
        IntegrationGroup::Completions(args) => docs::completions(&args),
        IntegrationGroup::Man(args) => docs::man(&args),
    }
}

fn hidden_group(command: HiddenGroup) -> Result<u8, Failure> {
    match command {
        HiddenGroup::Help(args) => help::show(&args),
        HiddenGroup::HelpAll => docs::help_all(),
        HiddenGroup::Digest(args) => digest::digest(args),
    }
}

fn serve_daemon(args: ServeArgs, base: Flags) -> Result<u8, Failure> {
    let config = Config::load(&args.engine.over(base))?;
    let sink = if args.detach {
        // Fails only for the leader of a process group, which is detached enough.
        let _session = rustix::process::setsid();
        Sink::Nowhere
    } else {
        Sink::Stderr
    };
    logging::start(&config.log, sink);
    serve::daemon(config)?;
    Ok(0)
}

fn serve_stdio(args: StdioArgs, base: Flags) -> Result<u8, Failure> {
    let config = Config::load(&args.engine.over(base))?;
    match args.resume {
        None => {
            logging::start(&config.log, Sink::Stderr);
            serve::stdio(config)?;
        }
        Some(key) if args.engine_of_link => {
            let _session = rustix::process::setsid();
            logging::start(&config.log, Sink::Nowhere);
            serve::far::engine(config, key)?;
        }
        Some(key) => {
            let starter = if args.engine_runs { Starter::Other } else { Starter::Relay };
            serve::far::relay(&config, key, starter)?;
        }
    }
    Ok(0)
}

/// Runs a command that talks to a daemon.
fn talk(flags: &Flags, command: impl AsyncFnOnce(&Config) -> Result<u8, Failure>) -> Result<u8, Failure> {
    let config = Config::load(flags)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(command(&config));
    // A blocked write to a stuck pipe must not keep a finished command alive.
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_global_flag_may_stand_before_or_after_the_command() {
        for line in [["trl", "--socket", "/x/s", "ping"], ["trl", "ping", "--socket", "/x/s"]] {
            let flags = Cli::try_parse_from(line).unwrap().global.into_flags();
            assert_eq!(flags.named.len(), 1);
            assert_eq!((flags.named[0].0.name, flags.named[0].1.to_str()), ("socket", Some("/x/s")));
        }
    }

    #[test]
    fn everything_after_the_first_word_belongs_to_the_command() {
        let cli = Cli::try_parse_from(["trl", "run", "--queue", "ls", "--socket", "-l"]).unwrap();
        assert!(cli.global.into_flags().named.is_empty());
        let Command::Run(RunGroup::Run(args)) = cli.command else { panic!("not run") };
        assert_eq!(args.command, ["ls", "--socket", "-l"]);
    }
}
