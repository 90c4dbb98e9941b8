//! Idempotency keys: the same key of the same caller means the same execution, for as long as it is remembered.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trl_proto::Error;

use super::executions::Caller;
use crate::execution::Execution;

/// Keys remembered; the oldest go first.
const MOST: usize = 4096;
const LONGEST_KEY: usize = 256;

type Key = (Caller, String);

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
    Running(Arc<Execution>),
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
        let key: Key = (caller.clone(), key.to_string());
        let mut inner = self.lock();
        match inner.known.get(&key) {
            Some(State::Running(execution)) if *execution.command == *command => {
                return Ok(Claim::Taken(Arc::clone(execution)));
            }
            Some(State::Running(_)) => {
                return Err(Error::invalid("this `idempotency_key` was used for another command"));
            }
            Some(State::Claimed) => {
                return Err(Error::invalid("a request with this `idempotency_key` is just being accepted")
                    .hint("send it again in a moment"));
            }
            None => {}
        }
        inner.known.insert(key.clone(), State::Claimed);
        inner.order.push_back(key.clone());
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
        if let Some(key) = self.key.take() {
            self.keys.lock().known.insert(key, State::Running(Arc::clone(execution)));
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
