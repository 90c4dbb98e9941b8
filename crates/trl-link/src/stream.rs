//! One stream: what waits to be sent on it, how much may be, and how far each side has ended it.
//!
//! ```text
//!  Open ─▶ this side Ended ─▶ over         (or the other side first; a reset is over at once)
//! ```

use std::collections::VecDeque;
use std::fmt;

use crate::frame::MOST_PAYLOAD;

/// Names a stream of one link; counted up from 1 and never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

/// Whose turn comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Short things that somebody waits for.
    Urgent,
    /// Output.
    Bulk,
}

impl Urgency {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Urgent => 1,
            Self::Bulk => 2,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        [Self::Urgent, Self::Bulk].into_iter().find(|urgency| urgency.code() == code)
    }
}

/// A buffer that a flood made larger is given back when it is empty.
const IDLE_BUFFER: usize = 4 * 1024;

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) urgency: Urgency,
    /// What was taken from the caller and is in no frame yet.
    waiting: VecDeque<u8>,
    sent: u64,
    /// Credit beyond that of a fresh stream.
    granted: u64,
    ending: Ending,
    /// It stands in a line of those that have something to send.
    pub(crate) in_line: bool,
    /// The caller was told that not all could be taken.
    refused: bool,
    arrived: u64,
    consumed: u64,
    /// Credit that the other side was given beyond that of a fresh stream.
    pub(crate) given: u64,
    pub(crate) peer_ended: bool,
}

/// How far this side has come with ending a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    /// After what still waits.
    Wanted,
    Said,
}

/// What a stream has to send next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Data(Vec<u8>),
    End,
    /// Nothing, or no credit for it.
    Nothing,
}

impl Stream {
    pub(crate) fn new(urgency: Urgency) -> Self {
        Self {
            urgency,
            waiting: VecDeque::new(),
            sent: 0,
            granted: 0,
            ending: Ending::Open,
            in_line: false,
            refused: false,
            arrived: 0,
            consumed: 0,
            given: 0,
            peer_ended: false,
        }
    }

    /// Takes what there is room for.
    pub(crate) fn take(&mut self, bytes: &[u8], most_waiting: usize) -> usize {
        let room = most_waiting.saturating_sub(self.waiting.len());
        let taken = &bytes[..bytes.len().min(room)];
        self.waiting.extend(taken);
        self.refused |= taken.len() < bytes.len();
        taken.len()
    }

    /// Whether a caller that was refused should try again; said once.
    pub(crate) fn has_room_again(&mut self, most_waiting: usize) -> bool {
        let again = self.refused && self.waiting.len() <= most_waiting / 2;
        self.refused &= !again;
        again
    }

    pub(crate) fn end(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Wanted;
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ending != Ending::Open
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ending == Ending::Said && self.peer_ended
    }

    pub(crate) fn has_turn(&self, fresh_credit: u64) -> bool {
        match self.waiting.is_empty() {
            true => self.ending == Ending::Wanted,
            false => self.sent < fresh_credit + self.granted,
        }
    }

    pub(crate) fn turn(&mut self, fresh_credit: u64) -> Turn {
        if !self.has_turn(fresh_credit) {
            return Turn::Nothing;
        }
        if self.waiting.is_empty() {
            self.ending = Ending::Said;
            return Turn::End;
        }
        let credit = usize::try_from(fresh_credit + self.granted - self.sent).unwrap_or(usize::MAX);
        let length = self.waiting.len().min(credit).min(MOST_PAYLOAD);
        let bytes: Vec<u8> = self.waiting.drain(..length).collect();
        if self.waiting.is_empty() && self.waiting.capacity() > IDLE_BUFFER {
            self.waiting = VecDeque::new();
        }
        self.sent += bytes.len() as u64;
        Turn::Data(bytes)
    }

    /// The other side takes more. False when that is more than anybody could send.
    pub(crate) fn grant(&mut self, bytes: u32) -> bool {
        match self.granted.checked_add(u64::from(bytes)).filter(|sum| *sum < u64::MAX / 2) {
            Some(sum) => {
                self.granted = sum;
                true
            }
            None => false,
        }
    }

    /// Bytes have come. False when there was no credit for them.
    pub(crate) fn arrive(&mut self, bytes: usize, fresh_credit: u64) -> bool {
        self.arrived += bytes as u64;
        self.arrived <= fresh_credit + self.given
    }

    /// The caller is done with so many; more than have come cannot be.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.consumed = self.consumed.saturating_add(bytes as u64).min(self.arrived);
    }

    /// Bytes that have come and that nobody has taken.
    pub(crate) fn unconsumed(&self) -> u64 {
        self.arrived - self.consumed
    }

    /// Credit to give, once it is worth a frame: half of what a stream has.
    pub(crate) fn owed(&self, fresh_credit: u64) -> Option<u32> {
        let owed = self.consumed - self.given;
        let worth = owed >= (fresh_credit / 2).max(1) && !self.peer_ended;
        u32::try_from(owed).ok().filter(|_| worth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_bounds_what_is_sent_and_the_end_comes_last() {
        let mut stream = Stream::new(Urgency::Bulk);
        assert_eq!(stream.take(b"abcdef", 4), 4);
        stream.end();
        assert!(stream.is_ended() && stream.has_room_again(8) && !stream.has_room_again(8));
        assert_eq!(stream.turn(3), Turn::Data(b"abc".to_vec()));
        assert_eq!(stream.turn(3), Turn::Nothing);
        assert!(stream.grant(1));
        assert_eq!(stream.turn(3), Turn::Data(b"d".to_vec()));
        assert_eq!(stream.turn(3), Turn::End);
        assert_eq!(stream.turn(3), Turn::Nothing);
    }

    #[test]
    fn credit_is_given_back_as_bytes_are_consumed() {
        let mut stream = Stream::new(Urgency::Urgent);
        assert!(stream.arrive(8, 8));
        assert_eq!(stream.owed(8), None);
        stream.consume(3);
        assert_eq!(stream.owed(8), None);
        stream.consume(100);
        assert_eq!((stream.owed(8), stream.unconsumed()), (Some(8), 0));
        stream.given += 8;
        assert_eq!(stream.owed(8), None);
        assert!(stream.arrive(8, 8) && !stream.arrive(1, 8));
    }

    #[test]
    fn credit_without_end_is_refused() {
        let mut stream = Stream::new(Urgency::Bulk);
        stream.granted = u64::MAX / 2 - 10;
        assert!(!stream.grant(u32::MAX));
    }
}
