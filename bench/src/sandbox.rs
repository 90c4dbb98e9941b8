//! What a sandbox adds to a program that is started cold: all its layers, in the same run as without.

use std::path::Path;

use anyhow::{Result, ensure};
use trl_proto::Method;
use trl_proto::sandbox::{Mode, Net, SandboxParams};
use trl_proto::start::{Progress, ProgressEnd, StartParams, StartStdin, StdinName};

use crate::Plan;
use crate::client::Client;
use crate::daemon::Daemon;
use crate::race::{Race, thoughtful, timed};
use crate::report::{Bar, Report};

/// Milliseconds.
const MOST: f64 = 3.0;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    let workspace = tempfile::tempdir()?;
    std::fs::create_dir_all(workspace.path().join(".git/hooks"))?;
    let calls = plan.pick(20, 5);
    let variants = [
        ("off", SandboxParams::from(Mode::Off)),
        ("read-only", Mode::ReadOnly.into()),
        ("workspace-write", Mode::WorkspaceWrite.into()),
        ("loopback", SandboxParams { net: Some(Net::Loopback), ..Mode::WorkspaceWrite.into() }),
    ];
    let mut race = Race::default();
    for (name, sandbox) in &variants {
        let mut client = daemon.client()?;
        let workspace = workspace.path();
        race.add(*name, move || thoughtful(calls, || start(&mut client, workspace, sandbox)));
    }
    let results = race.run(plan.pick(20, 4))?;
    let off = results.p50("off")?;
    for (name, _) in &variants[1..] {
        let with = results.p50(name)?;
        report.value(
            format!("exec.start of `true` in {name}, beyond without"),
            format!("{with:.0} us, without {off:.0}"),
            ((with - off) / 1000.0, " ms"),
            Bar::AtMost(MOST),
        );
    }
    Ok(())
}

/// From the call to the news of its end.
fn start(client: &mut Client, workspace: &Path, sandbox: &SandboxParams) -> Result<f64> {
    let params = StartParams {
        argv: Some(vec!["/bin/true".into()]),
        stdin: Some(StartStdin::Named(StdinName::Null)),
        working_dir: Some(workspace.display().to_string()),
        sandbox: Some(sandbox.clone()),
        ..StartParams::default()
    };
    timed(|| {
        let done: Progress = client.call(Method::ExecStart, &params)?;
        ensure!(matches!(&done.end, ProgressEnd::Done(end) if end.exit_code == 0), "{:?}", done.end);
        Ok(())
    })
}
