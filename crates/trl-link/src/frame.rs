//! Frames: a kind, a stream, a length, a payload. Their lengths are bounded before anything is kept of them.
//!
//! ```text
//!  kind u8 │ stream u32 │ length u16 │ payload          numbers are big-endian
//! ```

use crate::breach::Breach;
use crate::hello::{self, Hello, MAGIC};
use crate::stream::{StreamId, Urgency};

/// Bytes before the payload.
pub const HEADER: usize = 7;
/// Short, so that what is urgent never waits long for the end of one.
pub const MOST_PAYLOAD: usize = 16 * 1024;
/// What login scripts print before an engine answers; more is somebody else's conversation.
const MOST_NOISE: usize = 64 * 1024;
/// Of noise this much is shown to people.
const SHOWN_NOISE: usize = 300;
/// A buffer that a flood made larger is given back.
const IDLE_BUFFER: usize = 4 * 1024;

/// What one side tells the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Open(StreamId, Urgency),
    Data(StreamId, Vec<u8>),
    /// Nothing more comes on it from this side.
    End(StreamId),
    /// It is over, both ways.
    Reset(StreamId),
    /// So many more bytes may be sent on it.
    Credit(StreamId, u32),
    /// So many frames have come. This one and those below are not counted, and not sent again.
    Ack(u64),
    Ping(u64),
    Pong(u64),
}

const OPEN: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;
const RESET: u8 = 4;
const CREDIT: u8 = 5;
const ACK: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;

impl Frame {
    /// Whether it is kept until it is acknowledged.
    pub fn is_counted(&self) -> bool {
        !matches!(self, Self::Ack(_) | Self::Ping(_) | Self::Pong(_))
    }

    /// Its length on the wire.
    pub fn size(&self) -> usize {
        HEADER
            + match self {
                Self::Open(..) => 1,
                Self::Data(_, bytes) => bytes.len(),
                Self::End(_) | Self::Reset(_) => 0,
                Self::Credit(..) => 4,
                Self::Ack(_) | Self::Ping(_) | Self::Pong(_) => 8,
            }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let none = StreamId(0);
        match self {
            Self::Open(id, urgency) => put(out, OPEN, *id, &[urgency.code()]),
            Self::Data(id, bytes) => put(out, DATA, *id, bytes),
            Self::End(id) => put(out, END, *id, &[]),
            Self::Reset(id) => put(out, RESET, *id, &[]),
            Self::Credit(id, bytes) => put(out, CREDIT, *id, &bytes.to_be_bytes()),
            Self::Ack(count) => put(out, ACK, none, &count.to_be_bytes()),
            Self::Ping(token) => put(out, PING, none, &token.to_be_bytes()),
            Self::Pong(token) => put(out, PONG, none, &token.to_be_bytes()),
        }
    }

    fn parse(kind: u8, id: StreamId, payload: &[u8]) -> Result<Self, Breach> {
        let malformed = || Breach::Malformed(kind);
        let long = || payload.try_into().map(u64::from_be_bytes).map_err(|_| malformed());
        let short = || payload.try_into().map(u32::from_be_bytes).map_err(|_| malformed());
        let empty = |frame| if payload.is_empty() { Ok(frame) } else { Err(malformed()) };
        match kind {
            OPEN => match payload {
                [code] => Ok(Self::Open(id, Urgency::of_code(*code).ok_or_else(malformed)?)),
                _ => Err(malformed()),
            },
            // An empty piece would cost a frame and say nothing.
            DATA if payload.is_empty() => Err(malformed()),
            DATA => Ok(Self::Data(id, payload.to_vec())),
            END => empty(Self::End(id)),
            RESET => empty(Self::Reset(id)),
            CREDIT => Ok(Self::Credit(id, short()?)),
            ACK => Ok(Self::Ack(long()?)),
            PING => Ok(Self::Ping(long()?)),
            PONG => Ok(Self::Pong(long()?)),
            other => Err(Breach::UnknownKind(other)),
        }
    }
}

fn put(out: &mut Vec<u8>, kind: u8, StreamId(id): StreamId, payload: &[u8]) {
    debug_assert!(payload.len() <= MOST_PAYLOAD);
    out.push(kind);
    out.extend(id.to_be_bytes());
    out.extend((payload.len() as u16).to_be_bytes());
    out.extend(payload);
}

/// What comes out of a [`Decoder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The first, and only once.
    Hello(Hello),
    Frame(Frame),
}

/// Bytes of one connection to a hello and frames, however they are cut.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes of it that are done with.
    done: usize,
    greeted: bool,
    /// What came before the hello.
    noise: Noise,
}

