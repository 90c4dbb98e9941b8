//! One side of a link: what its driver calls, and what goes out in which order.
//!
//! ```text
//!  Away ── connected ─▶ Greeting ── the other side's hello ─▶ Up
//!   ▲                       │ noise, version, key                │
//!   └─────── disconnected, or silent for too long ──────────────┘     a breach when Up is the end of the link
//! ```
//!
//! What goes out, each before the next: hello; answers to pings and acknowledgements; what has to be sent again; opens
//! and resets; credit; a frame of the next urgent stream; one of the next other stream. What comes in: [`super::inbound`].

use std::collections::{BTreeMap, VecDeque};

use crate::breach::{Breach, Gone};
use crate::frame::{Decoder, Frame};
use crate::hello::{Hello, Key, VERSIONS};
use crate::retained::Retained;
use crate::stream::{Stream, StreamId, Turn, Urgency};

/// Streams there may be at once.
pub const MOST_STREAMS: usize = 4096;

/// Which end of a link this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Where callers are; it opens streams.
    Near,
    /// Where processes are.
    Far,
}

impl Side {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Near => 1,
            Self::Far => 2,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        [Self::Near, Self::Far].into_iter().find(|side| side.code() == code)
    }
}

/// Who this is.
#[derive(Debug, Clone)]
pub struct Identity {
    pub side: Side,
    pub key: Key,
    /// A random number for this life of this side, not 0: one that started anew is not taken for what it was.
    pub life: u64,
    /// What the other side's program is told, [in so many bytes](crate::hello::MOST_GREETING).
    pub greeting: Vec<u8>,
}

/// What a link may hold, and how long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one stream that may have come without having been consumed.
    pub credit: u32,
    /// Bytes that may be sent without having been acknowledged. Urgent streams may have a quarter more, and what is no
    /// stream's data half more.
    pub window: u32,
    /// Bytes of one stream that are taken from a caller before they are sent.
    pub waiting: usize,
    /// Ticks without a word from the other side before the connection is given up.
    pub silent_ticks: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { credit: 256 * 1024, window: 512 * 1024, waiting: 64 * 1024, silent_ticks: 4 }
    }
}

impl Limits {
    /// Fewer would not hold a few frames.
    const LEAST_WINDOW: u32 = 64 * 1024;
}

/// What the driver should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The other side has answered for the first time.
    Met { version: u16, greeting: Vec<u8> },
    /// The link goes on over a new connection.
    Resumed,
    /// By the other side.
    Opened(StreamId, Urgency),
    /// To be [consumed](Link::consumed): until then the other side cannot send as much more.
    Data(StreamId, Vec<u8>),
    /// Nothing more comes on it.
    Ended(StreamId),
    /// By the other side; what was not sent is dropped.
    Reset(StreamId),
    /// A caller that could not send all it had may try again.
    Writable(StreamId),
    /// The answer to [`Link::ping`].
    Pong(u64),
    /// Not a word for too long: this connection is given up.
    Silent,
}

/// One side of a link.
#[derive(Debug)]
pub struct Link {
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) connection: Connection,
    /// Our hello is not out yet.
    hello_due: bool,
    pub(crate) decoder: Decoder,
    pub(crate) peer: Option<Peer>,
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    /// The newest stream that was opened, by whichever side may.
    pub(crate) newest: StreamId,
    pub(crate) retained: Retained,
    /// Opens and resets that are still to be sent.
    pub(crate) signals: VecDeque<Frame>,
    /// Streams whose peer is owed credit.
    pub(crate) creditors: VecDeque<StreamId>,
    pub(crate) urgent: VecDeque<StreamId>,
    pub(crate) bulk: VecDeque<StreamId>,
    pub(crate) events: VecDeque<Event>,
    /// Counted frames that have come.
    pub(crate) received: u64,
    /// Bytes of those that are not acknowledged.
    pub(crate) unacknowledged: usize,
    pub(crate) to_ping: Option<u64>,
    pub(crate) to_pong: Option<u64>,
    pub(crate) heard: bool,
    silent: u32,
    pub(crate) broken: Option<Breach>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    Away,
    Greeting,
    Up,
}

/// The other side, as it was when it was met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) life: u64,
    pub(crate) credit: u64,
    pub(crate) window: usize,
}

