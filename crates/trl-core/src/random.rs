//! Nonces: what a report must repeat to be believed.

/// A number nobody can guess, of twelve digits: a shell may read it byte by byte, so it is no longer than it need be.
/// Whoever floods a report FIFO with a million guesses a second needs a week for one command.
pub fn nonce() -> u64 {
    const LEAST: u64 = 100_000_000_000;
    LEAST + u64::from_le_bytes(trl_proto::random::bytes()) % (9 * LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nonce_is_as_long_as_the_others() {
        assert!((0..1000).all(|_| nonce().to_string().len() == 12));
    }
}
