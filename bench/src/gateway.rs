//! One daemon in front of many runtimes: what each costs it, and what dead ones cost the others.
//!
//! 1. [`RUNTIMES`] engines of kind `command` are connected, and the daemon is weighed before and after: its own process, without
//!    relays and engines. Then [`SESSIONS`] sessions in each, and it is weighed again.
//! 2. It is left alone: what it does then is what idle runtimes cost in processor time and wake-ups.
//! 3. Clients use all of them at once: what a command costs the gateway in processor time.
//! 4. Commands through the live ones, with [`Dead`] runtimes beside them and without, in turn.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use trl_proto::Method;
use trl_proto::SessionId;
use trl_proto::runtime::{RuntimeHealth, RuntimeParams, RuntimeWish};
use trl_proto::session::CreateParams;
use trl_proto::system::{NoParams, Stats};

use crate::Plan;
use crate::client::Client;
use crate::daemon::{Daemon, Home};
use crate::dead::{self, Dead};
use crate::fleet::together;
use crate::procfs::{cpu, descendants, pss, status};
use crate::race::{Race, thoughtful, timed};
use crate::report::{Bar, Report};

const RUNTIMES: usize = 200;
const SESSIONS: usize = 5;
/// Connected first: code and tables that are paid for once are not the price of a runtime.
const WARM_UP: usize = 8;
const SHELL: &str = "dash";
/// Until clones are made and buffers of the last calls are gone.
const REST: Duration = Duration::from_secs(2);
/// Two ticks of every link.
const IDLE: Duration = Duration::from_secs(10);
/// Connected, created and used by so many clients at once.
const CLIENTS: usize = 4;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let runtimes = plan.pick(RUNTIMES, 20);
    let home = Home::new()?;
    let home = home.clone().with_settings(&settings(plan, home.path(), runtimes)?)?;
    let daemon = Daemon::start_at(&plan.trl, &home)?;
    let names: Vec<String> = (0..runtimes + WARM_UP).map(name).collect();
    let (warm, names) = names.split_at(WARM_UP);
    each(&daemon, warm, &|client, name| connect_to(client, name))?;
    let sessions = weigh(&daemon, names, report)?;
    rest(&daemon, runtimes + WARM_UP, report)?;
    work(&daemon, &sessions, report)?;
    beside_dead_ones(plan, &daemon, &home, &sessions, report)?;
    report.value(
        format!("ended, with {runtimes} runtimes and {} sessions", sessions.len()),
        String::new(),
        (daemon.end().as_secs_f64(), " s"),
        Bar::Shown,
    );
    Ok(())
}

fn name(n: usize) -> String {
    format!("box{n:03}")
}

/// Each has an engine of its own, as if each were another machine.
fn settings(plan: &Plan, home: &Path, runtimes: usize) -> Result<String> {
    let mut text = dead::patience();
    for n in 0..runtimes + WARM_UP {
        let argv = dead::argv(&plan.trl, home, &name(n))?;
        text += &format!("[runtimes.{}]\nkind = \"command\"\nargv = {argv:?}\n", name(n));
    }
    Ok(text)
}

/// Does something for all of them, a few at a time.
fn each<T: Sync, U: Send>(
    daemon: &Daemon,
    items: &[T],
    work: &(dyn Fn(&mut Client, &T) -> Result<U> + Sync),
) -> Result<Vec<U>> {
    let share = items.len().div_ceil(CLIENTS).max(1);
    let mut shares = Vec::new();
    for share in items.chunks(share) {
        shares.push((daemon.client()?, share, Vec::new()));
    }
    together(&mut shares, |(client, share, done)| {
        for item in share.iter() {
            done.push(work(client, item)?);
        }
        Ok(())
    })?;
    Ok(shares.into_iter().flat_map(|(_, _, done)| done).collect())
}

fn connect_to(client: &mut Client, name: &str) -> Result<()> {
    let health: RuntimeHealth =
        client.call(Method::RuntimeHealth, &RuntimeParams { name: name.to_string() })?;
    ensure!(health.healthy, "{name} is not there");
    Ok(())
}

/// Sessions that have each run one command.
fn sessions_in(client: &mut Client, name: &str) -> Result<Vec<SessionId>> {
    (0..SESSIONS)
        .map(|_| {
            let session = client.create_with(CreateParams {
                shell: Some(SHELL.into()),
                runtime: Some(RuntimeWish::Named(name.into())),
                ..CreateParams::default()
            })?;
            client.run(&session, "true")?;
            Ok(session)
        })
        .collect()
}

/// What a process has, once it is at rest.
struct Weight {
    rss: f64,
    stats: Stats,
}

impl Weight {
    fn of(daemon: &Daemon) -> Result<Self> {
        std::thread::sleep(REST);
        let stats = daemon.client()?.call(Method::SystemStats, &NoParams {})?;
        Ok(Self { rss: status(daemon.pid(), "VmRSS")? as f64, stats })
    }
}

