//! What a terminal's program has written, as every reader sees it: bytes by absolute offset, with the changes of size
//! where they happened, and when all of it came.
//!
//! One writer, any number of readers. A reader is a [`Place`] of its own, nothing is kept for it here, and nobody's
//! slowness holds anything up: a reader that fell off the ring is told where it begins now.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use trl_sys::pty::Size;

use super::times::{Moment, Times};
use crate::output::{Budget, Capacity, Kept};

/// Sizes remembered; a terminal that is resized more often within the ring has a restless window.
const MOST_MARKS: usize = 4096;
/// Kept of each tape even when all memory for output is taken: a picture must not have a gap.
const GRANTED: usize = 192 * 1024;

#[derive(Debug)]
pub struct Tape {
    inner: Mutex<Inner>,
    grown: Notify,
    born: Instant,
}

#[derive(Debug)]
struct Inner {
    kept: Kept,
    /// Oldest first. There is always one: the size at the oldest byte.
    marks: VecDeque<Mark>,
    /// Of the first of `marks`.
    first_mark: u64,
    times: Times,
    closed: bool,
}

/// From this offset on the terminal had this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub at: u64,
    pub size: Size,
    /// When, since the tape was made.
    pub ms: u64,
}

/// Where a reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The next byte it wants.
    pub offset: u64,
    /// The next change of size it has not seen.
    mark: u64,
}

impl Place {
    /// How many changes of size there were before it.
    pub fn mark(&self) -> u64 {
        self.mark
    }
}

/// What comes next for a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Bytes {
        offset: u64,
        bytes: Vec<u8>,
    },
    Resized(Mark),
    /// What it wanted is gone; the oldest byte there is stands at `to`.
    Fell {
        to: u64,
    },
    /// Nothing new yet.
    Nothing,
    /// Nothing will ever come.
    End,
}

