//! Which case a session has. It is settled when the session is created or opened; executions read it from there.
//!
//! Asked in this order, and whatever answers first is remembered:
//! 1. memory;
//! 2. the session, while it is there;
//! 3. what was stored of it, asked once;
//! 4. the default case.
//!
//! The last resort is logged as `runtime.fallback.defaultConfig`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trl_proto::{Error, SessionId};

use super::Case;
use crate::diagnostics::fell_back;

/// Sessions whose answers are remembered; beyond that all are forgotten and asked for again.
const MOST: usize = 16_384;

/// What is known of sessions that are not there any more.
pub trait Stored: Send + Sync {
    /// The outer None: there is no record of the session.
    fn case_of(&self, session: &SessionId) -> Option<Option<Arc<Case>>>;
}

/// Nothing is stored yet.
#[derive(Debug, Default)]
pub struct Nothing;

impl Stored for Nothing {
    fn case_of(&self, _: &SessionId) -> Option<Option<Arc<Case>>> {
        None
    }
}

/// Who answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    Memory,
    Session,
    Store,
    Default,
}

pub struct Residents {
    known: Mutex<HashMap<SessionId, Option<Arc<Case>>>>,
    stored: Box<dyn Stored>,
}

impl std::fmt::Debug for Residents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the cases of {} sessions", self.known().len())
    }
}

impl Residents {
    pub fn new(stored: impl Stored + 'static) -> Self {
        Self { known: Mutex::default(), stored: Box::new(stored) }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Option<Arc<Case>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The case a session was created with, or that it has none.
    pub fn settle(&self, session: &SessionId, case: Option<Arc<Case>>) {
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(session.clone(), case);
    }

    /// Forgets all others.
    pub fn retain(&self, wanted: impl Fn(&SessionId) -> bool) {
        self.known().retain(|id, _| wanted(id));
    }

    /// `live` is what the session says of itself, if it is there.
    pub fn case_of(
        &self,
        session: &SessionId,
        live: Option<Option<Arc<Case>>>,
        default: impl FnOnce() -> Result<Option<Arc<Case>>, Error>,
    ) -> Result<(Option<Arc<Case>>, AnsweredBy), Error> {
        let remembered = self.known().get(session).cloned();
        if let Some(case) = remembered {
            return Ok((case, AnsweredBy::Memory));
        }
        let stored = || self.stored.case_of(session).map(|case| (case, AnsweredBy::Store));
        let found = match live.map(|case| (case, AnsweredBy::Session)).or_else(stored) {
            Some(found) => found,
            None => {
                fell_back(session.as_str(), "nothing is known of its case");
                (default()?, AnsweredBy::Default)
            }
        };
        self.settle(session, found.0.clone());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use trl_proto::case::{CaseOrigin, CaseSpec};

    use super::*;
    use crate::case::Trust;

    fn case(id: &str) -> Arc<Case> {
        Arc::new(Case {
            id: id.into(),
            spec: CaseSpec::default(),
            source: "/x".into(),
            origin: CaseOrigin::Config,
            digest: String::new(),
            trust: Trust::Whole,
            ignored: Vec::new(),
            workspace: None,
            fallback: None,
        })
    }

    struct Shelf(Option<Option<Arc<Case>>>, Arc<AtomicUsize>);

    impl Stored for Shelf {
        fn case_of(&self, _: &SessionId) -> Option<Option<Arc<Case>>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.clone()
        }
    }

    #[test]
    fn the_first_that_knows_is_believed_and_the_store_is_asked_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let residents = Residents::new(Shelf(Some(Some(case("stored"))), Arc::clone(&asked)));
        let of = |id: &SessionId, live| {
            residents.case_of(id, live, || Ok(Some(case("default")))).unwrap().0.map(|case| case.id.clone())
        };
        let [settled, live, stored] = std::array::from_fn(|_| SessionId::random());
        residents.settle(&settled, Some(case("memory")));
        assert_eq!(of(&settled, Some(Some(case("live")))).as_deref(), Some("memory"));
        assert_eq!(of(&live, Some(Some(case("live")))).as_deref(), Some("live"));
        assert_eq!(of(&live, None).as_deref(), Some("live"), "it was remembered");
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        for _ in 0..3 {
            assert_eq!(of(&stored, None).as_deref(), Some("stored"));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        residents.retain(|id| *id != stored);
        assert_eq!(of(&stored, None).as_deref(), Some("stored"));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        // a session without a case has none, and not the default
        assert_eq!(of(&SessionId::random(), Some(None)), None);
    }

    #[test]
    fn the_default_is_the_last_resort() {
        let residents = Residents::new(Nothing);
        let id = SessionId::random();
        let (found, from) = residents.case_of(&id, None, || Ok(Some(case("default")))).unwrap();
        assert_eq!(from, AnsweredBy::Default);
        assert_eq!(found.map(|case| case.id.clone()).as_deref(), Some("default"));
        // it is remembered, too
        let (again, from) = residents.case_of(&id, None, || Ok(None)).unwrap();
        assert!(again.is_some() && from == AnsweredBy::Memory);
        let broken = residents.case_of(&SessionId::random(), None, || Err(Error::invalid("broken")));
        assert!(broken.is_err());
    }
}
