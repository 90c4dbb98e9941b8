//! A thousand programs at once, each with limits and each with more output than anybody may keep: what the daemon weighs.

use std::time::Instant;

use anyhow::{Result, ensure};
use trl_proto::limits::Limits;
use trl_proto::start::{Progress, ProgressEnd, Reason, StartParams, Until, WaitParams, Waited};
use trl_proto::{ExecutionId, Method};

use crate::Plan;
use crate::client::Client;
use crate::daemon::Daemon;
use crate::fleet::together;
use crate::procfs::status;
use crate::report::{Bar, Report};

const MANY: usize = 1000;
/// Connections that start them: each call waits a quarter of a second for an end that does not come.
const CLIENTS: usize = 25;
const WRITTEN: u64 = 2 << 20;
/// What the daemon may keep of all output together (`output.total_bytes`), and 100 MB for all else.
const MOST_MIB: f64 = 256.0 + 100e6 / (1 << 20) as f64;
const MOST_THREADS: f64 = 15.0;
const MOST_SECONDS_TO_END: f64 = 5.0;

/// One connection and what it has started.
struct Starter {
    client: Client,
    count: usize,
    started: Vec<ExecutionId>,
}

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    let pid = daemon.pid();
    let count = plan.pick(MANY, 100);
    let mut starters = (0..CLIENTS)
        .map(|_| Ok(Starter { client: daemon.client()?, count: count / CLIENTS, started: Vec::new() }))
        .collect::<Result<Vec<_>>>()?;
    let seconds = together(&mut starters, Starter::start_all)?;
    let start = Instant::now();
    together(&mut starters, Starter::wait_for_output)?;
    let later = start.elapsed().as_secs_f64();
    let mib = |key| status(pid, key).map(|kib| kib as f64 / 1024.0);
    let now = mib("VmRSS")?;
    let all = format!("{count} live executions with limits, 2 MiB written by each");
    report.value(
        format!("{all}: memory of the daemon at its most"),
        format!("{now:.1} MiB at the end; started in {seconds:.1} s, all written {later:.1} s later"),
        (mib("VmHWM")?, " MiB"),
        Bar::AtMost(MOST_MIB.floor()),
    );
    report.value(
        format!("{all}: threads of the daemon"),
        String::new(),
        (status(pid, "Threads")? as f64, ""),
        Bar::AtMost(MOST_THREADS),
    );
    drop(starters);
    report.value(
        format!("{all}: ended with the daemon"),
        String::new(),
        (daemon.end().as_secs_f64(), " s"),
        Bar::AtMost(MOST_SECONDS_TO_END),
    );
    Ok(())
}

impl Starter {
    fn start_all(&mut self) -> Result<()> {
        let params = StartParams {
            argv: Some(vec![
                "/bin/sh".into(),
                "-c".into(),
                format!("head -c {WRITTEN} /dev/zero; exec sleep 1000"),
            ]),
            working_dir: Some("/".into()),
            limits: Some(limits()),
            yield_ms: Some(250),
            ..StartParams::default()
        };
        for _ in 0..self.count {
            let progress: Progress = self.client.call(Method::ExecStart, &params)?;
            let ProgressEnd::NotYet { execution_id, .. } = progress.end else {
                anyhow::bail!("it ended: {:?}", progress.end)
            };
            self.started.push(execution_id);
        }
        Ok(())
    }

    fn wait_for_output(&mut self) -> Result<()> {
        for execution_id in &self.started {
            let until = Until { bytes: Some(WRITTEN), ..Until::default() };
            let params = WaitParams {
                execution_id: execution_id.clone(),
                until: Some(until),
                timeout_s: Some(20.0),
                max_output_bytes: Some(2),
            };
            let waited: Waited = self.client.call(Method::ExecWait, &params)?;
            ensure!(waited.reason == Reason::Bytes, "{execution_id}: {:?}", waited.reason);
        }
        Ok(())
    }
}

/// One of each kind: those of a control group, those of a process, and those that are counted.
pub(crate) fn limits() -> Limits {
    Limits {
        memory_bytes: Some(256 << 20),
        cpu: Some(1.0),
        cpu_time_s: Some(60.0),
        pids: Some(50),
        open_files: Some(256),
        file_size_bytes: Some(64 << 20),
        output_bytes: Some(64 << 20),
        wall_s: Some(600.0),
        ..Limits::default()
    }
}
