//! Nonces: what a report must repeat to be believed.

use std::fmt;

/// A word nobody can guess: a digit, then letters and digits. A shell may read it byte by byte, so it is no longer than
/// it need be. Whoever floods a report FIFO with a million guesses a second needs days for one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; Self::LEN]);

impl Nonce {
    pub const LEN: usize = 7;

    pub fn random() -> Self {
        const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut left = u64::from_le_bytes(trl_proto::random::bytes());
        let mut pick = |of: usize| {
            let digit = DIGITS[(left % of as u64) as usize];
            left /= of as u64;
            digit
        };
        // a digit tells it from the verb beside it
        let first = pick(10);
        Self(std::array::from_fn(|at| if at == 0 { first } else { pick(DIGITS.len()) }))
    }

    /// What a report repeats.
    pub fn parse(word: &[u8]) -> Option<Self> {
        word.try_into().ok().map(Self)
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| fmt::Write::write_char(f, char::from(*b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_a_word_that_starts_with_a_digit_and_is_read_back() {
        for _ in 0..1000 {
            let nonce = Nonce::random();
            let word = nonce.to_string();
            assert!(word.starts_with(|c: char| c.is_ascii_digit()), "{word}");
            assert!(word.bytes().all(|b| b.is_ascii_alphanumeric()), "{word}");
            assert_eq!(Nonce::parse(word.as_bytes()), Some(nonce));
        }
    }
}
