//! The client libraries in `clients/`: made from the description of the wire, checked, and tested against the real binary.
//!
//! 1. What the checks use is installed when its list is another than the last time: Python's below the target directory,
//!    Node's beside the library.
//! 2. Files that are made from `docs/openapi.json` must be what `clients/generate` makes of it.
//! 3. Types and format, then the tests, which run the examples too. Their reports are counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::steps::{Counts, Outcome, must};
use crate::{needs, place, ui};

/// Both libraries; without Python or Node nothing.
pub(crate) fn check() -> Outcome {
    if let Some(missing) = missing()
        && !place::is_ci()
    {
        return Outcome::Skipped(missing);
    }
    match all() {
        Ok(counts) => Outcome::Passed(counts),
        Err(error) => Outcome::of(Err(error)),
    }
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

fn all() -> Result<Counts> {
    must(generator().arg("--check"))?;
    must(&mut place::cargo(["build", "--package", "trl"]))?;
    let trl = place::target_dir()?.join("debug/trl");
    let tools = install_python()?;
    ui::install(&typescript())?;
    check_python(&tools)?;
    must(npm().args(["run", "--silent", "check"]))?;
    let (python, typescript) = (test_python(&tools, &trl)?, test_typescript(&trl)?);
    Ok(Counts { passed: python.passed + typescript.passed, failed: 0 })
}

fn generator() -> Command {
    let mut command = Command::new("python3");
    // Nothing is left in the tree.
    command.args(["-B", "clients/generate"]).current_dir(place::root());
    command
}

// ---- Python

fn python() -> PathBuf {
    place::root().join("clients/python")
}

/// The directory with the tools' programs.
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

fn test_python(tools: &Path, trl: &Path) -> Result<Counts> {
    let report = report("python")?;
    let mut command = Command::new(tools.join("python"));
    command
        .args(["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg(format!("--junitxml={}", report.display()))
        .current_dir(python())
        .env("TRL_BIN", trl);
    tested(&mut command, &report)
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

/// As the check has compiled them.
fn test_typescript(trl: &Path) -> Result<Counts> {
    let dir = typescript().join("build/tests");
    let files = fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
    let files = files.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let tests = files.iter().filter(|path| path.to_string_lossy().ends_with(".test.js"));
    let report = report("typescript")?;
    let mut command = Command::new("node");
    command
        // The one of Node 20 has a WebSocket when asked to; the browsers' entry is tested with it.
        .args(["--experimental-websocket", "--no-warnings", "--test"])
        .args(["--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=junit"])
        .arg(format!("--test-reporter-destination={}", report.display()))
        .args(tests)
        .current_dir(typescript())
        .env("TRL_BIN", trl);
    tested(&mut command, &report)
}

// ---- reports

fn report(name: &str) -> Result<PathBuf> {
    Ok(place::target_dir()?.join(format!("clients-{name}.xml")))
}

/// Runs tests, and counts those that passed. That one failed is an error.
fn tested(command: &mut Command, report: &Path) -> Result<Counts> {
    let _ = fs::remove_file(report);
    must(command)?;
    let counts = count(&fs::read_to_string(report).with_context(|| report.display().to_string())?);
    ensure!(counts.passed > 0, "{} tells of no tests", report.display());
    Ok(counts)
}

/// By their tags: these reports have no figures at their head.
fn count(junit: &str) -> Counts {
    let tags = |name: &str| junit.matches(&format!("<{name}")).count() as u64;
    let failed = tags("failure") + tags("error ");
    Counts { passed: tags("testcase").saturating_sub(failed), failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_counted_by_its_tests() {
        let report = r#"<testsuites><testcase name="a"/><testcase name="b"><failure type="x"/></testcase></testsuites>"#;
        assert_eq!(count(report), Counts { passed: 1, failed: 1 });
    }
}
