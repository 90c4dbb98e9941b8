//! Rust tests, run by cargo-nextest.

use std::process::Command;

use super::junit;
use super::outcome::{Outcome, Tests};
use crate::command::must;
use crate::{needs, place};

/// Tests with a loop that `--all` runs for longer, by module path.
const SOAK: &str = "test(/(^|::)soak::/)";

/// Seconds that each loop of a soak test goes on for.
const SOAK_SECONDS: &str = "60";

/// Builds the program and all tests of the workspace, so that steps beside each other do not wait for builds.
pub(super) fn build() -> Outcome {
    Outcome::of(must(&mut place::cargo(["build", "--workspace", "--all-targets"])))
}

/// Runs all tests of the workspace.
pub(super) fn run() -> Outcome {
    nextest(usual_profile(), |_| {})
}

/// Runs the soak tests one after the other, each of their loops for [`SOAK_SECONDS`].
pub(super) fn soak() -> Outcome {
    nextest("soak", |command| {
        command.env("TRL_TEST_SECONDS", SOAK_SECONDS).args([
            "--filterset",
            SOAK,
            "--success-output",
            "final",
        ]);
    })
}

/// Runs tests of the workspace as `filter` selects them, with these variables.
pub(super) fn selected(filter: &str, variables: &[(&str, &str)]) -> Outcome {
    nextest(usual_profile(), |command| {
        command.args(["--filterset", filter]).envs(variables.iter().copied());
    })
}

/// The profile of `.config/nextest.toml` for this machine.
pub(super) fn usual_profile() -> &'static str {
    if place::is_ci() { "ci" } else { "default" }
}

/// Runs tests of the workspace with what `prepare` adds to the command. Every call builds the whole workspace, so that all
/// share one build: other packages would be another choice of features.
pub(super) fn nextest(profile: &str, prepare: impl FnOnce(&mut Command)) -> Outcome {
    if !needs::has_tool("nextest") && !place::is_ci() {
        return Outcome::Skipped("cargo-nextest is not installed".into());
    }
    let mut command = place::cargo(["nextest", "run", "--workspace", "--profile", profile]);
    prepare(&mut command);
    let report = place::root().join("target/nextest").join(profile).join("junit.xml");
    // The report of an earlier run would be counted if this one does not start.
    let _ = std::fs::remove_file(&report);
    let done = must(&mut command);
    let read = junit::read(&report);
    let tests = Tests {
        passed: read.passed.len() as u64,
        failed: read.failed.len() as u64,
        flaky: read.flaky.iter().map(ToString::to_string).collect(),
    };
    Outcome::counted(done, tests)
}
