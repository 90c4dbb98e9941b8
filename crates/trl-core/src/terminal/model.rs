//! What each terminal shows, kept up to date on a thread of its own.
//!
//! The thread is one more reader of the tapes: the daemon's own thread moves bytes and never parses them. It starts with
//! the first terminal and serves them all in turn.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, mpsc};
use trl_screen::{Fed, Screen, Snapshot};
use trl_sys::pty::Size;

use super::keyframes::{Keyframe, Keyframes};
use super::tape::{Piece, Place, Tape};

/// Read at a time; a terminal that floods lets the others have their turn after this.
const PIECE: usize = 64 * 1024;

/// One terminal's screen.
#[derive(Debug)]
pub struct Model {
    tape: Arc<Tape>,
    inner: Mutex<Inner>,
    /// Bytes of the tape the screen knows.
    fed: AtomicU64,
    /// And changes of size.
    sized: AtomicU64,
    progress: Notify,
    /// It stands in the queue already.
    queued: AtomicBool,
    /// What the program said beside its text, and what it is owed.
    said: mpsc::UnboundedSender<Fed>,
    thread: Arc<Thread>,
}

#[derive(Debug)]
struct Inner {
    /// None until something was written: most of what an idle terminal would cost.
    screen: Option<Screen>,
    size: Size,
    history_bytes: usize,
    place: Place,
    keyframes: Keyframes,
}

impl Inner {
    fn screen(&mut self) -> &mut Screen {
        let (size, history) = (self.size, self.history_bytes);
        self.screen.get_or_insert_with(|| Screen::new(size.cols, size.rows, history))
    }

    /// A picture, and where the tape goes on from it: a change of size that is not known yet is still to come.
    fn take(&mut self, snapshot: impl FnOnce(&Screen) -> Snapshot) -> Keyframe {
        let mut place = self.place;
        let screen = self.screen();
        let (cols, rows) = screen.size();
        let Snapshot { offset, bytes } = snapshot(screen);
        place.offset -= screen.offset() - offset;
        Keyframe { place, size: Size { cols, rows }, bytes }
    }
}

