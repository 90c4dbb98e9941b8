//! What a daemon and its idle sessions weigh.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use trl_proto::SessionId;
use trl_proto::session::Renewal;

use crate::Plan;
use crate::client::Client;
use crate::daemon::Daemon;
use crate::procfs::{comm, descendants, pss, status};
use crate::race::Race;
use crate::raw::spawn;
use crate::report::{Bar, Report};

const SHELL: &str = "dash";
/// Created and destroyed first: code and tables that are paid for once are not the price of a session.
const WARM_UP: usize = 8;
const WEIGHED: usize = 200;
const MANY: usize = 1000;
/// Until clones are made and buffers of the last calls are gone.
const REST: Duration = Duration::from_secs(1);

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    start_up(plan, report)?;
    let daemon = Daemon::start(&plan.trl)?;
    let pid = daemon.pid();
    std::thread::sleep(REST);
    report.value(
        "daemon at rest",
        "resident memory".into(),
        (status(pid, "VmRSS")? as f64 / 1024.0, " MiB"),
        Bar::AtMost(10.0),
    );
    let threads = status(pid, "Threads")?;
    let mut client = daemon.client()?;
    let warm = create(&mut client, WARM_UP)?;
    warm.iter().try_for_each(|session| client.destroy(session))?;
    let mut sessions = weigh(&mut client, pid, report)?;
    many(&mut client, pid, &mut sessions, report)?;
    let after = status(pid, "Threads")?;
    report.value(
        format!("threads gained by {MANY} sessions"),
        format!("{threads} before, {after} after"),
        (after as f64 - threads as f64, ""),
        Bar::AtMost(0.0),
    );
    Ok(())
}

fn start_up(plan: &Plan, report: &mut Report) -> Result<()> {
    let mut race = Race::default();
    race.add("spawn", || {
        let start = Instant::now();
        spawn(SHELL, "true")?;
        Ok(vec![start.elapsed().as_secs_f64() * 1e3])
    });
    race.add("ready", || Ok(vec![Daemon::start(&plan.trl)?.ready_after.as_secs_f64() * 1e3]));
    let results = race.run(plan.pick(20, 4))?;
    report.value(
        "from spawn to the ready line",
        format!("spawn {SHELL} {:.1} ms", results.p50("spawn")?),
        (results.p50("ready")?, " ms"),
        Bar::AtMost(20.0),
    );
    Ok(())
}

/// Sessions that have each run one command.
fn create(client: &mut Client, count: usize) -> Result<Vec<SessionId>> {
    (0..count)
        .map(|_| {
            let session = client.create(SHELL, Renewal::Exact)?;
            client.run(&session, "true")?;
            Ok(session)
        })
        .collect()
}

fn weigh(client: &mut Client, pid: u32, report: &mut Report) -> Result<Vec<SessionId>> {
    std::thread::sleep(REST);
    let before = status(pid, "VmRSS")?;
    let sessions = create(client, WEIGHED)?;
    std::thread::sleep(REST);
    let after = status(pid, "VmRSS")?;
    report.value(
        "one idle session in the daemon",
        format!("{before} -> {after} KiB over {WEIGHED}"),
        ((after as f64 - before as f64) / WEIGHED as f64, " KiB"),
        Bar::AtMost(24.0),
    );
    let keepers: Vec<u32> = descendants(pid).into_iter().filter(|p| comm(*p) == "trl-keeper").collect();
    ensure!(keepers.len() >= WEIGHED, "{} keepers for {WEIGHED} sessions", keepers.len());
    let total = keepers.iter().map(|keeper| pss(*keeper)).sum::<Result<u64>>()?;
    report.value(
        "one keeper, proportional share",
        format!("{} keepers", keepers.len()),
        (total as f64 / keepers.len() as f64, " KiB"),
        Bar::AtMost(200.0),
    );
    Ok(sessions)
}

fn many(client: &mut Client, pid: u32, sessions: &mut Vec<SessionId>, report: &mut Report) -> Result<()> {
    let start = Instant::now();
    sessions.extend(create(client, MANY - WEIGHED)?);
    let seconds = start.elapsed().as_secs_f64();
    for session in sessions.iter() {
        client.run(session, "true")?;
    }
    std::thread::sleep(REST);
    let rss = status(pid, "VmRSS")? as f64 / 1024.0;
    report.value(
        "sessions that live and answer",
        format!("{rss:.1} MiB resident; the last {} took {seconds:.1} s", MANY - WEIGHED),
        (sessions.len() as f64, ""),
        Bar::AtLeast(MANY as f64),
    );
    Ok(())
}
