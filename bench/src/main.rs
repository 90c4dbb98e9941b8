//! Measures the daemon against what the machine itself can do, in one run, as ratios.
//!
//! 1. [`Plan`] reads the command line: which suites, which daemon, how long.
//! 2. Each suite starts its own [`daemon`], builds a [`race`] of variants (the daemon's and the raw ones) and
//!    runs them in turn, so that a noisy neighbour hits all of them alike.
//! 3. Each ratio goes to the [`report`] with its bar; the table is printed, and with `--save` kept.
//!
//! Raw limits are in [`raw`]; [`floor`] is the shell loop of the daemon without the daemon.
//! Nothing here tests correctness beyond what a figure needs to mean anything.

mod agents;
mod approvals;
mod beside;
mod burst;
mod checkpoints;
mod client;
mod create;
mod crowd;
mod daemon;
mod dead;
mod files;
mod fleet;
mod flood;
mod floor;
mod gateway;
mod keys;
mod latency;
mod memory;
mod output;
mod pattern;
mod policy;
mod procfs;
mod pty;
mod push;
mod race;
mod raw;
mod report;
mod runtimes;
mod sandbox;
mod screen;
mod start;
mod stream;
mod terminals;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use report::Report;

const USAGE: &str = "usage: bench [all|latency|burst|output|stream|flood|create|sandbox|crowd|memory|screen|terminals|keys|policy|approvals|checkpoints|start|files|runtimes|gateway|agents]... \
                     [--trl PATH] [--quick] [--save]";

type Suite = fn(&Plan, &mut Report) -> Result<()>;

const SUITES: [(&str, Suite); 20] = [
    ("latency", latency::run),
    ("burst", burst::run),
    ("output", output::run),
    ("stream", stream::run),
    ("flood", flood::run),
    ("create", create::run),
    ("sandbox", sandbox::run),
    ("crowd", crowd::run),
    ("memory", memory::run),
    ("screen", screen::run),
    ("terminals", terminals::run),
    ("keys", keys::run),
    ("policy", policy::run),
    ("approvals", approvals::run),
    ("checkpoints", checkpoints::run),
    ("start", start::run),
    ("files", files::run),
    ("runtimes", runtimes::run),
    ("gateway", gateway::run),
    ("agents", agents::run),
];

/// The shells every bar is about.
pub(crate) const SHELLS: [&str; 2] = ["dash", "bash"];

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Full,
    /// A smoke test: the figures are not worth keeping.
    Quick,
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) trl: PathBuf,
    pub(crate) effort: Effort,
    suites: Vec<String>,
    save: bool,
}

impl Plan {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut plan =
            Self { trl: beside_this_program()?, effort: Effort::Full, suites: vec![], save: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--trl" => plan.trl = words.next().context(USAGE)?.into(),
                "--quick" => plan.effort = Effort::Quick,
                "--save" => plan.save = true,
                "all" => plan.suites.extend(SUITES.map(|(name, _)| name.to_string())),
                name if SUITES.iter().any(|(known, _)| *known == name) => plan.suites.push(word),
                _ => bail!("{word}: not known\n{USAGE}"),
            }
        }
        if plan.suites.is_empty() {
            plan.suites = SUITES.map(|(name, _)| name.to_string()).to_vec();
        }
        if !plan.trl.is_file() {
            bail!(
                "no daemon at {}: `cargo xtask bench` builds it, or name one with --trl",
                plan.trl.display()
            );
        }
        Ok(plan)
    }

    /// `full` of something, or `quick` of it.
    pub(crate) fn pick(&self, full: usize, quick: usize) -> usize {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => quick,
        }
    }
}

fn beside_this_program() -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("trl"))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some("--peer") => raw::be_the_peer().map(|()| ExitCode::SUCCESS),
        Some("--proxy") => pty::be_the_proxy(&words[1..]).map(|()| ExitCode::SUCCESS),
        Some("--produce") => pattern::produce(&words[1..]).map(|()| ExitCode::SUCCESS),
        _ => measure(words),
    };
    done.unwrap_or_else(|error| {
        eprintln!("bench: {error:#}");
        ExitCode::FAILURE
    })
}

fn measure(words: Vec<String>) -> Result<ExitCode> {
    let plan = Plan::parse(words.into_iter())?;
    // Clones of the floor's shells lose their parent by design; they must come to us to be reaped.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut report = Report::new(plan.effort);
    for name in &plan.suites {
        let Some((_, suite)) = SUITES.iter().find(|(known, _)| known == name) else { continue };
        eprintln!("== {name}");
        report.begin(name);
        if let Err(error) = suite(&plan, &mut report) {
            report.failed(&error);
        }
    }
    let table = report.table();
    println!("\n{table}");
    if plan.save {
        report.save(&table)?;
    }
    Ok(if report.all_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
