//! A terminal's program that was started as an execution (`exec.start` with `tty`): how that begins and ends. Its output
//! goes where the tape's goes, byte for byte.

use std::path::Path;
use std::time::Instant;

use trl_proto::event::Happening;
use trl_proto::exec::{Omitted, Outcome, Range, ShellState};
use trl_proto::sandbox::Denied;
use trl_sys::reap::Exit;
use trl_sys::sandbox::Op;

use super::handle::{Terminal, signal_name};
use crate::engine::{Counters, Engine};
use crate::execution::{Early, Phase, millis};
use crate::sandbox::denial::{self, Evidence, undecorated};

/// The terminal is there, and its program runs.
pub(crate) fn announce(engine: &Engine, terminal: &Terminal) {
    Counters::add(&engine.counters.terminals);
    let (terminal_id, shell) = (terminal.spec.id.clone(), terminal.spec.argv[0].clone());
    engine.events.emit(&terminal.spec.owner, Happening::TerminalCreated { terminal_id, shell });
    begin(engine, terminal);
}

fn begin(engine: &Engine, terminal: &Terminal) {
    let Some(execution) = &terminal.execution else { return };
    Counters::add(&engine.counters.commands);
    execution.start(Instant::now());
    let happening = Happening::ExecStarted {
        session_id: None,
        terminal_id: Some(terminal.spec.id.clone()),
        execution_id: execution.id.clone(),
    };
    engine.events.emit(&terminal.spec.owner, happening);
}

/// Nothing of it is left, and everything it wrote is in its log.
pub(crate) fn finish(
    engine: &Engine,
    terminal: &Terminal,
    (exit, early): (Exit, Option<Early>),
    denied: impl FnOnce(&Outcome) -> Option<Denied>,
) {
    let Some(execution) = &terminal.execution else { return };
    let Phase::Running { since } = execution.phase() else { return };
    execution.stdout.close();
    let omitted = execution.stdout.omitted().map(|(from, to)| Range { from, to });
    let (working_dir, usage) = {
        let public = terminal.public();
        (public.cwd.clone(), public.usage.clone())
    };
    let mut outcome = Outcome {
        execution_id: execution.id.clone(),
        exit_code: exit.shell_code(),
        signal: signal_name(exit),
        duration_ms: millis(since.elapsed()),
        waited_ms: millis(since.saturating_duration_since(execution.created.monotonic)),
        timed_out: early == Some(Early::TimedOut),
        cancelled: early == Some(Early::Cancelled),
        stdout_bytes: execution.stdout.total(),
        stderr_bytes: 0,
        omitted: omitted.map(|stdout| Omitted { stdout: Some(stdout), stderr: None }),
        shell_state: ShellState::Ended,
        lost_commands: None,
        background_pids: None,
        working_dir,
        usage,
        sandbox: terminal.spec.sandbox.report(),
        denied: None,
    };
    outcome.denied = denied(&outcome);
    let happening = Happening::ExecFinished {
        session_id: None,
        terminal_id: Some(terminal.spec.id.clone()),
        execution_id: execution.id.clone(),
        exit_code: outcome.exit_code,
        timed_out: outcome.timed_out,
        cancelled: outcome.cancelled,
    };
    engine.counters.note_end(&outcome);
    execution.finish(outcome);
    engine.executions.retire(execution);
    engine.events.emit(&terminal.spec.owner, happening);
}

/// Whether its sandbox was in its way: what the kernel told of, and what it complained of.
pub(super) fn denied(terminal: &Terminal, refused: &[Op], outcome: &Outcome) -> Option<Denied> {
    let (sandbox, execution) = (terminal.spec.sandbox.here()?, terminal.execution.as_ref()?);
    let shown = if outcome.exit_code == 0 { Vec::new() } else { execution.stdout.snapshot() };
    let evidence = Evidence {
        refused,
        exit_code: outcome.exit_code,
        complaints: &undecorated(&shown),
        working_dir: Path::new(&outcome.working_dir),
    };
    denial::judge(&sandbox.policy, &evidence)
}
