//! Checks and tests of the web UI.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::junit::Case;
use super::outcome::Outcome;
use super::retry;
use crate::command::must;
use crate::{needs, place, ui};

/// The most that a browser may load for the first page with its terminals, compressed. Other pages load on demand.
const MOST_BYTES: u64 = 300_000;

/// Checks types, lints, format and size.
pub(super) fn check() -> Outcome {
    let all = || {
        ui::build()?;
        must(&mut ui::npm(["run", "--silent", "check"]))?;
        let size = first_load()?;
        ensure!(size <= MOST_BYTES, "the first page has {size} bytes compressed, more than {MOST_BYTES}");
        Ok(())
    };
    unless_missing(&["npm"], || Outcome::of(all()))
}

pub(super) fn unit_tests() -> Outcome {
    unless_missing(&["npm"], || vitest("unit", "test", None))
}

/// Drives the pages of a real daemon with a real browser.
pub(super) fn browser_tests() -> Outcome {
    unless_missing(&["npm", "chromium"], || match place::debug_binary() {
        Ok(trl) => vitest("browser", "e2e", Some(trl)),
        Err(error) => Outcome::of(Err(error)),
    })
}

fn unless_missing(programs: &[&str], work: impl FnOnce() -> Outcome) -> Outcome {
    match programs.iter().find(|program| !needs::has_program(program)) {
        Some(missing) if !place::is_ci() => Outcome::Skipped(format!("{missing} is not installed")),
        _ => work(),
    }
}

/// Runs a script of `web/package.json` that is vitest.
fn vitest(name: &str, script: &str, trl: Option<PathBuf>) -> Outcome {
    let report = place::root().join(format!("target/web-{name}.xml"));
    retry::run(&report, |failed: &[Case]| {
        let mut command: Command = ui::npm(["run", "--silent", script, "--"]);
        command
            .args(["--reporter=default", "--reporter=junit"])
            .arg(format!("--outputFile.junit={}", report.display()));
        if !failed.is_empty() {
            command.args(["--testNamePattern", &retry::pattern(failed)]);
            command.args(failed.iter().map(|case| &case.class));
        }
        command.envs(trl.iter().map(|trl| ("TRL_BIN", trl)));
        command
    })
}

/// Reads the size that `web/scripts/compress.mjs` has counted.
fn first_load() -> Result<u64> {
    let counted = ui::web().join("node_modules/.trl-first-load");
    let text = fs::read_to_string(&counted).with_context(|| counted.display().to_string())?;
    text.trim().parse().with_context(|| counted.display().to_string())
}
