//! Limits no kernel holds a session to: the task looks at what it uses, and ends what is too much.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use trl_proto::limits::Limit;

use super::phase::Phase;
use super::stop::{Stop, Why};
use super::task::Task;
use crate::limits::Verdict;

impl Task {
    /// When to look again: while something of the user's may be running that nobody is ending.
    pub(super) fn next_watch(&self) -> Option<Instant> {
        let body = self.body.as_ref()?;
        let watched = match &self.phase {
            Phase::Running(run) => run.stop.is_none() && run.reported.is_none() && run.died.is_none(),
            // A clone on its way would be taken for one of those that are too many.
            Phase::Idle => !body.background.is_empty() && self.renewing.is_none(),
            _ => false,
        };
        body.cage.as_ref().filter(|_| watched)?.next_look()
    }

    pub(super) fn watch_limits(&mut self, now: Instant) {
        if self.next_watch().is_none_or(|at| now < at) {
            return;
        }
        let Some(body) = &mut self.body else { return };
        let keeper = body.keeper;
        let Some(Verdict::Exceeded(limit)) = body.cage.as_mut().map(|cage| cage.look(keeper)) else { return };
        tracing::info!(session = %self.front.session.spec.id, limit = limit.name(), "a limit was met");
        match &mut self.phase {
            Phase::Running(run) => {
                // What is short for all is not asked back politely, nor from this command only.
                let why = Why::Limit(limit);
                run.end_early(match limit {
                    Limit::MemoryBytes | Limit::Pids => {
                        body.kill_background();
                        Stop::under_way(why, Signal::KILL, Duration::ZERO)
                    }
                    _ => Stop::new(why, Signal::TERM, self.front.engine.settings.grace),
                });
                self.look();
            }
            _ => body.kill_background(),
        }
    }

    /// The command prints more than it may.
    pub(super) fn silence(&mut self) {
        let Phase::Running(run) = &mut self.phase else { return };
        if run.stop.is_none() {
            let why = Why::Limit(Limit::OutputBytes);
            run.end_early(Stop::new(why, Signal::TERM, self.front.engine.settings.grace));
            self.look();
        }
    }
}
