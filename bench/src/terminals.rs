//! Terminals: how fast their bytes reach clients, and what a thousand of them weigh.
//!
//! Clients come over TCP, as browsers do. The limit is a bare pseudo-terminal with one thread that reads it and throws
//! the bytes away: less than any server can do.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use rustix::event::{PollFd, PollFlags, poll};
use trl_proto::TerminalId;

use crate::Plan;
use crate::beside::Beside;
use crate::client::Client;
use crate::daemon::Daemon;
use crate::procfs::status;
use crate::pty::Bare;
use crate::race::Race;
use crate::report::{Bar, Report};

/// What a program writes, and what arrives of it: the terminal makes CR LF of LF.
const LINE: u64 = 64;
const SHOWN: u64 = LINE + 1;
const READY: &str = "ready\r\n";
const MANY: usize = 1000;
const VIEWERS: usize = 100;
/// Until buffers of the last calls are gone.
const REST: Duration = Duration::from_secs(1);

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    throughput(plan, &daemon, report)?;
    stalled_viewer(plan, &daemon, report)?;
    drop(daemon);
    weight(plan, report)
}

// ---- output

/// Writes so many lines when Enter is pressed.
fn producer(lines: u64) -> Result<Vec<String>> {
    let me = std::env::current_exe()?;
    let bytes = lines * LINE;
    let script = format!("stty -echo; echo ready; read go; exec '{}' --produce text {bytes}", me.display());
    Ok(vec!["sh".into(), "-c".into(), script])
}

fn throughput(plan: &Plan, daemon: &Daemon, report: &mut Report) -> Result<()> {
    let lines = plan.pick(1_000_000, 100_000) as u64;
    let mut race = Race::default();
    race.add("raw", || {
        let mut bare = Bare::start(&producer(lines)?)?;
        bare.read_up_to(READY.len() as u64)?;
        let start = Instant::now();
        bare.write(b"\n")?;
        let came = bare.read_up_to(lines * SHOWN)?;
        ensure!(came == lines * SHOWN, "{came} bytes came");
        Ok(vec![start.elapsed().as_secs_f64()])
    });
    for clients in [0, 1, 4] {
        let mut client = daemon.client()?;
        race.add(format!("{clients}"), move || Ok(vec![one_flood(daemon, &mut client, clients, lines)?]));
    }
    let results = race.run(plan.pick(7, 2))?;
    let megabytes = (lines * SHOWN) as f64 / 1e6;
    let raw = results.p50("raw")?;
    for (clients, bar) in [("0", Bar::Shown), ("1", Bar::AtLeast(40.0)), ("4", Bar::AtLeast(45.0))] {
        let took = results.p50(clients)?;
        report.value(
            format!("{megabytes:.0} MB of lines to {clients} clients / a bare terminal"),
            format!("{:.0} MB/s, bare {:.0}", megabytes / took, megabytes / raw),
            (100.0 * raw / took, " %"),
            bar,
        );
    }
    Ok(())
}

/// A producer that waits for Enter, whoever will press it, and the offset behind its last byte.
fn prepare(daemon: &Daemon, client: &mut Client, lines: u64) -> Result<(TerminalId, Beside, u64)> {
    let terminal = client.terminal(&producer(lines)?)?;
    let mut first = Beside::attach(daemon.http, &terminal, "drive")?;
    first.until(READY.len() as u64)?;
    Ok((terminal, first, READY.len() as u64 + lines * SHOWN))
}

/// Seconds until everybody has everything.
fn one_flood(daemon: &Daemon, client: &mut Client, clients: usize, lines: u64) -> Result<f64> {
    let (terminal, mut first, end) = prepare(daemon, client, lines)?;
    let mut others =
        (1..clients).map(|_| Beside::attach(daemon.http, &terminal, "view")).collect::<Result<Vec<_>>>()?;
    let start = Instant::now();
    first.input(b"\n")?;
    if clients == 0 {
        drop(first);
        wait_for_end(client, &terminal)?;
    } else {
        std::thread::scope(|scope| {
            let threads: Vec<_> = others.iter_mut().map(|o| scope.spawn(|| o.until(end))).collect();
            first.until(end)?;
            threads.into_iter().try_for_each(|t| t.join().map_err(|_| anyhow!("a client died"))?)
        })?;
    }
    let took = start.elapsed().as_secs_f64();
    client.end_terminal(&terminal)?;
    Ok(took)
}

