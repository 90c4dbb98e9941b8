//! Executions by id: the live ones, and as many finished ones as may be kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trl_proto::{Error, ErrorCode, ExecutionId, SessionId};

use crate::execution::{Execution, Phase};

#[derive(Debug)]
pub struct Registry {
    inner: Mutex<Inner>,
    max_finished: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Inner {
    all: HashMap<ExecutionId, Arc<Execution>>,
    /// Oldest first, with the memory it was counted with.
    finished: VecDeque<(ExecutionId, usize)>,
    finished_bytes: usize,
}

impl Registry {
    pub fn new(max_finished: usize, max_bytes: usize) -> Self {
        Self { inner: Mutex::default(), max_finished, max_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, execution: &Arc<Execution>) {
        self.lock().all.insert(execution.id.clone(), Arc::clone(execution));
    }

    /// It is not going to run. Whoever went away while a person was asked hears later why. One that is over already, because
    /// its session was ended before it began, or was refused before, stays that.
    pub fn refuse(&self, execution: &Execution, error: Error) {
        if matches!(execution.phase(), Phase::Done(_) | Phase::Refused(_)) {
            return;
        }
        let was_asked_about = execution.request().is_some();
        execution.refuse(error);
        if was_asked_about {
            self.retire(execution);
        } else {
            self.lock().all.remove(&execution.id);
        }
    }

    /// It is over: keep it while there is room, oldest go first.
    pub fn retire(&self, execution: &Execution) {
        let mut inner = self.lock();
        if !inner.all.contains_key(&execution.id) {
            return;
        }
        let bytes = execution.memory() + execution.command.len();
        inner.finished.push_back((execution.id.clone(), bytes));
        inner.finished_bytes += bytes;
        while inner.finished.len() > self.max_finished || inner.finished_bytes > self.max_bytes {
            let Some((id, bytes)) = inner.finished.pop_front() else { break };
            inner.finished_bytes -= bytes;
            inner.all.remove(&id);
        }
    }

    /// As if it had never been.
    pub fn forget(&self, id: &ExecutionId) {
        let mut inner = self.lock();
        inner.all.remove(id);
        if let Some(at) = inner.finished.iter().position(|(finished, _)| finished == id)
            && let Some((_, bytes)) = inner.finished.remove(at)
        {
            inner.finished_bytes -= bytes;
        }
    }

    pub fn find(&self, id: &ExecutionId) -> Result<Arc<Execution>, Error> {
        self.lock().all.get(id).cloned().ok_or_else(|| {
            Error::new(ErrorCode::ExecutionNotFound, format!("no execution {id}"))
                .hint("finished ones are kept for a while only; see exec.list")
        })
    }

    /// Oldest first.
    pub fn list(&self, session: Option<&SessionId>) -> Vec<Arc<Execution>> {
        let inner = self.lock();
        let mut found: Vec<_> = inner
            .all
            .values()
            .filter(|e| session.is_none_or(|s| e.place.session() == Some(s)) && e.refused().is_none())
            .cloned()
            .collect();
        found.sort_by_key(|e| e.created.monotonic);
        found
    }

    /// (live, finished)
    pub fn counts(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.all.len() - inner.finished.len(), inner.finished.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Place;
    use crate::output::{Budget, Capacity, Log};
    use crate::sandbox::Boundary;

    #[test]
    fn what_is_settled_is_not_refused_again() {
        let budget = Budget::new(usize::MAX);
        let log = || Log::new(Capacity::tail(1 << 10), Arc::clone(&budget), None);
        let registry = Registry::new(3, 100_000);
        let place = Place::Session(SessionId::random());
        let asked = Execution::new(place, "tester".into(), "x", (log(), log()), Boundary::None);
        registry.add(&asked);
        asked.ask(trl_proto::RequestId::random());
        for _ in 0..2 {
            registry.refuse(&asked, Error::internal("no"));
            assert_eq!(registry.counts(), (0, 1), "whoever asks later hears why");
        }
    }

    #[test]
    fn the_oldest_results_go_first_by_number_and_by_bytes() {
        let budget = Budget::new(usize::MAX);
        let log = || Log::new(Capacity::tail(1 << 20), Arc::clone(&budget), None);
        let registry = Registry::new(3, 100_000);
        let session = SessionId::random();
        let add = |bytes: usize| {
            let place = Place::Session(session.clone());
            let execution = Execution::new(place, "tester".into(), "x", (log(), log()), Boundary::None);
            execution.stdout.append(&vec![0; bytes]);
            registry.add(&execution);
            registry.retire(&execution);
            execution.id.clone()
        };
        let ids: Vec<_> = (0..4).map(|_| add(10)).collect();
        assert!(registry.find(&ids[0]).is_err() && registry.find(&ids[1]).is_ok());
        add(99_000);
        assert_eq!(registry.counts(), (0, 0), "one that is too large alone is not kept either");
    }
}