impl Model {
    pub fn new(
        tape: &Arc<Tape>,
        size: Size,
        history_bytes: usize,
        screens: &Screens,
        said: mpsc::UnboundedSender<Fed>,
    ) -> io::Result<Arc<Self>> {
        // Its first size it knows: one that never says anything would not be read to be told.
        let (place, _) = tape.place_at(0);
        let keyframes = Keyframes::new(tape.assured());
        Ok(Arc::new(Self {
            tape: Arc::clone(tape),
            fed: AtomicU64::new(0),
            sized: AtomicU64::new(place.mark()),
            inner: Mutex::new(Inner { screen: None, size, history_bytes, place, keyframes }),
            progress: Notify::new(),
            queued: AtomicBool::new(false),
            said,
            thread: screens.thread()?,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is something new on the tape.
    pub fn wake(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.thread.push(self);
        }
    }

    /// How far it is behind.
    pub fn lag(&self) -> u64 {
        self.tape.head().saturating_sub(self.fed.load(Ordering::Acquire))
    }

    /// Resolves when no more than `most` bytes are unknown to it. Cancel-safe.
    pub async fn caught_up(&self, most: u64) {
        loop {
            let mut progress = std::pin::pin!(self.progress.notified());
            progress.as_mut().enable();
            if self.lag() <= most {
                return;
            }
            progress.await;
        }
    }

    /// Waits until everything that is on the tape now is known.
    pub async fn reach_now(&self) {
        let end = self.tape.end();
        loop {
            let mut progress = std::pin::pin!(self.progress.notified());
            progress.as_mut().enable();
            let sized = self.sized.load(Ordering::Acquire) >= end.mark();
            if sized && self.fed.load(Ordering::Acquire) >= end.offset {
                return;
            }
            progress.await;
        }
    }

    /// Looks at the screen; what it does not know yet is not waited for.
    pub fn look<T>(&self, f: impl FnOnce(&mut Screen) -> T) -> T {
        f(self.lock().screen())
    }

    /// A picture of what it shows now, as far as that is known.
    pub fn take(&self, snapshot: impl FnOnce(&Screen) -> Snapshot) -> Keyframe {
        self.lock().take(snapshot)
    }

    /// The oldest picture from which everything is still on the tape.
    pub fn keyframe(&self) -> Option<Keyframe> {
        let inner = self.lock();
        inner.keyframes.oldest(self.tape.start())
    }

    /// Takes one piece. False when there was none.
    fn step(&self) -> bool {
        let mut inner = self.lock();
        let inner = &mut *inner;
        match self.tape.read(&mut inner.place, PIECE) {
            Piece::Nothing | Piece::End => return false,
            Piece::Resized(mark) => {
                inner.size = mark.size;
                if let Some(screen) = &mut inner.screen {
                    screen.resize(mark.size.cols, mark.size.rows);
                }
            }
            // The terminal's task does not read on while we are that far behind, so this is only a guard.
            Piece::Fell { to } => inner.place = self.tape.place_at(to).0,
            Piece::Bytes { bytes, .. } => {
                let fed = inner.screen().feed(&bytes);
                if !fed.events.is_empty() || !fed.replies.is_empty() {
                    // nobody listens any more once the terminal is over
                    let _ = self.said.send(fed);
                }
                if inner.keyframes.is_due(inner.place.offset) {
                    let frame = inner.take(|screen| screen.snapshot_with(0));
                    inner.keyframes.keep(frame, self.tape.assured(), self.tape.start());
                }
            }
        }
        self.sized.store(inner.place.mark(), Ordering::Release);
        self.fed.store(inner.place.offset, Ordering::Release);
        self.progress.notify_waiters();
        true
    }
}

/// The thread all terminals share, started when it is first needed.
#[derive(Debug, Default)]
pub struct Screens {
    thread: Mutex<Option<Arc<Thread>>>,
}

#[derive(Debug, Default)]
struct Thread {
    queue: Mutex<VecDeque<Weak<Model>>>,
    more: Condvar,
}

impl Screens {
    fn thread(&self) -> io::Result<Arc<Thread>> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*thread {
            return Ok(Arc::clone(running));
        }
        let new = Arc::new(Thread::default());
        let own = Arc::clone(&new);
        std::thread::Builder::new().name("trl-screens".into()).spawn(move || own.run())?;
        Ok(Arc::clone(thread.insert(new)))
    }
}

impl Thread {
    fn push(&self, model: &Arc<Model>) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(Arc::downgrade(model));
        self.more.notify_one();
    }

    fn run(&self) {
        loop {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let next = loop {
                match queue.pop_front() {
                    Some(next) => break next,
                    None => queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(queue);
            let Some(model) = next.upgrade() else { continue };
            // From here on whatever is appended queues it again.
            model.queued.store(false, Ordering::Release);
            if model.step() {
                model.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Budget;

    fn world() -> (Arc<Tape>, Arc<Model>) {
        let tape = Arc::new(Tape::new(1 << 20, Size { cols: 80, rows: 24 }, Budget::new(usize::MAX)));
        let (said, _) = mpsc::unbounded_channel();
        let model = Model::new(&tape, Size { cols: 80, rows: 24 }, 0, &Screens::default(), said).unwrap();
        (tape, model)
    }

    #[tokio::test]
    async fn a_size_the_picture_does_not_have_yet_is_still_to_come() {
        let (tape, model) = world();
        tape.append(b"wide \xe2\x82");
        model.wake();
        model.reach_now().await;
        // Its thread would learn of the size at any moment, but not while it is held.
        let mut inner = model.lock();
        tape.resize(Size { cols: 40, rows: 10 });
        let mut taken = inner.take(|screen| screen.snapshot_with(0));
        drop(inner);
        assert_eq!((taken.place.offset, taken.size.cols), (5, 80));
        assert!(matches!(tape.read(&mut taken.place, 99), Piece::Bytes { offset: 5, .. }));
        assert!(matches!(tape.read(&mut taken.place, 99), Piece::Resized(mark) if mark.size.cols == 40));
    }

    #[tokio::test]
    async fn there_is_a_keyframe_once_the_ring_has_wrapped() {
        let (tape, model) = world();
        assert!(model.keyframe().is_none());
        for line in 0..300_000 {
            tape.append(format!("line {line}\r\n").as_bytes());
            model.wake();
            if line % 1000 == 0 {
                model.reach_now().await;
            }
        }
        model.reach_now().await;
        let mut frame = model.keyframe().unwrap();
        assert!(frame.place.offset >= tape.start() && tape.start() > 0);
        let mut again = Screen::new(frame.size.cols, frame.size.rows, 0);
        again.feed(&frame.bytes);
        while let Piece::Bytes { bytes, .. } = tape.read(&mut frame.place, PIECE) {
            again.feed(&bytes);
        }
        assert_eq!(again.text(), model.look(|screen| screen.text()));
    }
}
