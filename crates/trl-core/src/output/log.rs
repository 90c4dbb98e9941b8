//! A shared log: the process's side appends, readers pull, nobody's slowness blocks the process for long.
//!
//! A [`Follower`] is a reader that wants every byte (a stream to a client). While one lags behind, [`Log::crowded`]
//! asks the writer's side to pause, but only as long as that follower keeps a decent pace: a stalled one soon
//! runs out of patience, the writer goes on, and the follower is told which range it missed.
//!
//! A log is sealed when its command ends while a background process writes on: what is kept of the command's own
//! output stays as it is, and what comes later is kept beside it, under the same offsets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::budget::Budget;
use super::kept::{Capacity, Kept, Slice};
use super::spill::Spill;

/// A follower this far behind makes the writer pause.
const WINDOW: u64 = 256 * 1024;
/// How long, in sum, a follower may hold the writer up before it is let go.
const PATIENCE: Duration = Duration::from_millis(250);
/// Reading this many bytes earns a millisecond of patience back: a follower that sustains 10 MB/s is never dropped.
const BYTES_PER_MS: u64 = 10_000;
/// When a writer looks again for a follower that it waits for in any case.
const ENDLESS: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub struct Log {
    inner: Mutex<Inner>,
    /// Something was appended, or the log was closed.
    grown: Notify,
    /// A follower has read, or left.
    drained: Notify,
}

#[derive(Debug)]
struct Inner {
    kept: Kept,
    /// What came after the seal.
    late: Option<Kept>,
    closed: bool,
    followers: Vec<Place>,
    next_follower: u64,
    /// Since when the writer has been waiting.
    paused_since: Option<Instant>,
}

/// Where one follower stands.
#[derive(Debug)]
struct Place {
    id: u64,
    offset: u64,
    patience: Patience,
}

/// How long a follower may hold the writer up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// So much longer, in sum.
    Left(Duration),
    /// As long as it takes: at its other end is another log, whose own followers are not so patient.
    Endless,
}

impl Patience {
    fn is_over(self) -> bool {
        self == Self::Left(Duration::ZERO)
    }

    fn longest(self) -> Duration {
        match self {
            Self::Left(left) => left,
            Self::Endless => ENDLESS,
        }
    }
}

/// The beginning and the end of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ends {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    /// Of the whole stream.
    pub total: u64,
}

/// What a follower has before it.
#[derive(Debug)]
pub struct Peek {
    pub slice: Slice,
    /// Closed, and `slice` reaches the end.
    pub done: bool,
    /// What comes next does not go on where `slice` ends.
    pub cut_off: bool,
}

/// What a read found.
#[derive(Debug)]
pub struct Reading {
    pub slice: Slice,
    /// Closed, and `slice` reaches the end.
    pub done: bool,
}

impl Log {
    pub fn new(capacity: Capacity, budget: Arc<Budget>, spill: Option<Spill>) -> Arc<Self> {
        let inner = Inner {
            kept: Kept::new(capacity, budget, spill),
            late: None,
            closed: false,
            followers: Vec::new(),
            next_follower: 0,
            paused_since: None,
        };
        Arc::new(Self { inner: Mutex::new(inner), grown: Notify::new(), drained: Notify::new() })
    }

    /// One that nothing ever comes to.
    pub fn empty(budget: Arc<Budget>) -> Arc<Self> {
        let log = Self::new(Capacity::tail(0), budget, None);
        log.close();
        log
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn append(&self, bytes: &[u8]) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.late.as_mut().unwrap_or(&mut inner.kept).append(bytes);
        self.grown.notify_waiters();
    }

