//! Running tests whose runner cannot retry by itself: those of the web UI and of the client libraries.
//!
//! In CI, tests that failed are run again, at most twice, and those that pass then are reported as flaky. Tests of approvals
//! are never retried: one that passes only sometimes is a fault.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::junit::{self, Case};
use super::outcome::{Outcome, Tests};
use crate::command::must;
use crate::place;

const MOST_RETRIES: usize = 2;

/// Runs a test runner that writes `report`. `command` makes its command: for all tests when it gets no cases, else for those.
pub(super) fn run(report: &Path, command: impl Fn(&[Case]) -> Command) -> Outcome {
    let mut tests = Tests::default();
    let done = run_and_retry(report, command, &mut tests);
    Outcome::counted(done, tests)
}

fn run_and_retry(report: &Path, command: impl Fn(&[Case]) -> Command, tests: &mut Tests) -> Result<()> {
    let mut wanted: Vec<Case> = Vec::new();
    for attempt in 0.. {
        // The report of an earlier run would be counted if this one does not start.
        let _ = std::fs::remove_file(report);
        let done = must(&mut command(&wanted));
        let read = junit::read(report);
        ensure!(done.is_err() || !read.passed.is_empty(), "{} holds no tests", report.display());
        let passed = read.passed.iter().filter(|case| wanted.is_empty() || wanted.contains(case));
        tests.passed += passed.clone().count() as u64;
        if attempt > 0 {
            tests.flaky.extend(passed.map(Case::to_string));
        }
        tests.failed = read.failed.len() as u64;
        let Err(error) = done else { return Ok(()) };
        let may_retry = place::is_ci() && attempt < MOST_RETRIES && !read.failed.is_empty();
        if !may_retry || read.failed.iter().any(is_never_retried) {
            return Err(error).with_context(|| names(&read.failed));
        }
        eprintln!("retrying {}", names(&read.failed));
        wanted = read.failed;
    }
    Ok(())
}

fn is_never_retried(case: &Case) -> bool {
    case.class.contains("approv") || case.name.contains("approv")
}

fn names(cases: &[Case]) -> String {
    cases.iter().map(Case::to_string).collect::<Vec<_>>().join(", ")
}

/// A pattern that matches these names and no others, for runners that select by regular expression.
pub(super) fn pattern(cases: &[Case]) -> String {
    let escape = |name: &str| {
        name.chars()
            .flat_map(|c| {
                let special = "\\^$.|?*+()[]{}/".contains(c);
                special.then_some('\\').into_iter().chain([c])
            })
            .collect::<String>()
    };
    let names: Vec<String> = cases.iter().map(|case| escape(&case.name)).collect();
    format!("^({})$", names.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_literally() {
        let case = |name: &str| Case { class: "c".into(), name: name.into() };
        assert_eq!(pattern(&[case("a (b)"), case("c.d")]), r"^(a \(b\)|c\.d)$");
    }
}
