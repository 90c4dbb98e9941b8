//! How long a new session takes.

use anyhow::Result;
use trl_proto::limits::Limits;
use trl_proto::session::{CreateParams, Renewal};

use crate::client::Client;
use crate::crowd::limits;
use crate::daemon::Daemon;
use crate::floor::check_shells;
use crate::race::{Race, THINK, thoughtful, timed};
use crate::raw::spawn;
use crate::report::{Bar, Report};
use crate::{Plan, SHELLS};

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    check_shells(&SHELLS)?;
    let daemon = Daemon::start(&plan.trl)?;
    let calls = plan.pick(20, 5);
    let mut race = Race::default();
    for shell in SHELLS {
        race.add(format!("spawn {shell}"), move || thoughtful(calls, || timed(|| spawn(shell, "true"))));
        let mut client = daemon.client()?;
        race.add(format!("create {shell}"), move || thoughtful(calls, || create(&mut client, shell, None)));
        let mut client = daemon.client()?;
        race.add(format!("limits {shell}"), move || {
            thoughtful(calls, || create(&mut client, shell, Some(limits())))
        });
    }
    let results = race.run(plan.pick(20, 4))?;
    for shell in SHELLS {
        let (spawned, created) =
            (results.p50(&format!("spawn {shell}"))?, results.p50(&format!("create {shell}"))?);
        report.ratio(
            format!("session.create {shell} / spawn"),
            format!("{created:.0} us, spawn {spawned:.0}"),
            created / spawned,
            Bar::AtMost(1.5),
        );
        let limited = results.p50(&format!("limits {shell}"))?;
        report.value(
            format!("session.create {shell} with limits, beyond without"),
            format!("{limited:.0} us, without {created:.0}"),
            ((limited - created) / 1000.0, " ms"),
            Bar::Shown,
        );
    }
    Ok(())
}

fn create(client: &mut Client, shell: &str, limits: Option<Limits>) -> Result<f64> {
    let params = CreateParams {
        shell: Some(shell.into()),
        renewal: Some(Renewal::Exact),
        limits,
        ..CreateParams::default()
    };
    let mut session = None;
    let took = timed(|| {
        session = Some(client.create_with(params)?);
        Ok(())
    })?;
    // Its first clone is made off the path of the reply; let it be, so that only creation is timed.
    std::thread::sleep(THINK);
    session.iter().try_for_each(|session| client.destroy(session))?;
    Ok(took)
}