/// With nobody there: until its program has written everything and ended.
fn wait_for_end(client: &mut Client, terminal: &TerminalId) -> Result<()> {
    let params = trl_proto::terminal::TerminalParams { terminal_id: terminal.clone() };
    loop {
        let info: trl_proto::terminal::TerminalInfo = client.call(trl_proto::Method::TerminalGet, &params)?;
        if info.ended.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A hundred watch; with one of them stalled the others must not notice.
fn stalled_viewer(plan: &Plan, daemon: &Daemon, report: &mut Report) -> Result<()> {
    let lines = plan.pick(120_000, 10_000) as u64;
    let mut race = Race::default();
    for (name, stalled) in [("all read", 0), ("one stalled", 1)] {
        let mut client = daemon.client()?;
        race.add(name, move || Ok(vec![crowd(daemon, &mut client, stalled, lines)?]));
    }
    let results = race.run(plan.pick(12, 2))?;
    let (all, one) = (results.p50("all read")?, results.p50("one stalled")?);
    let rate = |seconds: f64| (lines * SHOWN) as f64 / 1e6 / seconds;
    report.value(
        format!("{VIEWERS} viewers, one of them stalled: loss of the others"),
        format!("{:.1} MB/s each, {:.1} when all read", rate(one), rate(all)),
        (100.0 * (1.0 - all / one), " %"),
        Bar::AtMost(5.0),
    );
    Ok(())
}

/// Seconds until all who read have everything.
fn crowd(daemon: &Daemon, client: &mut Client, stalled: usize, lines: u64) -> Result<f64> {
    let (terminal, mut first, end) = prepare(daemon, client, lines)?;
    let mut all =
        (0..VIEWERS).map(|_| Beside::attach(daemon.http, &terminal, "view")).collect::<Result<Vec<_>>>()?;
    let _stalled = all.split_off(VIEWERS - stalled);
    let start = Instant::now();
    first.input(b"\n")?;
    all.push(first);
    // One thread for all of them: it is the daemon that is measured.
    while !all.is_empty() {
        let mut polled: Vec<_> = all.iter().map(|b| PollFd::new(b, PollFlags::IN)).collect();
        poll(&mut polled, None)?;
        let ready: Vec<bool> = polled.iter().map(|p| !p.revents().is_empty()).collect();
        for (beside, _) in all.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            beside.take()?;
        }
        all.retain(|beside| beside.next < end);
    }
    let took = start.elapsed().as_secs_f64();
    client.end_terminal(&terminal)?;
    Ok(took)
}

// ---- memory

fn weight(plan: &Plan, report: &mut Report) -> Result<()> {
    for (what, script, bar) in [
        ("one idle terminal that was silent", "exec sleep 100000", 40.0),
        ("one idle terminal with a prompt", "printf 'user@host:~$ '; exec sleep 100000", 96.0),
    ] {
        let daemon = Daemon::start(&plan.trl)?;
        let mut client = daemon.client()?;
        let argv = ["sh", "-c", script].map(String::from);
        // Code, tables and the thread of the screens are paid for once.
        let warm = (0..8).map(|_| client.terminal(&argv)).collect::<Result<Vec<_>>>()?;
        std::thread::sleep(REST);
        let (memory, threads) = (status(daemon.pid(), "VmRSS")?, status(daemon.pid(), "Threads")?);
        let start = Instant::now();
        let all = (0..MANY).map(|_| client.terminal(&argv)).collect::<Result<Vec<_>>>()?;
        let took = start.elapsed().as_secs_f64();
        std::thread::sleep(REST);
        let after = status(daemon.pid(), "VmRSS")?;
        let gained = status(daemon.pid(), "Threads")? - threads;
        report.value(
            what,
            format!("{memory} -> {after} KiB over {MANY}, made in {took:.1} s; {gained} threads gained"),
            ((after as f64 - memory as f64) / MANY as f64, " KiB"),
            Bar::AtMost(bar),
        );
        ensure!(gained == 0, "{gained} threads for {MANY} terminals");
        drop((warm, all));
    }
    Ok(())
}
