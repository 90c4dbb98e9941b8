//! The list of everything that must hold.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::steps::{Counts, Outcome, Steps, must};
use crate::{agents, clients, conformance, elsewhere, fuzz, manifests, needs, other_user, place, ui, vm};

/// All of them, or those with one of these words in their name.
pub(crate) fn run(wanted: &[&str]) -> Result<ExitCode> {
    let mut steps = Steps::only(wanted);
    steps.step("needs", || Outcome::of(needs::meet()));
    steps.step("format", || Outcome::of(format()));
    steps.step("lints", || Outcome::of(lints()));
    steps.step("the fuzzer's lock file", || Outcome::of(fuzz::lock()));
    steps.step("types and lints, for macOS", other_system);
    steps.step("licences and sources", deny);
    steps.step("manifests for Kubernetes", manifests::check);
    steps.step("tests", || nextest(place::root(), |_| {}));
    steps.step("web: types, lints, size", ui::check);
    steps.step("web: tests", ui::unit_tests);
    steps.step("web: tests in a browser", ui::browser_tests);
    steps.step("clients", clients::check);
    steps.step("MCP conformance", conformance::check);
    steps.step("agents from npm", agents::check);
    steps.step("documentation", || Outcome::of(documentation()));
    steps.step("fuzzing", fuzz::check);
    steps.step("limits, on cgroup v2", vm::tests);
    steps.step("tests, behind ssh", elsewhere::ssh);
    steps.step("tests, in containers", elsewhere::docker);
    steps.step("tests, as an ordinary user", other_user::tests);
    steps.note(
        "known advisories: their database is fetched from the network; `cargo deny check advisories` and `npm audit` do it",
    );
    Ok(steps.finish())
}

/// Only the client libraries.
pub(crate) fn clients() -> ExitCode {
    let mut steps = Steps::default();
    steps.step("clients", clients::check);
    steps.finish()
}

/// Only the suite of the Model Context Protocol.
pub(crate) fn conformance() -> ExitCode {
    let mut steps = Steps::default();
    steps.step("MCP conformance", conformance::check);
    steps.finish()
}

/// Only the agents that others wrote.
pub(crate) fn agents() -> ExitCode {
    let mut steps = Steps::default();
    agents::job(&mut steps);
    steps.finish()
}

/// Only the tests in the virtual machine.
pub(crate) fn vm() -> ExitCode {
    let mut steps = Steps::default();
    steps.step("limits, on cgroup v2", vm::tests);
    steps.finish()
}

/// Only the example for Kubernetes.
pub(crate) fn manifests() -> ExitCode {
    let mut steps = Steps::default();
    manifests::install_checker();
    steps.step("manifests for Kubernetes", manifests::check);
    steps.finish()
}

fn format() -> Result<()> {
    must(place::cargo(["fmt", "--all", "--check"]).env_remove("RUSTFMT"))?;
    must(&mut place::cargo(["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"]))
}

fn lints() -> Result<()> {
    must(&mut place::cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Every crate and its tests, but the benchmarks: those measure calls that only Linux has. Types alone are looked at, so
/// nothing that C is compiled to is ever used, and the compiler for it is one that does nothing: SQLite's own source is not
/// looked at here.
fn other_system() -> Outcome {
    const TRIPLE: &str = "aarch64-apple-darwin";
    if !place::has_target(TRIPLE) && place::is_ci() {
        // Where it cannot be had, that is said.
        let _ = must(Command::new("rustup").args(["target", "add", TRIPLE]));
    }
    if !place::has_target(TRIPLE) {
        return Outcome::Skipped(format!("rustup target add {TRIPLE}"));
    }
    let mut check = place::cargo(["clippy", "--workspace", "--all-targets", "--exclude", "bench"]);
    check.args(["--target", TRIPLE, "--", "-D", "warnings"]);
    for tool in ["CC", "AR"] {
        check.env(format!("{tool}_aarch64_apple_darwin"), "true");
    }
    Outcome::of(must(&mut check))
}

fn deny() -> Outcome {
    if !needs::has_tool("deny") && !place::is_ci() {
        return Outcome::Skipped("cargo-deny is not installed".into());
    }
    Outcome::of(must(&mut place::cargo(["deny", "check", "bans", "licenses", "sources"])))
}

/// Private items too: module headers say where to read on, and that is mostly private. What is shown to users must compile.
fn documentation() -> Result<()> {
    must(&mut place::cargo(["test", "--doc", "--package", "trl-client"]))?;
    must(
        place::cargo(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"),
    )
}

/// All tests of the workspace in `dir`; `prepare` may change how they are run.
pub(crate) fn nextest(dir: &Path, prepare: impl FnOnce(&mut Command)) -> Outcome {
    nextest_of(&["--workspace"], dir, prepare)
}

/// As [`nextest`], of these packages.
pub(crate) fn nextest_of(scope: &[&str], dir: &Path, prepare: impl FnOnce(&mut Command)) -> Outcome {
    if !needs::has_tool("nextest") && !place::is_ci() {
        return Outcome::Skipped("cargo-nextest is not installed".into());
    }
    let profile = if place::is_ci() { "ci" } else { "default" };
    let mut command = place::cargo(["nextest", "run", "--profile", profile]);
    command.args(scope).args(["--test-threads", &at_once().to_string()]).current_dir(dir);
    prepare(&mut command);
    // Beside the sources, wherever the target directory is. An old report would be counted if the build failed.
    let report = dir.join("target/nextest").join(profile).join("junit.xml");
    let _ = std::fs::remove_file(&report);
    let done = must(&mut command);
    let counts = counts(&report);
    match done {
        Ok(()) => Outcome::Passed(counts),
        Err(error) => Outcome::Failed(counts, format!("{error:#}")),
    }
}

/// So many tests at once: they wait more than they compute.
fn at_once() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    processors + processors.div_ceil(2)
}

/// The figures in the first tag of a report; zeros when there is none.
pub(crate) fn counts(junit: &Path) -> Counts {
    let text = std::fs::read_to_string(junit).unwrap_or_default();
    let tag =
        text.split_once("<testsuites").and_then(|(_, rest)| rest.split_once('>')).map_or("", |(tag, _)| tag);
    let number = |key: &str| -> u64 {
        let value = tag.split_once(&format!(" {key}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        value.and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0)
    };
    let failed = number("failures") + number("errors");
    Counts { passed: number("tests").saturating_sub(failed), failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_counted() {
        let path = std::env::temp_dir().join(format!("trl-junit-{}.xml", std::process::id()));
        let report =
            r#"<?xml version="1.0"?><testsuites name="n" tests="7" failures="1" errors="1" uuid="x">"#;
        std::fs::write(&path, report).unwrap();
        assert_eq!(counts(&path), Counts { passed: 5, failed: 2 });
        std::fs::remove_file(&path).unwrap();
        assert_eq!(counts(&path), Counts::default());
    }
}
