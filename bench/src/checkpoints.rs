//! What keeping a shell's state costs an execution: the same command on a daemon that keeps nothing on disk, on one with the
//! usual settings, and on one that writes the state after every command.

use anyhow::Result;
use trl_proto::checkpoint::CreateParams;
use trl_proto::session::Renewal;
use trl_proto::{Method, SessionId};

use crate::Plan;
use crate::client::Client;
use crate::daemon::{Daemon, Home};
use crate::race::{Race, Results, back_to_back, thoughtful, timed};
use crate::report::{Bar, Report};

const SHELL: &str = "bash";
const COMMAND: &str = "true";
const OFF: &str = "[checkpoints]\ninterval_s = 0\non_close = false\n";
/// Shorter than the pause between two commands.
const ALWAYS: &str = "[checkpoints]\ninterval_s = 0.0001\n";
/// More than a shell of an agent usually has.
const FUNCTIONS: &str = "for i in $(seq 100); do eval \"f$i() { echo $i \\\"\\$1\\\"; }\"; done";
/// Milliseconds.
const MOST: f64 = 0.5;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = |settings: &str| Daemon::start_at(&plan.trl, &Home::new()?.with_settings(settings)?);
    let (off, on, always) = (daemon(OFF)?, daemon("")?, daemon(ALWAYS)?);
    let calls = plan.pick(20, 5);
    let mut race = Race::default();
    for (name, daemon) in [("off", &off), ("on", &on), ("always", &always)] {
        let (mut client, session) = shell(daemon, Renewal::Exact)?;
        race.add(name, move || thoughtful(calls, || timed(|| client.run(&session, COMMAND).map(drop))));
    }
    for (name, renewal) in [("each", Renewal::Exact), ("burst", Renewal::Idle)] {
        let (mut client, session) = shell(&on, renewal)?;
        race.add(name, move || back_to_back(calls, || client.run(&session, COMMAND).map(drop)));
    }
    for (name, setup) in [("kept", COMMAND), ("kept large", FUNCTIONS)] {
        let (mut client, session) = shell(&on, Renewal::Exact)?;
        client.run(&session, setup)?;
        race.add(name, move || thoughtful(calls, || timed(|| keep(&mut client, &session))));
    }
    show(&race.run(plan.pick(40, 4))?, report)
}

fn shell(daemon: &Daemon, renewal: Renewal) -> Result<(Client, SessionId)> {
    let mut client = daemon.client()?;
    let session = client.create(SHELL, renewal)?;
    client.run(&session, COMMAND)?;
    Ok((client, session))
}

fn keep(client: &mut Client, session: &SessionId) -> Result<()> {
    let params = CreateParams { session_id: session.clone(), label: None, files: None };
    client.call::<serde_json::Value>(Method::CheckpointCreate, &params).map(drop)
}

fn show(results: &Results, report: &mut Report) -> Result<()> {
    let off = results.p50("off")?;
    for (name, what, bar) in [
        ("on", "bash `true`, automatic checkpoints on: beyond off", Bar::AtMost(MOST)),
        ("always", "bash `true`, its state written after each command: beyond off", Bar::Shown),
    ] {
        let took = results.p50(name)?;
        let figures = format!("{took:.0} us (p99 {:.0}), off {off:.0}", results.p99(name)?);
        report.value(what, figures, ((took - off) / 1000.0, " ms"), bar);
    }
    let (each, burst) = (results.p50("each")?, results.p50("burst")?);
    report.value(
        "bash back to back: the clone after each command beyond one after the burst",
        format!("{each:.0} us, {burst:.0}"),
        ((each - burst) / 1000.0, " ms"),
        Bar::Shown,
    );
    for (name, what) in
        [("kept", "checkpoint.create"), ("kept large", "checkpoint.create with 100 functions")]
    {
        let figures = format!("p99 {:.0} us; on the disk", results.p99(name)?);
        report.value(what, figures, (results.p50(name)? / 1000.0, " ms"), Bar::Shown);
    }
    Ok(())
}
