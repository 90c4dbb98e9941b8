//! One call with think time before it, as agents call.

use anyhow::Result;
use trl_proto::Method;
use trl_proto::session::Renewal;
use trl_proto::system::{NoParams, Ping};

use crate::daemon::Daemon;
use crate::floor::{Floor, check_shells};
use crate::race::{Race, Results, thoughtful, timed};
use crate::raw::{Peer, spawn};
use crate::report::{Bar, Report};
use crate::{Plan, SHELLS};

/// No decision may come from the command's text: a counter must cost what `true` costs.
const BUILTINS: [&str; 2] = ["true", "i=$((i+1))"];
const EXTERNAL: &str = "/bin/true";
/// The second command keeps the shell from replacing itself by the first.
const EXTERNAL_SPAWNED: &str = "/bin/true; :";

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    check_shells(&SHELLS)?;
    let daemon = Daemon::start(&plan.trl)?;
    let calls = plan.pick(20, 10);
    let mut race = Race::default();
    raw_variants(&mut race, calls, &daemon)?;
    for shell in SHELLS {
        shell_variants(&mut race, calls, &daemon, shell)?;
    }
    let results = race.run(plan.pick(40, 6))?;
    show(&results, report)
}

fn raw_variants(race: &mut Race<'_>, calls: usize, daemon: &Daemon) -> Result<()> {
    let mut peer = Peer::start()?;
    race.add("pipe", move || thoughtful(calls, || timed(|| peer.round_trip())));
    let mut client = daemon.client()?;
    race.add("ping", move || {
        thoughtful(calls, || timed(|| client.call::<Ping>(Method::SystemPing, &NoParams {}).map(drop)))
    });
    Ok(())
}

fn shell_variants(race: &mut Race<'_>, calls: usize, daemon: &Daemon, shell: &'static str) -> Result<()> {
    for command in ["true", EXTERNAL_SPAWNED] {
        race.add(format!("spawn {shell} {command}"), move || {
            thoughtful(calls, || timed(|| spawn(shell, command)))
        });
    }
    for command in BUILTINS {
        let mut floor = Floor::start(shell)?;
        race.add(format!("floor {shell} {command}"), move || {
            thoughtful(calls, || {
                let took = floor.exec(command)?;
                floor.renew()?;
                Ok(took.as_secs_f64() * 1e6)
            })
        });
    }
    for command in [BUILTINS[0], BUILTINS[1], EXTERNAL] {
        let mut client = daemon.client()?;
        let session = client.create(shell, Renewal::Exact)?;
        race.add(format!("run {shell} {command}"), move || {
            thoughtful(calls, || timed(|| client.run(&session, command).map(drop)))
        });
    }
    Ok(())
}

fn show(results: &Results, report: &mut Report) -> Result<()> {
    let (pipe, ping) = (results.p50("pipe")?, results.p50("ping")?);
    report.ratio("system.ping / pipe round trip", figures(ping, "pipe", pipe), ping / pipe, Bar::Shown);
    for shell in SHELLS {
        let spawned = results.p50(&format!("spawn {shell} true"))?;
        for command in BUILTINS {
            let run = results.p50(&format!("run {shell} {command}"))?;
            let floor = results.p50(&format!("floor {shell} {command}"))?;
            report.ratio(
                format!("{shell} `{command}`: spawn / exec.run"),
                figures(run, "spawn", spawned),
                spawned / run,
                Bar::AtLeast(2.5),
            );
            report.ratio(
                format!("{shell} `{command}`: (exec.run - ping) / floor"),
                format!("{}, ping {ping:.0}", figures(run, "floor", floor)),
                (run - ping) / floor,
                Bar::AtMost(1.5),
            );
        }
        let run = results.p50(&format!("run {shell} {EXTERNAL}"))?;
        let spawned = results.p50(&format!("spawn {shell} {EXTERNAL_SPAWNED}"))?;
        report.ratio(
            format!("{shell} `{EXTERNAL}`: exec.run / spawn"),
            figures(run, "spawn", spawned),
            run / spawned,
            Bar::AtMost(1.1),
        );
    }
    Ok(())
}

fn figures(ours: f64, name: &str, theirs: f64) -> String {
    format!("{ours:.0} us, {name} {theirs:.0}")
}
