//! `cargo xtask ...`: everything one does with this repository.
//!
//! [`binary`] builds the one static program; [`needs`] sees to what the checks ask for; [`steps`] runs and times them;
//! [`checks`] says which there are; [`other_user`] runs the tests again without root; [`fuzz`] feeds the parsers noise.

mod binary;
mod checks;
mod fuzz;
mod needs;
mod other_user;
mod place;
mod steps;

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  up              build the daemon and run it here, in the foreground
  build           build the static binary, say where it is
  test            everything that must hold: format, lints, licences, tests, docs, fuzzing
  bench [ARGS]    measure the daemon against the machine's limits (--quick, --save, suites)
  fuzz [SECONDS]  feed the parsers noise, so long for each of them
  docs            write the generated documents anew";

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
        ["test"] => return checks::run(),
        ["bench", rest @ ..] => bench(rest)?,
        ["fuzz"] => fuzz::run(fuzz::SHORT)?,
        ["fuzz", seconds] => fuzz::run(seconds.parse().context("SECONDS is a number")?)?,
        ["docs"] => docs()?,
        [] | ["help" | "--help" | "-h"] => println!("{USAGE}"),
        _ => bail!("not known: {}\n{USAGE}", words.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Becomes the daemon, so that an interrupt reaches it and nothing stands in between.
fn up() -> Result<()> {
    let trl = binary::build()?;
    let shown = trl.strip_prefix(std::env::current_dir()?).map_or(trl.clone(), |p| p.to_path_buf());
    let shown = shown.display();
    println!(
        "
The daemon says below where its socket is. ^C ends it and everything it runs.
In another terminal:

    {shown} run 'echo hello from $(uname)'
    {shown} session new --json
    {shown} call system.stats
"
    );
    Err(std::process::Command::new(&trl).arg("serve").exec()).with_context(|| trl.display().to_string())
}

fn bench(words: &[&str]) -> Result<()> {
    let trl = binary::build()?;
    let mut command = place::cargo(["run", "--release", "--package", "bench", "--"]);
    steps::must(command.args(words).arg("--trl").arg(trl))
}

/// Tests that compare a generated document with the one in the tree write it when asked to: all of a test file whose
/// name ends in `docs`, and any other test with `generated` in its name.
fn docs() -> Result<()> {
    let mut command =
        place::cargo(["nextest", "run", "--workspace", "-E", "binary(/docs$/) + test(generated)"]);
    steps::must(command.env("UPDATE_DOCS", "1"))
}
