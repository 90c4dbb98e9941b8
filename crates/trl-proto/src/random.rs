//! Random bytes, fetched from the kernel in bulk: one system call serves many commands.

use std::cell::RefCell;

const POOL: usize = 512;

thread_local! {
    static LEFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes nobody can guess and nobody else gets.
#[allow(clippy::expect_used)]
// without kernel randomness no id is unique and no nonce is secret: there is nothing to fall back to
pub fn bytes<const N: usize>() -> [u8; N] {
    const { assert!(N <= POOL) };
    LEFT.with_borrow_mut(|left| {
        if left.len() < N {
            left.resize(POOL, 0);
            getrandom::fill(left).expect("the kernel gives random bytes");
        }
        let mut taken = [0; N];
        taken.copy_from_slice(&left.split_off(left.len() - N));
        taken
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_differ_across_refills() {
        let seen: std::collections::HashSet<[u8; 10]> = (0..1000).map(|_| bytes()).collect();
        assert_eq!(seen.len(), 1000);
    }
}
