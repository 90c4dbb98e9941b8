//! A quiet session beside a loud one.
//!
//! The same flood twice: `yes` in another session of the daemon, and `yes` into a raw pipe with a thread reading it.
//! Beside the first runs a session of the daemon, beside the second the floor's shell.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use trl_proto::Method;
use trl_proto::SessionId;
use trl_proto::exec::RunParams;
use trl_proto::session::Renewal;

use crate::Plan;
use crate::client::{Client, run_params};
use crate::daemon::Daemon;
use crate::floor::{Floor, check_shells};
use crate::race::{Race, thoughtful, timed};
use crate::report::{Bar, Report};

const LOUD: &str = "yes";
const SHELL: &str = "dash";
/// Until the flood runs at full speed.
const RISE: Duration = Duration::from_millis(50);

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    check_shells(&[SHELL])?;
    let daemon = Daemon::start(&plan.trl)?;
    let calls = plan.pick(100, 30);
    let mut race = Race::default();
    let mut floor = Floor::start(SHELL)?;
    race.add("floor", move || {
        beside_raw_flood(|| {
            thoughtful(calls, || {
                let took = floor.exec("true")?;
                floor.renew()?;
                Ok(took.as_secs_f64() * 1e6)
            })
        })
    });
    for (name, method) in [("run", Method::ExecRun), ("stream", Method::ExecStream)] {
        let mut flood = Flood::prepare(&daemon, method)?;
        let mut quiet = daemon.client()?;
        let session = quiet.create(SHELL, Renewal::Exact)?;
        race.add(name, move || {
            flood.beside(|| thoughtful(calls, || timed(|| quiet.run(&session, "true").map(drop))))
        });
    }
    let results = race.run(plan.pick(16, 3))?;
    let floor = results.p99("floor")?;
    for (name, what, bar) in [
        ("run", "p99 beside exec.run `yes` / floor beside `yes`", Bar::AtMost(2.0)),
        ("stream", "p99 beside exec.stream `yes` / floor beside `yes`", Bar::Shown),
    ] {
        let (p50, p99) = (results.p50(name)?, results.p99(name)?);
        let figures =
            format!("{p99:.0} us (p50 {p50:.0}), floor {floor:.0} (p50 {:.0})", results.p50("floor")?);
        report.ratio(what, figures, p99 / floor, bar);
    }
    Ok(())
}

/// `yes` into a pipe that a thread empties.
fn beside_raw_flood<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut child = Command::new(LOUD).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut from = child.stdout.take().context("piped")?;
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0u8; 64 << 10];
        while from.read(&mut buffer).is_ok_and(|n| n > 0) {}
    });
    std::thread::sleep(RISE);
    let done = work();
    child.kill()?;
    child.wait()?;
    reader.join().map_err(|_| anyhow!("the reader died"))?;
    done
}

/// A session of the daemon that floods on demand.
struct Flood {
    client: Option<Client>,
    stopper: Client,
    session: SessionId,
    method: Method,
}

impl Flood {
    fn prepare(daemon: &Daemon, method: Method) -> Result<Self> {
        let mut client = daemon.client()?;
        let session = client.create(SHELL, Renewal::Exact)?;
        Ok(Self { client: Some(client), stopper: daemon.client()?, session, method })
    }

    fn beside<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut client = self.client.take().context("an earlier flood failed")?;
        let params = RunParams { timeout_s: Some(0.0), ..run_params(&self.session, LOUD) };
        client.send(self.method, &params)?;
        let method = self.method;
        let reader = std::thread::spawn(move || drain(client, method));
        std::thread::sleep(RISE);
        let done = work();
        self.stopper.cancel(&self.session)?;
        self.client = Some(reader.join().map_err(|_| anyhow!("the reader died"))??);
        done
    }
}

/// Reads until the flood is over: the result of a run, or the exit push of a stream.
fn drain(mut client: Client, method: Method) -> Result<Client> {
    if method == Method::ExecRun {
        client.answer::<serde_json::Value>()?;
        return Ok(client);
    }
    let exit = memchr::memmem::Finder::new(b"\"method\":\"exec.exit\"");
    // The keys of a push come first; what is behind them is the flood itself.
    while exit.find(client.next_line().map(|line| &line[..line.len().min(200)])?).is_none() {}
    Ok(client)
}
