//! Idempotency keys: the same key of the same caller means the same execution, and never a second one.
//!
//! A key is on the disk before its command begins. After a restart it is known that it was used, and no more: whatever comes
//! with it then is not run.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use trl_proto::exec::RunParams;
use trl_proto::start::StartParams;
use trl_proto::{Error, ErrorCode, ExecutionId};
use trl_store::keys::{KeyClaim, KeyRecord};
use trl_store::{Durability, Moment, Store};

use super::executions::Caller;
use crate::approval::storage;
use crate::execution::Execution;

/// Keys remembered; the oldest go first.
const MOST: usize = 4096;
const LONGEST_KEY: usize = 256;

/// A caller's name, and its key.
type Key = (Arc<str>, String);

#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Where they outlive the daemon.
    store: Option<Store>,
    shared: Arc<Shared>,
    /// What is asked for is remembered as a number only: it may hold secrets.
    prints: RandomState,
}

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    /// A claim was fulfilled, or given up.
    settled: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing came of it.
    fn free(&self, key: &Key) {
        let mut inner = self.lock();
        inner.known.remove(key);
        inner.order.retain(|k| k != key);
        drop(inner);
        self.settled.notify_waiters();
    }
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
    /// As it is on the disk.
    record: Option<KeyRecord>,
}

impl Keys {
    pub(super) fn kept_in(store: Option<Store>) -> Self {
        Self { store, ..Self::default() }
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
            follow: None,
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
            let mut settled = std::pin::pin!(self.shared.settled.notified());
            settled.as_mut().enable();
            match self.try_claim(&key, print)? {
                Some(Claim::Ours(pending)) => return Ok(Claim::Ours(self.claim_on_disk(pending).await?)),
                Some(taken) => return Ok(taken),
                None => {}
            }
            settled.await;
        }
    }

    /// Whoever had it before a restart keeps it.
    async fn claim_on_disk<'a>(&'a self, mut pending: Pending<'a>) -> Result<Pending<'a>, Error> {
        let (Some(store), Some((caller, key))) = (&self.store, &pending.key) else { return Ok(pending) };
        let record = KeyRecord {
            caller: caller.to_string(),
            key: key.clone(),
            // Numbers of this daemon mean nothing to the next.
            print: String::new(),
            execution_id: ExecutionId::random(),
            at: Moment::now(),
        };
        match store.claim_key(record.clone(), Durability::Durable).await.map_err(storage)? {
            KeyClaim::Known(_) => Err(spent()),
            KeyClaim::Ours => {
                pending.record = Some(record);
                Ok(pending)
            }
        }
    }

    /// Everything that makes a difference to what is run.
    fn print(&self, asked: &impl std::fmt::Debug) -> u64 {
        self.prints.hash_one(format!("{asked:?}"))
    }

    /// None while it is somebody else's.
    fn try_claim(&self, key: &Key, print: u64) -> Result<Option<Claim<'_>>, Error> {
        let mut inner = self.shared.lock();
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
                    None => Err(spent()),
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
        Ok(Some(Claim::Ours(Pending { keys: self, key: Some(key.clone()), print, record: None })))
    }
}

impl Pending<'_> {
    /// The key leads to this execution from now on.
    pub(super) fn accepted(&self, execution: &Arc<Execution>) {
        let mut inner = self.keys.shared.lock();
        if let Some(state) = self.key.as_ref().and_then(|key| inner.known.get_mut(key)) {
            *state = State::Accepted { print: self.print, execution: Arc::downgrade(execution) };
        }
        drop(inner);
        self.keys.shared.settled.notify_waiters();
    }

    /// It runs, so the key is spent.
    pub(super) fn keep(mut self) {
        (self.key, self.record) = (None, None);
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        let shared = Arc::clone(&self.keys.shared);
        match (&self.keys.store, self.record.take()) {
            (Some(store), Some(record)) => {
                let released = store.release_key(record);
                // Whoever comes with it meanwhile waits.
                tokio::spawn(async move {
                    let _ = released.await;
                    shared.free(&key);
                });
            }
            _ => shared.free(&key),
        }
    }
}

/// It was used, and what came of it is not here any more.
fn spent() -> Error {
    let message =
        "the request with this `idempotency_key` was accepted before, and its result is not kept any more";
    Error::new(ErrorCode::ExecutionNotFound, message)
        .hint("it was not run again; session.history says what became of it")
}
