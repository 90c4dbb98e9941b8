//! What is given to others: the program for each architecture, and what belongs to it.
//!
//! 1. The web UI is built, if Node is there: it is part of the program.
//! 2. For each target the program is built, looked at (static? small enough?) and tried out, in an emulator if need be.
//! 3. Completions and manual pages come from the program itself; units and the image recipe from `packaging/`.
//! 4. One archive per target, and the checksums of all.
//!
//! A target whose compiler is missing is passed over with a word; in CI that is an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{binary, command, place, ui};

/// It is copied to other machines, over links of any speed. Meant are 15 MB; what stands in the way is in bench/RESULTS.md.
const MOST_BYTES: u64 = 16_500_000;

const SHELLS: [(&str, &str); 3] = [("bash", "trl.bash"), ("zsh", "_trl"), ("fish", "trl.fish")];

/// What the program is built for.
struct Target {
    triple: &'static str,
    arch: &'static str,
    /// The C compiler, which links as well, and how Debian calls its package.
    compiler: (&'static str, &'static str),
    /// Runs its programs on another architecture.
    emulator: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        arch: "x86_64",
        compiler: ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
        emulator: "qemu-x86_64",
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        arch: "aarch64",
        compiler: ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
        emulator: "qemu-aarch64",
    },
];

pub(crate) fn run(wanted: &[&str]) -> Result<()> {
    ui::build_if_possible();
    let dir = place::target_dir()?.join("dist");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir)?;
    if let Some(unknown) = wanted.iter().find(|arch| TARGETS.iter().all(|target| target.arch != **arch)) {
        bail!("not known: {unknown}; there are x86_64 and aarch64");
    }
    let native = place::host()?;
    // The machine's own comes first: it is the one that can be asked for completions and pages.
    let (own, others): (Vec<&Target>, Vec<&Target>) =
        TARGETS.iter().partition(|target| target.triple == native);
    let mut pages = None;
    let mut archives = Vec::new();
    for target in own.into_iter().chain(others) {
        let asked = wanted.is_empty() || wanted.contains(&target.arch);
        if !asked {
            continue;
        }
        if let Err(missing) = target.is_possible(&native) {
            ensure!(!place::is_ci(), "{}: {missing}", target.arch);
            eprintln!("passing over {}: {missing}", target.arch);
            continue;
        }
        let program = target.build(&native)?;
        let run = target.runner(&native);
        let said = command::output(run.command(&program).arg("--version"))?;
        println!("{}: {} ({} bytes)", target.arch, said.trim(), fs::metadata(&program)?.len());
        let pages = match &pages {
            Some(pages) => pages,
            None => pages.insert(write_pages(&dir, &run, &program)?),
        };
        archives.extend(pack(&dir, target, &program, pages)?);
    }
    ensure!(!archives.is_empty(), "nothing could be built");
    let sums = command::output(Command::new("sha256sum").args(&archives).current_dir(&dir))?;
    fs::write(dir.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    println!("{}", dir.display());
    Ok(())
}

/// How a program of some target is run here.
struct Runner(Option<&'static str>);

impl Runner {
    fn command(&self, program: &Path) -> Command {
        match self.0 {
            None => Command::new(program),
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(program);
                command
            }
        }
    }
}

impl Target {
    fn is_native(&self, native: &str) -> bool {
        self.triple == native
    }

    /// Whether everything is there, or what is missing.
    fn is_possible(&self, native: &str) -> Result<()> {
        if self.is_native(native) {
            return Ok(());
        }
        ensure!(place::has_target(self.triple), "rustup target add {}", self.triple);
        let (compiler, package) = self.compiler;
        ensure!(command::succeeds(Command::new(compiler).arg("--version")), "apt-get install {package}");
        ensure!(
            command::succeeds(Command::new(self.emulator).arg("--version")),
            "apt-get install qemu-user: what was never run is not given away"
        );
        Ok(())
    }

    fn build(&self, native: &str) -> Result<PathBuf> {
        let mut tools = Vec::new();
        if !self.is_native(native) {
            let compiler = self.compiler.0;
            tools.push((place::target_variable(self.triple, "LINKER"), compiler));
            tools.push((format!("CC_{}", self.triple.replace('-', "_")), compiler));
        }
        let program = binary::build_for(self.triple, binary::Profile::Dist, &tools)?;
        let bytes = fs::metadata(&program)?.len();
        ensure!(bytes <= MOST_BYTES, "{} has {bytes} bytes, {MOST_BYTES} are allowed", program.display());
        Ok(program)
    }

    fn runner(&self, native: &str) -> Runner {
        Runner((!self.is_native(native)).then_some(self.emulator))
    }
}

/// What the program says of itself, in the places where systems look for it.
fn write_pages(dir: &Path, run: &Runner, program: &Path) -> Result<PathBuf> {
    let share = dir.join("share");
    let (man, completions) = (share.join("man/man1"), share.join("completions"));
    fs::create_dir_all(&completions)?;
    fs::create_dir_all(&man)?;
    command::must(run.command(program).args(["man", "--dir"]).arg(&man))?;
    for (shell, file) in SHELLS {
        let script = command::output(run.command(program).args(["completions", shell]))?;
        ensure!(script.contains("trl"), "no completions for {shell}");
        fs::write(completions.join(file), script)?;
    }
    let packaging = place::root().join("packaging");
    for entry in fs::read_dir(&packaging).with_context(|| packaging.display().to_string())? {
        let entry = entry?;
        fs::copy(entry.path(), share.join(entry.file_name()))?;
    }
    Ok(share)
}

/// The same bytes for the same contents, whenever and by whomever it is made.
fn pack(dir: &Path, target: &Target, program: &Path, share: &Path) -> Result<[String; 2]> {
    let name = format!("trl-{}-{}-linux", env!("CARGO_PKG_VERSION"), target.arch);
    let tree = dir.join(&name);
    fs::create_dir_all(&tree)?;
    fs::copy(program, tree.join("trl"))?;
    command::must(Command::new("cp").arg("-r").arg(share).arg(tree.join("share")))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        fs::copy(place::root().join(licence), tree.join(licence))?;
    }
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go=rX"]);
    tar.args(["--use-compress-program=gzip -n9", "-cf", &archive, &name]).current_dir(dir);
    command::must(&mut tar)?;
    // Beside a daemon of the other architecture, this is what it copies to machines of this one.
    let alone = format!("trl-{}-linux", target.arch);
    fs::rename(tree.join("trl"), dir.join(&alone))?;
    fs::remove_dir_all(tree)?;
    Ok([archive, alone])
}
