//! The commands, one enum per group of `trl --help`.
//!
//! A command belongs to the group whose enum declares it. The order of the enums and of their variants is the order
//! in the help, the manual pages and the documents. [`help`] lists the groups, `dispatch` in the parent module runs
//! the commands.

use clap::Subcommand;

use super::flags::EngineFlags;
use super::{
    approve, attach, call, case, chat, checkpoint, daemon, debug, digest, docs, doctor, events, exec, fs,
    help, history, print, run, runtime, session, settings, sh, term, token, workspace,
};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    Run(RunGroup),
    #[command(flatten)]
    Sessions(SessionGroup),
    #[command(flatten)]
    Terminals(TerminalGroup),
    #[command(flatten)]
    Approvals(ApprovalGroup),
    #[command(flatten)]
    Files(FileGroup),
    #[command(flatten)]
    Daemon(DaemonGroup),
    #[command(flatten)]
    Integrations(IntegrationGroup),
    #[command(flatten)]
    Hidden(HiddenGroup),
}

/// A group as `trl --help` lists it.
pub(super) struct Group {
    pub(super) heading: &'static str,
    /// Returns whether the command of this name is in the group.
    pub(super) has: fn(&str) -> bool,
}

/// The groups in the order of [`Command`].
pub(super) const GROUPS: [Group; 7] = [
    Group { heading: "Run", has: RunGroup::has_subcommand },
    Group { heading: "Sessions", has: SessionGroup::has_subcommand },
    Group { heading: "Terminals", has: TerminalGroup::has_subcommand },
    Group { heading: "Approvals", has: ApprovalGroup::has_subcommand },
    Group { heading: "Files", has: FileGroup::has_subcommand },
    Group { heading: "Daemon", has: DaemonGroup::has_subcommand },
    Group { heading: "Integrations", has: IntegrationGroup::has_subcommand },
];

#[derive(Debug, Subcommand)]
pub(super) enum RunGroup {
    /// Run a command, stream its output and exit with its code
    #[command(after_long_help = run::KEYS_AND_CODES)]
    Run(run::RunArgs),
    /// Start, list, read, signal and cancel executions
    #[command(subcommand)]
    Exec(exec::ExecCommand),
    /// Show past executions, including those of earlier daemon runs
    History(history::HistoryArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionGroup {
    /// Create, list, inspect, reopen and end sessions
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Save and restore the state of a session's shell
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Send a message to the agent of a session and show its work
    #[command(after_long_help = chat::KEYS_AND_CODES)]
    Chat(chat::ChatArgs),
    /// Follow the events of sessions, executions and terminals
    Events(events::EventsArgs),
    /// List, show, check and trust cases, the profiles for new sessions
    #[command(subcommand)]
    Case(case::CaseCommand),
    /// List, add, check and remove runtimes, the places sessions run in
    #[command(subcommand)]
    Runtime(runtime::RuntimeCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum TerminalGroup {
    /// Start, list, type into, view, record and end terminals
    #[command(subcommand)]
    Term(term::TermCommand),
    /// Attach this terminal to a running one
    #[command(after_long_help = attach::KEYS)]
    Attach(attach::AttachArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum ApprovalGroup {
    /// Review and approve pending commands
    Approve(approve::ApproveArgs),
    /// Reject pending commands
    Reject(approve::RejectArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum FileGroup {
    /// Read, write, search and watch files of a session or workspace
    #[command(subcommand, after_long_help = fs::ABOUT)]
    Fs(fs::FsCommand),
    /// Create, list and inspect workspaces
    #[command(subcommand)]
    Workspace(workspace::WorkspaceCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum DaemonGroup {
    /// Run the daemon in the foreground
    #[command(after_long_help = docs::settings_help())]
    Serve(ServeArgs),
    /// Stop the daemon and end all its sessions
    Stop(daemon::StopArgs),
    /// Check that the daemon answers, and show its version
    Ping(print::Output),
    /// Show the daemon's limits, paths and methods
    Info(print::Output),
    /// Show the daemon's counters and sizes
    Stats(print::Output),
    /// Check what this machine supports and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Collect the data for a bug report
    #[command(subcommand)]
    Debug(debug::DebugCommand),
    /// Show the settings and where each comes from
    #[command(subcommand)]
    Config(settings::ConfigCommand),
    /// Create, list and revoke tokens for agents, viewers and operators
    #[command(subcommand)]
    Token(token::TokenCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum IntegrationGroup {
    /// Run an MCP server on stdin and stdout, with tools for a model
    #[command(after_long_help = crate::mcp::ABOUT)]
    Mcp,
    /// Act as a shell (`sh -c COMMAND`) whose commands the daemon runs
    #[command(after_long_help = sh::ABOUT)]
    Sh(sh::ShArgs),
    /// Run a private engine on stdin and stdout until stdin closes
    Stdio(StdioArgs),
    /// Call a method of the wire protocol with JSON parameters
    #[command(after_long_help = docs::methods_help())]
    Call(call::CallArgs),
    /// Print the completion script of a shell
    Completions(docs::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands
    Man(docs::ManArgs),
}

/// Commands that no help lists.
#[derive(Debug, Subcommand)]
pub(super) enum HiddenGroup {
    /// Print the help of a command
    #[command(hide = true)]
    Help(help::HelpArgs),
    /// Print every help text as one document
    #[command(hide = true)]
    HelpAll,
    /// Print the SHA-256 of this program
    #[command(hide = true)]
    Digest(digest::DigestArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) engine: EngineFlags,
    /// Leave the caller's terminal and process group, and keep quiet
    #[arg(long, hide = true)]
    pub(super) detach: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct StdioArgs {
    #[command(flatten)]
    pub(super) engine: EngineFlags,
    /// Serve a link: relay to the engine of this key, which is started when there is none and outlives this process
    #[arg(long, value_name = "KEY", value_parser = link_key)]
    pub(super) resume: Option<trl_link::Key>,
    /// Be that engine
    #[arg(long, hide = true, requires = "resume")]
    pub(super) engine_of_link: bool,
    /// Wait for that engine: somebody else starts it
    #[arg(long, hide = true, requires = "resume", conflicts_with = "engine_of_link")]
    pub(super) engine_runs: bool,
}

fn link_key(text: &str) -> Result<trl_link::Key, String> {
    text.parse().map_err(|_| "a key is 32 hexadecimal digits".into())
}
