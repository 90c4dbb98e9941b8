//! The table: every ratio with its bar and whether it was met.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::Effort;

/// What a value is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// Printed to be seen, judged by nobody.
    Shown,
}

impl Bar {
    fn met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(bar) => Some(value >= bar),
            Self::AtMost(bar) => Some(value <= bar),
            Self::Shown => None,
        }
    }

    fn show(self, unit: &str) -> String {
        match self {
            Self::AtLeast(bar) => format!(">= {bar}{unit}"),
            Self::AtMost(bar) => format!("<= {bar}{unit}"),
            Self::Shown => String::new(),
        }
    }
}

struct Row {
    suite: String,
    what: String,
    figures: String,
    value: String,
    bar: String,
    verdict: &'static str,
}

pub(crate) struct Report {
    effort: Effort,
    suite: String,
    rows: Vec<Row>,
    load_at_start: String,
}

impl Report {
    pub(crate) fn new(effort: Effort) -> Self {
        Self { effort, suite: String::new(), rows: vec![], load_at_start: load() }
    }

    pub(crate) fn begin(&mut self, suite: &str) {
        self.suite = suite.to_string();
    }

    /// One ratio: how many times `figures` differ.
    pub(crate) fn ratio(&mut self, what: impl Into<String>, figures: String, value: f64, bar: Bar) {
        self.value(what, figures, (value, "x"), bar);
    }

    /// One value with its unit.
    pub(crate) fn value(
        &mut self,
        what: impl Into<String>,
        figures: String,
        (value, unit): (f64, &str),
        bar: Bar,
    ) {
        let verdict = match bar.met(value) {
            Some(true) => "PASS",
            Some(false) => "MISS",
            None => "",
        };
        let row = Row {
            suite: self.suite.clone(),
            what: what.into(),
            figures,
            value: format!("{value:.2}{unit}"),
            bar: bar.show(unit),
            verdict,
        };
        eprintln!("{:<52} {:>12} {:>12} {:<5} {}", row.what, row.value, row.bar, row.verdict, row.figures);
        self.rows.push(row);
    }

    /// A suite that could not be carried out is as bad as a missed bar.
    pub(crate) fn failed(&mut self, error: &anyhow::Error) {
        eprintln!("{}: {error:#}", self.suite);
        self.rows.push(Row {
            suite: self.suite.clone(),
            what: "not measured".into(),
            figures: format!("{error:#}").replace(['|', '\n'], " "),
            value: String::new(),
            bar: String::new(),
            verdict: "ERROR",
        });
    }

    pub(crate) fn all_well(&self) -> bool {
        !self.rows.iter().any(|row| matches!(row.verdict, "MISS" | "ERROR"))
    }

    pub(crate) fn table(&self) -> String {
        let mut text = self.heading();
        text += "\n\n| suite | measurement | figures | value | bar | |\n| --- | --- | --- | ---: | ---: | --- |\n";
        for row in &self.rows {
            let Row { suite, what, figures, value, bar, verdict } = row;
            let _ = writeln!(text, "| {suite} | {what} | {figures} | {value} | {bar} | {verdict} |");
        }
        text
    }

    fn heading(&self) -> String {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let effort = match self.effort {
            Effort::Full => "",
            Effort::Quick => ", quick run: not to be quoted",
        };
        format!(
            "## {} · Linux {} · {cores} cores · load {} before, {} after{effort}",
            jiff::Timestamp::now().strftime("%F %H:%M UTC"),
            read("/proc/sys/kernel/osrelease"),
            self.load_at_start,
            load(),
        )
    }

    /// Appends to the results kept with the source.
    pub(crate) fn save(&self, table: &str) -> Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
        let mut file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| path.display().to_string())?;
        writeln!(file, "\n{table}")?;
        eprintln!("appended to {}", path.display());
        Ok(())
    }
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_judged_and_a_value_that_is_no_number_misses() {
        assert_eq!(Bar::AtLeast(2.5).met(2.5), Some(true));
        assert_eq!(Bar::AtMost(1.1).met(1.2), Some(false));
        assert_eq!(Bar::AtMost(1.1).met(f64::NAN), Some(false));
        assert_eq!(Bar::Shown.met(3.0), None);
    }

    #[test]
    fn a_failed_suite_spoils_the_report() {
        let mut report = Report::new(Effort::Quick);
        report.ratio("a", String::new(), 1.0, Bar::AtMost(2.0));
        assert!(report.all_well());
        report.failed(&anyhow::anyhow!("no | daemon"));
        assert!(!report.all_well());
        assert!(report.table().contains("no   daemon"));
    }
}
