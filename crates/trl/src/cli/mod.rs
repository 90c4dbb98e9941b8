//! The command line: what was typed, to the function that does it, to an exit code.
//!
//! 1. [`main`] parses the arguments ([`Cli`]) and puts the settings together.
//! 2. `serve` and `stdio` hand over to the server; the commands that need no daemon ([`docs`], [`settings`]) print.
//! 3. Every other command gets a small runtime and a connection, and lives in the file of its noun.
//! 4. What goes wrong is a [`Failure`], shown as one line and a hint.
//!
//! Data goes to stdout, words about it to stderr.

mod approve;
mod attach;
mod call;
mod case;
mod chat;
mod checkpoint;
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

use clap::{Parser, Subcommand};

use crate::config::{Config, Flags};
use crate::logging::{self, Sink};
use crate::serve;
use crate::serve::far::Starter;
use failure::Failure;
use flags::{EngineFlags, GlobalFlags};

/// Shells and processes for AI agents, owned by a daemon
///
/// TRL keeps shell sessions alive between commands, runs what it is asked to, and reports exactly what happened:
/// the bytes of both streams, the exit code, and what became of the shell.
#[derive(Debug, Parser)]
#[command(name = "trl", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon in the foreground; it prints one line when it is ready
    #[command(after_long_help = docs::settings_help())]
    Serve(ServeArgs),
    /// Run a private engine on stdin and stdout; it ends when stdin does
    Stdio(StdioArgs),
    /// Run a command and stream its output; exits with the command's code
    #[command(after_long_help = run::KEYS_AND_CODES)]
    Run(run::RunArgs),
    /// Be a shell for programs that start one: `sh -c COMMAND`, in the daemon's hands
    #[command(after_long_help = sh::ABOUT)]
    Sh(sh::ShArgs),
    /// Create, list, inspect, open and end sessions
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Keep the state of a session's shell, and give it back
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Say something to the agent of a session, and show what it does
    #[command(after_long_help = chat::KEYS_AND_CODES)]
    Chat(chat::ChatArgs),
    /// List, read, feed, signal and cancel executions
    #[command(subcommand)]
    Exec(exec::ExecCommand),
    /// Show what was run, also before the daemon was last started
    History(history::HistoryArgs),
    /// Start terminals, type into them, look at them and end them
    #[command(subcommand)]
    Term(term::TermCommand),
    /// Look at, read, write, search and watch the files of a session or workspace
    #[command(subcommand, after_long_help = fs::ABOUT)]
    Fs(fs::FsCommand),
    /// Make and list workspaces
    #[command(subcommand)]
    Workspace(workspace::WorkspaceCommand),
    /// Sit at a terminal of the daemon's with this one
    #[command(after_long_help = attach::KEYS)]
    Attach(attach::AttachArgs),
    /// Say whether the daemon is alive, and which version it is
    Ping(print::Output),
    /// Show the daemon's counters and sizes
    Stats(print::Output),
    /// Show the daemon's limits, paths and methods
    Info(print::Output),
    /// Say what this machine can do, and what could be better
    Doctor(doctor::DoctorArgs),
    /// Gather what a bug report needs
    #[command(subcommand)]
    Debug(debug::DebugCommand),
    /// End the daemon and all its sessions
    Stop(daemon::StopArgs),
    /// Say yes to commands that wait for a person, one after the other
    Approve(approve::ApproveArgs),
    /// Say no to commands that wait for a person
    Reject(approve::RejectArgs),
    /// List, show, check and trust the profiles sessions are created from
    #[command(subcommand)]
    Case(case::CaseCommand),
    /// List, add, ask and remove the places where sessions can live
    #[command(subcommand)]
    Runtime(runtime::RuntimeCommand),
    /// Make, list and revoke tokens for agents, viewers and operators
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Show what happens to sessions, executions and terminals, as it happens
    Events(events::EventsArgs),
    /// Be an MCP server on stdin and stdout: tools for a model, in the daemon's hands
    #[command(after_long_help = crate::mcp::ABOUT)]
    Mcp,
    /// Call a method of the wire with JSON parameters
    #[command(after_long_help = docs::methods_help())]
    Call(call::CallArgs),
    /// Show the settings and where each comes from
    #[command(subcommand)]
    Config(settings::ConfigCommand),
    /// Print the completions of a shell
    Completions(docs::CompletionsArgs),
    /// Print the manual page, or write all of them
    Man(docs::ManArgs),
    /// Print every help text as one document
    #[command(hide = true)]
    HelpAll,
    /// Print the SHA-256 of this program
    #[command(hide = true)]
    Digest(digest::DigestArgs),
}

