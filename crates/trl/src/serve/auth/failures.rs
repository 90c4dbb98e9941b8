//! Failed attempts, by the address they came from. Bounded in memory, whoever attacks from wherever.
//!
//! An address that has failed too often within a window waits for the window's end. Valid tokens that nobody can
//! guess are served meanwhile: on one machine everybody has the same address, and a neighbour must not lock others out.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered; when there are more, the one whose window began first is forgotten.
const MOST: usize = 4096;

pub(super) struct Failures {
    /// Attempts that may fail within a window.
    allowed: usize,
    known: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    failures: usize,
}

impl Failures {
    pub(super) fn new(allowed: usize) -> Self {
        Self { allowed, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<IpAddr, Window>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long this address has to wait; None when it may try.
    pub(super) fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let window = self.known().get(&network(address)).copied()?;
        let left = (window.began + WINDOW).checked_duration_since(now)?;
        (window.failures >= self.allowed && !left.is_zero()).then_some(left)
    }

    pub(super) fn note(&self, address: IpAddr, now: Instant) {
        let mut known = self.known();
        let address = network(address);
        if known.len() >= MOST && !known.contains_key(&address) {
            forget_some(&mut known, now);
        }
        let window = known.entry(address).or_insert(Window { began: now, failures: 0 });
        if now.saturating_duration_since(window.began) >= WINDOW {
            *window = Window { began: now, failures: 0 };
        }
        window.failures += 1;
    }
}

fn forget_some(known: &mut HashMap<IpAddr, Window>, now: Instant) {
    known.retain(|_, window| now.saturating_duration_since(window.began) < WINDOW);
    if known.len() >= MOST
        && let Some(oldest) = known.iter().min_by_key(|(_, window)| window.began).map(|(at, _)| *at)
    {
        known.remove(&oldest);
    }
}

/// Whoever has one address of IPv6 has 2^64 of them.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.into(),
            None => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_waits_and_its_neighbour_does_not() {
        let (a, b): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let failures = Failures::new(3);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(failures.wait(a, start), None);
            failures.note(a, start);
        }
        assert_eq!(failures.wait(a, start), Some(WINDOW));
        assert_eq!(failures.wait(b, start), None);
        assert_eq!(failures.wait(a, start + WINDOW), None);
        failures.note(a, start + WINDOW);
        assert_eq!(failures.wait(a, start + WINDOW), None, "a new window");
    }

    #[test]
    fn a_network_of_addresses_is_one() {
        let failures = Failures::new(1);
        let now = Instant::now();
        failures.note("2001:db8::1".parse().unwrap(), now);
        assert!(failures.wait("2001:db8::ffff".parse().unwrap(), now).is_some());
        assert!(failures.wait("2001:db8:0:1::1".parse().unwrap(), now).is_none());
        failures.note("::ffff:10.0.0.1".parse().unwrap(), now);
        assert!(failures.wait("10.0.0.1".parse().unwrap(), now).is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let failures = Failures::new(1);
        let now = Instant::now();
        for n in 0..20_000u32 {
            failures.note(IpAddr::from(n.to_be_bytes()), now);
        }
        assert_eq!(failures.known().len(), MOST);
    }
}
