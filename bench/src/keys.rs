//! Keys: how fast one comes back from a program on a terminal, alone and beside a flood.
//!
//! Against the same program on a bare pseudo-terminal, which one thread writes and reads.

use std::io::Read;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};

use crate::Plan;
use crate::beside::Beside;
use crate::daemon::Daemon;
use crate::pty::{Bare, Proxy};
use crate::race::{Race, thoughtful, timed};
use crate::report::{Bar, Report};

const LOUD: &str = "yes";
/// Until a flood runs at full speed.
const RISE: Duration = Duration::from_millis(50);

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    echo(plan, &daemon, report)?;
    echo_beside_a_flood(plan, &daemon, report)
}

/// Sends back each key by itself: the cheapest program there is.
fn echoer() -> Result<Vec<String>> {
    let me = std::env::current_exe()?;
    Ok(vec!["sh".into(), "-c".into(), format!("stty raw -echo; echo ready; exec '{}' --peer", me.display())])
}

/// One key in a bare terminal, and back.
fn bare_echo() -> Result<impl FnMut() -> Result<()>> {
    let mut bare = Bare::start(&echoer()?)?;
    bare.read_up_to("ready\n".len() as u64)?;
    Ok(move || {
        bare.write(b"k")?;
        ensure!(bare.read(&mut [0])? == 1);
        Ok(())
    })
}

/// One key through a TCP socket to a bare terminal, and back.
fn proxied_echo() -> Result<impl FnMut() -> Result<()>> {
    let mut proxy = Proxy::start(&echoer()?)?;
    let mut greeting = 0;
    while greeting < "ready\n".len() {
        greeting += proxy.read(&mut [0; 64])?;
    }
    Ok(move || {
        proxy.write(b"k")?;
        ensure!(proxy.read(&mut [0])? == 1);
        Ok(())
    })
}

/// One key through the daemon, and back.
fn our_echo(daemon: &Daemon) -> Result<impl FnMut() -> Result<()>> {
    let terminal = daemon.client()?.terminal(&echoer()?)?;
    let mut beside = Beside::attach(daemon.http, &terminal, "drive")?;
    beside.until("ready\n".len() as u64)?;
    Ok(move || {
        let wanted = beside.next + 1;
        beside.input(b"k")?;
        beside.until(wanted)
    })
}

fn echo(plan: &Plan, daemon: &Daemon, report: &mut Report) -> Result<()> {
    let keys = plan.pick(50, 20);
    let mut race = Race::default();
    let mut bare = bare_echo()?;
    race.add("bare", move || thoughtful(keys, || timed(&mut bare)));
    let mut proxied = proxied_echo()?;
    race.add("proxied", move || thoughtful(keys, || timed(&mut proxied)));
    let mut ours = our_echo(daemon)?;
    race.add("ours", move || thoughtful(keys, || timed(&mut ours)));
    let results = race.run(plan.pick(20, 4))?;
    let (bare, proxied, ours) = (results.p50("bare")?, results.p50("proxied")?, results.p50("ours")?);
    report.ratio(
        "a key through a bare TCP proxy and back / a bare terminal",
        format!("{proxied:.0} us, bare {bare:.0}"),
        proxied / bare,
        Bar::Shown,
    );
    report.ratio(
        "a key and back, idle / a bare terminal",
        format!("{ours:.0} us, bare {bare:.0}"),
        ours / bare,
        Bar::AtMost(2.0),
    );
    Ok(())
}

fn echo_beside_a_flood(plan: &Plan, daemon: &Daemon, report: &mut Report) -> Result<()> {
    let keys = plan.pick(100, 30);
    let mut race = Race::default();
    let mut bare = bare_echo()?;
    race.add("bare", move || beside_bare_flood(|| thoughtful(keys, || timed(&mut bare))));
    for (name, watched) in [("ours", false), ("watched", true)] {
        let mut ours = our_echo(daemon)?;
        race.add(name, move || beside_flood(daemon, watched, || thoughtful(keys, || timed(&mut ours))));
    }
    let results = race.run(plan.pick(16, 3))?;
    let bare = results.p99("bare")?;
    for (name, what, bar) in [
        ("ours", "a key beside a terminal that floods, p99 / bare ones", Bar::AtMost(2.0)),
        ("watched", "the same, and somebody watches the flood", Bar::Shown),
    ] {
        let (p50, p99) = (results.p50(name)?, results.p99(name)?);
        let figures = format!("{p99:.0} us (p50 {p50:.0}), bare {bare:.0} (p50 {:.0})", results.p50("bare")?);
        report.ratio(what, figures, p99 / bare, bar);
    }
    Ok(())
}

fn beside_bare_flood<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let flood = Bare::start(&[LOUD.into()])?;
    let mut master = flood.try_clone_master()?;
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0u8; 64 << 10];
        while master.read(&mut buffer).is_ok_and(|n| n > 0) {}
    });
    std::thread::sleep(RISE);
    let done = work();
    drop(flood);
    reader.join().map_err(|_| anyhow!("the reader died"))?;
    done
}

fn beside_flood<T>(daemon: &Daemon, watched: bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut client = daemon.client()?;
    let terminal = client.terminal(&[LOUD.into()])?;
    let mut viewer = watched.then(|| Beside::attach(daemon.http, &terminal, "view")).transpose()?;
    let reader = std::thread::spawn(move || {
        // until the daemon says goodbye
        while viewer.as_mut().is_some_and(|v| v.pump().is_ok()) {}
    });
    std::thread::sleep(RISE);
    let done = work();
    client.end_terminal(&terminal)?;
    reader.join().map_err(|_| anyhow!("the reader died"))?;
    done
}