#[derive(Debug, clap::Args)]
struct ServeArgs {
    #[command(flatten)]
    engine: EngineFlags,
    /// Leave the caller's terminal and process group, and keep quiet
    #[arg(long, hide = true)]
    detach: bool,
}

#[derive(Debug, clap::Args)]
struct StdioArgs {
    #[command(flatten)]
    engine: EngineFlags,
    /// Serve a link: relay to the engine of this key, which is started when there is none and outlives this process
    #[arg(long, value_name = "KEY", value_parser = link_key)]
    resume: Option<trl_link::Key>,
    /// Be that engine
    #[arg(long, hide = true, requires = "resume")]
    engine_of_link: bool,
    /// Wait for that engine: somebody else starts it
    #[arg(long, hide = true, requires = "resume", conflicts_with = "engine_of_link")]
    engine_runs: bool,
}

fn link_key(text: &str) -> Result<trl_link::Key, String> {
    text.parse().map_err(|_| "a key is 32 hexadecimal digits".into())
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let trouble = match cli.command {
        // Like env(1) and timeout(1): distinguishable from what the command itself would exit with.
        Command::Run(_) => 125,
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
        Command::Serve(args) => serve_daemon(args, base),
        Command::Stdio(args) => serve_stdio(args, base),
        Command::Run(args) => talk(&base, async |config| run::run(config, args).await),
        Command::Sh(args) => Ok(sh::run(args, &base)),
        Command::Session(command) => talk(&base, async |config| session::run(config, command).await),
        Command::Checkpoint(command) => talk(&base, async |config| checkpoint::run(config, command).await),
        Command::Chat(args) => talk(&base, async |config| chat::chat(config, args).await),
        Command::Exec(command) => talk(&base, async |config| exec::run(config, command).await),
        Command::History(args) => talk(&base, async |config| history::show(config, args).await),
        Command::Term(command) => talk(&base, async |config| term::run(config, command).await),
        Command::Fs(command) => talk(&base, async |config| fs::run(config, command).await),
        Command::Workspace(command) => talk(&base, async |config| workspace::run(config, command).await),
        Command::Attach(args) => talk(&base, async |config| attach::attach(config, args).await),
        Command::Ping(output) => talk(&base, async |config| daemon::ping(config, output).await),
        Command::Stats(output) => talk(&base, async |config| daemon::stats(config, output).await),
        Command::Info(output) => talk(&base, async |config| daemon::info(config, output).await),
        Command::Doctor(args) => talk(&base, async |config| doctor::show(config, args).await),
        Command::Debug(command) => talk(&base, async |config| debug::run(config, command).await),
        Command::Stop(args) => talk(&base, async |config| daemon::stop(config, &args).await),
        Command::Approve(args) => talk(&base, async |config| approve::approve(config, args).await),
        Command::Reject(args) => talk(&base, async |config| approve::reject(config, args).await),
        Command::Case(command) => talk(&base, async |config| case::run(config, command).await),
        Command::Runtime(command) => talk(&base, async |config| runtime::run(config, command).await),
        Command::Token(command) => talk(&base, async |config| token::run(config, command).await),
        Command::Events(args) => talk(&base, async |config| events::follow(config, args).await),
        Command::Mcp => talk(&base, async |config| {
            crate::mcp::serve_stdio(config).await.map_err(Failure::Usage)?;
            Ok(0)
        }),
        Command::Call(args) => talk(&base, async |config| call::call(config, &args).await),
        Command::Config(command) => settings::show(command, base),
        Command::Completions(args) => docs::completions(&args),
        Command::Man(args) => docs::man(&args),
        Command::HelpAll => docs::help_all(),
        Command::Digest(args) => digest::digest(args),
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
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.command, ["ls", "--socket", "-l"]);
    }
}
