//! A thousand commands and more in sixty-four sessions, with kills, exits, cancels, timeouts and vanishing clients mixed
//! in, the daemon as process 1. Afterwards nothing may have grown: no zombie, process, descriptor or memory.
//!
//! The mix is random and repeatable: the seed is printed, `TRL_TEST_SEED` sets it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use trl_testkit::daemon::pid_namespace;
use trl_testkit::process::{below, rss_bytes, zombies_below};
use trl_testkit::{
    Builder, Client, Daemon, Random, Rounds, Run, Session, Shell, available, eventually, json,
};

const WORKERS: usize = 8;
const SESSIONS_EACH: usize = 8;
/// Commands before the first look: by then every cache has its size and the kept results are full.
const WARM_UP: usize = 500;
/// Commands of one round.
const COMMANDS: usize = 1_000;
/// The store's pages and the index of its log take their share later than the rest.
const GROWTH_BYTES: u64 = 4 << 20;

/// What a worker owns: a connection of its own through every session.
struct Worker {
    sessions: Vec<Session>,
    random: Random,
}

impl Worker {
    fn new(daemon: &Daemon, seed: u64) -> Self {
        let shells = [Shell::Dash, Shell::Dash, Shell::Dash, Shell::Bash];
        let sessions = (0..SESSIONS_EACH).map(|i| daemon.session(shells[i % shells.len()])).collect();
        Self { sessions, random: Random::seeded(seed) }
    }

    /// One command of a random kind in a random session.
    fn step(&mut self, daemon: &Daemon) {
        let at = usize::try_from(self.random.below(SESSIONS_EACH as u64)).expect("small");
        let number = self.random.below(1000);
        let session = &mut self.sessions[at];
        match self.random.below(100) {
            0..60 => {
                let run = queued(session, &format!("echo {number}; echo e{number} >&2"));
                assert_eq!((run.out(), run.err()), (format!("{number}\n"), format!("e{number}\n")));
            }
            60..70 => {
                let code = i64::try_from(number % 256).expect("small");
                assert_eq!(queued(session, &format!("sh -c 'exit {code}'")).code, code);
            }
            70..76 => assert_eq!(queued(session, "echo bye; exit 9").code, 9),
            76..82 => assert!(matches!(queued(session, "kill -9 $$").code, 0 | 137)),
            82..86 => assert!(!queued(session, "sleep 0.01 & sh -c 'sleep 0.02' &").timed_out),
            86..90 => cancel(session),
            90..94 => {
                let run = session.run_with("sleep 1000", json!({"queue": true, "timeout_s": 0.02}));
                assert!(run.timed_out);
            }
            94..98 => vanish(session, daemon.client(), number),
            _ => {
                session.destroy();
                *session = daemon.session(Shell::Dash);
            }
        }
    }
}

fn queued(session: &mut Session, command: &str) -> Run {
    session.run_with(command, json!({"queue": true}))
}

fn cancel(session: &mut Session) {
    let mut run = session.stream("sleep 1000", json!({"queue": true}));
    run.cancel();
    assert!(run.finish().cancelled);
}

/// A client that asks and goes away without waiting.
fn vanish(session: &mut Session, mut client: Client, number: u64) {
    let on_disconnect = if number.is_multiple_of(2) { "cancel" } else { "continue" };
    let params = json!({
        "session_id": session.id, "command": "sleep 0.05", "queue": true, "on_disconnect": on_disconnect,
    });
    client.send("exec.run", params);
}

/// Runs `count` commands over all workers and waits until every session is idle.
fn work(daemon: &Daemon, workers: &mut [Worker], count: usize) {
    let left = AtomicUsize::new(count);
    thread::scope(|scope| {
        for worker in workers.iter_mut() {
            scope.spawn(|| {
                let take =
                    || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
                while take() {
                    worker.step(daemon);
                }
            });
        }
    });
    for session in workers.iter_mut().flat_map(|w| &mut w.sessions) {
        assert_eq!(queued(session, "echo done").out(), "done\n");
        eventually("the session is idle", || session.state() == "idle");
    }
}

/// Descriptors, memory and processes of a daemon at rest.
#[derive(Debug)]
struct Size {
    descriptors: u64,
    memory: u64,
    processes: usize,
}

fn size(daemon: &Daemon, client: &mut Client) -> Size {
    let mut last = u64::MAX;
    eventually("late output is read to its end", || {
        let now = client.ok("system.stats", json!({}))["open_fds"].as_u64().expect("a number");
        let settled = now == last && no_child_runs(daemon);
        last = now;
        settled
    });
    Size { descriptors: last, memory: rss_bytes(daemon.pid()), processes: live(daemon) }
}

fn live(daemon: &Daemon) -> usize {
    below(daemon.pid()).iter().filter(|p| !p.is_zombie()).count()
}

fn no_child_runs(daemon: &Daemon) -> bool {
    !below(daemon.pid()).iter().any(|p| p.cmdline.starts_with("sleep ") || p.cmdline.starts_with("sh -c"))
}

mod soak {
    use super::*;

    #[test]
    fn leaves_nothing_behind() {
        if !available("a pid namespace (unshare)", pid_namespace().is_some()) {
            return;
        }
        let binary = env!("CARGO_BIN_EXE_trl");
        // A daemon remembers terminated sessions for a time: for so short a time here that they do not count as growth.
        let daemon = Builder::new(binary)
            .set("exec", "grace_s", 0.2)
            .set("output", "results", 500)
            .set("sessions", "terminated_ttl_s", 1)
            .as_pid_1()
            .start();
        let mut client = daemon.client();
        // After its first session a daemon keeps one keeper ready for the next.
        daemon.session(Shell::Dash).destroy();
        let empty = size(&daemon, &mut client);
        let mut seeds = Random::from_environment();
        let mut workers: Vec<Worker> = (0..WORKERS).map(|_| Worker::new(&daemon, seeds.next_u64())).collect();

        work(&daemon, &mut workers, WARM_UP);
        let warm = size(&daemon, &mut client);
        for round in Rounds::new(1) {
            work(&daemon, &mut workers, COMMANDS);
            println!("round {round}: {} KiB", rss_bytes(daemon.pid()) >> 10);
        }
        let after = size(&daemon, &mut client);
        println!("empty {empty:?}\nwarm  {warm:?}\nafter {after:?}");

        let live_sessions = WORKERS * SESSIONS_EACH;
        let zombies = zombies_below(daemon.pid());
        assert!(zombies.len() <= live_sessions, "{} zombies: {zombies:?}", zombies.len());
        assert!(after.processes <= warm.processes, "processes leak: {warm:?} {after:?}");
        assert!(after.descriptors <= warm.descriptors, "descriptors leak: {warm:?} {after:?}");
        assert!(after.memory <= warm.memory + GROWTH_BYTES, "memory leaks: {warm:?} {after:?}");

        for session in workers.iter_mut().flat_map(|w| &mut w.sessions) {
            session.destroy();
        }
        drop(workers);
        eventually("no zombie is left", || zombies_below(daemon.pid()).is_empty());
        eventually("no process is left", || live(&daemon) <= empty.processes);
        eventually("no descriptor is left", || {
            let stats = client.ok("system.stats", json!({}));
            stats["open_fds"].as_u64().is_some_and(|n| n <= empty.descriptors)
        });
    }
}
