//! When the bytes of a tape came. Pure: the clock is the caller's.
//!
//! What comes together shares one moment, so a flood makes a hundred of them a second, and silence makes none. They are
//! forgotten with their bytes. When a drip of single bytes makes too many, the older half is told less finely.

use std::collections::VecDeque;

/// Milliseconds within which bytes have come together: less than a person sees.
const TOGETHER: u64 = 10;
/// Moments remembered, 16 bytes each.
const MOST: usize = 4096;

/// From this offset on bytes came at this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub at: u64,
    /// Since the tape was made.
    pub ms: u64,
}

#[derive(Debug, Default)]
pub(super) struct Times {
    /// Oldest first.
    moments: VecDeque<Moment>,
}

impl Times {
    /// Bytes come at this offset, now; nothing before `start` matters any more.
    pub(super) fn note(&mut self, at: u64, now: u64, start: u64) {
        if self.moments.back().is_some_and(|last| now < last.ms + TOGETHER) {
            return;
        }
        while self.moments.get(1).is_some_and(|next| next.at <= start) {
            self.moments.pop_front();
        }
        self.moments.push_back(Moment { at, ms: now });
        if self.moments.len() > MOST {
            self.thin();
        }
    }

    /// When the bytes between two offsets came, in pieces; the first begins at `from`.
    pub(super) fn between(&self, from: u64, to: u64) -> Vec<Moment> {
        let next = self.moments.partition_point(|m| m.at <= from);
        let first = next.checked_sub(1).map_or(0, |at| self.moments[at].ms);
        let rest = self.moments.range(next..).take_while(|m| m.at < to);
        std::iter::once(Moment { at: from, ms: first }).chain(rest.copied()).collect()
    }

    /// Joins those of the older half that follow each other most closely: a long silence stays where it was.
    fn thin(&mut self) {
        let newer = self.moments.split_off(self.moments.len() / 2);
        let older = std::mem::replace(&mut self.moments, newer);
        let mut gaps: Vec<u64> = older.iter().zip(older.iter().skip(1)).map(|(a, b)| b.ms - a.ms).collect();
        let middle = gaps.len() / 2;
        let usual = *gaps.select_nth_unstable(middle).1;
        let mut kept: VecDeque<Moment> = VecDeque::with_capacity(MOST);
        for moment in older {
            // At least every other one of the closer half goes.
            if kept.back().is_none_or(|last| moment.ms - last.ms > usual) {
                kept.push_back(moment);
            }
        }
        kept.append(&mut self.moments);
        self.moments = kept;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(moments: &[Moment]) -> Vec<(u64, u64)> {
        moments.iter().map(|m| (m.at, m.ms)).collect()
    }

    #[test]
    fn what_comes_together_shares_a_moment() {
        let mut times = Times::default();
        for (at, now) in [(0, 5), (3, 9), (4, 14), (10, 15), (11, 400)] {
            times.note(at, now, 0);
        }
        assert_eq!(pairs(&times.between(0, 20)), [(0, 5), (10, 15), (11, 400)]);
        assert_eq!(pairs(&times.between(4, 11)), [(4, 5), (10, 15)]);
        assert_eq!(pairs(&times.between(15, 20)), [(15, 400)]);
        assert_eq!(pairs(&Times::default().between(7, 9)), [(7, 0)]);
    }

    #[test]
    fn moments_go_with_their_bytes() {
        let mut times = Times::default();
        for at in 0..100 {
            times.note(at, at * 20, at.saturating_sub(10));
        }
        assert_eq!(times.moments.len(), 11);
        assert_eq!(pairs(&times.between(89, 91)), [(89, 1780), (90, 1800)]);
    }

    #[test]
    fn a_drip_without_end_costs_no_more_and_keeps_its_long_silences() {
        let mut times = Times::default();
        let mut now = 0;
        for at in 0..100_000 {
            now += if at % 1000 == 999 { 60_000 } else { 10 };
            times.note(at, now, 0);
            assert!(times.moments.len() <= MOST);
        }
        let silences =
            times.moments.iter().zip(times.moments.iter().skip(1)).filter(|(a, b)| b.ms - a.ms > 40_000);
        assert_eq!(silences.count(), 100, "none of them is gone");
        assert_eq!(times.moments.back().map(|m| m.at), Some(99_999));
    }

    proptest! {
        /// They only ever go forward, cover what is asked for, and one that was told less finely is never early by much.
        #[test]
        fn times_go_forward(steps in prop::collection::vec((1u64..500, 0u64..100), 1..200), cut in any::<prop::sample::Index>()) {
            let mut times = Times::default();
            let (mut at, mut now) = (0, 0);
            let mut came = Vec::new();
            for (length, pause) in steps {
                now += pause;
                times.note(at, now, 0);
                came.push((at, now));
                at += length;
            }
            let (from, _) = came[cut.index(came.len())];
            let told = times.between(from, at);
            prop_assert_eq!(told[0].at, from);
            prop_assert!(told.windows(2).all(|two| two[0].at < two[1].at && two[0].ms < two[1].ms));
            for (at, now) in came.into_iter().filter(|c| c.0 >= from) {
                let moment = told[told.partition_point(|m| m.at <= at) - 1];
                prop_assert!(moment.ms <= now && now < moment.ms + TOGETHER);
            }
        }
    }
}
