//! Idempotency keys: the same key of the same caller means the same execution, and never a second one.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use trl_proto::exec::RunParams;
use trl_proto::start::StartParams;
use trl_proto::{Error, ErrorCode};

use super::executions::Caller;
use crate::execution::Execution;

/// Keys remembered; the oldest go first.
const MOST: usize = 4096;
const LONGEST_KEY: usize = 256;

/// A caller's name, and its key.
type Key = (Arc<str>, String);

#[derive(Debug, Default)]
pub(super) struct Keys {
    inner: Mutex<Inner>,
    /// A claim was fulfilled, or given up.
    settled: Notify,
    /// What is asked for is remembered as a number only: it may hold secrets.
    prints: RandomState,
}

#[derive(Debug, Default)]
struct Inner {
    known: HashMap<Key, State>,
    order: VecDeque<Key>,
}

#[derive(Debug)]
enum State {
    /// Somebody is about to submit it.
    Claimed,
    /// Weak: remembering a key must not keep an execution's output in memory.
    Accepted { print: u64, execution: Weak<Execution> },
}

pub(super) enum Claim<'a> {
    Taken(Arc<Execution>),
    Ours(Pending<'a>),
}

/// A key whose execution is being made; forgotten if none comes of it.
pub(super) struct Pending<'a> {
    keys: &'a Keys,
    key: Option<Key>,
    print: u64,
}

impl Keys {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request with a key that another one has just brought waits for what becomes of that.
    pub(super) async fn claim(&self, caller: &Caller, params: &RunParams) -> Result<Claim<'_>, Error> {
        let asked = RunParams { idempotency_key: None, on_disconnect: None, queue: None, ..params.clone() };
        self.claim_for(caller, params.idempotency_key.clone(), self.print(&asked)).await
    }

    pub(super) async fn claim_start(
        &self,
        caller: &Caller,
        params: &StartParams,
    ) -> Result<Claim<'_>, Error> {
        let ours = params.idempotency_key.clone();
        let asked = StartParams {
            idempotency_key: None,
            on_disconnect: None,
            queue: None,
            yield_ms: None,
            ..params.clone()
        };
        self.claim_for(caller, ours, self.print(&asked)).await
    }

    async fn claim_for(&self, caller: &Caller, key: Option<String>, print: u64) -> Result<Claim<'_>, Error> {
        let key = key.unwrap_or_default();
        if key.is_empty() || key.len() > LONGEST_KEY {
            return Err(Error::invalid(format!("`idempotency_key` must have 1 to {LONGEST_KEY} bytes")));
        }
        let key: Key = (Arc::clone(&caller.name), key);
        loop {
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            if let Some(claim) = self.try_claim(&key, print)? {
                return Ok(claim);
            }
            settled.await;
        }
    }

    /// Everything that makes a difference to what is run.
    fn print(&self, asked: &impl std::fmt::Debug) -> u64 {
        self.prints.hash_one(format!("{asked:?}"))
    }

    /// None while it is somebody else's.
    fn try_claim(&self, key: &Key, print: u64) -> Result<Option<Claim<'_>>, Error> {
        let mut inner = self.lock();
        match inner.known.get(key) {
            None => {}
            Some(State::Claimed) => return Ok(None),
            Some(State::Accepted { print: before, .. }) if *before != print => {
                return Err(Error::invalid("this `idempotency_key` was used for another request")
                    .hint("the session, the command and everything about it must be the same"));
            }
            Some(State::Accepted { execution, .. }) => {
                return match execution.upgrade() {
                    Some(execution) => Ok(Some(Claim::Taken(execution))),
                    None => Err(Error::new(
                        ErrorCode::ExecutionNotFound,
                        "the request with this `idempotency_key` was accepted before, and its result is not kept any more",
                    )
                    .hint("it was not run again")),
                };
            }
        }
        inner.known.insert(key.clone(), State::Claimed);
        inner.order.push_back(key.clone());
        if inner.order.len() > MOST
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.known.remove(&oldest);
        }
        Ok(Some(Claim::Ours(Pending { keys: self, key: Some(key.clone()), print })))
    }
}

impl Pending<'_> {
    /// The key leads to this execution from now on.
    pub(super) fn accepted(&self, execution: &Arc<Execution>) {
        let mut inner = self.keys.lock();
        if let Some(state) = self.key.as_ref().and_then(|key| inner.known.get_mut(key)) {
            *state = State::Accepted { print: self.print, execution: Arc::downgrade(execution) };
        }
        drop(inner);
        self.keys.settled.notify_waiters();
    }

    /// It runs, so the key is spent.
    pub(super) fn keep(mut self) {
        self.key = None;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let mut inner = self.keys.lock();
            inner.known.remove(&key);
            inner.order.retain(|k| *k != key);
            drop(inner);
            self.keys.settled.notify_waiters();
        }
    }
}
