//! What the suite's scenarios came to, and which of them cannot pass.
//!
//! A scenario has passed when at least one check of it has, none has failed, and none has warned. One of [`LEFT_OUT`] must not:
//! if it does, the list is out of date, and that is a failure too.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::test::outcome::{Outcome, Tests};

const ANSWERS: &str = "the client's answer to a question within a call is a request of its own, which only a session \
     connects with it; from 2026-07-28 on the call comes again with the answer, and that passes";
const SESSIONS: &str = "is about Mcp-Session-Id; no request depends on one before it, so there is none";

/// A version of the protocol, a scenario that a server without sessions cannot pass there, and why.
const LEFT_OUT: [(&str, &str, &str); 7] = [
    ("2025-11-25", "tools-call-sampling", ANSWERS),
    ("2025-11-25", "tools-call-elicitation", ANSWERS),
    ("2025-11-25", "elicitation-sep1034-defaults", ANSWERS),
    ("2025-11-25", "elicitation-sep1330-enums", ANSWERS),
    ("2025-11-25", "server-sse-polling", SESSIONS),
    ("2025-11-25", "server-sse-multiple-streams", SESSIONS),
    ("2025-11-25", "server-session-lifecycle", SESSIONS),
];

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// The first complaint.
    Failed(String),
    /// The scenario found nothing to check.
    Nothing,
}

/// All scenarios of all runs.
#[derive(Default)]
pub(super) struct Tally {
    passed: u64,
    /// As a line each.
    failed: Vec<String>,
    left_out: Vec<(&'static str, &'static str)>,
}

impl Tally {
    /// Adds the scenarios of a run: their names from what it said, their checks from its reports.
    pub(super) fn add(&mut self, protocol: &str, said: &str, reports: &Path) -> Result<()> {
        let scenarios = scenarios(said);
        ensure!(!scenarios.is_empty(), "the suite says nothing of its scenarios");
        for name in scenarios {
            let verdict = match report(reports, name)? {
                Some(checks) => judge(&checks),
                None => Verdict::Failed("there is no report".into()),
            };
            self.count(protocol, name, &verdict);
        }
        Ok(())
    }

    fn count(&mut self, protocol: &str, name: &str, verdict: &Verdict) {
        let listed = LEFT_OUT.iter().find(|(version, scenario, _)| (*version, *scenario) == (protocol, name));
        eprintln!("{protocol} {name}: {}", shown(verdict));
        match (listed, verdict) {
            (None, Verdict::Passed) => self.passed += 1,
            (None, other) => self.failed.push(format!("{protocol} {name}: {}", shown(other))),
            (Some(_), Verdict::Passed) => {
                self.failed
                    .push(format!("{protocol} {name}: passes, and is on the list of those that cannot"));
            }
            (Some((version, scenario, why)), _) => {
                eprintln!("    left out: {why}");
                self.left_out.push((version, scenario));
            }
        }
    }

    pub(super) fn counts(&self) -> Tests {
        Tests { passed: self.passed, failed: self.failed.len() as u64, flaky: Vec::new() }
    }

    pub(super) fn outcome(mut self) -> Outcome {
        for (version, scenario, _) in LEFT_OUT {
            if !self.left_out.contains(&(version, scenario))
                && !self.failed.iter().any(|f| f.contains(scenario))
            {
                self.failed.push(format!(
                    "{version} {scenario}: is on the list of those that cannot pass, and is none"
                ));
            }
        }
        eprintln!("{} passed, {} left out, {} failed", self.passed, self.left_out.len(), self.failed.len());
        if self.failed.is_empty() {
            return Outcome::Passed(self.counts());
        }
        Outcome::Failed(self.counts(), self.failed.join("\n"))
    }
}

/// Their names, from the summary at the end.
fn scenarios(said: &str) -> Vec<&str> {
    let (_, summary) = said.split_once("=== SUMMARY ===").unwrap_or_default();
    let marked = summary.lines().filter_map(|line| line.strip_prefix('✓').or_else(|| line.strip_prefix('✗')));
    marked.filter_map(|line| Some(line.trim().split_once(':')?.0)).collect()
}

/// The checks of a scenario. Its directory has its name and the time.
fn report(reports: &Path, scenario: &str) -> Result<Option<Vec<Value>>> {
    let is_its = |name: &str| {
        let rest = name.strip_prefix("server-").and_then(|rest| rest.strip_prefix(scenario));
        rest.and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|time| time.starts_with(|c: char| c.is_ascii_digit()))
    };
    for entry in fs::read_dir(reports).with_context(|| reports.display().to_string())? {
        let entry = entry?;
        let file = entry.path().join("checks.json");
        if entry.file_name().to_str().is_some_and(is_its) && file.is_file() {
            return Ok(Some(
                serde_json::from_slice(&fs::read(&file)?).with_context(|| file.display().to_string())?,
            ));
        }
    }
    Ok(None)
}

fn judge(checks: &[Value]) -> Verdict {
    let bad = checks.iter().find(|check| check["status"] == "FAILURE" || check["status"] == "WARNING");
    if let Some(check) = bad {
        let words = [&check["errorMessage"], &check["details"]["message"], &check["description"]];
        let words = words.into_iter().find_map(Value::as_str).unwrap_or_default();
        return Verdict::Failed(format!("{}: {words}", check["id"].as_str().unwrap_or_default()));
    }
    if checks.iter().any(|check| check["status"] == "SUCCESS") { Verdict::Passed } else { Verdict::Nothing }
}

fn shown(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed(why) => why,
        Verdict::Nothing => "nothing was checked",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_warning_and_a_check_of_nothing_are_not_passed() {
        let checks = |statuses: &[&str]| {
            let all =
                statuses.iter().map(|status| json!({"id": "a", "status": status, "errorMessage": "no"}));
            judge(&all.collect::<Vec<_>>())
        };
        assert_eq!(checks(&["INFO", "SUCCESS", "SKIPPED"]), Verdict::Passed);
        assert_eq!(checks(&["SUCCESS", "WARNING"]), Verdict::Failed("a: no".into()));
        assert_eq!(checks(&["SUCCESS", "FAILURE"]), Verdict::Failed("a: no".into()));
        assert_eq!(checks(&["INFO"]), Verdict::Nothing);
    }

    #[test]
    fn scenarios_are_named_by_the_summary() {
        let said = "✓ not yet: 1\n\n\n=== SUMMARY ===\n✓ ping: 1 passed, 0 failed\n✗ tools-list: 0 passed, 1 failed\n\nTotal: 1";
        assert_eq!(scenarios(said), ["ping", "tools-list"]);
    }

    #[test]
    fn one_of_the_list_that_passes_is_a_failure_and_so_is_one_that_is_not_there() {
        let failed = || Verdict::Failed("a: no".into());
        let all = |passes: &str| {
            let mut tally = Tally::default();
            tally.count("2025-11-25", "ping", &Verdict::Passed);
            for (version, name, _) in LEFT_OUT {
                tally.count(version, name, &if name == passes { Verdict::Passed } else { failed() });
            }
            tally
        };
        assert!(matches!(all("").outcome(), Outcome::Passed(Tests { passed: 1, failed: 0, .. })));
        assert!(matches!(
            all("tools-call-sampling").outcome(),
            Outcome::Failed(Tests { passed: 1, failed: 1, .. }, _)
        ));
        assert!(matches!(Tally::default().outcome(), Outcome::Failed(..)));
        let mut tally = all("");
        tally.count("2026-07-28", "tools-call-sampling", &failed());
        assert!(
            matches!(tally.counts(), Tests { passed: 1, failed: 1, .. }),
            "another version is another matter"
        );
    }
}
