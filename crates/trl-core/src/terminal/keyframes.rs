//! Pictures of a screen along its tape, so that there is always one that the bytes still there can follow. Pure.
//!
//! A new one is due after a quarter of the ring. A large screen has them less often: neither the time to write them nor
//! the room they take may weigh beside the bytes they stand between.

use std::collections::VecDeque;

use trl_sys::pty::Size;

use super::tape::Place;

/// A picture is followed by at least so many times its own size of bytes before the next: a byte of it takes about as
/// long to write as one of them to understand, and may cost a flood a few percent of that.
const WORTH: u64 = 32;
/// One that is larger than this part of the ring is not kept.
const LARGEST_PART: u64 = 8;

/// What a terminal showed at a place of its tape, without what had left its screen.
#[derive(Debug, Clone)]
pub struct Keyframe {
    /// Bytes and sizes go on here.
    pub place: Place,
    pub size: Size,
    /// To be written to a fresh terminal of that size.
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Keyframes {
    /// Oldest first.
    frames: VecDeque<Keyframe>,
    /// The offset from which on another is wanted.
    next: u64,
}

impl Keyframes {
    /// Of a tape that keeps at least so many bytes.
    pub(super) fn new(ring: u64) -> Self {
        Self { frames: VecDeque::new(), next: ring / 4 }
    }

    pub(super) fn is_due(&self, offset: u64) -> bool {
        offset >= self.next
    }

    /// Takes another of a tape that begins at `start` and keeps at least `ring` bytes.
    pub(super) fn keep(&mut self, frame: Keyframe, ring: u64, start: u64) {
        while self.frames.front().is_some_and(|oldest| oldest.place.offset < start) {
            self.frames.pop_front();
        }
        let size = frame.bytes.len() as u64;
        self.next = frame.place.offset + (ring / 4).max(WORTH * size);
        if LARGEST_PART * size <= ring {
            self.frames.push_back(frame);
        }
    }

    /// The oldest at `start` or later.
    pub(super) fn oldest(&self, start: u64) -> Option<Keyframe> {
        self.frames.iter().find(|frame| frame.place.offset >= start).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: u64 = 1 << 20;

    fn frame(offset: u64, bytes: usize) -> Keyframe {
        let mut place = super::super::tape::Tape::origin();
        place.offset = offset;
        Keyframe { place, size: Size { cols: 80, rows: 24 }, bytes: vec![0; bytes] }
    }

    /// Runs a tape past; returns how much of the ring a recording got at worst, and the most memory.
    fn run(picture: usize) -> (u64, usize) {
        let mut frames = Keyframes::new(RING);
        let (mut shortest, mut memory) = (RING, 0);
        for head in (0..40 * RING).step_by(16 * 1024) {
            let start = head.saturating_sub(RING);
            if frames.is_due(head) {
                frames.keep(frame(head, picture), RING, start);
            }
            if start > 0 {
                shortest = shortest.min(frames.oldest(start).map_or(0, |f| head - f.place.offset));
            }
            memory = memory.max(frames.frames.iter().map(|f| f.bytes.len()).sum());
        }
        (shortest, memory)
    }

    #[test]
    fn three_quarters_of_the_ring_can_always_be_played() {
        let (shortest, memory) = run(2000);
        assert!(shortest >= RING * 3 / 4 - 16 * 1024, "{shortest}");
        assert!(memory <= 5 * 2000, "{memory}");
    }

    #[test]
    fn larger_screens_have_fewer_and_huge_ones_none() {
        let (shortest, memory) = run(20_000);
        assert!(shortest >= RING / 4, "{shortest}");
        assert!(memory <= 3 * 20_000, "{memory}");
        assert!(run(100_000).1 <= 100_000);
        assert_eq!(run(200_000), (0, 0));
    }
}