#[derive(Debug, Default)]
struct Noise {
    length: usize,
    beginning: Vec<u8>,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.done);
        self.done = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole thing; None until more bytes have come.
    pub fn take(&mut self) -> Result<Option<Item>, Breach> {
        let item = if self.greeted { self.next_frame()?.map(Item::Frame) } else { self.next_hello()? };
        if item.is_none() && self.done == self.buffer.len() && self.buffer.capacity() > IDLE_BUFFER {
            (self.buffer, self.done) = (Vec::new(), 0);
        }
        Ok(item)
    }

    /// What was said in place of a hello.
    pub fn noise(&self) -> Option<String> {
        let said = String::from_utf8_lossy(&self.noise.beginning);
        let said: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        (!said.trim().is_empty()).then(|| said.trim().to_string())
    }

    fn next_hello(&mut self) -> Result<Option<Item>, Breach> {
        let rest = &self.buffer[self.done..];
        let Some(at) = rest.windows(MAGIC.len()).position(|window| window == MAGIC) else {
            // Its beginning may be the last that has come.
            self.skip(rest.len().saturating_sub(MAGIC.len() - 1))?;
            return Ok(None);
        };
        self.skip(at)?;
        let Some((hello, length)) = Hello::decode(&self.buffer[self.done..])? else { return Ok(None) };
        self.done += length;
        self.greeted = true;
        Ok(Some(Item::Hello(hello)))
    }

    fn skip(&mut self, length: usize) -> Result<(), Breach> {
        let skipped = &self.buffer[self.done..self.done + length];
        let room = SHOWN_NOISE.saturating_sub(self.noise.beginning.len());
        self.noise.beginning.extend(skipped.iter().take(room));
        self.noise.length += length;
        self.done += length;
        if self.noise.length > MOST_NOISE {
            return Err(Breach::Noise(self.noise().unwrap_or_else(|| "nothing that can be shown".into())));
        }
        Ok(())
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, Breach> {
        let rest = &self.buffer[self.done..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [kind, a, b, c, d, e, f] = *header;
        let length = usize::from(u16::from_be_bytes([e, f]));
        if length > MOST_PAYLOAD {
            return Err(Breach::TooLong(length));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let frame = Frame::parse(kind, StreamId(u32::from_be_bytes([a, b, c, d])), payload)?;
        self.done += HEADER + length;
        Ok(Some(frame))
    }
}

/// The most a decoder holds of what it was not able to use yet: a whole hello or frame.
pub const MOST_HELD: usize = {
    let (frame, hello) = (HEADER + MOST_PAYLOAD, hello::MOST_SIZE);
    if frame > hello { frame } else { hello }
};

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Frame> {
        let id = StreamId(7);
        vec![
            Frame::Open(id, Urgency::Urgent),
            Frame::Open(id, Urgency::Bulk),
            Frame::Data(id, b"x".to_vec()),
            Frame::Data(id, vec![0; MOST_PAYLOAD]),
            Frame::End(id),
            Frame::Reset(id),
            Frame::Credit(id, u32::MAX),
            Frame::Ack(u64::MAX),
            Frame::Ping(1),
            Frame::Pong(2),
        ]
    }

    fn greeted() -> Decoder {
        Decoder { greeted: true, ..Decoder::default() }
    }

    #[test]
    fn every_frame_comes_back_in_pieces_of_any_size() {
        let mut bytes = Vec::new();
        for frame in all() {
            let before = bytes.len();
            frame.encode(&mut bytes);
            assert_eq!(bytes.len() - before, frame.size());
        }
        for size in [1, 2, 3, 7, 8, 1000, bytes.len()] {
            let (mut decoder, mut found) = (greeted(), Vec::new());
            for piece in bytes.chunks(size) {
                decoder.push(piece);
                while let Some(Item::Frame(frame)) = decoder.take().unwrap() {
                    found.push(frame);
                }
                assert!(decoder.buffer.len() - decoder.done <= MOST_HELD);
            }
            assert_eq!(found, all());
        }
    }

    #[test]
    fn what_cannot_be_a_frame_is_named() {
        let told = |bytes: &[u8]| {
            let mut decoder = greeted();
            decoder.push(bytes);
            decoder.take().unwrap_err()
        };
        assert_eq!(told(&[9, 0, 0, 0, 0, 0, 0]), Breach::UnknownKind(9));
        assert_eq!(told(&[DATA, 0, 0, 0, 1, 0xff, 0xff]), Breach::TooLong(0xffff));
        assert_eq!(told(&[DATA, 0, 0, 0, 1, 0, 0]), Breach::Malformed(DATA));
        assert_eq!(told(&[END, 0, 0, 0, 1, 0, 1, 0]), Breach::Malformed(END));
        assert_eq!(told(&[OPEN, 0, 0, 0, 1, 0, 1, 9]), Breach::Malformed(OPEN));
        assert_eq!(told(&[ACK, 0, 0, 0, 0, 0, 1, 9]), Breach::Malformed(ACK));
    }

    #[test]
    fn noise_before_the_hello_is_passed_over_but_not_for_ever() {
        let mut decoder = Decoder::default();
        decoder.push(b"Welcome to box7!\n\0tr");
        assert_eq!(decoder.take(), Ok(None));
        assert_eq!(decoder.noise().as_deref(), Some("Welcome to bo"));
        decoder.push(&vec![b'x'; MOST_NOISE]);
        assert!(matches!(decoder.take(), Err(Breach::Noise(said)) if said.starts_with("Welcome")));
    }
}
