//! The one program, linked statically, so that it can be copied to any machine or into any container.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::{command, place};

/// A profile of `Cargo.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quick, and built in less time.
    Release,
    /// Small: it is copied to other machines.
    Dist,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

/// Builds it for this machine, makes sure that it needs nothing, and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    build_for(&place::host()?, Profile::Release, &[])
}

/// Makes a link to the program in `target/bin`, a directory for the `PATH`, and returns that.
pub(crate) fn link(trl: &Path) -> Result<PathBuf> {
    let bin = place::target_dir()?.join("bin");
    std::fs::create_dir_all(&bin).with_context(|| bin.display().to_string())?;
    let link = bin.join("trl");
    // An older link is replaced at once, for whoever starts the program in the meantime.
    let new = bin.join(format!(".trl-{}", std::process::id()));
    std::os::unix::fs::symlink(trl, &new).with_context(|| new.display().to_string())?;
    std::fs::rename(&new, &link).with_context(|| link.display().to_string())?;
    Ok(bin)
}

/// What makes the program of a target smaller or quicker to start, beside the usual. The compiler's own linker, which x86_64
/// has, can do it; Debian's cannot.
///
/// - Packed relocations are read in a fraction of the time, at every start, and take a hundredth of the room.
/// - Functions that came out the same are there once.
/// - With frame pointers the tables for unwinding need not tell of every push: 0.5 MB of 16.
fn further_flags(triple: &str) -> &'static [&'static str] {
    match triple {
        "x86_64-unknown-linux-gnu" => &[
            "-Clink-arg=-Wl,-z,pack-relative-relocs",
            "-Clink-arg=-Wl,--icf=all",
            "-Cforce-frame-pointers=yes",
        ],
        _ => &[],
    }
}

/// The same for any target. `tools` are the variables that name other compilers.
pub(crate) fn build_for(triple: &str, profile: Profile, tools: &[(String, &str)]) -> Result<PathBuf> {
    let mut command = place::cargo(["build", "--profile", profile.name(), "--package", "trl", "--target"]);
    let flags = [&["-Ctarget-feature=+crt-static"], further_flags(triple)].concat().join(" ");
    command.arg(triple).env(place::target_variable(triple, "RUSTFLAGS"), flags);
    command.envs(tools.iter().map(|(key, value)| (key, value)));
    command::must(&mut command)?;
    let path = place::target_dir()?.join(triple).join(profile.name()).join("trl");
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    ensure!(is_static(&bytes)?, "{} is not static: it asks for an interpreter", path.display());
    println!("{} ({:.1} MB, static)", path.display(), bytes.len() as f64 / 1e6);
    Ok(path)
}

/// A dynamically linked ELF file names the loader it needs in a `PT_INTERP` segment; a static one has none.
fn is_static(elf: &[u8]) -> Result<bool> {
    const PT_INTERP: u64 = 3;
    // Offsets in the 64-bit, little-endian header.
    ensure!(elf.get(..6) == Some(b"\x7fELF\x02\x01"), "not a 64-bit little-endian ELF file");
    let (table, size, count) = (number(elf, 32, 8)?, number(elf, 54, 2)?, number(elf, 56, 2)?);
    for entry in 0..count {
        if number(elf, table + entry * size, 4)? == PT_INTERP {
            return Ok(false);
        }
    }
    Ok(true)
}

fn number(bytes: &[u8], at: u64, length: usize) -> Result<u64> {
    let at = usize::try_from(at)?;
    let field = bytes.get(at..at + length).context("the ELF file is cut off")?;
    Ok(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(segment: u8) -> Vec<u8> {
        let mut file = vec![0u8; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[32], file[54], file[56], file[64]) = (64, 56, 1, segment);
        file
    }

    #[test]
    fn an_interpreter_is_seen() {
        assert!(is_static(&elf(1)).unwrap());
        assert!(!is_static(&elf(3)).unwrap());
        assert!(is_static(b"#!/bin/sh").is_err());
        assert!(is_static(&elf(1)[..70]).is_ok() && is_static(&elf(1)[..65]).is_err());
    }

    #[test]
    fn this_test_is_dynamic() {
        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&me).unwrap());
    }
}
