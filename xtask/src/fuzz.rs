//! Noise for the parsers, with libFuzzer.

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};

use crate::steps::{Outcome, must};
use crate::{needs, place};

/// Every target of `fuzz/Cargo.toml`.
const TARGETS: [&str; 7] = ["envelope", "control", "screen", "case", "policy", "link", "acp"];

/// Nothing that is fed here is unsafe code: one would find nothing, and take twice as long to build.
const SANITIZER: &str = "none";

/// Seconds per target that a check can spare.
pub(crate) const SHORT: u32 = 10;

/// The fuzzer's instrumentation is not in the stable compiler.
pub(crate) fn has_nightly() -> bool {
    place::succeeds(nightly().arg("--version"))
}

/// The cargo proxy, which alone understands `+nightly`.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").current_dir(place::root());
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    command
}

pub(crate) fn run(seconds: u32) -> Result<()> {
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
    let corpus = place::root().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    let mut command = nightly();
    command.args(["fuzz", "run", "--sanitizer", SANITIZER, target]).arg(&corpus);
    let seeds = place::root().join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    // Long enough for a request with a whole script in it, short enough to try many.
    command.args(["--", "-max_len=4096", "-print_final_stats=1", "-verbosity=0"]);
    let tried = quietly(command.arg(format!("-max_total_time={seconds}")))?;
    eprintln!("{target}: {tried} inputs in {seconds} s, none of them trouble");
    Ok(())
}

/// The fuzzer tells a long story, which matters only when it ends badly.
fn quietly(command: &mut Command) -> Result<String> {
    let done = command.output().with_context(|| format!("{command:?}"))?;
    let story = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        bail!("{story}\nfuzzing found something, or could not start: {}", done.status);
    }
    let tried = story.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    Ok(tried.unwrap_or("?").trim().to_string())
}

/// The targets are a workspace of their own, so its lock file is easily forgotten.
pub(crate) fn lock() -> Result<()> {
    let words = ["metadata", "--locked", "--format-version", "1", "--manifest-path", "fuzz/Cargo.toml"];
    must(place::cargo(words).stdout(Stdio::null())).context(
        "`cargo update --workspace --manifest-path fuzz/Cargo.toml` brings fuzz/Cargo.lock up to date",
    )
}

/// As a check: without the tools, at least the targets must compile.
pub(crate) fn check() -> Outcome {
    if place::is_ci() || (has_nightly() && needs::has_tool("fuzz")) {
        return Outcome::of(run(SHORT));
    }
    let built = must(place::cargo(["check", "--manifest-path", "fuzz/Cargo.toml"]).arg("--bins"));
    match built {
        Ok(()) => Outcome::Skipped("built only: running needs a nightly toolchain and cargo-fuzz".into()),
        failed => Outcome::of(failed),
    }
}
