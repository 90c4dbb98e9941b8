//! Who may have how many of the daemon's descriptors.
//!
//! Whatever holds some for long has a share of its own, so that nothing can take what another needs. A part is
//! nobody's: a look at /proc or a file that is written and closed must always be possible.

/// For listeners, links, the log, and everything that is opened for a moment.
const RESERVED: u64 = 128;
/// FIFOs 11, link, watch, two lists of children, the command's file, an open stdin.
pub const PER_SESSION: u64 = 18;
/// One session, and a few connections and pipes.
pub const FEWEST: u64 = RESERVED + 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    pub sessions: usize,
    pub connections: usize,
    /// Pipes that background processes still write to, and spill files.
    pub leftovers: usize,
}

impl Shares {
    /// Of `usable` descriptors: a quarter for connections and one for leftovers where there are few, and no more than
    /// anybody needs where there are many; the rest for sessions.
    pub fn of(usable: u64) -> Self {
        let rest = usable.saturating_sub(RESERVED);
        let share = |enough: u64| (rest / 4).min(enough.max(rest / 32));
        let (connections, leftovers) = (share(512), share(1024));
        let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
        Self {
            sessions: count((rest - connections - leftovers) / PER_SESSION),
            connections: count(connections),
            leftovers: count(leftovers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_limit_is_enough_for_a_thousand_sessions() {
        assert!(Shares::of(20_000).sessions >= 1000);
    }

    #[test]
    fn the_shares_fit_into_the_whole() {
        for usable in [FEWEST, 256, 1024, 4096, 1 << 20, u64::MAX] {
            let shares = Shares::of(usable);
            let sessions = u128::from(PER_SESSION) * shares.sessions as u128;
            let all = sessions + shares.connections as u128 + shares.leftovers as u128;
            assert!(all + u128::from(RESERVED) <= u128::from(usable), "{shares:?} of {usable}");
        }
    }
}
