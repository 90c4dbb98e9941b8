//! How long things took, since the daemon started: counts per length, so that clients can tell medians and tails of any
//! span by subtracting two readings.

use std::sync::atomic::{AtomicU64, Ordering};

use trl_proto::system::{Bucket, Distribution};

/// Upper bounds in milliseconds: fine where commands of a busy agent are, coarse where people wait.
const BOUNDS: [u64; 16] =
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

#[derive(Debug, Default)]
pub struct Histogram {
    /// One per bound, and what is longer than all of them.
    counts: [AtomicU64; BOUNDS.len() + 1],
    sum_ms: AtomicU64,
}

impl Histogram {
    pub fn note(&self, ms: u64) {
        let at = BOUNDS.partition_point(|bound| *bound < ms);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Each bucket counts everything up to its bound.
    pub fn read(&self) -> Distribution {
        let mut count = 0;
        let mut buckets = Vec::with_capacity(BOUNDS.len());
        for (at, here) in self.counts.iter().enumerate() {
            count += here.load(Ordering::Relaxed);
            buckets.extend(BOUNDS.get(at).map(|le_ms| Bucket { le_ms: *le_ms, count }));
        }
        Distribution { count, sum_ms: self.sum_ms.load(Ordering::Relaxed), buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_what_is_not_longer() {
        let histogram = Histogram::default();
        for ms in [0, 1, 2, 3, 300_000, 300_001] {
            histogram.note(ms);
        }
        let read = histogram.read();
        assert_eq!((read.count, read.sum_ms), (6, 600_007));
        let up_to = |le_ms| read.buckets.iter().find(|bucket| bucket.le_ms == le_ms).unwrap().count;
        assert_eq!([up_to(1), up_to(2), up_to(5), up_to(300_000)], [2, 3, 4, 5]);
    }
}
