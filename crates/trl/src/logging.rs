//! The log: lines on stderr, as text or JSON, at the level the settings ask for.
//!
//! What must never be in it (tokens, secret values, the text of commands) is the business of whoever logs: types that
//! hold secrets have a `Debug` that shows nothing.

use std::io;

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

/// Sets up the log of this process; a second call changes nothing.
pub(crate) fn start(settings: &LogSettings, sink: Sink) {
    match sink {
        Sink::Stderr => install(settings, io::stderr),
        Sink::Nowhere => install(settings, io::sink),
    }
}

fn install<W>(settings: &LogSettings, writer: W)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(&settings.level.0).unwrap_or_default();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        // A log that complains about itself on a closed stderr would end the daemon.
        .log_internal_errors(false);
    // Only fails when a log is already set up, which then stays.
    let _already_set = match settings.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
