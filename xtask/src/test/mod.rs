//! `cargo xtask test`: the suite, in two tiers.
//!
//! 1. [`steps`] is the table of all steps. The short tier is what must hold for a change; `--all` adds every place, the
//!    long loops and the slow tools.
//! 2. [`runner`] runs the chosen steps, each as a process of its own, and prints what they came to.
//! 3. Each other module holds one step or a few that belong together, and returns an [`outcome`].

mod clients;
mod conformance;
mod fuzz;
mod junit;
mod lints;
mod manifests;
mod npm_agents;
mod ordinary_user;
mod outcome;
mod remote;
mod retry;
mod runner;
mod rust_tests;
mod steps;
mod vm;
mod web;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

pub(crate) use clients::{generate as generate_clients, install as install_client_tools};
pub(crate) use conformance::install as install_conformance;
pub(crate) use fuzz::for_seconds as fuzz;
pub(crate) use manifests::{has_checker, install_checker};

pub(crate) use outcome::Outcome;
use steps::{STEPS, Step, Tier};

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted<'a> {
    all: bool,
    /// The first step to run; those above it are left out.
    from: Option<&'a str>,
    /// Only these, if there are any.
    names: Vec<&'a str>,
}

/// Runs `cargo xtask test WORDS`.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["--help" | "-h"] => {
            println!("{}", help());
            Ok(ExitCode::SUCCESS)
        }
        ["--step", name] => runner::run_here(known(name)?),
        _ => runner::run(&chosen(&parse(words)?)?),
    }
}

fn parse<'a>(words: &[&'a str]) -> Result<Wanted<'a>> {
    let mut wanted = Wanted::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--all" => wanted.all = true,
            "--from" => wanted.from = Some(words.next().context("--from names a step")?),
            flag if flag.starts_with('-') => bail!("unknown option {flag}; see cargo xtask test --help"),
            name => wanted.names.push(name),
        }
    }
    Ok(wanted)
}

/// The steps to run in the order of the table.
fn chosen(wanted: &Wanted<'_>) -> Result<Vec<&'static Step>> {
    for name in wanted.names.iter().chain(&wanted.from) {
        known(name)?;
    }
    let is_wanted = |step: &&Step| match (wanted.names.is_empty(), wanted.all) {
        (false, _) => wanted.names.contains(&step.name),
        (true, true) => step.tier != Tier::Smoke,
        (true, false) => step.tier != Tier::All,
    };
    let left_out = |step: &&Step| wanted.from.is_some_and(|from| step.name != from);
    Ok(STEPS.iter().skip_while(left_out).filter(is_wanted).collect())
}

fn known(name: &str) -> Result<&'static Step> {
    let names = || STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    steps::find(name).with_context(|| format!("unknown step {name}; the steps are {}", names()))
}

fn help() -> String {
    let mut text = String::from(
        "\
usage: cargo xtask test [--all] [--from STEP] [STEP...]

Without arguments: the short tier, which must pass for every change. With names: those steps alone, with their
output shown as it comes. The log of each step is in target/test.

  --all        all steps: every place, long loops, random fuzzing, slow tools
  --from STEP  leave out the steps above STEP, to go on where a run has failed

With CI=true nothing is skipped, and a failed test is retried twice: a test that passes then is reported as flaky.
",
    );
    for (tier, heading) in [
        (Tier::Short, "Steps of both tiers:"),
        (Tier::Smoke, "Steps of the short tier, a part of what --all runs:"),
        (Tier::All, "Steps of --all:"),
    ] {
        text += &format!("\n{heading}\n");
        for step in STEPS.iter().filter(|step| step.tier == tier) {
            text += &format!("  {:<13} {}\n", step.name, step.about);
        }
    }
    text.trim_end().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<&'static str> {
        chosen(&parse(words).unwrap()).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn tiers_choose_their_steps() {
        let (short, all) = (names(&[]), names(&["--all"]));
        assert!(short.contains(&"tests") && short.contains(&"ssh-smoke") && !short.contains(&"ssh"));
        assert!(all.contains(&"tests") && all.contains(&"ssh") && !all.contains(&"ssh-smoke"));
        assert_eq!(names(&["docs", "format"]), ["format", "docs"]);
        assert_eq!(names(&["--all", "--from", "fuzz"]), ["fuzz", "macos"]);
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(parse(&["--fast"]).is_err() && parse(&["--from"]).is_err());
        assert!(chosen(&parse(&["no-such-step"]).unwrap()).is_err());
    }

    #[test]
    fn help_lists_every_step() {
        let help = help();
        assert!(STEPS.iter().all(|step| help.contains(step.about)), "{help}");
    }
}
