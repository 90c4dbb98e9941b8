//! Repeatable randomness: a seed in, the same numbers out. Not for secrets.

use crate::rounds::long_tier;

/// Any number does.
const SHORT_TIER_SEED: u64 = 1;

/// SplitMix64: tiny, and even enough to choose test actions.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Takes the seed from `TRL_TEST_SEED`. Without it, the short tier has always the same seed, and the long tier
    /// ([`crate::Rounds`]) one from the clock. Prints the seed, so that a failure can be repeated.
    pub fn from_environment() -> Self {
        let given = std::env::var("TRL_TEST_SEED").ok().and_then(|s| s.parse().ok());
        let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_nanos() as u64);
        let usual = || if long_tier().is_some() { clock() } else { SHORT_TIER_SEED };
        let seed = given.unwrap_or_else(usual);
        eprintln!("random seed {seed} (repeat with TRL_TEST_SEED={seed})");
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| self.next_u64().to_le_bytes()).collect();
        bytes.truncate(len);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(Random::seeded(7).bytes(1001), Random::seeded(7).bytes(1001));
        assert_ne!(Random::seeded(7).bytes(64), Random::seeded(8).bytes(64));
        assert!((0..1000).all(|_| Random::seeded(9).below(10) < 10));
    }
}
