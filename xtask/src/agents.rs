//! Agents that others wrote, from npm, tried with the real binary and a fake model: no account, and no network once they are
//! there.
//!
//! 1. The versions that `xtask/agents/package-lock.json` names are installed in `target/agents`, 463 MB to be fetched, unless they
//!    are there.
//! 2. The tests are `crates/trl/tests/npm_agents`, which nobody else runs. Each has a daemon of its own in a temporary directory, and
//!    `xtask/agents/fake-model.mjs` in place of a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::steps::{Outcome, Steps};
use crate::{checks, place, ui};

/// Their programs.
const PROGRAMS: [&str; 4] = ["opencode", "codex", "claude", "gemini"];

/// What is tried, and its tests.
const TRIED: [(&str, &str); 6] = [
    ("OpenCode runs a command", "test(=tools::opencode_runs_a_command)"),
    ("Codex runs a command", "test(=tools::codex_runs_a_command)"),
    ("Claude Code runs a command", "test(=tools::claude_code_runs_a_command)"),
    ("Gemini CLI runs a command", "test(=tools::gemini_cli_runs_a_command)"),
    ("OpenCode asks a person", "test(/^conversation::opencode/)"),
    ("Gemini CLI asks a person", "test(/^conversation::gemini/)"),
];

/// Everything, a row for each.
pub(crate) fn job(steps: &mut Steps) {
    let mut dir = None;
    steps.step("the agents from npm", || Outcome::of(install().map(|found| dir = Some(found))));
    let Some(dir) = dir else { return };
    for (name, tests) in TRIED {
        steps.step(name, || run(&dir, &["--package", "trl", "--test", "npm_agents"], tests));
    }
}

/// Everything, as one step among others. A machine that has no npm, or cannot reach a registry, does without.
pub(crate) fn check() -> Outcome {
    match install() {
        // With the others: another choice of packages would be another build.
        Ok(dir) => run(&dir, &["--workspace"], "package(trl) & binary(npm_agents)"),
        Err(error) if !place::is_ci() => Outcome::Skipped(format!("{error:#}")),
        Err(error) => Outcome::of(Err(error)),
    }
}

/// The directory they are in.
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
        let version = place::output(
            Command::new(dir.join("node_modules/.bin").join(program)).arg("--version").env("HOME", &home),
        );
        let version = version.context("it is installed and does not start; were npm's scripts held back?")?;
        eprintln!("{program}: {}", version.trim());
    }
    Ok(dir)
}

fn run(agents: &Path, scope: &[&str], tests: &str) -> Outcome {
    checks::nextest_of(scope, place::root(), |command| {
        command.env("TRL_AGENTS_DIR", agents);
        command.args(["--run-ignored", "only", "--filterset", tests]);
    })
}