impl Link {
    pub fn new(identity: Identity, mut limits: Limits) -> Self {
        limits.window = limits.window.max(Limits::LEAST_WINDOW);
        limits.credit = limits.credit.max(1);
        Self {
            identity,
            limits,
            connection: Connection::Away,
            hello_due: false,
            decoder: Decoder::default(),
            peer: None,
            streams: BTreeMap::new(),
            newest: StreamId(0),
            retained: Retained::default(),
            signals: VecDeque::new(),
            creditors: VecDeque::new(),
            urgent: VecDeque::new(),
            bulk: VecDeque::new(),
            events: VecDeque::new(),
            received: 0,
            unacknowledged: 0,
            to_ping: None,
            to_pong: None,
            heard: false,
            silent: 0,
            broken: None,
        }
    }

    // ---- connections

    /// A fresh byte stream to the other side is there; whatever was on an earlier one is void.
    pub fn connected(&mut self) -> Result<(), Breach> {
        if let Some(breach) = &self.broken {
            return Err(breach.clone());
        }
        self.disconnected();
        (self.connection, self.hello_due) = (Connection::Greeting, true);
        Ok(())
    }

    /// The byte stream is gone. The link waits for the next.
    pub fn disconnected(&mut self) {
        self.connection = Connection::Away;
        self.decoder = Decoder::default();
        (self.to_ping, self.to_pong) = (None, None);
        (self.heard, self.silent) = (false, 0);
    }

    pub fn is_up(&self) -> bool {
        self.connection == Connection::Up
    }

    /// Why it will never be up again, if so.
    pub fn breach(&self) -> Option<&Breach> {
        self.broken.as_ref()
    }

    /// What came in place of a hello: what a login script or an error message said.
    pub fn noise(&self) -> Option<String> {
        self.decoder.noise()
    }

    /// Some time has passed: as long as a driver lets pass between two ticks.
    pub fn tick(&mut self) {
        if self.connection == Connection::Away {
            return;
        }
        self.silent = if std::mem::take(&mut self.heard) { 0 } else { self.silent + 1 };
        if self.silent >= self.limits.silent_ticks {
            self.disconnected();
            self.events.push_back(Event::Silent);
        } else if self.silent > 0 {
            self.to_ping.get_or_insert(0);
        }
    }

    /// Asks for an answer with the same number, not 0; how long it takes is for the driver to know.
    pub fn ping(&mut self, token: u64) {
        self.to_ping = Some(token);
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if self.events.is_empty() && self.events.capacity() > 64 {
            self.events = VecDeque::new();
        }
        event
    }

    // ---- streams

    /// Opens a stream; it can be sent on at once, connected or not.
    pub fn open(&mut self, urgency: Urgency) -> Result<StreamId, Gone> {
        if self.identity.side == Side::Far {
            return Err(Gone::NotHere);
        }
        // Signals count, too: streams that come and go while the other side is away are all still to be told of.
        if self.streams.len() + self.signals.len() >= MOST_STREAMS {
            return Err(Gone::Full);
        }
        self.newest = StreamId(self.newest.0.checked_add(1).ok_or(Gone::Full)?);
        self.streams.insert(self.newest, Stream::new(urgency));
        self.signals.push_back(Frame::Open(self.newest, urgency));
        Ok(self.newest)
    }

    /// Takes as much as there is room for. If that is not all, [`Event::Writable`] says when to go on.
    pub fn send(&mut self, id: StreamId, bytes: &[u8]) -> Result<usize, Gone> {
        let stream = self.streams.get_mut(&id).ok_or(Gone::Over)?;
        if stream.is_ended() {
            return Err(Gone::Ended);
        }
        let taken = stream.take(bytes, self.limits.waiting);
        self.line_up(id);
        Ok(taken)
    }

