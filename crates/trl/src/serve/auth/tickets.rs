//! Tickets: what a browser's WebSocket presents in place of a token, because it can send no headers and a token does
//! not belong into an address. Good once, for seconds, and only in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::principal::Principal;
use super::{Digest, digest, fresh_secret, same};

/// Tickets that may be out at once; the oldest goes first. Each is used within seconds, or never.
const MOST: usize = 1024;

pub(in crate::serve) struct Tickets {
    ttl: Duration,
    /// Oldest first.
    out: Mutex<VecDeque<Issued>>,
}

struct Issued {
    digest: Digest,
    until: Instant,
    principal: Principal,
}

impl Tickets {
    pub(super) fn new(ttl: Duration) -> Self {
        Self { ttl, out: Mutex::default() }
    }

    pub(in crate::serve) fn ttl(&self) -> Duration {
        self.ttl
    }

    fn out(&self) -> MutexGuard<'_, VecDeque<Issued>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::serve) fn issue(&self, principal: Principal) -> String {
        let ticket = fresh_secret("tkt_");
        let mut out = self.out();
        if out.len() == MOST {
            out.pop_front();
        }
        out.push_back(Issued { digest: digest(&ticket), until: Instant::now() + self.ttl, principal });
        ticket
    }

    /// Takes the ticket back, whether it is still good or not.
    pub(super) fn redeem(&self, presented: &Digest) -> Option<Principal> {
        let now = Instant::now();
        let mut out = self.out();
        let found = out.iter().position(|issued| same(&issued.digest, presented));
        let issued = found.and_then(|at| out.remove(at));
        out.retain(|issued| issued.until > now);
        issued.filter(|issued| issued.until > now).map(|issued| issued.principal)
    }
}

#[cfg(test)]
mod tests {
    use trl_proto::Role;

    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_not_for_long() {
        let viewer = Principal::Role(Role::Viewer);
        let tickets = Tickets::new(Duration::from_secs(30));
        let ticket = digest(&tickets.issue(viewer.clone()));
        assert_eq!(tickets.redeem(&ticket), Some(viewer.clone()));
        assert_eq!(tickets.redeem(&ticket), None);
        let short = Tickets::new(Duration::ZERO);
        let late = digest(&short.issue(viewer));
        assert_eq!(short.redeem(&late), None);
    }

    #[test]
    fn the_oldest_makes_room() {
        let tickets = Tickets::new(Duration::from_secs(30));
        let all: Vec<String> = (0..=MOST).map(|_| tickets.issue(Principal::Role(Role::Agent))).collect();
        assert!(tickets.redeem(&digest(&all[0])).is_none());
        assert!(tickets.redeem(&digest(&all[1])).is_some());
    }
}