impl Tape {
    pub fn new(bytes: usize, size: Size, budget: Arc<Budget>) -> Self {
        let inner = Inner {
            kept: Kept::new(Capacity::tail(bytes), budget, None).granted(GRANTED),
            marks: VecDeque::from([Mark { at: 0, size, ms: 0 }]),
            first_mark: 0,
            times: Times::default(),
            closed: false,
        };
        Self { inner: Mutex::new(inner), grown: Notify::new(), born: Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn append(&self, bytes: &[u8]) {
        let now = self.ms_of(Instant::now());
        let mut inner = self.lock();
        let (at, start) = (inner.kept.total(), inner.start());
        inner.times.note(at, now, start);
        inner.kept.append(bytes);
        drop(inner);
        self.grown.notify_waiters();
    }

    /// What is written from here on is for another size.
    pub fn resize(&self, size: Size) {
        let ms = self.ms_of(Instant::now());
        let mut inner = self.lock();
        let at = inner.kept.total();
        inner.marks.push_back(Mark { at, size, ms });
        inner.forget_marks();
        drop(inner);
        self.grown.notify_waiters();
    }

    /// No more will come.
    pub fn close(&self) {
        self.lock().closed = true;
        self.grown.notify_waiters();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// When something happened, as a tape tells it: in milliseconds since it was made.
    pub fn ms_of(&self, then: Instant) -> u64 {
        u64::try_from(then.saturating_duration_since(self.born).as_millis()).unwrap_or(u64::MAX)
    }

    /// When the bytes between two offsets came, in pieces; the first begins at `from`.
    pub fn times(&self, from: u64, to: u64) -> Vec<Moment> {
        self.lock().times.between(from, to)
    }

    /// Bytes written so far.
    pub fn head(&self) -> u64 {
        self.lock().kept.total()
    }

    /// How far a reader may be behind and still lose nothing.
    pub fn assured(&self) -> u64 {
        self.lock().kept.assured() as u64
    }

    /// The oldest byte that is still here.
    pub fn start(&self) -> u64 {
        self.lock().start()
    }

    pub fn memory(&self) -> usize {
        self.lock().kept.memory()
    }

    /// The beginning of everything.
    pub fn origin() -> Place {
        Place { offset: 0, mark: 0 }
    }

    /// The place of a reader that has seen everything there is.
    pub fn end(&self) -> Place {
        let inner = self.lock();
        Place { offset: inner.kept.total(), mark: inner.first_mark + inner.marks.len() as u64 }
    }

    /// The place of a reader that has seen everything before `offset` and knows the size it had there.
    pub fn place_at(&self, offset: u64) -> (Place, Size) {
        let inner = self.lock();
        let seen = inner.marks.iter().take_while(|m| m.at <= offset).count().max(1);
        let size = inner.marks[seen - 1].size;
        (Place { offset, mark: inner.first_mark + seen as u64 }, size)
    }

    /// At most `limit` bytes, and none from beyond the next change of size.
    pub fn read(&self, place: &mut Place, limit: usize) -> Piece {
        let inner = self.lock();
        if let Some(mark) = inner.mark(place.mark).filter(|mark| mark.at <= place.offset) {
            place.mark = place.mark.max(inner.first_mark) + 1;
            return Piece::Resized(mark);
        }
        if place.offset < inner.start() {
            return Piece::Fell { to: inner.start() };
        }
        let until = inner.mark(place.mark).map_or(u64::MAX, |m| m.at - place.offset);
        let limit = limit.min(usize::try_from(until).unwrap_or(usize::MAX));
        let slice = inner.kept.read(place.offset, limit);
        if slice.bytes.is_empty() {
            return if inner.closed { Piece::End } else { Piece::Nothing };
        }
        place.offset = slice.next();
        Piece::Bytes { offset: slice.offset, bytes: slice.bytes }
    }

    /// The newest bytes, for those who can only start over.
    pub fn newest(&self, bytes: usize) -> Place {
        let inner = self.lock();
        let offset = inner.kept.total().saturating_sub(bytes as u64).max(inner.start());
        let seen = inner.marks.iter().take_while(|m| m.at <= offset).count() as u64;
        Place { offset, mark: inner.first_mark + seen }
    }

    /// Resolves when there is something for a reader at `place`, or nothing will ever come. Cancel-safe.
    pub async fn wait(&self, place: &Place) {
        loop {
            let mut grown = std::pin::pin!(self.grown.notified());
            grown.as_mut().enable();
            {
                let inner = self.lock();
                let behind = place.offset < inner.kept.total() || inner.mark(place.mark).is_some();
                if behind || inner.closed {
                    return;
                }
            }
            grown.await;
        }
    }
}

impl Inner {
    fn start(&self) -> u64 {
        self.kept.omitted().map_or(0, |(_, to)| to)
    }

    /// A reader that is behind even the oldest one gets that.
    fn mark(&self, number: u64) -> Option<Mark> {
        let at = usize::try_from(number.saturating_sub(self.first_mark)).ok()?;
        self.marks.get(at).copied()
    }

    fn forget_marks(&mut self) {
        let start = self.start();
        while self.marks.get(1).is_some_and(|next| next.at <= start) || self.marks.len() > MOST_MARKS {
            self.marks.pop_front();
            self.first_mark += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(cols: u16) -> Size {
        Size { cols, rows: 24 }
    }

    fn tape(bytes: usize) -> Tape {
        Tape::new(bytes, size(80), Budget::new(usize::MAX))
    }

    fn resized(piece: &Piece) -> (u64, Size) {
        match piece {
            Piece::Resized(mark) => (mark.at, mark.size),
            other => panic!("{other:?}"),
        }
    }

    fn bytes(piece: Piece) -> (u64, Vec<u8>) {
        match piece {
            Piece::Bytes { offset, bytes } => (offset, bytes),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_change_of_size_comes_where_it_happened() {
        let tape = tape(100);
        tape.append(b"wide");
        tape.resize(size(40));
        tape.append(b"narrow");
        let mut place = Tape::origin();
        assert_eq!(resized(&tape.read(&mut place, 99)), (0, size(80)));
        assert_eq!(bytes(tape.read(&mut place, 99)), (0, b"wide".to_vec()));
        assert_eq!(resized(&tape.read(&mut place, 99)), (4, size(40)));
        assert_eq!(bytes(tape.read(&mut place, 99)), (4, b"narrow".to_vec()));
        assert_eq!(tape.read(&mut place, 99), Piece::Nothing);
        tape.close();
        assert_eq!(tape.read(&mut place, 99), Piece::End);
    }

    #[test]
    fn a_reader_that_fell_off_is_told_where_it_begins() {
        let tape = tape(4);
        tape.append(b"abcdefgh");
        let (mut place, _) = tape.place_at(2);
        assert_eq!(tape.read(&mut place, 99), Piece::Fell { to: 4 });
        let (mut place, at) = tape.place_at(4);
        assert_eq!(at, size(80));
        assert_eq!(bytes(tape.read(&mut place, 99)), (4, b"efgh".to_vec()));
    }

    proptest! {
        /// However it is read, a reader within the ring gets every byte once and every size before the bytes it is for.
        #[test]
        fn every_byte_once_and_every_size_in_its_place(
            steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..30), prop::option::of(2u16..200)), 0..20),
            limits in prop::collection::vec(1usize..40, 1..50),
        ) {
            let tape = tape(1 << 16);
            let mut model: Vec<(u8, Size)> = Vec::new();
            let mut now = size(80);
            let mut place = Tape::origin();
            let mut seen: Vec<(u8, Size)> = Vec::new();
            let mut at = size(1);
            let mut limits = limits.into_iter().cycle();
            let mut read = |seen: &mut Vec<(u8, Size)>, at: &mut Size| loop {
                match tape.read(&mut place, limits.next().unwrap()) {
                    Piece::Bytes { bytes, .. } => seen.extend(bytes.into_iter().map(|b| (b, *at))),
                    Piece::Resized(mark) => *at = mark.size,
                    other => break other,
                }
            };
            for (bytes, resize) in steps {
                tape.append(&bytes);
                model.extend(bytes.into_iter().map(|b| (b, now)));
                if let Some(cols) = resize {
                    now = size(cols);
                    tape.resize(now);
                }
                prop_assert_eq!(read(&mut seen, &mut at), Piece::Nothing);
            }
            prop_assert_eq!(read(&mut seen, &mut at), Piece::Nothing);
            prop_assert_eq!(seen, model);
            prop_assert_eq!(at, now);
        }
    }
}
