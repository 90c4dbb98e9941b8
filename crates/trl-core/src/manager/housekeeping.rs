//! What time does to sessions, and how the daemon ends.
//!
//! Once a second: idle and old sessions are closed, and when memory is short those at rest, records of ended ones are dropped, and orphans that came to the
//! daemon itself (its zygote and a keeper were both killed) are ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use trl_proto::runtime::{RuntimeInfo, RuntimeState};
use trl_proto::session::SessionState;
use trl_proto::system::Stats;
use trl_sys::lineage::Held;
use trl_sys::{helper, machine, reap, tree};

use super::Manager;
use crate::execution::Early;
use crate::session::handle::Session;
use crate::session::messages::{Ending, Manner};
use crate::terminal::Terminal;

const ROUND: Duration = Duration::from_secs(1);
/// A session that did something just now is not closed for want of memory.
const AT_REST: Duration = Duration::from_secs(1);
/// Records of closed sessions are small but not free.
pub(super) const MAX_CLOSED: usize = 4096;

impl Manager {
    /// Runs for the life of the daemon.
    pub async fn housekeep(self: Arc<Self>) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            self.close_stale(Instant::now());
            self.relieve(Instant::now());
            self.drop_records(Instant::now());
            self.tend_terminals(Instant::now());
            self.end_orphans();
            self.engine.desk.tend(Instant::now()).await;
            self.prune(Instant::now());
            self.engine.caging.sweep();
        }
    }

    /// The one place of the daemon that waits for children: on every SIGCHLD, and once more for good measure.
    pub fn reap() {
        for (pid, exit) in reap::all() {
            tracing::debug!(pid, ?exit, "reaped");
        }
    }

    fn close_stale(self: &Arc<Self>, now: Instant) {
        let settings = &self.engine.settings;
        let past =
            |since: Instant, ttl: Duration| !ttl.is_zero() && now.saturating_duration_since(since) >= ttl;
        let all: Vec<Arc<Session>> = self.sessions().values().cloned().collect();
        for session in all {
            let (state, active) = {
                let public = session.public();
                (public.shown(), public.last_activity.monotonic)
            };
            let resting = matches!(state, SessionState::Idle | SessionState::Ready);
            let alive = resting || matches!(state, SessionState::Running | SessionState::WaitingHitl);
            let reason = if alive && past(session.opened.monotonic, session.spec.absolute_ttl(settings)) {
                "it reached its greatest age"
            } else if resting && past(active, session.spec.idle_ttl(settings)) {
                "it was idle for too long"
            } else {
                continue;
            };
            let manager = Arc::clone(self);
            tokio::spawn(
                async move { manager.end(&session, Ending::Closed, Manner::Graceful, reason).await },
            );
        }
    }

    /// When memory is short, sessions at rest are closed, those that rest longest first: they can be opened again.
    fn relieve(self: &Arc<Self>, now: Instant) {
        if self.pressure.check().is_ok() {
            return;
        }
        let rests = |session: &Arc<Session>| {
            let public = session.public();
            let since = public.last_activity.monotonic;
            let resting = matches!(public.shown(), SessionState::Idle | SessionState::Ready);
            (resting && now.saturating_duration_since(since) >= AT_REST).then_some(since)
        };
        let all: Vec<Arc<Session>> = self.sessions().values().cloned().collect();
        let mut resting: Vec<_> = all.into_iter().filter_map(|s| Some((rests(&s)?, s))).collect();
        resting.sort_by_key(|(since, _)| *since);
        let manager = Arc::clone(self);
        tokio::spawn(async move { manager.close_resting(resting.into_iter().map(|(_, s)| s)).await });
    }

    /// A quarter of them: the first may be enough. One that left something running does not rest.
    async fn close_resting(self: &Arc<Self>, sessions: impl ExactSizeIterator<Item = Arc<Session>>) {
        let mut left = sessions.len().div_ceil(4);
        for session in sessions {
            if left == 0 {
                return;
            }
            if !session.is_at_rest().await {
                continue;
            }
            left -= 1;
            tracing::warn!(session = %session.spec.id, "closing a session: the machine is short of memory");
            let manager = Arc::clone(self);
            let reason = "the machine is short of memory";
            tokio::spawn(
                async move { manager.end(&session, Ending::Closed, Manner::Graceful, reason).await },
            );
        }
    }

    fn drop_records(&self, now: Instant) {
        let ttl = self.engine.settings.terminated_ttl;
        let mut sessions = self.sessions();
        sessions.retain(|_, s| {
            let public = s.public();
            let ended = public.ended.as_ref().map(|(_, at)| *at);
            public.state != SessionState::Terminated
                || ended.is_none_or(|at| now.saturating_duration_since(at) < ttl)
        });
        let mut closed: Vec<_> = sessions
            .values()
            .filter(|s| matches!(s.state(), SessionState::Closed | SessionState::Uninitialized))
            .map(|s| (s.public().ended.as_ref().map(|(_, at)| *at), s.spec.id.clone()))
            .collect();
        if closed.len() > MAX_CLOSED {
            closed.sort();
            for (_, id) in &closed[..closed.len() - MAX_CLOSED] {
                sessions.remove(id);
            }
        }
        self.engine.residents.retain(|id| sessions.contains_key(id));
        self.engine.records.tally().retain(|id| sessions.contains_key(id));
    }

    /// A subreaper only ever adopts its own descendants' orphans; process 1 adopts everybody's and leaves them alone.
    fn end_orphans(&self) {
        Self::reap();
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        if me == 1 {
            return;
        }
        let mut ours: Vec<i32> = self.sessions().values().map(|s| s.keeper()).collect();
        ours.extend(self.terminals().values().map(|t| t.keeper()));
        ours.push(self.engine.zygote_pid());
        ours.extend(self.engine.foreign_children.iter().map(Held::pid));
        let children = tree::children(me);
        // After the children: a helper that is not among these has not been seen.
        ours.extend(helper::pids());
        for pid in children {
            let orphan = !ours.contains(&pid) && !tree::is_keeper(pid);
            if let Some(root) = tree::identify(pid).filter(|_| orphan) {
                tracing::warn!(pid, "ending an orphan");
                tree::freeze_and_kill(|| {
                    let mut all = tree::below(pid, &[]);
                    all.extend(tree::identify(pid).filter(|p| *p == root));
                    all
                });
            }
        }
    }

    /// Ends every session, within the grace each of them has.
    pub async fn shutdown(self: &Arc<Self>, manner: Manner) {
        self.shutting_down.store(true, Ordering::Relaxed);
        self.engine.desk.leave();
        // Those of earlier daemons stay as they are.
        let resident = |s: &&Arc<Session>| s.state() != SessionState::Uninitialized;
        let all: Vec<Arc<Session>> = self.sessions().values().filter(resident).cloned().collect();
        let terminals: Vec<_> = self.terminals().values().cloned().collect();
        self.end_all(all, terminals, manner, "the daemon is ending").await;
        self.engine.runtimes.end().await;
        self.engine.records.caught_up().await;
        self.engine.wake_zygote();
        self.engine.caging.leave();
    }

    /// Closes these, within the grace each of them has.
    pub(super) async fn end_all(
        self: &Arc<Self>,
        sessions: Vec<Arc<Session>>,
        terminals: Vec<Arc<Terminal>>,
        manner: Manner,
        reason: &'static str,
    ) {
        let limit = self.engine.settings.grace * 2 + Duration::from_secs(10);
        let mut ends = tokio::task::JoinSet::new();
        for session in sessions {
            let manager = Arc::clone(self);
            ends.spawn(async move { manager.end(&session, Ending::Closed, manner, reason).await });
        }
        for terminal in terminals {
            let grace =
                if manner == Manner::Forced { Duration::ZERO } else { self.engine.settings.terminal_grace };
            ends.spawn(async move {
                terminal.end(reason, Early::Cancelled, grace).await;
                Ok(())
            });
        }
        if tokio::time::timeout(limit, ends.join_all()).await.is_err() {
            tracing::error!("some sessions did not end in time");
        }
    }

    /// Sessions that take commands, with a shell or without one yet.
    fn resident(&self) -> usize {
        let gone = [SessionState::Uninitialized, SessionState::Closed, SessionState::Terminated];
        self.sessions().values().filter(|s| !gone.contains(&s.state())).count()
    }

    pub fn stats(&self) -> Stats {
        let counters = &self.engine.counters;
        let read = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
        let records = self.engine.records.tally();
        let (live, finished) = self.engine.executions.counts();
        let runtimes = self.runtimes();
        Stats {
            active_sessions: self.active() as u64,
            total_commands_run: read(&counters.commands),
            uptime_s: self.engine.started.monotonic.elapsed().as_secs(),
            memory_rss_bytes: machine::rss_bytes(),
            open_fds: machine::open_fds(),
            threads: machine::thread_count(),
            connections: 0,
            running_executions: live as u64,
            retained_executions: finished as u64,
            output_memory_bytes: self.engine.budget.used() as u64,
            output_bytes: self.engine.budget.came(),
            command_duration_ms: counters.durations.read(),
            command_wait_ms: counters.waits.read(),
            rollbacks: read(&counters.rollbacks),
            resets: read(&counters.resets),
            timeouts: read(&counters.timeouts),
            sessions_created: read(&counters.sessions),
            events_seq: self.engine.events.seq(),
            resident_sessions: self.resident() as u64,
            execution_builds: read(&counters.builds),
            execution_build_us: read(&counters.build_us),
            approval_wait_ms: self.engine.desk.waits.read(),
            pending_requests: self.engine.desk.open() as u64,
            session_hits: read(&counters.session_hits),
            session_misses: read(&counters.session_misses),
            records_written: read(&records.written),
            records_failed: self.engine.store.as_ref().map_or(0, trl_store::Store::refused),
            records_dropped: read(&records.dropped),
            store_queue_bytes: self.engine.store.as_ref().map_or(0, |store| store.queued().0 as u64),
            runtimes: in_each_state(&runtimes),
            runtime_reconnects: runtimes.iter().map(|runtime| runtime.reconnects).sum(),
            runtime_sessions: sessions_of_each(runtimes),
        }
    }
}

fn in_each_state(runtimes: &[RuntimeInfo]) -> BTreeMap<RuntimeState, u64> {
    let count = |state| runtimes.iter().filter(|runtime| runtime.state == state).count() as u64;
    RuntimeState::ALL.into_iter().map(|state| (state, count(state))).collect()
}

fn sessions_of_each(runtimes: Vec<RuntimeInfo>) -> BTreeMap<String, u64> {
    runtimes.into_iter().filter_map(|runtime| Some((runtime.spec.name?, runtime.sessions as u64))).collect()
}
