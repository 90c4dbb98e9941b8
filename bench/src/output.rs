//! Much output through `exec.run`: what is kept, what it costs.

use std::cell::Cell;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use trl_proto::exec::RunResult;
use trl_proto::session::Renewal;
use trl_proto::text;

use crate::Plan;
use crate::daemon::Daemon;
use crate::pattern::{Kind, Pattern};
use crate::procfs::peak_growth;
use crate::race::Race;
use crate::raw::copy;
use crate::report::{Bar, Report};

const BYTES: u64 = 100_000_000;
/// Of the default cap half is for the head and half for the tail.
const HALF_CAP: u64 = 512 << 10;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    for kind in [Kind::Zero, Kind::Text] {
        measure(plan, &daemon, kind, report)?;
    }
    Ok(())
}

fn measure(plan: &Plan, daemon: &Daemon, kind: Kind, report: &mut Report) -> Result<()> {
    let command = kind.command(BYTES)?;
    let mut client = daemon.client()?;
    let session = client.create("dash", Renewal::Exact)?;
    client.run(&session, "true")?;
    let growth = Cell::new(0);
    let mut race = Race::default();
    race.add("raw", || {
        let start = Instant::now();
        ensure!(copy(&command)? == BYTES, "the producer wrote another number of bytes");
        Ok(vec![start.elapsed().as_secs_f64()])
    });
    race.add("run", || {
        let start = Instant::now();
        let (done, grown) = peak_growth(daemon.pid(), || client.run(&session, &command))?;
        let seconds = start.elapsed().as_secs_f64();
        growth.set(growth.get().max(grown));
        check(&done, kind)?;
        Ok(vec![seconds])
    });
    let results = race.run(plan.pick(8, 2))?;
    let rate = |name| results.p50(name).map(|seconds| BYTES as f64 / 1e6 / seconds);
    let (raw, ours) = (rate("raw")?, rate("run")?);
    let name = kind.name();
    report.value(
        format!("100 MB of {name} through exec.run / raw pipe"),
        format!("{ours:.0} MB/s, raw {raw:.0}; head, tail and omitted are right"),
        (100.0 * ours / raw, " %"),
        Bar::AtLeast(50.0),
    );
    report.value(
        format!("100 MB of {name}: growth of the daemon"),
        "worst round".into(),
        (growth.get() as f64 / 1024.0, " MiB"),
        Bar::AtMost(8.0),
    );
    Ok(())
}

fn check(done: &RunResult, kind: Kind) -> Result<()> {
    let bytes = text::decode(done.stdout.clone(), done.stdout_encoding)?;
    ensure!(done.outcome.stdout_bytes == BYTES, "stdout_bytes is {}", done.outcome.stdout_bytes);
    let gap = done.outcome.omitted.as_ref().and_then(|o| o.stdout).context("nothing was omitted")?;
    ensure!((gap.from, gap.to) == (HALF_CAP, BYTES - HALF_CAP), "omitted {gap:?}");
    ensure!(bytes.len() as u64 == 2 * HALF_CAP, "{} bytes were kept", bytes.len());
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    Pattern::at(kind, 0).expect(head).context("head")?;
    Pattern::at(kind, gap.to).expect(tail).context("tail")
}
