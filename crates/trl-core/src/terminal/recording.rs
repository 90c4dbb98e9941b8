//! A terminal played again from its tape: what it showed, when.
//!
//! 1. It begins with the first byte while that is there; later with the oldest keyframe of the model; at worst, when a
//!    screen is too large for keyframes, with the present.
//! 2. Bytes come in the pieces they came in, changes of size between them, and last the exit.
//! 3. A reader that falls off the tape is told how much it missed and goes on from a picture of the present.
//!
//! Times are those of the tape and never go back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use trl_sys::pty::Size;
use trl_sys::reap::Exit;

use super::handle::Terminal;
use super::keyframes::Keyframe;
use super::tape::{Piece, Place, Tape};
use super::times::Moment;

/// Read at a time.
const PIECE: usize = 64 * 1024;

/// How long it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// To what there is when it is asked for.
    SoFar,
    /// Until the terminal has ended.
    ToItsEnd,
}

#[derive(Debug)]
pub struct Recording {
    terminal: Arc<Terminal>,
    place: Place,
    size: Size,
    began: Began,
    until: Option<Place>,
    waiting: VecDeque<Event>,
    over: bool,
}

/// Its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Began {
    pub size: Size,
    /// On the tape's clock.
    pub ms: u64,
}

/// What happened, and when on the tape's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub ms: u64,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// To be written to the terminal it is played on.
    Output(Vec<u8>),
    Resized(Size),
    /// So many bytes are missing here. A reset and a picture of the present follow.
    Missed(u64),
    /// With this exit code, as a shell tells it.
    Ended(i32),
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Event(Event),
    /// Nothing yet; see [`Recording::wait`].
    Nothing,
    Over,
}

impl Recording {
    pub fn new(terminal: Arc<Terminal>, extent: Extent) -> Self {
        let tape = &terminal.tape;
        let until = (extent == Extent::SoFar).then(|| tape.end());
        let mut waiting = VecDeque::new();
        let (place, began) = if tape.start() == 0 {
            (Tape::origin(), Began { size: terminal.spec.size, ms: 0 })
        } else {
            let frame = terminal.model.keyframe().unwrap_or_else(|| present(&terminal));
            let began = Began { size: frame.size, ms: time_before(tape, frame.place.offset) };
            waiting.push_back(Event { ms: began.ms, what: What::Output(frame.bytes) });
            (frame.place, began)
        };
        Self { place, size: began.size, began, until, waiting, over: false, terminal }
    }

    pub fn began(&self) -> Began {
        self.began
    }

    pub fn play(&mut self) -> Next {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Next::Event(event);
            }
            if self.over || self.is_complete() {
                return Next::Over;
            }
            let (before, limit) = (self.place, self.limit());
            match self.terminal.tape.read(&mut self.place, limit) {
                Piece::Bytes { offset, bytes } => self.output(offset, &bytes),
                Piece::Resized(mark) => self.resized(mark.size, mark.ms),
                Piece::Fell { .. } => self.fall(before),
                Piece::Nothing => return Next::Nothing,
                Piece::End => self.end(),
            }
        }
    }

    /// Resolves when [`Self::play`] has something to say. Cancel-safe.
    pub async fn wait(&self) {
        self.terminal.tape.wait(&self.place).await;
    }

    /// All that was there has been told. What has ended meanwhile is told to its end.
    fn is_complete(&self) -> bool {
        let reached = |until: &Place| self.place.offset >= until.offset && self.place.mark() >= until.mark();
        self.until.as_ref().is_some_and(reached) && !self.terminal.tape.is_closed()
    }

    fn limit(&self) -> usize {
        let left = self.until.map_or(u64::MAX, |until| until.offset.saturating_sub(self.place.offset));
        match usize::try_from(left) {
            // only sizes are left, or what came before the end meanwhile
            Ok(0) | Err(_) => PIECE,
            Ok(left) => left.min(PIECE),
        }
    }

    fn output(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        let moments = self.terminal.tape.times(offset, end);
        let ends = moments.iter().skip(1).map(|m| m.at).chain([end]);
        for (Moment { at, ms }, end) in moments.iter().zip(ends) {
            let piece = &bytes[(at - offset) as usize..(end - offset) as usize];
            self.waiting.push_back(Event { ms: *ms, what: What::Output(piece.to_vec()) });
        }
    }

    fn resized(&mut self, size: Size, ms: u64) {
        if size != self.size {
            self.size = size;
            self.waiting.push_back(Event { ms, what: What::Resized(size) });
        }
    }

    fn fall(&mut self, from: Place) {
        let frame = present(&self.terminal);
        let ms = time_before(&self.terminal.tape, frame.place.offset);
        let missed = frame.place.offset.saturating_sub(from.offset);
        self.waiting.push_back(Event { ms, what: What::Missed(missed) });
        self.resized(frame.size, ms);
        let fresh = [b"\x1bc", &frame.bytes[..]].concat();
        self.waiting.push_back(Event { ms, what: What::Output(fresh) });
        self.place = frame.place;
    }

    fn end(&mut self) {
        self.over = true;
        let (exit, at) = {
            let public = self.terminal.public();
            (public.exit, public.ended.as_ref().map_or_else(Instant::now, |(_, at)| *at))
        };
        if let Some(exit) = exit {
            let what = What::Ended(Exit::shell_code(exit));
            self.waiting.push_back(Event { ms: self.terminal.tape.ms_of(at), what });
        }
    }
}

fn present(terminal: &Terminal) -> Keyframe {
    terminal.model.take(|screen| screen.snapshot_with(0))
}

/// When the byte before this offset came.
fn time_before(tape: &Tape, offset: u64) -> u64 {
    tape.times(offset.saturating_sub(1), offset)[0].ms
}
