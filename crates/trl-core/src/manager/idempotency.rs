//! Idempotency keys: the same key of the same caller means the same execution, for as long as it is remembered.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use trl_proto::Error;

use super::executions::Caller;
use crate::execution::{Execution, Phase};

/// Keys remembered; the oldest go first.
const MOST: usize = 4096;
const LONGEST_KEY: usize = 256;

/// A caller's name, and its key.
type Key = (Arc<str>, String);

#[derive(Debug, Default)]
pub(super) struct Keys {
    inner: Mutex<Inner>,
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
    Running(Weak<Execution>),
}

impl State {
    /// The execution behind the key, unless it was forgotten or never ran.
    fn execution(&self) -> Option<Arc<Execution>> {
        match self {
            Self::Claimed => None,
            Self::Running(weak) => weak.upgrade().filter(|e| !matches!(e.phase(), Phase::Refused(_))),
        }
    }
}

pub(super) enum Claim<'a> {
    Taken(Arc<Execution>),
    Ours(Pending<'a>),
}

/// A key whose execution is being made; forgotten if none comes of it.
pub(super) struct Pending<'a> {
    keys: &'a Keys,
    key: Option<Key>,
}

impl Keys {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn claim(&self, caller: &Caller, key: &str, command: &str) -> Result<Claim<'_>, Error> {
        if key.is_empty() || key.len() > LONGEST_KEY {
            return Err(Error::invalid(format!("`idempotency_key` must have 1 to {LONGEST_KEY} bytes")));
        }
        let key: Key = (Arc::clone(&caller.name), key.to_string());
        let mut inner = self.lock();
        let known = inner.known.get(&key);
        if matches!(known, Some(State::Claimed)) {
            return Err(Error::invalid("a request with this `idempotency_key` is just being accepted")
                .hint("send it again in a moment"));
        }
        match known.and_then(State::execution) {
            Some(execution) if *execution.command == *command => return Ok(Claim::Taken(execution)),
            Some(_) => return Err(Error::invalid("this `idempotency_key` was used for another command")),
            None => {}
        }
        if inner.known.insert(key.clone(), State::Claimed).is_none() {
            inner.order.push_back(key.clone());
        }
        if inner.order.len() > MOST
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.known.remove(&oldest);
        }
        Ok(Claim::Ours(Pending { keys: self, key: Some(key) }))
    }
}

impl Pending<'_> {
    pub(super) fn fulfil(mut self, execution: &Arc<Execution>) {
        if let Some(key) = self.key.take()
            && let Some(state) = self.keys.lock().known.get_mut(&key)
        {
            *state = State::Running(Arc::downgrade(execution));
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let mut inner = self.keys.lock();
            inner.known.remove(&key);
            inner.order.retain(|k| *k != key);
        }
    }
}
