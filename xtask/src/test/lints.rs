//! Checks of the sources: format, lints, licences, documentation, and the types of another system.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::outcome::Outcome;
use crate::command::must;
use crate::{needs, place};

pub(super) fn format() -> Outcome {
    let both = || {
        must(place::cargo(["fmt", "--all", "--check"]).env_remove("RUSTFMT"))?;
        must(&mut place::cargo(["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"]))
    };
    Outcome::of(both())
}

pub(super) fn clippy() -> Outcome {
    let both = || {
        fuzz_lock_file()?;
        must(&mut place::cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    };
    Outcome::of(both())
}

/// The fuzz targets are a workspace of their own, whose lock file is easily forgotten.
fn fuzz_lock_file() -> Result<()> {
    let words = ["metadata", "--locked", "--format-version", "1", "--manifest-path", "fuzz/Cargo.toml"];
    must(place::cargo(words).stdout(Stdio::null())).context(
        "`cargo update --workspace --manifest-path fuzz/Cargo.toml` brings fuzz/Cargo.lock up to date",
    )
}

pub(super) fn licences() -> Outcome {
    if !needs::has_tool("deny") && !place::is_ci() {
        return Outcome::Skipped("cargo-deny is not installed".into());
    }
    Outcome::of(must(&mut place::cargo(["deny", "check", "bans", "licenses", "sources"])))
}

/// Checks rustdoc, private items too: module documentation says where to read on, and modules are mostly private. Examples
/// in public documentation are run.
pub(super) fn documentation() -> Outcome {
    let both = || {
        must(&mut place::cargo(["test", "--doc", "--workspace"]))?;
        must(
            place::cargo(["doc", "--workspace", "--no-deps", "--document-private-items"])
                .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"),
        )
    };
    Outcome::of(both())
}

/// Lints every crate and its tests for macOS, but not the benchmarks, whose system calls only Linux has.
///
/// Only types are checked, so no C code is ever linked: the C compiler is replaced by `true`.
pub(super) fn macos() -> Outcome {
    const TRIPLE: &str = "aarch64-apple-darwin";
    if !place::has_target(TRIPLE) && place::is_ci() {
        // A failure shows below, as a missing target.
        let _ = must(Command::new("rustup").args(["target", "add", TRIPLE]));
    }
    if !place::has_target(TRIPLE) {
        let why = format!("the target is missing: rustup target add {TRIPLE}");
        return if place::is_ci() { Outcome::of(Err(anyhow::anyhow!(why))) } else { Outcome::Skipped(why) };
    }
    let mut check = place::cargo(["clippy", "--workspace", "--all-targets", "--exclude", "bench"]);
    check.args(["--target", TRIPLE, "--", "-D", "warnings"]);
    for tool in ["CC", "AR"] {
        check.env(format!("{tool}_aarch64_apple_darwin"), "true");
    }
    Outcome::of(must(&mut check))
}
