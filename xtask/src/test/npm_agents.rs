//! Agents from npm (OpenCode, Codex, Claude Code, Gemini CLI), tried with the real binary and a fake model: without an account,
//! and without a network once they are installed.
//!
//! 1. The versions that `xtask/agents/package-lock.json` names are installed in `target/agents`, 463 MB to be fetched, unless they
//!    are there.
//! 2. The tests are `crates/trl/tests/npm_agents`, which nobody else runs. Each has a daemon of its own in a temporary directory, and
//!    `xtask/agents/fake-model.mjs` in place of a model.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::outcome::Outcome;
use super::rust_tests::{nextest, usual_profile};
use crate::{command, place, ui};

/// Their programs.
const PROGRAMS: [&str; 4] = ["opencode", "codex", "claude", "gemini"];

/// Installs the agents and runs their tests. Skipped where they cannot be installed, except in CI.
pub(super) fn check() -> Outcome {
    match install() {
        Ok(dir) => nextest(usual_profile(), |command| {
            command.env("TRL_AGENTS_DIR", dir);
            command.args(["--run-ignored", "only", "--filterset", "package(trl) & binary(npm_agents)"]);
        }),
        Err(error) if !place::is_ci() => Outcome::Skipped(format!("{error:#}")),
        Err(error) => Outcome::of(Err(error)),
    }
}

/// Returns the directory that the agents are installed in.
fn install() -> Result<PathBuf> {
    ensure!(ui::has_npm(), "npm is missing: the agents come from there (Node 20 or newer)");
    let dir = place::target_dir()?.join("agents");
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    for name in ["package.json", "package-lock.json"] {
        let from = place::root().join("xtask/agents").join(name);
        fs::copy(&from, dir.join(name)).with_context(|| from.display().to_string())?;
    }
    ui::install(&dir).context("the agents could not be got from npm")?;
    // What they write at their start is not for a person's own home.
    let home = dir.join("home");
    fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
    for program in PROGRAMS {
        let version = command::output(
            Command::new(dir.join("node_modules/.bin").join(program)).arg("--version").env("HOME", &home),
        );
        let version = version.context("it is installed and does not start; were npm's scripts held back?")?;
        eprintln!("{program}: {}", version.trim());
    }
    Ok(dir)
}
