//! Steps: a banner, the seconds, what came of it, and the table at the end.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Runs a command to its end; failing is an error.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{} failed: {status}", shown(command));
    Ok(())
}

fn shown(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy());
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or_default().to_string();
    std::iter::once(name.into()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Tests counted by a step that ran tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

/// What a step came to.
pub(crate) enum Outcome {
    Passed(Counts),
    Failed(Counts, String),
    Skipped(String),
}

impl Outcome {
    pub(crate) fn of(done: Result<()>) -> Self {
        match done {
            Ok(()) => Self::Passed(Counts::default()),
            Err(error) => Self::Failed(Counts::default(), format!("{error:#}")),
        }
    }
}

struct Step {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

#[derive(Default)]
pub(crate) struct Steps {
    /// Words of which one must be in a step's name; none: all steps are taken.
    wanted: Vec<String>,
    done: Vec<Step>,
    /// Parts of steps that were left out.
    notes: Vec<String>,
}

impl Steps {
    pub(crate) fn only(wanted: &[&str]) -> Self {
        Self { wanted: wanted.iter().map(ToString::to_string).collect(), ..Self::default() }
    }

    pub(crate) fn step(&mut self, name: &'static str, work: impl FnOnce() -> Outcome) {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|word| name.contains(word)) {
            return;
        }
        eprintln!("\n=== {name}");
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        if let Outcome::Failed(_, why) | Outcome::Skipped(why) = &outcome {
            eprintln!("{why}");
        }
        eprintln!("=== {name}: {}, {:.1} s", word(&outcome), took.as_secs_f64());
        self.done.push(Step { name, took, outcome });
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The table, and the one line everybody reads.
    pub(crate) fn finish(&self) -> ExitCode {
        println!("\n{}", self.summary());
        if self.done.is_empty() {
            eprintln!("no step has such a word in its name: {}", self.wanted.join(", "));
            return ExitCode::FAILURE;
        }
        let failed = self.done.iter().any(|step| matches!(step.outcome, Outcome::Failed(..)));
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    fn summary(&self) -> String {
        let mut text = String::new();
        let mut tests = Counts::default();
        let (mut passed, mut failed) = (0, 0);
        for Step { name, took, outcome } in &self.done {
            let detail = match outcome {
                Outcome::Passed(counts) | Outcome::Failed(counts, _) => {
                    tests.passed += counts.passed;
                    tests.failed += counts.failed;
                    counted(*counts)
                }
                Outcome::Skipped(why) => why.clone(),
            };
            passed += usize::from(matches!(outcome, Outcome::Passed(_)));
            failed += usize::from(matches!(outcome, Outcome::Failed(..)));
            let line = format!("{name:<28} {:<8} {:>7.1} s  {detail}", word(outcome), took.as_secs_f64());
            text += &format!("{}\n", line.trim_end());
        }
        for note in &self.notes {
            text += &format!("not run: {note}\n");
        }
        let skipped = self.done.len() - passed - failed;
        text + &format!(
            "steps: {passed} passed, {failed} failed, {skipped} skipped; tests: {} passed, {} failed",
            tests.passed, tests.failed
        )
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed(_) => "passed",
        Outcome::Failed(..) => "FAILED",
        Outcome::Skipped(_) => "skipped",
    }
}

fn counted(counts: Counts) -> String {
    match counts {
        Counts { passed: 0, failed: 0 } => String::new(),
        Counts { passed, failed } => format!("{passed} passed, {failed} failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_everything() {
        let mut steps = Steps::default();
        steps.step("a", || Outcome::Passed(Counts { passed: 3, failed: 0 }));
        steps.step("b", || Outcome::Failed(Counts { passed: 1, failed: 2 }, "no".into()));
        steps.step("c", || Outcome::Skipped("no tool".into()));
        steps.note("a part");
        let text = steps.summary();
        assert!(text.ends_with("steps: 1 passed, 1 failed, 1 skipped; tests: 4 passed, 2 failed"), "{text}");
        assert!(text.contains("no tool") && text.contains("not run: a part"));
    }

    #[test]
    fn only_the_wanted_steps_are_taken() {
        let mut steps = Steps::only(&["web"]);
        steps.step("web: tests", || Outcome::Passed(Counts { passed: 1, failed: 0 }));
        steps.step("tests", || Outcome::Failed(Counts::default(), "not wanted".into()));
        assert!(steps.summary().ends_with("steps: 1 passed, 0 failed, 0 skipped; tests: 1 passed, 0 failed"));
    }

    #[test]
    fn a_failing_command_is_named() {
        let error = must(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.starts_with("sh -c exit 3 failed"), "{error}");
    }
}