    /// Nothing more comes from this side; what was taken is still sent.
    pub fn end(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.end();
            self.line_up(id);
        }
    }

    /// It is over: what was not sent is dropped, what comes is ignored.
    pub fn reset(&mut self, id: StreamId) {
        if self.streams.remove(&id).is_some() {
            self.signals.push_back(Frame::Reset(id));
        }
    }

    /// The caller is done with so many bytes that came: the other side may send as many more.
    pub fn consumed(&mut self, id: StreamId, bytes: usize) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let fresh = u64::from(self.limits.credit);
        let was_owed = stream.owed(fresh).is_some();
        stream.consume(bytes);
        if !was_owed && stream.owed(fresh).is_some() {
            self.creditors.push_back(id);
        }
    }

    /// Streams that are not over.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Bytes that were sent and may have to be sent again.
    pub fn retained_bytes(&self) -> usize {
        self.retained.bytes()
    }

    /// Bytes of a stream that have come and were not consumed.
    pub fn unconsumed(&self, id: StreamId) -> u64 {
        self.streams.get(&id).map_or(0, Stream::unconsumed)
    }

    /// Puts a stream in its line if it has something that may be sent.
    pub(crate) fn line_up(&mut self, id: StreamId) {
        let fresh = self.fresh_credit();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !stream.in_line && stream.has_turn(fresh) {
            stream.in_line = true;
            match stream.urgency {
                Urgency::Urgent => self.urgent.push_back(id),
                Urgency::Bulk => self.bulk.push_back(id),
            }
        }
    }

    /// What the other side takes on a fresh stream; nothing is known before it was met.
    fn fresh_credit(&self) -> u64 {
        self.peer.map_or(0, |peer| peer.credit)
    }

    // ---- bytes out

    /// Adds whole frames until there is nothing to send or `out` has `room` bytes (or a frame more). To be called after
    /// every other call, and again when all of that is written: what was handed out cannot be overtaken.
    pub fn transmit(&mut self, out: &mut Vec<u8>, room: usize) {
        if self.connection != Connection::Away && std::mem::take(&mut self.hello_due) {
            self.hello().encode(out);
        }
        if self.connection != Connection::Up {
            return;
        }
        let before = out.len();
        while out.len() < room && self.transmit_one(out) {}
        let due = self.unacknowledged >= self.peer.map_or(0, |peer| peer.window / 8);
        // Beside something else it costs next to nothing.
        if self.unacknowledged > 0 && (due || out.len() > before || self.silent > 0) {
            self.unacknowledged = 0;
            Frame::Ack(self.received).encode(out);
        }
    }

    fn hello(&self) -> Hello {
        Hello {
            versions: VERSIONS,
            side: self.identity.side,
            key: self.identity.key,
            own: self.identity.life,
            known: self.peer.map_or(0, |peer| peer.life),
            received: self.received,
            window: self.limits.window,
            credit: self.limits.credit,
            greeting: self.identity.greeting.clone(),
        }
    }

    /// False when there is nothing that may be sent.
    fn transmit_one(&mut self, out: &mut Vec<u8>) -> bool {
        if let Some(token) = self.to_pong.take() {
            Frame::Pong(token).encode(out);
        } else if let Some(token) = self.to_ping.take() {
            Frame::Ping(token).encode(out);
        } else if self.retained.send_again(out) {
        } else if let Some(frame) = self.next_frame() {
            self.retained.send(frame, out);
        } else {
            return false;
        }
        true
    }

    /// The next frame of those that were never sent.
    fn next_frame(&mut self) -> Option<Frame> {
        let (window, kept) = (self.limits.window as usize, self.retained.bytes());
        let signal = if kept < window + window / 2 { self.next_signal() } else { None };
        let urgent = |link: &mut Self| {
            if kept < window + window / 4 { link.next_turn(Urgency::Urgent) } else { None }
        };
        let bulk = |link: &mut Self| if kept < window { link.next_turn(Urgency::Bulk) } else { None };
        signal.or_else(|| urgent(self)).or_else(|| bulk(self))
    }

    fn next_signal(&mut self) -> Option<Frame> {
        if let Some(frame) = self.signals.pop_front() {
            return Some(frame);
        }
        let fresh = u64::from(self.limits.credit);
        while let Some(id) = self.creditors.pop_front() {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            if let Some(owed) = stream.owed(fresh) {
                stream.given += u64::from(owed);
                return Some(Frame::Credit(id, owed));
            }
        }
        None
    }

    /// One frame of the first in line, who then goes to its end.
    fn next_turn(&mut self, urgency: Urgency) -> Option<Frame> {
        let fresh = self.fresh_credit();
        loop {
            let line = match urgency {
                Urgency::Urgent => &mut self.urgent,
                Urgency::Bulk => &mut self.bulk,
            };
            let id = line.pop_front()?;
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            stream.in_line = false;
            let frame = match stream.turn(fresh) {
                Turn::Nothing => continue,
                Turn::End => Frame::End(id),
                Turn::Data(bytes) => Frame::Data(id, bytes),
            };
            if stream.has_room_again(self.limits.waiting) {
                self.events.push_back(Event::Writable(id));
            }
            if stream.is_over() {
                self.streams.remove(&id);
            }
            self.line_up(id);
            return Some(frame);
        }
    }
}
