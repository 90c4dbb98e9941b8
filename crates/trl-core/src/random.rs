//! Unguessable numbers, fetched from the kernel in bulk: one system call serves many commands.

use std::cell::RefCell;

const POOL: usize = 512;

thread_local! {
    static LEFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A number nobody can guess. It fits the arithmetic of every shell.
pub fn nonce() -> u64 {
    LEFT.with_borrow_mut(|left| {
        if left.len() < 8 {
            left.resize(POOL, 0);
            // Without kernel randomness a session's own processes could forge its reports, and only its.
            let _ = getrandom::fill(left);
        }
        let rest = left.split_off(left.len() - 8);
        u64::from_le_bytes(rest.try_into().unwrap_or_default()) >> 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_across_refills() {
        let seen: std::collections::HashSet<u64> = (0..1000).map(|_| nonce()).collect();
        assert_eq!(seen.len(), 1000);
    }
}
