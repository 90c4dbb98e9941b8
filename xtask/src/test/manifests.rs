//! The example for Kubernetes, held against the schemas of its API.
//!
//! `kubernetes-validate` carries the schemas, so no cluster and no network is asked. It is strict: a field that does not exist is
//! an error. That it is so is looked at each time, with a field that is misspelt.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::outcome::Outcome;
use crate::command::{self, must};
use crate::{needs, place};

const EXAMPLE: &str = "examples/kubernetes";
const CHECKER: &str = "kubernetes-validate==1.37.0";
/// The oldest and the newest API it is for.
const VERSIONS: [&str; 2] = ["1.30", "1.37"];
/// A field of the example, and what somebody may write by mistake.
const MISSPELT: (&str, &str) = ("readOnlyRootFilesystem:", "readonlyRootFilesystem:");

fn home() -> PathBuf {
    place::root().join("target/kubernetes-validate")
}

pub(crate) fn has_checker() -> bool {
    home().join("kubernetes_validate/__main__.py").is_file()
}

/// Beside everything else that is built, and in nobody's way.
pub(crate) fn install_checker() {
    if has_checker() || !needs::has_program("pip3") {
        return;
    }
    let mut install = Command::new("pip3");
    install.args(["install", "--quiet", "--disable-pip-version-check", "--target"]).arg(home()).arg(CHECKER);
    if let Err(error) = must(&mut install) {
        eprintln!("{error:#}");
    }
}

pub(super) fn check() -> Outcome {
    if !has_checker() && !place::is_ci() {
        return Outcome::Skipped("kubernetes-validate is not installed".into());
    }
    Outcome::of(hold())
}

fn hold() -> Result<()> {
    let files = files()?;
    ensure!(!files.is_empty(), "{EXAMPLE} is empty");
    for version in VERSIONS {
        must(checker(version).args(&files))?;
    }
    let (right, wrong) = MISSPELT;
    let text = std::fs::read_to_string(place::root().join(EXAMPLE).join("gateway.yaml"))?;
    ensure!(text.contains(right), "{right} is not in the example any more");
    let misspelt = place::root().join("target/misspelt.yaml");
    std::fs::write(&misspelt, text.replace(right, wrong))?;
    ensure!(!command::succeeds(checker(VERSIONS[1]).arg(&misspelt)), "{wrong} was not noticed");
    Ok(())
}

fn files() -> Result<Vec<PathBuf>> {
    let dir = place::root().join(EXAMPLE);
    let is_manifest = |path: &Path| path.extension().is_some_and(|ending| ending == "yaml");
    let entries = std::fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| is_manifest(path));
    files.sort();
    Ok(files)
}

fn checker(version: &str) -> Command {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", home()).args([
        "-m",
        "kubernetes_validate",
        "--strict",
        "--quiet",
        "-k",
        version,
    ]);
    command
}
