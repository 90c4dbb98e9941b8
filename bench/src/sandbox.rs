//! What a boundary and limits add to a program that is started cold: all combinations in the same run.

use std::path::Path;

use anyhow::{Result, ensure};
use trl_proto::Method;
use trl_proto::limits::Limits;
use trl_proto::sandbox::{Mode, Net, SandboxParams};
use trl_proto::start::{Progress, ProgressEnd, StartParams, StartStdin, StdinName};

use crate::Plan;
use crate::client::Client;
use crate::crowd::limits;
use crate::daemon::Daemon;
use crate::race::{Race, thoughtful, timed};
use crate::report::{Bar, Report};

/// Milliseconds.
const MOST: f64 = 3.0;

/// What is compared: with (the first) and without (the second).
const PAIRS: [(&str, &str); 6] = [
    ("sandbox", "plain"),
    ("sandbox and limits", "limits"),
    ("limits", "plain"),
    ("sandbox and limits", "plain"),
    ("read-only sandbox", "plain"),
    ("sandbox with a loopback", "plain"),
];

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    let workspace = tempfile::tempdir()?;
    std::fs::create_dir_all(workspace.path().join(".git/hooks"))?;
    let calls = plan.pick(20, 5);
    let loopback = SandboxParams { net: Some(Net::Loopback), ..Mode::WorkspaceWrite.into() };
    let variants: [(&str, SandboxParams, Option<Limits>); 6] = [
        ("plain", Mode::Off.into(), None),
        ("sandbox", Mode::WorkspaceWrite.into(), None),
        ("limits", Mode::Off.into(), Some(limits())),
        ("sandbox and limits", Mode::WorkspaceWrite.into(), Some(limits())),
        ("read-only sandbox", Mode::ReadOnly.into(), None),
        ("sandbox with a loopback", loopback, None),
    ];
    let mut race = Race::default();
    for (name, sandbox, limits) in variants {
        let mut client = daemon.client()?;
        let params = params(workspace.path(), sandbox, limits);
        race.add(name, move || thoughtful(calls, || start(&mut client, &params)));
    }
    let results = race.run(plan.pick(30, 4))?;
    for (with, without) in PAIRS {
        let (long, short) = (results.p50(with)?, results.p50(without)?);
        report.value(
            format!("exec.start of `true`, {with}: beyond {without}"),
            format!(
                "{long:.0} us (p99 {:.0}), {without} {short:.0}; p05 {:.0}, {without} {:.0}",
                results.p99(with)?,
                results.p05(with)?,
                results.p05(without)?
            ),
            ((long - short) / 1000.0, " ms"),
            Bar::AtMost(MOST),
        );
    }
    Ok(())
}

fn params(workspace: &Path, sandbox: SandboxParams, limits: Option<Limits>) -> StartParams {
    StartParams {
        argv: Some(vec!["/bin/true".into()]),
        stdin: Some(StartStdin::Named(StdinName::Null)),
        working_dir: Some(workspace.display().to_string()),
        sandbox: Some(sandbox),
        limits,
        ..StartParams::default()
    }
}

/// From the call to the news of its end.
fn start(client: &mut Client, params: &StartParams) -> Result<f64> {
    timed(|| {
        let done: Progress = client.call(Method::ExecStart, params)?;
        ensure!(matches!(&done.end, ProgressEnd::Done(end) if end.exit_code == 0), "{:?}", done.end);
        Ok(())
    })
}
