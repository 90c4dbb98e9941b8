//! Checks and tests the client libraries in `clients/`, which are generated from `docs/openapi.json`.
//!
//! 1. The tools of the checks are installed if the list of them has changed since the last run: Python's below the target
//!    directory, Node's beside the library.
//! 2. Files that are made from `docs/openapi.json` must be what `clients/generate` makes of it.
//! 3. Types and format, then the tests, which run the examples too. Their reports are counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::outcome::Outcome;
use super::retry;
use crate::command::must;
use crate::{needs, place, ui};

/// Checks and tests both libraries. Skipped without Python or Node, except in CI.
pub(super) fn check() -> Outcome {
    if let Some(missing) = missing()
        && !place::is_ci()
    {
        return Outcome::Skipped(missing);
    }
    let (tools, trl) = match check_all() {
        Ok(found) => found,
        Err(error) => return Outcome::of(Err(error)),
    };
    let report = |name: &str| place::root().join(format!("target/clients-{name}.xml"));
    let python = test_python(&tools, &trl, &report("python"));
    python.and(test_typescript(&trl, &report("typescript")))
}

/// Writes what is made from the description of the wire anew.
pub(crate) fn generate() -> Result<()> {
    must(&mut generator())
}

fn missing() -> Option<String> {
    let program = ["python3", "npm"].into_iter().find(|program| !needs::has_program(program));
    let venv = || (!needs::has_venv()).then_some("venv of python3");
    Some(format!("{} is not installed", program.or_else(venv)?))
}

/// Installs what the checks of both libraries use. Returns the directory of Python's tools.
pub(crate) fn install() -> Result<PathBuf> {
    ui::install(&typescript())?;
    install_python()
}

fn check_all() -> Result<(PathBuf, PathBuf)> {
    must(generator().arg("--check"))?;
    let tools = install()?;
    check_python(&tools)?;
    must(npm().args(["run", "--silent", "check"]))?;
    Ok((tools, place::debug_binary()?))
}

fn generator() -> Command {
    let mut command = Command::new("python3");
    // -B leaves no compiled files in the tree.
    command.args(["-B", "clients/generate"]).current_dir(place::root());
    command
}

// ---- Python

fn python() -> PathBuf {
    place::root().join("clients/python")
}

/// Returns the directory with the programs of the tools.
fn install_python() -> Result<PathBuf> {
    let dir = place::target_dir()?.join("clients-venv");
    let list = python().join("requirements-dev.txt");
    ui::once(&dir.join(".trl-installed"), std::slice::from_ref(&list), dir.is_dir(), || {
        must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&dir))?;
        must(Command::new(dir.join("bin/pip")).args(["install", "--quiet", "--requirement"]).arg(&list))
    })?;
    Ok(dir.join("bin"))
}

fn check_python(tools: &Path) -> Result<()> {
    let tool = |name: &str| {
        let mut command = Command::new(tools.join(name));
        command.current_dir(python());
        command
    };
    must(tool("ruff").args(["check", "--quiet", "--no-cache"]))?;
    must(tool("ruff").args(["format", "--quiet", "--no-cache", "--check"]))?;
    must(tool("mypy").arg("--cache-dir").arg(place::target_dir()?.join("clients-mypy")))
}

fn test_python(tools: &Path, trl: &Path, report: &Path) -> Outcome {
    retry::run(report, |failed| {
        let mut command = Command::new(tools.join("python"));
        command
            .args(["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            .arg(format!("--junitxml={}", report.display()))
            .args(failed.iter().map(|case| format!("{}.py::{}", case.class.replace('.', "/"), case.name)))
            .current_dir(python())
            .env("TRL_BIN", trl);
        command
    })
}

// ---- TypeScript

fn typescript() -> PathBuf {
    place::root().join("clients/typescript")
}

fn npm() -> Command {
    let mut command = Command::new("npm");
    command.current_dir(typescript());
    command
}

/// Runs the tests that the check has compiled.
fn test_typescript(trl: &Path, report: &Path) -> Outcome {
    let files = match compiled_tests() {
        Ok(files) => files,
        Err(error) => return Outcome::of(Err(error)),
    };
    retry::run(report, |failed| {
        let mut command = Command::new("node");
        command
            // Node 20 has a WebSocket behind this flag; the browsers' entry is tested with it.
            .args(["--experimental-websocket", "--no-warnings", "--test"])
            .args(["--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=junit"])
            .arg(format!("--test-reporter-destination={}", report.display()));
        if !failed.is_empty() {
            command.arg(format!("--test-name-pattern=/{}/", retry::pattern(failed)));
        }
        command.args(&files).current_dir(typescript()).env("TRL_BIN", trl);
        command
    })
}

fn compiled_tests() -> Result<Vec<PathBuf>> {
    let dir = typescript().join("build/tests");
    let files = fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
    let files = files.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(files.into_iter().filter(|path| path.to_string_lossy().ends_with(".test.js")).collect())
}
