//! `cargo xtask ...`: everything one does with this repository.
//!
//! [`binary`] builds the one static program; [`dist`] packs it for others; [`needs`] sees to what the checks ask for; [`steps`] runs and times them;
//! [`checks`] says which there are; [`ui`] builds and checks the web UI; [`clients`] checks the libraries for other languages; [`conformance`] runs the suite of the Model Context Protocol; [`agents`] tries agents from npm; [`other_user`] runs the tests again without root, [`elsewhere`] in a runtime that is not here; [`vm`] those of limits
//! in a virtual machine; [`manifests`] checks the example for Kubernetes; [`fuzz`] feeds the parsers noise.

mod agents;
mod binary;
mod checks;
mod clients;
mod conformance;
mod dist;
mod elsewhere;
mod fuzz;
mod manifests;
mod needs;
mod other_user;
mod place;
mod steps;
mod ui;
mod vm;

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  up              build everything and run the daemon here, in the foreground
  build           build the static binary, say where it is
  dist [ARCH...]  what is given to others: archives for x86_64 and aarch64, with checksums
  ui              build the web UI, which the next build of the binary takes in
  test [WORD...]  everything that must hold: format, lints, licences, tests, docs, fuzzing; or the steps with
                  such a word in their name
  clients         only the client libraries: types, tests, examples
  conformance     only the conformance suite of the Model Context Protocol, against the daemon's `/mcp`
  agents          only the agents from npm: OpenCode, Codex, Claude Code and Gemini CLI with TRL's tools, and a fake model
  bench [ARGS]    measure the daemon against the machine's limits (--quick, --save, suites)
  vm              the tests of limits, in a virtual machine with control groups of version 2
  manifests       the example for Kubernetes, held against the schemas of its API
  fuzz [SECONDS]  feed the parsers noise, so long for each of them
  docs            write the generated documents anew";

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
        ["test", wanted @ ..] => return checks::run(wanted),
        ["bench", rest @ ..] => bench(rest)?,
        ["clients"] => return Ok(checks::clients()),
        ["conformance"] => return Ok(checks::conformance()),
        ["agents"] => return Ok(checks::agents()),
        ["vm"] => return Ok(checks::vm()),
        ["manifests"] => return Ok(checks::manifests()),
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
    ui::build_if_possible();
    let trl = binary::build()?;
    let shown = trl.strip_prefix(std::env::current_dir()?).map_or(trl.clone(), |p| p.to_path_buf());
    let shown = shown.display();
    println!(
        "
The daemon says below where its socket is, and the address of its web UI. ^C ends it and everything it runs.
In another terminal:

    {shown} run 'echo hello from $(uname)'
    {shown} session new --json
    {shown} call system.stats
"
    );
    let serve = std::process::Command::new(&trl).args(["serve", "--http", HTTP]).exec();
    Err(serve).with_context(|| trl.display().to_string())
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
    steps::must(command.env("UPDATE_DOCS", "1"))?;
    // From one of these.
    clients::generate()
}
