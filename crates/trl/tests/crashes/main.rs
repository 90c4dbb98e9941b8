//! The daemon is killed over and over, in the middle of everything, and nothing that was promised is lost.
//!
//! 1. [`script`] is what a client and an operator do with a daemon: commands, requests, answers of every kind. Whatever they
//!    were told they write into their [`book`]. It ends when the daemon is gone.
//! 2. Two of three daemons kill themselves at a named place ([`trl_store::places`]), at its first, second ... time; the
//!    others are killed at some moment after one of the calls.
//! 3. The next daemon has the same directory, and [`check`] compares what it says with the book, and with what the commands
//!    left behind: each appends one byte to a file of its own when it runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod book;
mod check;
mod script;

use std::collections::HashMap;

use trl_testkit::{Builder, Daemon, Random, Rounds};

use self::book::Book;
use self::script::{Kill, Script};

/// Calls between two kills at a moment: so a few kills are spread over the whole script.
const STRIDE: usize = 5;

/// Writes that no run like this comes by: they belong to time (`prune`), to cases (`trust`), or to nobody in the daemon yet.
const ELSEWHERE: &[&str] = &[
    "prune",
    "expire",
    "cancel",
    "claim_run",
    "grant",
    "take_grant",
    "drop_grants",
    "trust",
    "distrust",
    "claim_key",
    "release_key",
    "put_message",
    "add_update",
    "end_message",
    "put_agent",
];

mod soak {
    use super::*;

    #[test]
    fn kills_lose_nothing() {
        let mut daemon = Builder::new(env!("CARGO_BIN_EXE_trl")).set("exec", "grace_s", 0.3).start();
        let mut book = Book::begin(&daemon);
        let mut places = Places::all();
        let mut moments = Moments::new();
        // The short tier comes by every place once.
        for _ in Rounds::new(places.left.len().div_ceil(2)) {
            moments.kill_at_next(&mut daemon, &mut book);
            check::file(&daemon);
            for _ in 0..2 {
                places.kill_at_next(&mut daemon, &mut book);
                check::file(&daemon);
            }
            daemon.relaunch();
            check::all(&daemon, &mut book);
        }
        let never: Vec<_> = places.deaths.iter().filter(|(_, times)| **times == 0).collect();
        assert!(never.is_empty(), "nothing was killed at {never:?}");
        check::end(&daemon, &mut book);
        let at_places: u32 = places.deaths.values().sum();
        println!("{at_places} kills at {} places, {} at moments; {book}", places.deaths.len(), moments.kills);
    }
}

/// When daemons are killed from outside.
struct Moments {
    random: Random,
    /// The call after which the next daemon is killed.
    call: usize,
    /// How often the script was over before that call.
    passes: usize,
    kills: usize,
}

impl Moments {
    fn new() -> Self {
        Self { random: Random::from_environment(), call: 1, passes: 0, kills: 0 }
    }

    fn kill_at_next(&mut self, daemon: &mut Daemon, book: &mut Book) {
        let kill = Kill::Moment { call: self.call, late_us: self.random.below(3000) };
        if Script::run(daemon, book, kill) < self.call {
            // From the beginning once more, between the calls of the passes before.
            self.passes += 1;
            self.call = 1 + self.passes % STRIDE;
        } else {
            self.call += STRIDE;
        }
        self.kills += 1;
    }
}

/// Where daemons kill themselves.
struct Places {
    /// And at which time next.
    left: Vec<(String, u32)>,
    next: usize,
    deaths: HashMap<String, u32>,
}

impl Places {
    fn all() -> Self {
        let elsewhere = |place: &String| ELSEWHERE.iter().any(|write| place.contains(&format!(".{write}.")));
        let left: Vec<_> =
            trl_store::places().filter(|place| !elsewhere(place)).map(|place| (place, 1)).collect();
        let deaths = left.iter().map(|(place, _)| (place.clone(), 0)).collect();
        Self { left, next: 0, deaths }
    }

    /// Starts daemons until one has killed itself. A place that is not come by so often is left out from then on.
    fn kill_at_next(&mut self, daemon: &mut Daemon, book: &mut Book) {
        let mut again = false;
        loop {
            let at = self.next % self.left.len();
            let (place, nth) = self.left[at].clone();
            daemon.set_env("TRL_FAILPOINT", Some(&format!("{place}@{nth}")));
            let died = !daemon.relaunch_or_die() || Script::run_to_its_end(daemon, book);
            daemon.set_env("TRL_FAILPOINT", None);
            if died {
                self.next += 1;
                self.left[at].1 += 1;
                *self.deaths.entry(place).or_default() += 1;
                return;
            }
            // The first time there may have been nothing to take up; this daemon left something.
            if self.deaths[&place] > 0 || std::mem::replace(&mut again, true) {
                self.left.remove(at);
            }
        }
    }
}

/// Where the daemon keeps its records.
fn data_dir(daemon: &Daemon) -> std::path::PathBuf {
    daemon.dir().join("home/.local/share/trl")
}
