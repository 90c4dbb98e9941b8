//! Figures for Prometheus: those of `system.stats`, and the door's own.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use trl_proto::system::{Distribution, Stats};

use super::Counters;

/// Name, kind, meaning.
type Row = (&'static str, &'static str, &'static str);

pub(super) fn text(stats: &Stats, counters: &Counters) -> String {
    let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
    let rows: [(Row, u64); 32] = [
        (("uptime_seconds", "gauge", "Seconds since the daemon started"), stats.uptime_s),
        (("session_runtimes", "gauge", "Sessions that take commands"), stats.resident_sessions),
        (("execution_builds_total", "counter", "Commands whose process was started"), stats.execution_builds),
        (
            ("execution_build_us_total", "counter", "Microseconds from requests to processes, queues aside"),
            stats.execution_build_us,
        ),
        (("session_hits_total", "counter", "Sessions found in memory"), stats.session_hits),
        (("session_misses_total", "counter", "Sessions looked for in the store"), stats.session_misses),
        (("records_written_total", "counter", "Writes that are in the store"), stats.records_written),
        (("records_failed_total", "counter", "Writes that the store refused"), stats.records_failed),
        (("records_dropped_total", "counter", "Executions that were not recorded"), stats.records_dropped),
        (("store_queue_bytes", "gauge", "Writes that wait for the store"), stats.store_queue_bytes),
        (("requests_pending", "gauge", "Requests that wait for a person"), stats.pending_requests),
        (("requests_answered_total", "counter", "Commands people answered"), stats.approval_wait_ms.count),
        (
            ("sessions_active", "gauge", "Sessions that are neither closed nor terminated"),
            stats.active_sessions,
        ),
        (("sessions_created_total", "counter", "Sessions made"), stats.sessions_created),
        (("commands_total", "counter", "Commands run"), stats.total_commands_run),
        (("executions_live", "gauge", "Commands running or queued"), stats.running_executions),
        (("executions_retained", "gauge", "Finished executions still readable"), stats.retained_executions),
        (("output_memory_bytes", "gauge", "Output held in memory"), stats.output_memory_bytes),
        (("output_bytes_total", "counter", "Bytes that commands and terminals wrote"), stats.output_bytes),
        (("rollbacks_total", "counter", "Shells put back to before a command"), stats.rollbacks),
        (("resets_total", "counter", "Shells started afresh"), stats.resets),
        (("timeouts_total", "counter", "Commands that ran out of time"), stats.timeouts),
        (("events_total", "counter", "Events that happened"), stats.events_seq),
        (("connections", "gauge", "Open connections of all transports"), stats.connections),
        (("memory_rss_bytes", "gauge", "Resident memory of the daemon"), stats.memory_rss_bytes),
        (("open_fds", "gauge", "Descriptors the daemon has open"), stats.open_fds),
        (("threads", "gauge", "Threads of the daemon"), stats.threads),
        (
            ("runtime_reconnects_total", "counter", "Connections to runtimes in place of broken ones"),
            stats.runtime_reconnects,
        ),
        (("http_requests_total", "counter", "HTTP requests"), read(&counters.requests)),
        (("http_auth_failures_total", "counter", "Wrong tokens and tickets"), read(&counters.auth_failures)),
        (
            ("http_strangers_closed_total", "counter", "Connections without a token closed for new ones"),
            read(&counters.strangers_closed),
        ),
        (("http_websockets_total", "counter", "WebSockets opened"), read(&counters.websockets)),
    ];
    let mut text = String::new();
    for ((name, kind, help), value) in rows {
        let _ = write!(text, "# HELP trl_{name} {help}.\n# TYPE trl_{name} {kind}\ntrl_{name} {value}\n");
    }
    histogram(&mut text, "command_duration", "How long commands ran", &stats.command_duration_ms);
    histogram(&mut text, "command_wait", "How long commands waited to start", &stats.command_wait_ms);
    histogram(&mut text, "approval_wait", "How long people took to answer", &stats.approval_wait_ms);
    let runtimes = stats.runtimes.iter().map(|(state, count)| (state.name().to_string(), *count));
    labelled(&mut text, ("runtimes", "gauge", "Runtimes by state"), "state", runtimes);
    let sessions = stats.runtime_sessions.iter().map(|(name, count)| (name.clone(), *count));
    labelled(&mut text, ("runtime_sessions", "gauge", "Sessions of each runtime"), "runtime", sessions);
    let answers = counters.answers.iter().enumerate().skip(1);
    let answers = answers.map(|(class, count)| (format!("{class}xx"), read(count)));
    labelled(
        &mut text,
        ("http_answers_total", "counter", "HTTP answers by class of status"),
        "status",
        answers,
    );
    text
}

/// One line for each value of a label.
fn labelled(
    text: &mut String,
    (name, kind, help): Row,
    label: &str,
    values: impl Iterator<Item = (String, u64)>,
) {
    let _ = write!(text, "# HELP trl_{name} {help}.\n# TYPE trl_{name} {kind}\n");
    for (value, count) in values {
        let _ = writeln!(text, "trl_{name}{{{label}=\"{value}\"}} {count}");
    }
}

/// In seconds, as Prometheus has times.
fn histogram(text: &mut String, name: &str, help: &str, of: &Distribution) {
    let name = format!("trl_{name}_seconds");
    let seconds = |ms: u64| format!("{}.{:03}", ms / 1000, ms % 1000);
    let _ = write!(text, "# HELP {name} {help}.\n# TYPE {name} histogram\n");
    for bucket in &of.buckets {
        let _ = writeln!(text, "{name}_bucket{{le=\"{}\"}} {}", seconds(bucket.le_ms), bucket.count);
    }
    let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {}", of.count);
    let _ = writeln!(text, "{name}_sum {}\n{name}_count {}", seconds(of.sum_ms), of.count);
}
