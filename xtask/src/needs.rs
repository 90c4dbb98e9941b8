//! Installs what the tests use beside the toolchain: all downloads of the short tier happen here.
//!
//! 1. Programs are looked for where an ordinary user finds them; missing ones are installed as Debian packages when
//!    this is root on Debian.
//! 2. Missing cargo tools are installed from the registry, and the crates of the lock file fetched.
//! 3. Packages from npm and PyPI are installed in the versions that lock files or constants name.
//! 4. What is still missing is named with what will be skipped without it. In CI it is an error.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{command, place, test, ui};

/// A program the tests drive, and the Debian package that has it.
const PROGRAMS: [(&str, &str); 29] = [
    ("dash", "dash"),
    ("bash", "bash"),
    ("zsh", "zsh"),
    ("busybox", "busybox"),
    ("fish", "fish"),
    ("ksh93", "ksh93u+m"),
    ("setpriv", "util-linux"),
    ("python3", "python3"),
    // Gets what checks the manifests for Kubernetes.
    ("pip3", "python3-pip"),
    ("node", "nodejs"),
    ("npm", "npm"),
    // Recorded by the restore test of the screen model.
    ("vim", "vim"),
    ("less", "less"),
    ("top", "procps"),
    ("htop", "htop"),
    ("tmux", "tmux"),
    ("nano", "nano"),
    // What a sandbox keeps its programs from, and what people run in one.
    ("ssh-agent", "openssh-client"),
    ("dbus-daemon", "dbus"),
    ("systemd-run", "systemd"),
    ("git", "git"),
    ("make", "make"),
    // Drives the web UI.
    ("chromium", "chromium"),
    // Runs the containers of the tests.
    ("dockerd", "docker.io"),
    // A machine to log in to.
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
    // A network to cut.
    ("ip", "iproute2"),
    // Has a kernel with control groups of version 2.
    ("qemu-system-x86_64", "qemu-system-x86"),
    // For libFuzzer.
    ("c++", "g++"),
];

/// A cargo subcommand, and what is skipped without it.
const TOOLS: [(&str, &str); 2] = [("nextest", "all tests"), ("deny", "the check of licences and sources")];

/// Where an ordinary user's programs are; a developer's own directories are not reachable for the second run.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Where only root looks for programs: daemons.
const DAEMONS: &str = "/usr/sbin";

pub(crate) fn has_program(name: &str) -> bool {
    SYSTEM_PATH.split(':').chain([DAEMONS]).any(|dir| Path::new(dir).join(name).is_file())
}

/// Whether Python can make an environment of its own, which Debian has in a package without a program.
pub(crate) fn has_venv() -> bool {
    command::succeeds(Command::new("python3").args(["-m", "ensurepip", "--version"]))
}

/// That package.
const VENV: &str = "python3-venv";

pub(crate) fn has_tool(name: &str) -> bool {
    command::succeeds(&mut place::cargo([name, "--version"]))
}

/// The step `needs`.
pub(crate) fn step() -> test::Outcome {
    test::Outcome::of(install())
}

/// Installs the programs, cargo tools and packages that the steps use, and prints what is still missing.
///
/// # Errors
/// In CI, if anything is still missing.
fn install() -> Result<()> {
    install_programs()?;
    for (tool, _) in TOOLS {
        if !has_tool(tool) {
            try_to(&mut place::cargo(["install", "--locked", &format!("cargo-{tool}")]));
        }
    }
    try_to(&mut place::cargo(["fetch", "--locked"]));
    install_judge();
    test::install_checker();
    install_client();
    install_packages();
    let missing = missing();
    for line in &missing {
        eprintln!("missing: {line}");
    }
    if place::is_ci() && !missing.is_empty() {
        bail!("in CI nothing may be missing: {}", missing.join("; "));
    }
    Ok(())
}

/// Runs an installation. A failure is shown; what is missing then is named at the end.
fn try_to(command: &mut Command) {
    if let Err(error) = command::must(command) {
        eprintln!("{error:#}");
    }
}

/// Installs the packages of the web UI, the client libraries and the conformance suite. Steps that use them install them
/// themselves where that fails.
fn install_packages() {
    if !has_program("npm") {
        return;
    }
    for (name, done) in [
        ("web UI", ui::install(&ui::web())),
        ("clients", test::install_client_tools().map(drop)),
        ("conformance suite", test::install_conformance().map(drop)),
    ] {
        if let Err(error) = done {
            eprintln!("packages of the {name}: {error:#}");
        }
    }
}

/// The directory of the terminal that snapshots are judged by.
const JUDGE: &str = "crates/trl-screen/tests/judge";

fn has_judge() -> bool {
    place::root().join(JUDGE).join("node_modules/@xterm/addon-unicode-graphemes/package.json").is_file()
}

fn install_judge() {
    if has_judge() || !has_program("npm") {
        return;
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--no-audit", "--no-fund"]).current_dir(place::root().join(JUDGE));
    if let Err(error) = command::must(&mut install) {
        eprintln!("{error:#}");
    }
}

/// A client of the Model Context Protocol that others wrote, from PyPI, in an environment of its own.
const CLIENT: &str = "target/mcp-client";
const CLIENT_PACKAGE: &str = "mcp==2.3.0";

fn has_client() -> bool {
    command::succeeds(Command::new(place::root().join(CLIENT).join("bin/python")).args(["-c", "import mcp"]))
}

fn install_client() {
    if has_client() || !has_program("python3") {
        return;
    }
    let dir = place::root().join(CLIENT);
    let made = command::must(Command::new("python3").args(["-m", "venv"]).arg(&dir));
    let got = made.and_then(|()| {
        command::must(Command::new(dir.join("bin/pip")).args(["install", "--quiet", CLIENT_PACKAGE]))
    });
    if let Err(error) = got {
        eprintln!("{error:#}");
    }
}

fn missing() -> Vec<String> {
    let programs = PROGRAMS.iter().filter(|(name, _)| !has_program(name));
    let programs =
        programs.map(|(name, package)| format!("{name} (package {package}): its tests are skipped"));
    let tools = TOOLS.iter().filter(|(name, _)| !has_tool(name));
    let tools = tools.map(|(name, without)| format!("cargo-{name}: without it, {without} is skipped"));
    let judge =
        (!has_judge()).then(|| "xterm.js for node: without it, restored screens are not judged".to_string());
    let checker = (!test::has_checker())
        .then(|| "kubernetes-validate for python3: without it, manifests are not checked".to_string());
    let venv = (!has_venv()).then(|| format!("venv of python3 (package {VENV}): the clients are not tested"));
    let client = (!has_client())
        .then(|| "mcp from PyPI: without it, no client that others wrote is tried".to_string());
    programs.chain(tools).chain(judge).chain(checker).chain(venv).chain(client).collect()
}

fn install_programs() -> Result<()> {
    let programs = PROGRAMS.iter().filter(|(name, _)| !has_program(name)).map(|(_, package)| *package);
    let packages: Vec<&str> = programs.chain((!has_venv()).then_some(VENV)).collect();
    if packages.is_empty() || !place::is_root() || !has_program("apt-get") {
        return Ok(());
    }
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        command::must(&mut command)
    };
    let install = [&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat();
    if let Err(error) = apt(&["update"]).and_then(|()| apt(&install)) {
        eprintln!("{error:#}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name() {
        assert!(has_program("sh"));
        assert!(!has_program("no-such-program"));
    }
}
