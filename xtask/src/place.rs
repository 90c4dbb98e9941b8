//! Where things are: the repository, the target directory, the toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::output;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A cargo command in the repository, of the toolchain that runs this.
pub(crate) fn cargo<const N: usize>(words: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    if is_ci() {
        // A clean clone has no use for the files of incremental builds, which cost a quarter of its time.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

pub(crate) fn target_dir() -> Result<PathBuf> {
    let text = output(&mut cargo(["metadata", "--format-version", "1", "--no-deps"]))?;
    let (_, rest) = text.split_once(r#""target_directory":""#).context("target_directory")?;
    let (dir, _) = rest.split_once('"').context("target_directory")?;
    Ok(dir.into())
}

/// The program as the tests use it, which the build step has made.
pub(crate) fn debug_binary() -> Result<PathBuf> {
    let binary = target_dir()?.join("debug/trl");
    ensure!(binary.is_file(), "{} is missing: cargo xtask test build", binary.display());
    Ok(binary)
}

/// The triple this machine compiles for by itself.
pub(crate) fn host() -> Result<String> {
    let text = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let host =
        text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    Ok(host.to_string())
}

/// Whether the standard library for `triple` is there.
pub(crate) fn has_target(triple: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", triple]).current_dir(root());
    output(&mut rustc).is_ok_and(|dir| Path::new(dir.trim()).is_dir())
}

/// The variable cargo reads `key` of `triple` from.
pub(crate) fn target_variable(triple: &str, key: &str) -> String {
    format!("CARGO_TARGET_{}_{key}", triple.to_uppercase().replace('-', "_"))
}

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// Whether this is a machine that must not skip anything.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_variables_are_spelled_as_cargo_does() {
        let name = target_variable("x86_64-unknown-linux-gnu", "RUNNER");
        assert_eq!(name, "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER");
    }
}
