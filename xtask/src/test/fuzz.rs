//! Fuzzing with libFuzzer and random seeds. The saved inputs and fixed seeds are replayed by the tests of
//! `trl-fuzz-targets`.
//!
//! An input that violates a property is saved below `fuzz/seeds`: commit it with the fix, and the replay keeps it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};

use super::outcome::Outcome;
use crate::command::{self, must};
use crate::{needs, place};

/// Every target of `fuzz/Cargo.toml`.
const TARGETS: [&str; 7] = ["envelope", "control", "screen", "case", "policy", "link", "acp"];

/// Nothing that is fed here is unsafe code: one would find nothing, and take twice as long to build.
const SANITIZER: &str = "none";

/// Seconds per parser in `--all`.
const SECONDS: u32 = 60;

/// libFuzzer's instrumentation is not in the stable compiler.
fn has_nightly() -> bool {
    command::succeeds(nightly().arg("--version"))
}

/// The cargo proxy, which alone understands `+nightly`.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").current_dir(place::root());
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    command
}

/// Fuzzes each parser for so many seconds.
pub(crate) fn for_seconds(seconds: u32) -> Result<()> {
    if !has_nightly() {
        bail!("fuzzing needs a nightly toolchain: rustup toolchain install nightly --profile minimal");
    }
    if !needs::has_tool("fuzz") {
        bail!("fuzzing needs cargo-fuzz: cargo install --locked cargo-fuzz");
    }
    must(nightly().args(["fuzz", "build", "--sanitizer", SANITIZER]))?;
    let targets = Mutex::new(TARGETS.into_iter());
    let next = || targets.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<()> {
        while let Some(target) = next() {
            feed(target, seconds).with_context(|| target)?;
        }
        Ok(())
    };
    // As many at once as there are processors: each of them uses one.
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        working.into_iter().try_for_each(|work| work.join().map_err(|_| anyhow!("a panic"))?)
    })
}

fn feed(target: &str, seconds: u32) -> Result<()> {
    let directory = |name: &str| place::root().join("fuzz").join(name).join(target);
    let (corpus, artifacts) = (directory("corpus"), directory("artifacts"));
    fs::create_dir_all(&corpus)?;
    let _ = fs::remove_dir_all(&artifacts);
    let mut command = nightly();
    command.args(["fuzz", "run", "--sanitizer", SANITIZER, target]).arg(&corpus).arg(directory("seeds"));
    // Long enough for a request that holds a whole script, short enough to try many.
    command.args(["--", "-max_len=4096", "-print_final_stats=1", "-verbosity=0"]);
    let done = command.arg(format!("-max_total_time={seconds}")).output()?;
    let log = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        let saved = save(&artifacts, &directory("seeds"))?;
        bail!(
            "{log}\n{target}: an input violates a property, or the fuzzer did not start: {}{saved}",
            done.status
        );
    }
    let tried = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    eprintln!("{target}: {} inputs in {seconds} s, no violation", tried.unwrap_or("?").trim());
    Ok(())
}

/// Copies what the fuzzer has found to the saved inputs. Returns words that name the files.
fn save(artifacts: &Path, seeds: &Path) -> Result<String> {
    let mut words = String::new();
    for found in fs::read_dir(artifacts).into_iter().flatten() {
        let found = found?;
        let saved = seeds.join(found.file_name());
        fs::copy(found.path(), &saved)?;
        words += &format!("\nsaved as {}", saved.display());
    }
    Ok(words)
}

/// Fuzzes each parser for a while. Without the tools, the targets must at least compile.
pub(super) fn check() -> Outcome {
    if place::is_ci() && !needs::has_tool("fuzz") {
        // A failure shows below, as a missing tool.
        let _ = must(&mut place::cargo(["install", "--locked", "cargo-fuzz"]));
    }
    if place::is_ci() || (has_nightly() && needs::has_tool("fuzz")) {
        return Outcome::of(for_seconds(SECONDS));
    }
    match must(place::cargo(["check", "--manifest-path", "fuzz/Cargo.toml"]).arg("--bins")) {
        Ok(()) => Outcome::Skipped("built only: running needs a nightly toolchain and cargo-fuzz".into()),
        failed => Outcome::of(failed),
    }
}
