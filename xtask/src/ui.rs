//! The web UI: built by Node from `web/` into `web/dist`, which the binary takes in.
//!
//! 1. Packages are installed when the lock file is another than the last time.
//! 2. It is built when anything it is made of is another than the last time: a new `dist` is a new binary.
//! 3. Without Node nothing is done; the binary then serves a page that says how to get the UI.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{command, place};

/// What it is made of.
const SOURCES: [&str; 8] = [
    "web/src",
    "web/public",
    "web/scripts",
    "web/index.html",
    "web/package-lock.json",
    "web/tsconfig.json",
    "web/vite.config.ts",
    "docs/openapi.json",
];

pub(crate) fn web() -> PathBuf {
    place::root().join("web")
}

pub(crate) fn npm<const N: usize>(words: [&str; N]) -> Command {
    npm_in(&web(), words)
}

fn npm_in<const N: usize>(dir: &Path, words: [&str; N]) -> Command {
    let mut command = Command::new("npm");
    command.args(words).current_dir(dir);
    command
}

pub(crate) fn has_npm() -> bool {
    command::succeeds(Command::new("npm").arg("--version"))
}

/// Builds it, if it is not built already.
pub(crate) fn build() -> Result<()> {
    ensure!(has_npm(), "npm is missing: Node 20.19 or newer builds the web UI");
    install(&web())?;
    let inputs = SOURCES.iter().map(|path| place::root().join(path)).collect::<Vec<_>>();
    let is_there = web().join("dist/index.html").is_file();
    once(&web().join("node_modules/.trl-built"), &inputs, is_there, || {
        command::must(&mut npm(["run", "--silent", "build"]))
    })
}

/// As [`build`], for those who can do without.
pub(crate) fn build_if_possible() {
    if let Err(error) = build() {
        eprintln!("going on without the web UI: {error:#}");
    }
}

/// Makes the picture of the README anew, from a running daemon.
pub(crate) fn picture() -> Result<()> {
    build()?;
    let trl = crate::binary::build()?;
    command::must(npm(["run", "--silent", "picture"]).env("TRL_BIN", trl))
}

/// The packages that the lock file in `dir` names.
pub(crate) fn install(dir: &Path) -> Result<()> {
    let is_there = dir.join("node_modules").is_dir();
    once(&dir.join("node_modules/.trl-installed"), &[dir.join("package-lock.json")], is_there, || {
        eprintln!("installing the npm packages of {}", dir.display());
        // Some versions of npm refuse a lock for the packages of other platforms, which a registry may lack.
        if command::succeeds(&mut npm_in(dir, ["ci", "--no-audit", "--no-fund"])) {
            return Ok(());
        }
        command::must(&mut npm_in(dir, ["install", "--no-audit", "--no-fund", "--no-save"]))
    })
}

/// Does the work unless it was done for the same inputs, as the stamp says.
pub(crate) fn once(
    stamp: &Path,
    inputs: &[PathBuf],
    is_there: bool,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut hasher = DefaultHasher::new();
    for path in inputs {
        add(path, &mut hasher)?;
    }
    let now = format!("{:016x}", hasher.finish());
    if is_there && fs::read_to_string(stamp).is_ok_and(|before| before == now) {
        return Ok(());
    }
    work()?;
    fs::write(stamp, now).with_context(|| stamp.display().to_string())
}

/// A file's name and content, or those of everything in a directory. What is generated on the way is no input.
fn add(path: &Path, to: &mut DefaultHasher) -> Result<()> {
    let shown = path.display().to_string();
    if shown.ends_with(".gen.ts") {
        return Ok(());
    }
    if !path.is_dir() {
        shown.hash(to);
        fs::read(path).with_context(|| shown)?.hash(to);
        return Ok(());
    }
    let mut inside = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    inside.sort();
    inside.iter().try_for_each(|path| add(path, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_once_for_the_same_inputs() {
        let dir = std::env::temp_dir().join(format!("trl-once-{}", std::process::id()));
        fs::create_dir_all(dir.join("in/side")).unwrap();
        let (stamp, input) = (dir.join("stamp"), dir.join("in/side/file"));
        let mut done = 0;
        let mut again = |is_there| {
            once(&stamp, &[dir.join("in")], is_there, || {
                done += 1;
                Ok(())
            })
            .unwrap();
            done
        };
        fs::write(&input, "a").unwrap();
        assert_eq!((again(true), again(true)), (1, 1));
        assert_eq!(again(false), 2, "what it made is gone");
        fs::write(&input, "b").unwrap();
        assert_eq!(again(true), 3);
        fs::write(dir.join("in/made.gen.ts"), "x").unwrap();
        assert_eq!(again(true), 3, "what is generated is no input");
        fs::remove_dir_all(&dir).unwrap();
    }
}
