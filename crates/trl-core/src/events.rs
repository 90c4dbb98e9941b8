//! What happens, numbered, for whoever wants to know. The newest are remembered for late subscribers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use trl_proto::event::{Event, Happening};

use crate::clock::Stamp;

/// How many events a subscriber may be behind.
const REMEMBERED: usize = 4096;

#[derive(Debug, Default)]
pub struct Events {
    inner: Mutex<Inner>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    seq: u64,
    recent: VecDeque<Kept>,
}

/// The time becomes text only for those who ask.
#[derive(Debug)]
struct Kept {
    seq: u64,
    time: Stamp,
    what: Happening,
    owner: Arc<str>,
}

/// An event, and whose session or terminal it is about: known also when that is forgotten.
#[derive(Debug)]
pub struct Told {
    pub event: Event,
    /// None for what concerns everybody.
    pub owner: Option<Arc<str>>,
}

impl Events {
    pub fn emit(&self, owner: &Arc<str>, what: Happening) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.seq += 1;
        let event = Kept { seq: inner.seq, time: Stamp::now(), what, owner: Arc::clone(owner) };
        if inner.recent.len() == REMEMBERED {
            inner.recent.pop_front();
        }
        inner.recent.push_back(event);
        drop(inner);
        self.news.notify_waiters();
    }

    pub fn seq(&self) -> u64 {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).seq
    }

    /// What came after `seen`; waits for something to. A gap comes first, as an event of its own.
    pub async fn after(&self, seen: u64) -> Vec<Told> {
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            let found = self.now_after(seen);
            if !found.is_empty() {
                return found;
            }
            news.await;
        }
    }

    fn now_after(&self, seen: u64) -> Vec<Told> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.min(inner.seq);
        let oldest = inner.recent.front().map_or(inner.seq + 1, |e| e.seq);
        let mut found = Vec::new();
        if seen + 1 < oldest {
            let what = Happening::Missed { from: seen + 1, to: oldest - 1 };
            let event = Event { seq: oldest - 1, time: Stamp::now().rfc3339(), what };
            found.push(Told { event, owner: None });
        }
        let skip = usize::try_from((seen + 1).saturating_sub(oldest)).unwrap_or(usize::MAX);
        found.extend(inner.recent.iter().skip(skip).map(|kept| Told {
            event: Event { seq: kept.seq, time: kept.time.rfc3339(), what: kept.what.clone() },
            owner: Some(Arc::clone(&kept.owner)),
        }));
        found
    }
}

#[cfg(test)]
mod tests {
    use trl_proto::SessionId;

    use super::*;

    #[tokio::test]
    async fn a_late_subscriber_is_told_what_it_missed() {
        let events = Events::default();
        let (id, owner) = (SessionId::random(), Arc::from("agent"));
        for _ in 0..REMEMBERED + 10 {
            events.emit(&owner, Happening::SessionCreated { session_id: id.clone(), shell: String::new() });
        }
        let found = events.after(0).await;
        assert!(matches!(found[0].event.what, Happening::Missed { from: 1, to: 10 }));
        assert_eq!((found[1].event.seq, found[1].owner.as_deref()), (11, Some("agent")));
        assert_eq!(found.len(), REMEMBERED + 1);
        assert_eq!(events.after(events.seq() - 1).await.len(), 1);
    }
}
