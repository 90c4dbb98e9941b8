//! How long a new session takes.

use anyhow::Result;
use trl_proto::session::Renewal;

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
        race.add(format!("create {shell}"), move || {
            thoughtful(calls, || {
                let mut session = None;
                let took = timed(|| {
                    session = Some(client.create(shell, Renewal::Exact)?);
                    Ok(())
                })?;
                // Its first clone is made off the path of the reply; let it be, so that only creation is timed.
                std::thread::sleep(THINK);
                session.iter().try_for_each(|session| client.destroy(session))?;
                Ok(took)
            })
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
    }
    Ok(())
}
