//! `trl`: the daemon and its command line in one binary.
//!
//! 1. [`serve::hidden_entry`] takes over when this process was started by the daemon for its own purposes.
//!    [`cli::sh`] does when it was started as a shell.
//! 2. [`cli`] reads the command line, [`config`] puts the settings together.
//! 3. `trl serve` and `trl stdio` go on in [`serve`]; every other command talks to a daemon through [`client`].

mod cli;
mod client;
mod config;
mod logging;
mod mcp;
mod serve;

fn main() -> std::process::ExitCode {
    serve::hidden_entry();
    cli::sh::entry().unwrap_or_else(cli::main)
}
