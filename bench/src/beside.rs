//! A client beside a terminal, over TCP as a browser is: `WS /ws/terminal/{id}` in its rich form.
//!
//! It checks that the bytes follow each other without gap or overlap, counts them, acknowledges, and looks no closer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use trl_proto::TerminalId;

use crate::daemon::TOKEN;

const READ_BYTES: usize = 256 << 10;
/// As a client that shows what it is sent does.
const ACK_EVERY: u64 = 64 << 10;
/// Nothing measured here takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const TEXT: u8 = 1;

const DATA: u8 = 1;
const SNAPSHOT: u8 = 2;
const INPUT: u8 = 0x81;

pub(crate) struct Beside {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The next byte of the terminal it wants.
    pub(crate) next: u64,
    acked: u64,
    inputs: u64,
    /// Pictures in place of bytes, after the first.
    pub(crate) pictures: u64,
    closed: bool,
}

impl Beside {
    pub(crate) fn attach(http: SocketAddr, terminal: &TerminalId, mode: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(http)?;
        stream.set_nodelay(true)?;
        write!(
            stream,
            "GET /ws/terminal/{terminal}?mode={mode} HTTP/1.1\r\nHost: {http}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: trl.term.1\r\n\r\n"
        )?;
        let buffer = vec![0; READ_BYTES];
        let mut new = Self {
            stream,
            buffer,
            start: 0,
            end: 0,
            next: 0,
            acked: 0,
            inputs: 0,
            pictures: 0,
            closed: false,
        };
        new.answer()?;
        // The picture may have come with the answer.
        while new.frame()? {}
        while new.pictures == 0 {
            new.pump()?;
        }
        new.pictures = 0;
        Ok(new)
    }

    /// The head of the answer.
    fn answer(&mut self) -> Result<()> {
        loop {
            let so_far = &self.buffer[..self.end];
            if let Some(at) = memchr::memmem::find(so_far, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&so_far[..at]);
                ensure!(head.starts_with("HTTP/1.1 101"), "refused: {head}");
                self.start = at + 4;
                return Ok(());
            }
            self.read()?;
        }
    }

    /// Waits for something, and takes all that came with it.
    pub(crate) fn pump(&mut self) -> Result<()> {
        let patience = Timespec::try_from(PATIENCE).ok();
        if poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], patience.as_ref())? == 0 {
            bail!("the daemon is silent");
        }
        self.take()
    }

    /// Takes what has come.
    pub(crate) fn take(&mut self) -> Result<()> {
        self.read()?;
        while self.frame()? {}
        if self.next >= self.acked + ACK_EVERY && !self.closed {
            self.acked = self.next;
            self.send(TEXT, format!(r#"{{"type":"ack","offset":{}}}"#, self.next).as_bytes())?;
        }
        Ok(())
    }

    pub(crate) fn until(&mut self, offset: u64) -> Result<()> {
        let start = Instant::now();
        while self.next < offset {
            self.pump()?;
            ensure!(start.elapsed() < PATIENCE, "only {} of {offset} bytes came", self.next);
        }
        Ok(())
    }

    /// Types.
    pub(crate) fn input(&mut self, bytes: &[u8]) -> Result<()> {
        self.inputs += 1;
        let frame = [&[INPUT][..], &self.inputs.to_be_bytes(), bytes].concat();
        self.send(BINARY, &frame)
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) -> Result<()> {
        let length = u8::try_from(payload.len()).ok().filter(|n| *n < 126).context("short messages only")?;
        let head = [0x80 | opcode, 0x80 | length, 0, 0, 0, 0];
        Ok(self.stream.write_all(&[&head[..], payload].concat())?)
    }

    fn read(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.end == self.buffer.len() {
                self.buffer.resize(self.end * 2, 0);
            }
        }
        match self.stream.read(&mut self.buffer[self.end..])? {
            0 => bail!("the daemon closed the connection"),
            n => self.end += n,
        }
        Ok(())
    }

    /// One message, if it is there whole.
    fn frame(&mut self) -> Result<bool> {
        let so_far = &self.buffer[self.start..self.end];
        let [first, second, ..] = *so_far else { return Ok(false) };
        let number = |range: std::ops::Range<usize>| -> Option<u64> {
            Some(so_far.get(range)?.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
        };
        let (head, length) = match second {
            126 => (4, number(2..4)),
            127 => (10, number(2..10)),
            short => (2, Some(u64::from(short))),
        };
        let Some(length) = length else { return Ok(false) };
        let Some(payload) = so_far[head..].get(..usize::try_from(length)?) else { return Ok(false) };
        self.start += head + payload.len();
        match first & 15 {
            BINARY => {
                let bytes = payload.len() as u64 - 9;
                let offset = payload[1..9].iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
                match payload[0] {
                    DATA => {
                        ensure!(offset == self.next, "byte {offset} after byte {}", self.next);
                        self.next += bytes;
                    }
                    SNAPSHOT => {
                        self.pictures += 1;
                        (self.next, self.acked) = (offset, offset);
                    }
                    other => bail!("a message of kind {other}"),
                }
            }
            PING => self.send(PONG, b"")?,
            CLOSE => self.closed = true,
            _ => {}
        }
        Ok(true)
    }
}

impl AsFd for Beside {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
