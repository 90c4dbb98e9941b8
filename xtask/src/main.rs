//! `cargo xtask COMMAND`: builds, runs, tests and packs this repository.
//!
//! [`binary`] builds the one static program; [`dist`] packs it for release; [`ui`] builds the web UI; [`needs`] installs what the
//! tests use; [`mod@test`] is the suite.

mod binary;
mod command;
mod dist;
mod needs;
mod place;
mod test;
mod ui;

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  up              Build everything and run the daemon in the foreground, with its web UI
  test            Run what must hold for every change; see cargo xtask test --help
  build           Build the static binary and print where it is
  dist [ARCH...]  Pack archives for x86_64 and aarch64, with checksums
  ui              Build the web UI, which the next build of the binary contains
  bench [ARGS]    Measure the daemon against the machine's limits (--quick, --save, suites)
  fuzz [SECONDS]  Fuzz each parser for so many seconds, with random seeds
  docs            Write the generated documents anew
  picture         Make the picture of the README anew";

/// Where `up` serves the web UI.
const HTTP: &str = "127.0.0.1:7870";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["up"] => up()?,
        ["build"] => drop(binary::build()?),
        ["dist", wanted @ ..] => dist::run(wanted)?,
        ["ui"] => ui::build()?,
        ["test", wanted @ ..] => return test::run(wanted),
        ["bench", rest @ ..] => bench(rest)?,
        ["fuzz"] => test::fuzz(10)?,
        ["fuzz", seconds] => test::fuzz(seconds.parse().context("SECONDS is a number")?)?,
        ["picture"] => ui::picture()?,
        ["docs"] => docs()?,
        [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => println!("{USAGE}"),
        _ => bail!("unknown command: {}\n{USAGE}", words.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Becomes the daemon, so that an interrupt reaches it and nothing stands in between.
fn up() -> Result<()> {
    ui::build_if_possible();
    let trl = binary::build()?;
    let bin = binary::link(&trl)?;
    println!(
        "
The daemon prints its socket and the address of its web UI below. ^C ends it and everything it runs.
In another terminal:

    export PATH=\"{}:$PATH\"
    trl run 'echo hello from $(uname)'
",
        bin.display()
    );
    let serve = std::process::Command::new(&trl).args(["serve", "--http", HTTP]).exec();
    Err(serve).with_context(|| trl.display().to_string())
}

fn bench(words: &[&str]) -> Result<()> {
    let trl = binary::build()?;
    let mut command = place::cargo(["run", "--release", "--package", "bench", "--"]);
    command::must(command.args(words).arg("--trl").arg(trl))
}

/// Tests that compare a generated document with the one in the tree write it when asked to: all of a test file whose
/// name ends in `docs`, and any other test with `generated` in its name.
fn docs() -> Result<()> {
    let mut command =
        place::cargo(["nextest", "run", "--workspace", "-E", "binary(/docs$/) + test(generated)"]);
    command::must(command.env("UPDATE_DOCS", "1"))?;
    // From one of these.
    test::generate_clients()
}
