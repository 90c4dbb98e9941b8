//! Much output through `exec.stream` to a client that reads.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use trl_proto::exec::{ExitPush, StreamStarted};
use trl_proto::session::Renewal;
use trl_proto::{Method, SessionId};

use crate::Plan;
use crate::client::{Client, run_params};
use crate::daemon::Daemon;
use crate::pattern::{Kind, Pattern};
use crate::push::{Push, by_the_book};
use crate::race::Race;
use crate::raw::copy;
use crate::report::{Bar, Report};

/// MB/s that are enough, however fast the raw pipe is.
const ENOUGH: f64 = 300.0;
/// The share of the raw pipe that is enough, however slow it is.
const SHARE: f64 = 0.4;
/// Pushes read by the book as well, to prove the short way right.
const PROVEN: usize = 4;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    for kind in [Kind::Text, Kind::Binary] {
        measure(plan, &daemon, kind, report)?;
    }
    Ok(())
}

fn measure(plan: &Plan, daemon: &Daemon, kind: Kind, report: &mut Report) -> Result<()> {
    let megabytes = plan.pick(1000, 100);
    let bytes = megabytes as u64 * 1_000_000;
    let command = kind.command(bytes)?;
    let mut client = daemon.client()?;
    let session = client.create("dash", Renewal::Exact)?;
    let mut race = Race::default();
    race.add("raw", || {
        let start = Instant::now();
        ensure!(copy(&command)? == bytes, "the producer wrote another number of bytes");
        Ok(vec![start.elapsed().as_secs_f64()])
    });
    race.add("stream", || {
        let start = Instant::now();
        let read = read_all(&mut client, &session, &command, kind)?;
        ensure!(read == bytes, "{read} of {bytes} bytes came");
        Ok(vec![start.elapsed().as_secs_f64()])
    });
    let results = race.run(plan.pick(5, 1))?;
    let rate = |name| results.p50(name).map(|seconds| megabytes as f64 / seconds);
    let (raw, ours) = (rate("raw")?, rate("stream")?);
    report.value(
        format!("{megabytes} MB of {} through exec.stream, byte-exact", kind.name()),
        format!("{:.0} % of the raw pipe's {raw:.0}", 100.0 * ours / raw),
        (ours, " MB/s"),
        Bar::AtLeast(ENOUGH.min(SHARE * raw).round()),
    );
    Ok(())
}

/// Reads a stream to its end and compares every byte; how many there were.
fn read_all(client: &mut Client, session: &SessionId, command: &str, kind: Kind) -> Result<u64> {
    client.call::<StreamStarted>(Method::ExecStream, &run_params(session, command))?;
    let mut pattern = Pattern::at(kind, 0);
    let mut scratch = Vec::new();
    let (mut total, mut pushes) = (0, 0);
    loop {
        let line = client.next_line()?;
        let Some(push) = Push::find(line)? else { break exit(line, total) };
        let bytes = push.decode(&mut scratch)?;
        if pushes < PROVEN {
            ensure!(by_the_book(line)? == (push.offset, bytes.to_vec()), "the short way misreads this push");
        }
        ensure!(push.offset == total, "a push at {} after byte {total}", push.offset);
        pattern.expect(bytes)?;
        total += bytes.len() as u64;
        pushes += 1;
    }
}

/// The last push must agree with what came.
fn exit(line: &[u8], total: u64) -> Result<u64> {
    #[derive(Deserialize)]
    struct Notification {
        params: ExitPush,
    }
    let push: Notification =
        serde_json::from_slice(line).with_context(|| String::from_utf8_lossy(line).into_owned())?;
    let outcome = push.params.outcome;
    ensure!(outcome.exit_code == 0 && outcome.stdout_bytes == total, "{outcome:?} after {total} bytes");
    Ok(total)
}