fn weigh(daemon: &Daemon, names: &[String], report: &mut Report) -> Result<Vec<SessionId>> {
    let count = names.len() as f64;
    let before = Weight::of(daemon)?;
    let start = Instant::now();
    each(daemon, names, &|client, name| connect_to(client, name))?;
    let seconds = start.elapsed().as_secs_f64();
    let connected = Weight::of(daemon)?;
    report.value(
        format!("{count} idle runtimes, connected: memory of the gateway for each"),
        format!("{:.0} -> {:.0} KiB; connected in {seconds:.1} s", before.rss, connected.rss),
        ((connected.rss - before.rss) / count, " KiB"),
        Bar::AtMost(200.0),
    );
    let start = Instant::now();
    let sessions = each(daemon, names, &|client, name| sessions_in(client, name))?.concat();
    let seconds = start.elapsed().as_secs_f64();
    let full = Weight::of(daemon)?;
    report.value(
        format!("the same with {SESSIONS} sessions in each, all of it"),
        format!("{:.0} KiB; sessions made and used in {seconds:.1} s", full.rss),
        ((full.rss - before.rss) / count, " KiB"),
        Bar::AtMost(200.0),
    );
    report.value(
        "a session adds",
        format!("{} sessions that have run a command", sessions.len()),
        ((full.rss - connected.rss) / sessions.len() as f64, " KiB"),
        Bar::Shown,
    );
    report.value(
        "descriptors of the gateway for a runtime and its sessions",
        format!(
            "{}, connected {}, with sessions {}",
            before.stats.open_fds, connected.stats.open_fds, full.stats.open_fds
        ),
        ((full.stats.open_fds as f64 - before.stats.open_fds as f64) / count, ""),
        Bar::Shown,
    );
    report.value(
        "threads gained by all of that",
        format!("{} -> {}", before.stats.threads, full.stats.threads),
        (full.stats.threads as f64 - before.stats.threads as f64, ""),
        Bar::AtMost(0.0),
    );
    elsewhere(daemon, sessions.len(), report);
    Ok(sessions)
}

/// What the other ends of all links take, which here are on the same machine.
fn elsewhere(daemon: &Daemon, sessions: usize, report: &mut Report) {
    let all = descendants(daemon.pid());
    let kib: u64 = all.iter().filter_map(|pid| pss(*pid).ok()).sum();
    report.value(
        "relays, engines, keepers and shells: memory of all",
        format!("{} processes, {sessions} sessions", all.len()),
        (kib as f64 / 1024.0, " MiB"),
        Bar::Shown,
    );
}

/// How often the gateway was put to sleep, and what it did in between.
fn rest(daemon: &Daemon, runtimes: usize, report: &mut Report) -> Result<()> {
    let pid = daemon.pid();
    std::thread::sleep(REST);
    let woken = || status(pid, "voluntary_ctxt_switches");
    let (cpu_before, woken_before) = (cpu(pid)?, woken()?);
    std::thread::sleep(IDLE);
    let seconds = IDLE.as_secs_f64();
    let used = (cpu(pid)? - cpu_before).as_secs_f64();
    report.value(
        "idle: wake-ups of the gateway in a second, for each runtime",
        format!("{runtimes} runtimes; {:.2} % of a processor", used / seconds * 100.0),
        ((woken()? - woken_before) as f64 / seconds / runtimes as f64, ""),
        // In ten seconds a link has two ticks, asks once and is asked once: 0.4.
        Bar::AtMost(0.5),
    );
    Ok(())
}

/// Clients that do nothing but run commands, in all sessions.
fn work(daemon: &Daemon, sessions: &[SessionId], report: &mut Report) -> Result<()> {
    let before = cpu(daemon.pid())?;
    let start = Instant::now();
    each(daemon, sessions, &|client, session| client.run(session, "true").map(drop))?;
    let seconds = start.elapsed().as_secs_f64();
    let used = (cpu(daemon.pid())? - before).as_secs_f64();
    let count = sessions.len() as f64;
    report.value(
        format!("exec.run of `true`, {CLIENTS} clients: processor time of the gateway"),
        format!("{:.0} a second here, engines on the same processors", count / seconds),
        (used / count * 1e6, " us"),
        Bar::Shown,
    );
    Ok(())
}

/// What commands take through live runtimes, and what dead ones change about it.
fn beside_dead_ones(
    plan: &Plan,
    daemon: &Daemon,
    home: &Home,
    sessions: &[SessionId],
    report: &mut Report,
) -> Result<()> {
    let calls = plan.pick(400, 50);
    let mut client = daemon.client()?;
    let mut next = sessions.iter().cycle();
    let mut round = move || {
        thoughtful(calls, || {
            let session = next.next().context("there are sessions")?;
            timed(|| client.run(session, "true").map(drop))
        })
    };
    let round = std::cell::RefCell::new(&mut round);
    let mut race = Race::default();
    race.add("without", || (round.borrow_mut())());
    race.add("with", || {
        let dead = Dead::begin(&plan.trl, daemon, home.path())?;
        let measured = (round.borrow_mut())();
        dead.end()?;
        measured
    });
    // The same as the first: what differs between these two is chance.
    race.add("without, again", || (round.borrow_mut())());
    let results = race.run(plan.pick(10, 2))?;
    let figures = |name: &str| -> Result<String> {
        Ok(format!("{name}: p50 {:.0}, p99 {:.0} us", results.p50(name)?, results.p99(name)?))
    };
    let ratio = |name: &str| -> Result<f64> { Ok(results.p99(name)? / results.p99("without")?) };
    report.ratio(
        format!("exec.run p99 with {} dead runtimes / without", dead::COUNT),
        format!("{}; {}", figures("with")?, figures("without")?),
        ratio("with")?,
        Bar::AtMost(1.2),
    );
    report.ratio(
        "the same without any / without any",
        figures("without, again")?,
        ratio("without, again")?,
        Bar::Shown,
    );
    Ok(())
}
