//! What a terminal's programs may use: when to look at it, which limit was met, what was used in the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trl_proto::limits::Limit;
use trl_sys::reap::Exit;

use super::handle::Terminal;
use crate::limits::{Cage, Verdict};

/// A flood is read on another thread, and nobody hears how much it is: it is looked at this often.
const FLOOD_LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Allowance {
    terminal: Arc<Terminal>,
    /// What holds its programs to their limits, if it has any.
    cage: Option<Cage>,
    /// When its time is up.
    wall: Option<Instant>,
    /// The limit it is ended for.
    hit: Option<Limit>,
}

impl Allowance {
    pub(super) fn new(terminal: Arc<Terminal>, cage: Option<Cage>) -> Self {
        terminal.public().limits = cage.as_ref().map(|cage| cage.info.clone());
        Self { terminal, cage, wall: None, hit: None }
    }

    /// The program runs: its time counts.
    pub(super) fn begin(&mut self) {
        let wall = self.terminal.spec.limits.wall_s.map(Duration::from_secs_f64);
        self.wall = wall.and_then(|wall| Instant::now().checked_add(wall));
    }

    pub(super) fn next_look(&self, is_read_elsewhere: bool) -> Option<Instant> {
        let unheard = is_read_elsewhere && self.terminal.spec.limits.output_bytes.is_some();
        let flood = unheard.then(|| Instant::now() + FLOOD_LOOK);
        let cage = self.cage.as_ref().and_then(Cage::next_look);
        [self.wall, cage, flood].into_iter().flatten().min()
    }

    /// More was written than may be.
    pub(super) fn is_too_loud(&self) -> bool {
        self.terminal.spec.limits.output_bytes.is_some_and(|most| self.terminal.tape.head() > most)
    }

    /// The limit that is met by now, if one is. It is remembered as the one that ends the terminal.
    pub(super) fn look(&mut self, now: Instant) -> Option<Limit> {
        let keeper = self.terminal.keeper();
        let due = |cage: &&mut Cage| cage.next_look().is_some_and(|at| now >= at);
        let seen = match self.cage.as_mut().filter(due).map(|cage| cage.look(keeper)) {
            Some(Verdict::Exceeded(limit)) => Some(limit),
            Some(Verdict::Within) | None => None,
        };
        let overdue = self.wall.is_some_and(|at| now >= at).then_some(Limit::WallS);
        let loud = self.is_too_loud().then_some(Limit::OutputBytes);
        let met = seen.or(overdue).or(loud);
        self.hit = met.or(self.hit);
        met
    }

    /// Its programs are to end: what they used is counted while somebody knows, and they are killed where that can be done
    /// for all at once.
    pub(super) fn end(&mut self) {
        self.count();
        if let Some(cage) = &self.cage {
            cage.kill(self.terminal.keeper());
        }
    }

    /// None of them is left.
    pub(super) fn over(&mut self) {
        if self.terminal.public().usage.is_none() {
            self.count();
        }
        self.cage = None;
    }

    fn count(&mut self) {
        let (keeper, hit) = (self.terminal.keeper(), self.hit);
        let usage = self.cage.as_mut().map(|cage| cage.usage(keeper, hit));
        self.terminal.public().usage = usage;
    }

    /// What only the end of the program tells.
    pub(super) fn ended(&self, exit: Exit) {
        let bounded = self.terminal.spec.limits.file_size_bytes.is_some();
        if let Some(usage) = &mut self.terminal.public().usage
            && bounded
            && exit == Exit::Signal(Signal::XFSZ.as_raw())
        {
            usage.limit_hit.get_or_insert(Limit::FileSizeBytes);
        }
    }
}
