//! A blocking client beside a terminal, in either form of `WS /ws/terminal/{id}`.

use serde_json::{Value, json};

use crate::Http;
use crate::websocket::{Arrived, WebSocket};

/// A client of the rich form: what it has been sent, by offset, as a careful client keeps it.
pub struct Attached {
    pub ws: WebSocket,
    pub hello: Value,
    pub resume: Value,
    /// The first byte of `bytes`.
    pub start: u64,
    /// Everything since the last picture.
    pub bytes: Vec<u8>,
    /// The last picture, and the offset it is of.
    pub picture: Option<(u64, Vec<u8>)>,
    pub pictures: u64,
    pub sizes: Vec<(u64, u64, u64)>,
    pub exit: Option<Value>,
    pub closed: Option<(u16, String)>,
    /// Everything else that was said.
    pub said: Vec<Value>,
    next_input: u64,
}

impl Attached {
    /// `query` without its question mark.
    pub fn open(http: &Http, token: &str, terminal: &str, query: &str) -> Self {
        Self::try_open(http, token, terminal, query).expect("a terminal to sit beside")
    }

    /// None when the connection ends before it has begun.
    pub fn try_open(http: &Http, token: &str, terminal: &str, query: &str) -> Option<Self> {
        let auth = format!("Bearer {token}");
        let headers = [("Authorization", auth.as_str()), ("Sec-WebSocket-Protocol", "trl.term.1")];
        let path = format!("/ws/terminal/{terminal}?{query}");
        let mut ws = WebSocket::try_open(http, &path, &headers)?;
        let hello = ws.read().ok()?;
        assert_eq!(hello["type"], "hello", "{hello}");
        let resume = ws.read().ok()?;
        assert_eq!(resume["type"], "resume", "{resume}");
        let start = resume["offset"].as_u64().expect("an offset");
        Some(Self {
            ws,
            hello,
            resume,
            start,
            bytes: Vec::new(),
            picture: None,
            pictures: 0,
            sizes: Vec::new(),
            exit: None,
            closed: None,
            said: Vec::new(),
            next_input: 1,
        })
    }

    /// The next byte it wants.
    pub fn next(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub fn generation(&self) -> &str {
        self.hello["gen"].as_str().expect("a generation")
    }

    /// Takes one message. Bytes must follow each other without gap or overlap.
    pub fn take(&mut self) {
        match self.ws.arrive() {
            Arrived::Closed(code, reason) => self.closed = Some((code, reason)),
            Arrived::Binary(frame) => self.frame(&frame),
            Arrived::Text(text) => match text["type"].as_str() {
                Some("resize") => {
                    let number = |name: &str| text[name].as_u64().expect("a number");
                    self.sizes.push((number("at"), number("cols"), number("rows")));
                }
                Some("exit") => self.exit = Some(text),
                _ => self.said.push(text),
            },
        }
    }

    fn frame(&mut self, frame: &[u8]) {
        let (head, bytes) = frame.split_at(9);
        let offset = u64::from_be_bytes(head[1..].try_into().expect("eight bytes"));
        match head[0] {
            1 => {
                assert_eq!(offset, self.next(), "bytes lost or doubled");
                self.bytes.extend_from_slice(bytes);
            }
            2 => {
                self.picture = Some((offset, bytes.to_vec()));
                self.pictures += 1;
                (self.start, self.bytes) = (offset, Vec::new());
            }
            other => panic!("a message of kind {other}"),
        }
    }

    pub fn ack(&mut self) {
        let offset = self.next();
        self.tell(json!({"type": "ack", "offset": offset}));
    }

    pub fn tell(&mut self, what: Value) {
        let _ = self.ws.write(&what.to_string());
    }

    /// Types, as the next numbered input.
    pub fn input(&mut self, bytes: &[u8]) -> u64 {
        let number = self.next_input;
        self.next_input += 1;
        self.input_as(number, bytes);
        number
    }

    pub fn input_as(&mut self, number: u64, bytes: &[u8]) {
        let frame = [&[0x81][..], &number.to_be_bytes(), bytes].concat();
        let _ = self.ws.write_binary(frame);
    }

    /// Reads until `wanted`, acknowledging as it goes.
    pub fn until(&mut self, mut wanted: impl FnMut(&Self) -> bool) {
        let mut acked = self.next();
        while !wanted(self) {
            assert!(self.closed.is_none(), "closed: {:?}", self.closed);
            self.take();
            if self.next() >= acked + 16 * 1024 {
                acked = self.next();
                self.ack();
            }
        }
    }

    /// Until the text was sent, as bytes or in a picture.
    pub fn until_text(&mut self, text: &str) {
        let text = text.as_bytes();
        // What was looked through is not looked through again: a flood comes in thousands of messages.
        let (mut pictures, mut done) = (0, 0);
        self.until(|c| {
            if c.pictures != pictures {
                (pictures, done) = (c.pictures, 0);
                if c.picture.as_ref().is_some_and(|(_, picture)| memmem(picture, text)) {
                    return true;
                }
            }
            let from = done;
            done = (c.bytes.len() + 1).saturating_sub(text.len());
            memmem(&c.bytes[from..], text)
        });
    }
}

pub fn memmem(hay: &[u8], needle: &[u8]) -> bool {
    hay.windows(needle.len()).any(|w| w == needle)
}
