//! How soon a daemon is ready that finds what earlier ones kept.

use std::time::Instant;

use anyhow::Result;
use trl_proto::Method;
use trl_proto::session::Renewal;

use crate::Plan;
use crate::daemon::{Daemon, Home};
use crate::race::Race;
use crate::report::{Bar, Report};

/// Milliseconds.
const MOST: f64 = 20.0;
/// About as much output as a command of an agent has.
const COMMAND: &str = "printf '%2000s\\n' x";

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let (sessions, commands) = (plan.pick(50, 5), plan.pick(200, 20));
    let (clean, crashed) = (Home::new()?, Home::new()?);
    for home in [&clean, &crashed] {
        fill(plan, home, sessions, commands)?;
    }
    let kib = std::fs::metadata(clean.path().join("data/store.db")).map_or(0, |meta| meta.len() >> 10);
    let mut race = Race::default();
    race.add("empty", || Ok(vec![ready(&Daemon::start(&plan.trl)?)]));
    race.add("clean", || Ok(vec![ready(&Daemon::start_at(&plan.trl, &clean)?)]));
    race.add("crashed", || {
        let daemon = Daemon::start_at(&plan.trl, &crashed)?;
        let took = ready(&daemon);
        daemon.kill()?;
        Ok(vec![took])
    });
    race.add("known", || {
        let start = Instant::now();
        let daemon = Daemon::start_at(&plan.trl, &clean)?;
        daemon
            .client()?
            .call::<serde_json::Value>(Method::SessionHistory, &serde_json::json!({"limit": 1}))?;
        Ok(vec![start.elapsed().as_secs_f64() * 1e3])
    });
    let results = race.run(plan.pick(20, 3))?;
    for (name, what) in [
        ("empty", "nothing kept"),
        ("clean", "a store"),
        ("crashed", "the same after a crash: its store is checked beside the first requests"),
    ] {
        report.value(
            format!("from spawn to the ready line, {what}"),
            format!(
                "{} commands of {sessions} sessions, {kib} KiB; p99 {:.1} ms",
                sessions * commands,
                results.p99(name)?
            ),
            (results.p50(name)?, " ms"),
            Bar::AtMost(MOST),
        );
    }
    report.value(
        "from spawn to the first page of history",
        format!("p99 {:.1} ms", results.p99("known")?),
        (results.p50("known")?, " ms"),
        Bar::Shown,
    );
    Ok(())
}

fn ready(daemon: &Daemon) -> f64 {
    daemon.ready_after.as_secs_f64() * 1e3
}

fn fill(plan: &Plan, home: &Home, sessions: usize, commands: usize) -> Result<()> {
    let daemon = Daemon::start_at(&plan.trl, home)?;
    let mut client = daemon.client()?;
    for _ in 0..sessions {
        let session = client.create("dash", Renewal::default())?;
        for _ in 0..commands {
            client.run(&session, COMMAND)?;
        }
    }
    Ok(())
}
