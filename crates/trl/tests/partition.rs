//! A network that is cut for half a minute under output, with many links on it at once: after it has healed, every one of
//! them goes on by the byte, and no command has run twice.
//!
//! Real `ssh` to a real `sshd`, each in a network namespace of the test's own, with one wire between them. The cut is longer
//! than a link waits for a sign of life, so old connections are given up and new ones tried while nothing gets through.
//!
//! `TRL_TEST_LINKS` sets how many links there are, [`LINKS`] in the short tier and [`MANY_LINKS`] in the long one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use trl_testkit::{Builder, Client, Daemon, Rounds, Session, Sshd, Streaming, Wire, json, rounds};

const LINKS: usize = 6;
/// Few enough to be made in a few seconds.
const MANY_LINKS: usize = 25;
/// Logins at a time while the links are made: each costs what a handshake costs.
const AT_ONCE: usize = 4;
const CUT: Duration = Duration::from_secs(30);
/// A link that was cut tries again after half a minute at the latest; logging in takes its time on a busy machine.
const HEALS_WITHIN: Duration = Duration::from_secs(150);

/// Once it is told to, writes numbered lines, so many at a time, until it is told to stop.
fn command(mark: &str, burst: usize) -> String {
    format!(
        "echo ran >>{mark}; read -r go; i=0; until read -t 0.5 -r stop; do \
         for ((j = 0; j < {burst}; j++)); do echo \"$((++i)) is what comes next\"; done; done; echo end"
    )
}

/// What so many of those lines are.
fn written(lines: usize) -> String {
    (1..=lines).map(|i| format!("{i} is what comes next\n")).collect::<String>() + "end\n"
}

struct Links {
    daemon: Daemon,
    count: usize,
    /// How many may be made at a time.
    turns: Vec<Mutex<()>>,
    /// Everybody is there; everybody writes; everybody may go on.
    made: Barrier,
    under_way: Barrier,
    healed: Barrier,
    heal: Mutex<Instant>,
}

fn name(number: usize) -> String {
    format!("box{number}")
}

impl Links {
    fn add_all(&self, sshd: &Sshd) {
        let mut operator = self.daemon.operator();
        for number in 0..self.count {
            let (target, options) = (sshd.target(), sshd.options());
            let spec = json!({"name": name(number), "kind": "ssh", "target": target, "options": options});
            operator.ok("runtime.add", spec);
        }
    }

    fn session(&self, number: usize) -> Session {
        let _turn = self.turns[number % self.turns.len()].lock().unwrap();
        let wish = json!({"runtime": name(number), "shell": "/bin/bash", "working_dir": "/"});
        Session::create(self.daemon.client(), wish)
    }

    /// How long after the heal it had gone on.
    fn follow(&self, number: usize) -> Duration {
        let mark = self.daemon.dir().text(&format!("mark{number}"));
        // Every other one writes more than a link holds while it is cut.
        let burst = if number.is_multiple_of(2) { 10 } else { 1000 };
        let mut session = self.session(number);
        session.client().stream().set_read_timeout(Some(CUT + HEALS_WITHIN)).unwrap();
        let mut run = session.stream(&command(&mark, burst), json!({"open_stdin": true, "timeout_s": 900}));
        self.made.wait();
        run.input("go\n");
        run.wait_stdout(&format!("\n{burst} is "));
        self.under_way.wait();
        self.healed.wait();
        let healed = *self.heal.lock().unwrap();
        let seen = lines(&run);
        // Answered there: by then the link has gone on, in both directions.
        run.input("stop\n");
        let took = healed.elapsed();
        let run = run.finish();
        let count = run.out().lines().count() - 1;
        assert!(count > seen, "link {number} wrote nothing more");
        assert!(
            run.out() == written(count),
            "link {number}: {} bytes are not {count} lines",
            run.stdout.len()
        );
        assert_eq!(std::fs::read_to_string(mark).unwrap(), "ran\n", "link {number} ran it once");
        took
    }

    /// How many are known to be cut off.
    fn away(&self, operator: &mut Client) -> usize {
        let list = operator.ok("runtime.list", json!({}));
        let runtimes = list["runtimes"].as_array().unwrap();
        runtimes.iter().filter(|runtime| runtime["kind"] == "ssh" && runtime["state"] != "up").count()
    }
}

/// Whole lines that came so far.
fn lines(run: &Streaming<'_>) -> usize {
    run.stdout.iter().filter(|byte| **byte == b'\n').count()
}

fn count() -> usize {
    let usual = if rounds::long_tier().is_some() { MANY_LINKS } else { LINKS };
    std::env::var("TRL_TEST_LINKS").map_or(usual, |number| number.parse().expect("a number"))
}

fn cut_all_links(wire: &Wire, sshd: &Sshd, count: usize) {
    let daemon =
        Builder::new(env!("CARGO_BIN_EXE_trl")).set("runtimes", "connect_s", 60).through(wire.near());
    let links = Links {
        daemon: daemon.start(),
        count,
        turns: (0..AT_ONCE).map(|_| Mutex::new(())).collect(),
        made: Barrier::new(count + 1),
        under_way: Barrier::new(count + 1),
        healed: Barrier::new(count + 1),
        heal: Mutex::new(Instant::now()),
    };
    let start = Instant::now();
    links.add_all(sshd);
    let mut operator = links.daemon.operator();
    let mut took = thread::scope(|scope| {
        let links = &links;
        let following: Vec<_> = (0..count).map(|number| scope.spawn(move || links.follow(number))).collect();
        links.made.wait();
        eprintln!("{count} links are up after {:.1?}", start.elapsed());
        links.under_way.wait();
        wire.cut();
        // How long it lasts is what this is about.
        thread::sleep(CUT);
        assert_eq!(links.away(&mut operator), count, "all of them are cut off");
        wire.heal();
        *links.heal.lock().unwrap() = Instant::now();
        links.healed.wait();
        following.into_iter().map(|link| link.join().expect("it went on")).collect::<Vec<_>>()
    });
    took.sort();
    let reconnects = operator.ok("system.stats", json!({}))["runtime_reconnects"].clone();
    let [half, last] = [took[count / 2], took[count - 1]];
    eprintln!(
        "{} of {count} went on by the byte; half of them after {half:.1?}, all after {last:.1?}; {reconnects} new connections",
        took.len()
    );
}

mod soak {
    use super::*;

    #[test]
    fn links_that_are_cut_all_at_once_go_on_by_the_byte() {
        for _ in Rounds::new(1) {
            let Some(wire) = Wire::lay() else { return };
            let Some(sshd) = Sshd::start_behind(&wire) else { return };
            cut_all_links(&wire, &sshd, count());
        }
    }
}
