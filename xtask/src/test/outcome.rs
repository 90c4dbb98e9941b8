//! What a step of the suite came to, and the file in which a step's process leaves it for the runner.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Tests counted by a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Names of tests that failed at first and passed when they were retried. They count as passed.
    pub(crate) flaky: Vec<String>,
}

impl Tests {
    pub(crate) fn plus(mut self, other: Tests) -> Self {
        self.passed += other.passed;
        self.failed += other.failed;
        self.flaky.extend(other.flaky);
        self
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed(Tests),
    Failed(Tests, String),
    Skipped(String),
}

impl Outcome {
    /// The outcome of work that counts no tests.
    pub(crate) fn of(done: Result<()>) -> Self {
        Self::counted(done, Tests::default())
    }

    /// The outcome of work that ran `tests`.
    pub(crate) fn counted(done: Result<()>, tests: Tests) -> Self {
        match done {
            Ok(()) => Self::Passed(tests),
            Err(error) => Self::Failed(tests, format!("{error:#}")),
        }
    }

    /// The outcome of two parts of a step: it has passed if both have.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Skipped(why), _) | (_, Self::Skipped(why)) => Self::Skipped(why),
            (Self::Failed(tests, why), other) | (other, Self::Failed(tests, why)) => {
                Self::Failed(tests.plus(other.tests()), why)
            }
            (Self::Passed(tests), Self::Passed(others)) => Self::Passed(tests.plus(others)),
        }
    }

    /// The tests it counts; none if it was skipped.
    pub(crate) fn tests(self) -> Tests {
        match self {
            Self::Passed(tests) | Self::Failed(tests, _) => tests,
            Self::Skipped(_) => Tests::default(),
        }
    }
}

/// The outcome of a step and the processor time it took, its children included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) outcome: Outcome,
    pub(crate) processor_time: Duration,
}

impl Record {
    /// Writes the record as lines of `key value`.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let (word, why, tests) = match &self.outcome {
            Outcome::Passed(tests) => ("passed", "", tests),
            Outcome::Failed(tests, why) => ("failed", why.as_str(), tests),
            Outcome::Skipped(why) => ("skipped", why.as_str(), &Tests::default()),
        };
        let mut text = format!("outcome {word}\ncpu_ms {}\n", self.processor_time.as_millis());
        text += &format!("passed {}\nfailed {}\n", tests.passed, tests.failed);
        text.extend(tests.flaky.iter().map(|name| format!("flaky {name}\n")));
        text.extend(why.lines().map(|line| format!("why {line}\n")));
        fs::write(path, text).with_context(|| path.display().to_string())
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let (mut tests, mut why) = (Tests::default(), Vec::new());
        let (mut word, mut milliseconds) = ("", 0);
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("outcome", value) => word = value,
                ("cpu_ms", value) => milliseconds = value.parse()?,
                ("passed", value) => tests.passed = value.parse()?,
                ("failed", value) => tests.failed = value.parse()?,
                ("flaky", name) => tests.flaky.push(name.into()),
                ("why", line) => why.push(line),
                _ => bail!("{}: unknown line {line:?}", path.display()),
            }
        }
        let why = why.join("\n");
        let outcome = match word {
            "passed" => Outcome::Passed(tests),
            "failed" => Outcome::Failed(tests, why),
            "skipped" => Outcome::Skipped(why),
            _ => bail!("{}: no outcome", path.display()),
        };
        Ok(Self { outcome, processor_time: Duration::from_millis(milliseconds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_survives_its_file() {
        let path = std::env::temp_dir().join(format!("trl-record-{}", std::process::id()));
        let tests = Tests { passed: 7, failed: 2, flaky: vec!["trl::http cuts::a test".into()] };
        for outcome in [
            Outcome::Passed(tests.clone()),
            Outcome::Failed(tests, "two lines\nof reasons".into()),
            Outcome::Skipped("npm is not installed".into()),
        ] {
            let record = Record { outcome, processor_time: Duration::from_millis(1234) };
            record.write(&path).unwrap();
            assert_eq!(Record::read(&path).unwrap(), record);
        }
        fs::write(&path, "passed 3\n").unwrap();
        assert!(Record::read(&path).is_err(), "a step that left no outcome has not passed");
        fs::remove_file(&path).unwrap();
    }
}
