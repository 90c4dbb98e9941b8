//! Unguessable numbers, fetched from the kernel in bulk: one system call serves many commands.

use std::cell::RefCell;

const POOL: usize = 512;

thread_local! {
    static LEFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A number nobody can guess, of twelve digits: a shell may read it byte by byte, so it is no longer than it need be.
/// Whoever floods a report FIFO with a million guesses a second needs a week for one command.
pub fn nonce() -> u64 {
    const LEAST: u64 = 100_000_000_000;
    LEAST + raw() % (9 * LEAST)
}

fn raw() -> u64 {
    LEFT.with_borrow_mut(|left| {
        if left.len() < 8 {
            left.resize(POOL, 0);
            // Without kernel randomness a session's own processes could forge its reports, and only its.
            let _ = getrandom::fill(left);
        }
        let rest = left.split_off(left.len() - 8);
        u64::from_le_bytes(rest.try_into().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_across_refills() {
        let seen: std::collections::HashSet<u64> = (0..1000).map(|_| nonce()).collect();
        assert_eq!(seen.len(), 1000);
        assert!(seen.iter().all(|n| n.to_string().len() == 12));
    }
}
