//! Calls without a pause: one session back to back, and 64 at once.

use std::time::Duration;

use anyhow::Result;
use trl_proto::SessionId;
use trl_proto::session::Renewal;

use crate::client::Client;
use crate::daemon::Daemon;
use crate::fleet::together;
use crate::floor::{Floor, check_shells};
use crate::race::{Race, back_to_back};
use crate::raw::spawn;
use crate::report::{Bar, Report};
use crate::{Plan, SHELLS};

const CALLS: usize = 50;
const SESSIONS: usize = 64;
/// After a burst the `idle` renewal does its work; it must not fall into the next variant's time.
const SETTLE: Duration = Duration::from_millis(30);

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    check_shells(&SHELLS)?;
    let daemon = Daemon::start(&plan.trl)?;
    one_session(plan, &daemon, report)?;
    for shell in SHELLS {
        many_sessions(plan, &daemon, shell, report)?;
    }
    Ok(())
}

fn one_session(plan: &Plan, daemon: &Daemon, report: &mut Report) -> Result<()> {
    let mut race = Race::default();
    for shell in SHELLS {
        race.add(format!("spawn {shell}"), move || settled(back_to_back(CALLS, || spawn(shell, "true"))));
        let mut floor = Floor::start(shell)?;
        race.add(format!("floor {shell}"), move || settled(back_to_back(CALLS, || floor.cycle("true"))));
        // What no daemon can be faster than with `idle`: the shell alone, never renewed.
        let mut bare = Floor::start(shell)?;
        race.add(format!("bare {shell}"), move || {
            settled(back_to_back(CALLS, || bare.exec("true").map(drop)))
        });
        for (name, renewal) in [("exact", Renewal::Exact), ("idle", Renewal::Idle)] {
            let mut client = daemon.client()?;
            let session = client.create(shell, renewal)?;
            race.add(format!("{name} {shell}"), move || {
                settled(back_to_back(CALLS, || client.run(&session, "true").map(drop)))
            });
        }
    }
    let results = race.run(plan.pick(30, 5))?;
    for (shell, at_least) in SHELLS.into_iter().zip([1.5, 1.0]) {
        let spawned = results.p50(&format!("spawn {shell}"))?;
        let floor = results.p50(&format!("floor {shell}"))?;
        for name in ["floor", "bare"] {
            let took = results.p50(&format!("{name} {shell}"))?;
            report.ratio(
                format!("{shell} back to back, {name} without a daemon: spawn / exec"),
                format!("{took:.0} us, spawn {spawned:.0}"),
                spawned / took,
                Bar::Shown,
            );
        }
        for (name, bar) in [("exact", at_least), ("idle", 6.0)] {
            let run = results.p50(&format!("{name} {shell}"))?;
            report.ratio(
                format!("{shell} back to back, {name}: spawn / exec.run"),
                format!("{run:.0} us, spawn {spawned:.0}, floor {floor:.0}"),
                spawned / run,
                Bar::AtLeast(bar),
            );
        }
    }
    Ok(())
}

fn settled(samples: Result<Vec<f64>>) -> Result<Vec<f64>> {
    std::thread::sleep(SETTLE);
    samples
}

fn many_sessions(plan: &Plan, daemon: &Daemon, shell: &'static str, report: &mut Report) -> Result<()> {
    let mut race = Race::default();
    for (name, renewal) in [("exact", Renewal::Exact), ("idle", Renewal::Idle)] {
        let mut sessions = (0..SESSIONS)
            .map(|_| {
                let mut client = daemon.client()?;
                let session = client.create(shell, renewal)?;
                Ok((client, session))
            })
            .collect::<Result<Vec<(Client, SessionId)>>>()?;
        race.add(name, move || {
            fleet(&mut sessions, |(client, session)| client.run(session, "true").map(drop))
        });
    }
    let mut floors = (0..SESSIONS).map(|_| Floor::start(shell)).collect::<Result<Vec<_>>>()?;
    race.add("floor", move || fleet(&mut floors, |floor| floor.cycle("true")));
    race.add("spawn", move || fleet(&mut [(); SESSIONS], |()| spawn(shell, "true")));
    let results = race.run(plan.pick(8, 2))?;
    let seconds = |name| results.p50(name);
    report.ratio(
        format!("{SESSIONS} {shell} sessions x {CALLS}, exact: exec.run / floor"),
        format!("{:.2} s, floor {:.2}", seconds("exact")?, seconds("floor")?),
        seconds("exact")? / seconds("floor")?,
        Bar::AtMost(1.3),
    );
    let rate = |name| results.p50(name).map(|s| (SESSIONS * CALLS) as f64 / s);
    report.ratio(
        format!("{SESSIONS} {shell} sessions x {CALLS}, idle: execs/s / spawns/s"),
        format!("{:.0}/s, spawn {:.0}/s", rate("idle")?, rate("spawn")?),
        rate("idle")? / rate("spawn")?,
        Bar::AtLeast(5.0),
    );
    Ok(())
}

/// The seconds all need for their calls, as one sample.
fn fleet<T: Send>(items: &mut [T], call: impl Fn(&mut T) -> Result<()> + Sync) -> Result<Vec<f64>> {
    let total = together(items, |item| (0..CALLS).try_for_each(|_| call(item)));
    settled(total.map(|seconds| vec![seconds]))
}
