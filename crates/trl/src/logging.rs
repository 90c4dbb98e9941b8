//! The log: lines on stderr, as text or JSON, at the level the settings ask for. The newest are kept for bug reports.
//!
//! What must never be in it (tokens, secret values, the text of commands) is the business of whoever logs: types that
//! hold secrets have a `Debug` that shows nothing.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{LogFormat, LogSettings};

/// Where log lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    Stderr,
    /// For a daemon whose stderr nobody reads for long.
    Nowhere,
}

/// Lines that are kept, and the bytes of one.
const MOST_LINES: usize = 500;
const LONGEST_LINE: usize = 1000;

/// A library that tells of every request at `info`, unless the settings say that somebody wants to hear it.
const QUIETER: &str = "rmcp=warn";

static RECENT: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

fn kept() -> MutexGuard<'static, VecDeque<String>> {
    RECENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The newest lines, oldest first.
pub(crate) fn recent() -> Vec<String> {
    kept().iter().cloned().collect()
}

/// Sets up the log of this process; a second call changes nothing.
pub(crate) fn start(settings: &LogSettings, sink: Sink) {
    let filter = EnvFilter::try_new(format!("{QUIETER},{}", settings.level.0)).unwrap_or_default();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Lines { sink })
        // A log that complains about itself on a closed stderr would end the daemon.
        .log_internal_errors(false);
    // Only fails when a log is already set up, which then stays.
    let _already_set = match settings.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}

/// Makes a writer for each line.
struct Lines {
    sink: Sink,
}

impl<'w> MakeWriter<'w> for Lines {
    type Writer = Line;

    fn make_writer(&'w self) -> Line {
        Line { sink: self.sink }
    }
}

/// Takes one line, whole.
struct Line {
    sink: Sink,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        keep(&String::from_utf8_lossy(line));
        match self.sink {
            Sink::Stderr => io::stderr().write_all(line)?,
            Sink::Nowhere => {}
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn keep(line: &str) {
    let mut kept = kept();
    if kept.len() == MOST_LINES {
        kept.pop_front();
    }
    kept.push_back(line.trim_end().chars().take(LONGEST_LINE).collect());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_and_none_is_endless() {
        for n in 0..MOST_LINES + 10 {
            keep(&format!("{n} {}\n", "x".repeat(5000)));
        }
        let lines = recent();
        assert_eq!(lines.len(), MOST_LINES);
        assert!(lines[0].starts_with("10 ") && lines[0].len() == LONGEST_LINE);
    }
}