    /// What a terminal's tape has too: it counts as output once.
    pub fn append_again(&self, bytes: &[u8]) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.late.as_mut().unwrap_or(&mut inner.kept).append_again(bytes);
        self.grown.notify_waiters();
    }

    /// From here on nothing changes what [`Log::snapshot`] shows.
    pub fn seal(&self) {
        let mut inner = self.lock();
        if inner.late.is_none() {
            inner.late = Some(inner.kept.continued());
        }
    }

    /// No more will come.
    pub fn close(&self) {
        self.lock().closed = true;
        self.grown.notify_waiters();
    }

    pub fn total(&self) -> u64 {
        self.lock().total()
    }

    pub fn memory(&self) -> usize {
        let inner = self.lock();
        inner.kept.memory() + inner.late.as_ref().map_or(0, Kept::memory)
    }

    /// The range that [`Log::snapshot`] lacks.
    pub fn omitted(&self) -> Option<(u64, u64)> {
        self.lock().kept.omitted()
    }

    /// Everything in memory, up to the seal if there is one.
    pub fn snapshot(&self) -> Vec<u8> {
        self.lock().kept.everything()
    }

    /// The first and the last bytes in memory, no byte twice and as many as `most` of each, up to the seal if there is one.
    pub fn ends(&self, most: usize) -> Ends {
        let kept = &self.lock().kept;
        let total = kept.total();
        // In memory, the stream is in one piece or in two.
        let (head_to, tail_from) = kept.omitted().unwrap_or((total, total));
        let most = most as u64;
        let head_to = head_to.min(most);
        let tail_from = if tail_from == total { head_to } else { tail_from };
        let tail_from = tail_from.max(total.saturating_sub(most));
        Ends { head: kept.range(0, head_to), tail: kept.range(tail_from, total), total }
    }

    pub fn read(&self, since: u64, limit: usize) -> Reading {
        let inner = self.lock();
        let sealed = inner.kept.total();
        let slice = match &inner.late {
            Some(late) if since >= sealed => late.read(since - sealed, limit).shifted(sealed),
            _ => inner.kept.read(since, limit),
        };
        let done = inner.closed && slice.next() == inner.total();
        Reading { slice, done }
    }

    /// The same, but as long a piece as there is without a gap in it, however it is kept.
    pub fn read_on(&self, since: u64, limit: usize) -> Slice {
        let mut slice = self.read(since, limit).slice;
        while slice.bytes.len() < limit {
            let more = self.read(slice.next(), limit - slice.bytes.len()).slice;
            if more.gap.is_some() || more.bytes.is_empty() {
                break;
            }
            slice.bytes.extend(more.bytes);
        }
        slice
    }

    /// Returns once there is something at `since`, or the log is closed.
    pub async fn wait_beyond(&self, since: u64) {
        loop {
            let mut grown = std::pin::pin!(self.grown.notified());
            grown.as_mut().enable();
            {
                let inner = self.lock();
                if inner.closed || inner.total() > since {
                    return;
                }
            }
            grown.await;
        }
    }

    /// Returns once there is something at `since`; never for a log that ends before.
    pub async fn wait_for_growth(&self, since: u64) {
        self.wait_beyond(since).await;
        if self.total() <= since {
            std::future::pending().await
        }
    }

    /// Should the writer pause? Says until when at most; asking after that lets the slow ones go.
    pub fn crowded(&self) -> Option<Instant> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let now = Instant::now();
        if let Some(since) = inner.paused_since.take() {
            inner.charge_laggards(now.saturating_duration_since(since));
        }
        let patience = inner.laggards().map(|place| place.patience.longest()).max()?;
        inner.paused_since = Some(now);
        Some(now + patience)
    }

    /// A follower has read, or left.
    pub async fn drained(&self) {
        self.drained.notified().await;
    }

    /// A reader of every byte from `offset` on.
    pub fn follow(self: &Arc<Self>, offset: u64) -> Follower {
        self.follow_with(offset, Patience::Left(PATIENCE))
    }

    /// The same, and no byte is missed: the writer waits for this one, however long it takes.
    pub fn follow_strictly(self: &Arc<Self>, offset: u64) -> Follower {
        self.follow_with(offset, Patience::Endless)
    }

    fn follow_with(self: &Arc<Self>, offset: u64, patience: Patience) -> Follower {
        let mut inner = self.lock();
        let id = inner.next_follower;
        inner.next_follower += 1;
        inner.followers.push(Place { id, offset, patience });
        Follower { log: Arc::clone(self), id, offset }
    }
}

impl Inner {
    fn total(&self) -> u64 {
        self.kept.total() + self.late.as_ref().map_or(0, Kept::total)
    }

    /// Those far behind that still have patience left.
    fn laggards(&mut self) -> impl Iterator<Item = &mut Place> {
        let total = self.total();
        self.followers.iter_mut().filter(move |p| total - p.offset >= WINDOW && !p.patience.is_over())
    }

    fn charge_laggards(&mut self, waited: Duration) {
        for place in self.laggards() {
            if let Patience::Left(left) = &mut place.patience {
                *left = left.saturating_sub(waited);
            }
        }
    }
}

#[derive(Debug)]
pub struct Follower {
    log: Arc<Log>,
    id: u64,
    offset: u64,
}

impl Follower {
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub async fn wait(&self) {
        self.log.wait_beyond(self.offset).await;
    }

