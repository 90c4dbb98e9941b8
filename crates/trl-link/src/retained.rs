//! Frames that were sent and not acknowledged: kept until they are, sent again on the next connection.

use std::collections::VecDeque;

use crate::frame::Frame;

#[derive(Debug, Default)]
pub(crate) struct Retained {
    frames: VecDeque<Frame>,
    /// Frames that are acknowledged: the first one kept comes after so many.
    acknowledged: u64,
    /// Of those kept, how many were sent on this connection.
    sent: usize,
    /// What they are together, on the wire.
    bytes: usize,
}

impl Retained {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The least and the most that the other side can have.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.acknowledged, self.acknowledged + self.frames.len() as u64)
    }

    /// A new frame, sent as it is kept.
    pub(crate) fn send(&mut self, frame: Frame, out: &mut Vec<u8>) {
        debug_assert!(self.sent == self.frames.len());
        frame.encode(out);
        self.bytes += frame.size();
        self.frames.push_back(frame);
        self.sent += 1;
    }

    /// The next one that this connection has not seen yet.
    pub(crate) fn send_again(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(frame) = self.frames.get(self.sent) else { return false };
        frame.encode(out);
        self.sent += 1;
        true
    }

    /// The other side has so many. False when it cannot.
    pub(crate) fn acknowledge(&mut self, count: u64) -> bool {
        let (least, most) = (self.acknowledged, self.acknowledged + self.sent as u64);
        if !(least..=most).contains(&count) {
            return false;
        }
        self.let_go(count);
        true
    }

    /// On a new connection: the other side has so many, and gets the rest. False when it cannot have.
    pub(crate) fn resume(&mut self, count: u64) -> bool {
        let (least, most) = self.range();
        if !(least..=most).contains(&count) {
            return false;
        }
        self.let_go(count);
        self.sent = 0;
        true
    }

    fn let_go(&mut self, count: u64) {
        while self.acknowledged < count {
            let Some(frame) = self.frames.pop_front() else { break };
            self.bytes -= frame.size();
            self.acknowledged += 1;
            self.sent = self.sent.saturating_sub(1);
        }
        if self.frames.is_empty() && self.frames.capacity() > 64 {
            self.frames = VecDeque::new();
        }
    }
}
