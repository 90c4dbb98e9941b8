//! The steps of the suite: everything that must hold for a change.

use super::outcome::Outcome;
use super::{
    clients, conformance, fuzz, lints, manifests, npm_agents, ordinary_user, remote, rust_tests, vm, web,
};
use crate::needs;

/// Which runs take a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    /// `cargo xtask test`, and `--all` too.
    Short,
    /// `cargo xtask test` only: the smoke set of a place whose whole set `--all` runs.
    Smoke,
    /// `cargo xtask test --all` only.
    All,
}

/// Steps of different lanes run beside each other, steps of one lane one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Steps that compile Rust or run its tests.
    Main,
    /// Steps that mostly wait, or use other tools.
    Side,
}

/// One entry of the suite.
#[derive(Debug)]
pub(super) struct Step {
    /// The name on the command line.
    pub(super) name: &'static str,
    /// One line for `--help`.
    pub(super) about: &'static str,
    pub(super) tier: Tier,
    pub(super) lane: Lane,
    /// Steps that must have ended before this one starts. They stand above it.
    pub(super) after: &'static [&'static str],
    pub(super) run: fn() -> Outcome,
}

const fn main_step(
    name: &'static str,
    tier: Tier,
    after: &'static [&'static str],
    about: &'static str,
    run: fn() -> Outcome,
) -> Step {
    Step { name, about, tier, lane: Lane::Main, after, run }
}

const fn side_step(
    name: &'static str,
    tier: Tier,
    after: &'static [&'static str],
    about: &'static str,
    run: fn() -> Outcome,
) -> Step {
    Step { lane: Lane::Side, ..main_step(name, tier, after, about, run) }
}

/// All steps in the order in which they start.
pub(super) static STEPS: &[Step] = {
    use Tier::{All, Short, Smoke};
    const NEEDS: &[&str] = &["needs"];
    const BUILD: &[&str] = &["build"];
    &[
        main_step("needs", Short, &[], "Install the programs and packages that the steps use", needs::step),
        main_step("format", Short, NEEDS, "Check that rustfmt changes nothing", lints::format),
        side_step("licences", Short, NEEDS, "Check licences and sources of dependencies", lints::licences),
        side_step(
            "manifests",
            Short,
            NEEDS,
            "Check the Kubernetes example against the API",
            manifests::check,
        ),
        side_step("web", Short, NEEDS, "Build the web UI; check types, lints and size", web::check),
        side_step("web-unit", Short, NEEDS, "Run the unit tests of the web UI", web::unit_tests),
        main_step(
            "lints",
            Short,
            NEEDS,
            "Run clippy on the workspace and the fuzz targets' lock file",
            lints::clippy,
        ),
        main_step(
            "build",
            Short,
            &["needs", "web"],
            "Build the program and all Rust tests",
            rust_tests::build,
        ),
        side_step("browser", Short, BUILD, "Drive the web UI in Chromium", web::browser_tests),
        side_step(
            "clients",
            Short,
            BUILD,
            "Check and test the Python and TypeScript clients",
            clients::check,
        ),
        side_step(
            "conformance",
            Short,
            BUILD,
            "Run the MCP conformance suite against /mcp",
            conformance::check,
        ),
        main_step("tests", Short, BUILD, "Run the Rust tests of the workspace", rust_tests::run),
        main_step("docs", Short, BUILD, "Check rustdoc and run its examples", lints::documentation),
        main_step("user-smoke", Smoke, BUILD, "Run some tests as an ordinary user", ordinary_user::smoke),
        main_step("ssh-smoke", Smoke, BUILD, "Run some tests with sessions behind ssh", remote::ssh_smoke),
        main_step(
            "docker-smoke",
            Smoke,
            BUILD,
            "Run some tests with sessions in containers",
            remote::docker_smoke,
        ),
        main_step("user", All, BUILD, "Run the tests as an ordinary user", ordinary_user::tests),
        main_step("ssh", All, BUILD, "Run the tests of sessions behind ssh", remote::ssh),
        main_step("docker", All, BUILD, "Run the tests of sessions in containers", remote::docker),
        main_step("vm", All, BUILD, "Run the tests of limits on cgroup v2, in a virtual machine", vm::tests),
        main_step("npm-agents", All, BUILD, "Try agents from npm with a fake model", npm_agents::check),
        main_step("soak", All, BUILD, "Repeat kills, races and cuts for a minute each", rust_tests::soak),
        main_step("fuzz", All, NEEDS, "Fuzz the parsers with random seeds", fuzz::check),
        main_step("macos", All, NEEDS, "Type-check and lint for macOS", lints::macos),
    ]
};

pub(super) fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awaited_steps_stand_above() {
        for (at, step) in STEPS.iter().enumerate() {
            for name in step.after {
                assert!(STEPS[..at].iter().any(|above| above.name == *name), "{}: {name}", step.name);
            }
            assert!(
                !STEPS[..at].iter().any(|above| above.name == step.name),
                "{} stands there twice",
                step.name
            );
        }
    }
}