    /// The next bytes, without moving on: some may be held back for the next time. Fewer than `limit` are all there are, or
    /// all before a gap.
    pub fn peek(&self, limit: usize) -> Peek {
        let slice = self.log.read_on(self.offset, limit);
        let inner = self.log.lock();
        let ends = slice.next() == inner.total();
        Peek { done: inner.closed && ends, cut_off: !ends && slice.bytes.len() < limit, slice }
    }

    /// Everything before `offset` has been dealt with.
    pub fn advance(&mut self, offset: u64) {
        let read = offset.saturating_sub(self.offset);
        self.offset = offset;
        let mut inner = self.log.lock();
        if let Some(place) = inner.followers.iter_mut().find(|p| p.id == self.id) {
            place.offset = offset;
            if let Patience::Left(left) = &mut place.patience {
                *left = (*left + Duration::from_millis(read / BYTES_PER_MS)).min(PATIENCE);
            }
        }
        drop(inner);
        self.log.drained.notify_one();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.log.lock().followers.retain(|p| p.id != self.id);
        self.log.drained.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Arc<Log> {
        Log::new(Capacity::head_and_tail(1 << 20), Budget::new(usize::MAX), None)
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_bytes_or_with_the_end() {
        let log = log();
        let reader = Arc::clone(&log);
        let waiter = tokio::spawn(async move {
            reader.wait_beyond(0).await;
            let first = reader.read(0, 100);
            reader.wait_beyond(first.slice.next()).await;
            (first.slice.bytes, reader.read(2, 100).done)
        });
        tokio::task::yield_now().await;
        log.append(b"hi");
        tokio::task::yield_now().await;
        log.close();
        assert_eq!(waiter.await.unwrap(), (b"hi".to_vec(), true));
    }

    #[test]
    fn a_lagging_follower_pauses_the_writer_and_a_reading_one_does_not() {
        let log = log();
        assert!(log.crowded().is_none());
        let mut follower = log.follow(0);
        log.append(&[0; 300_000]);
        assert!(log.crowded().is_some());
        let got = follower.peek(usize::MAX).slice;
        follower.advance(got.next());
        assert!(log.crowded().is_none());
        log.append(&[0; 300_000]);
        drop(follower);
        assert!(log.crowded().is_none());
    }

    #[test]
    fn what_comes_after_the_seal_changes_nothing_before_it() {
        let budget = Budget::new(1 << 20);
        let log = Log::new(Capacity::head_and_tail(8), Arc::clone(&budget), None);
        log.append(b"abcdefghij");
        let (text, omitted) = (log.snapshot(), log.omitted());
        log.seal();
        log.append(b"0123456789");
        assert_eq!((log.snapshot(), log.omitted()), (text, omitted));
        assert_eq!(log.total(), 20);
        assert_eq!(log.read(8, 100).slice, Slice { offset: 8, bytes: b"ij".to_vec(), gap: None });
        assert_eq!(log.read(10, 100).slice.bytes, b"0123");
        assert_eq!(log.read(14, 9).slice, Slice { offset: 16, bytes: b"6789".to_vec(), gap: Some((14, 16)) });
        log.close();
        assert!(!log.read(8, 100).done && log.read(16, 100).done);
        assert_eq!(log.memory(), budget.used());
    }

    #[test]
    fn the_ends_have_no_byte_twice() {
        let budget = Budget::new(1 << 20);
        let log = Log::new(Capacity::head_and_tail(8), Arc::clone(&budget), None);
        let ends = |most: usize| {
            let Ends { head, tail, total } = log.ends(most);
            (String::from_utf8(head).unwrap(), String::from_utf8(tail).unwrap(), total)
        };
        assert_eq!(ends(3), (String::new(), String::new(), 0));
        log.append(b"abcdef");
        assert_eq!(ends(100), ("abcdef".into(), String::new(), 6));
        assert_eq!(ends(4), ("abcd".into(), "ef".into(), 6));
        assert_eq!(ends(2), ("ab".into(), "ef".into(), 6));
        log.append(b"ghijkl");
        assert_eq!(ends(100), ("abcd".into(), "ijkl".into(), 12));
        assert_eq!(ends(1), ("a".into(), "l".into(), 12));
        log.seal();
        log.append(b"late");
        assert_eq!(ends(2), ("ab".into(), "kl".into(), 12));
    }

    #[test]
    fn a_stalled_follower_runs_out_of_patience() {
        let log = log();
        let follower = log.follow(0);
        log.append(&[0; 300_000]);
        log.lock().charge_laggards(PATIENCE);
        assert!(log.crowded().is_none(), "the writer goes on");
        drop(follower);
    }
}
