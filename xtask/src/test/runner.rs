//! Runs steps as processes of their own, two at a time, and prints what they came to.
//!
//! 1. Each [`Lane`] is a thread that takes its steps in the order of the table. A step waits until the steps it names in
//!    `after` have ended.
//! 2. A step is `xtask test --step NAME` as a child process: its output goes to `target/test/NAME.log`, and its [`Record`]
//!    to `target/test/NAME.record`. A process of its own is what makes the processor time of a step measurable.
//! 3. The end of a log is printed when its step has failed. With one step alone, output is shown as it comes.
//! 4. The table of all steps comes last, with wall and processor time, and the names of flaky tests.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::outcome::{Outcome, Record, Tests};
use super::steps::{Lane, STEPS, Step};
use crate::place;

/// Lines of a failed step's log that are printed: a whole failed run of tests.
const SHOWN_LINES: usize = 1500;

/// A step that has ended.
struct Ended {
    record: Record,
    took: Duration,
}

/// Steps that have ended, by name.
#[derive(Default)]
struct Progress {
    ended: Mutex<HashMap<&'static str, Ended>>,
    changed: Condvar,
}

/// Runs the chosen steps and prints the table.
pub(super) fn run(chosen: &[&'static Step]) -> Result<ExitCode> {
    fs::create_dir_all(logs()?)?;
    let start = Instant::now();
    let progress = Progress::default();
    std::thread::scope(|scope| {
        for lane in [Lane::Main, Lane::Side] {
            let progress = &progress;
            scope.spawn(move || {
                for step in chosen.iter().filter(|step| step.lane == lane) {
                    progress.wait_for(step.after, chosen);
                    progress.end(step, chosen.len() == 1);
                }
            });
        }
    });
    let ended = progress.lock();
    println!("\n{}", summary(chosen, &ended, start.elapsed()));
    let failed = ended.values().any(|step| matches!(step.record.outcome, Outcome::Failed(..)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs one step in this process and leaves its record.
pub(super) fn run_here(step: &Step) -> Result<ExitCode> {
    let outcome = (step.run)();
    if let Outcome::Failed(_, why) | Outcome::Skipped(why) = &outcome {
        eprintln!("{why}");
    }
    let record = Record { outcome, processor_time: processor_time() };
    record.write(&record_path(step)?)?;
    Ok(ExitCode::SUCCESS)
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, HashMap<&'static str, Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for those of the named steps that were chosen.
    fn wait_for(&self, names: &[&str], chosen: &[&'static Step]) {
        let awaited = |name: &&&str| chosen.iter().any(|step| step.name == **name);
        let names: Vec<&str> = names.iter().filter(awaited).copied().collect();
        let mut ended = self.lock();
        while !names.iter().all(|name| ended.contains_key(name)) {
            ended = self.changed.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs a step and notes that it has ended.
    fn end(&self, step: &'static Step, alone: bool) {
        eprintln!("=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let record = run_apart(step, alone).unwrap_or_else(|error| Record {
            outcome: Outcome::Failed(Tests::default(), format!("{error:#}")),
            processor_time: Duration::ZERO,
        });
        let ended = Ended { record, took: start.elapsed() };
        eprintln!("=== {}", row(step.name, &ended));
        if let Outcome::Failed(..) = ended.record.outcome
            && !alone
        {
            show_log(step);
        }
        self.lock().insert(step.name, ended);
        self.changed.notify_all();
    }
}

/// Runs a step in a child process.
fn run_apart(step: &Step, alone: bool) -> Result<Record> {
    let record = record_path(step)?;
    // A record of an earlier run must not stand for this one.
    let _ = fs::remove_file(&record);
    // The program that runs now, even if a build has replaced its file meanwhile.
    let own = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut command = Command::new(own);
    command.args(["test", "--step", step.name]).stdin(Stdio::null());
    if !alone {
        let log = log_path(step)?;
        let log = File::create(&log).with_context(|| log.display().to_string())?;
        command.stdout(log.try_clone()?).stderr(log);
    }
    let status = command.status()?;
    ensure!(status.success(), "its process ended with {status}");
    Record::read(&record)
}

fn show_log(step: &Step) {
    let Ok(path) = log_path(step) else { return };
    let log = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    // One write, so that the other lane does not print in between.
    eprintln!("{}\n=== end of {}", lines[from..].join("\n"), path.display());
}

fn logs() -> Result<PathBuf> {
    Ok(place::target_dir()?.join("test"))
}

fn log_path(step: &Step) -> Result<PathBuf> {
    Ok(logs()?.join(format!("{}.log", step.name)))
}

fn record_path(step: &Step) -> Result<PathBuf> {
    Ok(logs()?.join(format!("{}.record", step.name)))
}

/// Returns the processor time of this process and of all its children that have ended. Zero where there is no `/proc`.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold anything. utime, stime, cutime and cstime are fields 14 to 17.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').skip(11).take(4);
    // Linux shows 100 ticks a second on all its architectures.
    Duration::from_millis(fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}

// ---- what is printed

fn summary(chosen: &[&'static Step], ended: &HashMap<&str, Ended>, took: Duration) -> String {
    let mut text = String::from("step           outcome      wall       cpu\n");
    let (mut tests, mut processor_time) = (Tests::default(), Duration::ZERO);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, step) in STEPS.iter().filter_map(|step| Some((step.name, ended.get(step.name)?))) {
        text += &format!("{}\n", row(name, step));
        processor_time += step.record.processor_time;
        match &step.record.outcome {
            Outcome::Passed(_) => passed += 1,
            Outcome::Failed(..) => failed += 1,
            Outcome::Skipped(_) => skipped += 1,
        }
        tests = tests.plus(step.record.outcome.clone().tests());
    }
    let needs = chosen.iter().find(|step| step.name == "needs").and_then(|step| ended.get(step.name));
    let downloads = needs.map_or(Duration::ZERO, |step| step.took);
    text += &format!(
        "in all {:.1} min, {:.1} of them for needs; {:.1} min of processor time\n",
        minutes(took),
        minutes(downloads),
        minutes(processor_time)
    );
    for name in &tests.flaky {
        text += &format!("flaky: {name}\n");
    }
    text += &format!(
        "steps: {passed} passed, {failed} failed, {skipped} skipped; {} flaky tests\n",
        tests.flaky.len()
    );
    text + &format!("tests: {} passed, {} failed", tests.passed, tests.failed)
}

fn row(name: &str, step: &Ended) -> String {
    let (word, detail) = match &step.record.outcome {
        Outcome::Passed(tests) => ("passed", counted(tests)),
        Outcome::Failed(tests, why) if tests.passed + tests.failed == 0 => {
            ("FAILED", why.lines().next().unwrap_or_default().to_string())
        }
        Outcome::Failed(tests, _) => ("FAILED", counted(tests)),
        Outcome::Skipped(why) => ("skipped", why.clone()),
    };
    let (wall, cpu) = (step.took.as_secs_f64(), step.record.processor_time.as_secs_f64());
    format!("{name:<14} {word:<8} {wall:>7.1} s {cpu:>7.1} s  {detail}").trim_end().to_string()
}

fn counted(tests: &Tests) -> String {
    let flaky = match tests.flaky.len() {
        0 => String::new(),
        count => format!(", {count} flaky"),
    };
    match (tests.passed, tests.failed) {
        (0, 0) => String::new(),
        (passed, failed) => format!("{passed} passed, {failed} failed{flaky}"),
    }
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(outcome: Outcome) -> Ended {
        Ended {
            record: Record { outcome, processor_time: Duration::from_secs(3) },
            took: Duration::from_secs(2),
        }
    }

    #[test]
    fn last_line_counts_all_tests() {
        let flaky = Tests { passed: 3, failed: 0, flaky: vec!["trl::http cuts::one".into()] };
        let failed = Tests { passed: 1, failed: 2, flaky: Vec::new() };
        let steps = HashMap::from([
            ("tests", ended(Outcome::Passed(flaky))),
            ("browser", ended(Outcome::Failed(failed, "no".into()))),
            ("clients", ended(Outcome::Skipped("npm is not installed".into()))),
        ]);
        let text = summary(&[], &steps, Duration::from_secs(60));
        assert!(text.ends_with("\ntests: 4 passed, 2 failed"), "{text}");
        assert!(text.contains("steps: 1 passed, 1 failed, 1 skipped; 1 flaky tests"), "{text}");
        assert!(
            text.contains("flaky: trl::http cuts::one") && text.contains("npm is not installed"),
            "{text}"
        );
    }

    #[test]
    fn processor_time_of_children_is_counted() {
        let before = processor_time();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().unwrap().success());
        assert!(processor_time() > before || !cfg!(target_os = "linux"));
    }
}
