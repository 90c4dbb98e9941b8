//! A conversation with an engine elsewhere, on one strand: JSON-RPC lines, as every client speaks it.
//!
//! A [`Talk`] belongs to one task, which asks and hears in its own loop. [`Calls`] is one that many share: each call waits
//! for its own reply.

use std::collections::{HashMap, VecDeque};
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use trl_proto::heard::{self, Heard};
use trl_proto::{Error, ErrorCode};

use super::line::Strand;
use super::reading;

/// Calls that wait to be written down.
const MOST_WAITING: usize = 256;
/// An engine that says more without a line break is none of ours: its own replies are smaller.
const LONGEST_LINE: usize = 256 << 20;

/// One side of a conversation.
#[derive(Debug)]
pub struct Talk {
    read: ReadHalf<Strand>,
    write: WriteHalf<Strand>,
    /// Bytes that have come, without an end of line in what was searched.
    come: Vec<u8>,
    searched: usize,
    lines: VecDeque<Vec<u8>>,
    out: Vec<u8>,
    written: usize,
    last_id: u64,
}

impl Talk {
    pub fn over(strand: Strand) -> Self {
        let (read, write) = tokio::io::split(strand);
        let (come, out) = (Vec::new(), Vec::new());
        Self { read, write, come, searched: 0, lines: VecDeque::new(), out, written: 0, last_id: 0 }
    }

    /// Says it as soon as somebody [hears](Talk::hear); its reply has the id that is returned.
    pub fn ask<P: Serialize>(&mut self, method: &str, params: &P) -> u64 {
        self.last_id += 1;
        #[allow(clippy::expect_used)] // our own parameter types have string keys and no failing serializer
        heard::ask(&mut self.out, self.last_id, method, params).expect("wire types always serialize");
        self.last_id
    }

    /// The next thing that is said, while what was asked is being said. Given up at any time, nothing is lost.
    pub async fn hear(&mut self) -> io::Result<Heard> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                if let Some(heard) = heard::parse(&line).map_err(io::Error::other)? {
                    return Ok(heard);
                }
                continue;
            }
            let writing = self.written < self.out.len();
            if !writing && !self.out.is_empty() {
                (self.out, self.written) = (Vec::new(), 0);
            }
            tokio::select! {
                biased;
                taken = self.write.write(&self.out[self.written..]), if writing => self.written += taken?,
                come = reading::piece(&mut self.read, |bytes| self.come.extend_from_slice(bytes)) => {
                    come?.ok_or(io::ErrorKind::UnexpectedEof)?;
                    self.cut_lines();
                    if self.come.len() > LONGEST_LINE {
                        return Err(io::Error::other("a line without an end"));
                    }
                }
            }
        }
    }

    fn cut_lines(&mut self) {
        while let Some(end) = self.come[self.searched..].iter().position(|byte| *byte == b'\n') {
            let rest = self.come.split_off(self.searched + end + 1);
            self.lines.push_back(std::mem::replace(&mut self.come, rest));
            self.searched = 0;
        }
        self.searched = self.come.len();
        if self.come.is_empty() {
            // Nothing is held while nothing is said.
            self.come = Vec::new();
        }
    }
}

/// What was said, as what it should be.
pub fn read<T: DeserializeOwned>(said: &RawValue) -> Result<T, Error> {
    serde_json::from_str(said.get())
        .map_err(|e| Error::internal(format!("the engine there said something else than expected: {e}")))
}

/// Nobody can say what became of a call that was made.
pub fn lost() -> Error {
    Error::new(ErrorCode::RuntimeUnavailable, "the runtime is gone, and nobody can say what became of this")
        .detail("began", true)
}

/// A conversation that many share.
#[derive(Debug, Clone)]
pub struct Calls(mpsc::Sender<Call>);

#[derive(Debug)]
struct Call {
    method: String,
    params: Box<RawValue>,
    reply: oneshot::Sender<Result<Box<RawValue>, Error>>,
}

impl Calls {
    pub fn over(strand: Strand) -> Self {
        let (calls, waiting) = mpsc::channel(MOST_WAITING);
        tokio::spawn(attend(Talk::over(strand), waiting));
        Self(calls)
    }

    pub async fn raw(&self, method: &str, params: Box<RawValue>) -> Result<Box<RawValue>, Error> {
        let (reply, answer) = oneshot::channel();
        let call = Call { method: method.into(), params, reply };
        self.0.send(call).await.map_err(|_| lost())?;
        answer.await.unwrap_or_else(|_| Err(lost()))
    }

    pub async fn call<T: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Result<T, Error> {
        let params = serde_json::value::to_raw_value(params).map_err(|e| Error::internal(e.to_string()))?;
        read(&self.raw(method, params).await?)
    }
}

/// Until the strand is over, or nobody calls any more and every call is answered.
async fn attend(mut talk: Talk, mut waiting: mpsc::Receiver<Call>) {
    let mut asked: HashMap<u64, oneshot::Sender<Result<Box<RawValue>, Error>>> = HashMap::new();
    let mut listening = true;
    while listening || !asked.is_empty() {
        tokio::select! {
            call = waiting.recv(), if listening => match call {
                Some(Call { method, params, reply }) => {
                    asked.insert(talk.ask(&method, &params), reply);
                }
                None => listening = false,
            },
            heard = talk.hear() => match heard {
                Ok(Heard::Reply { id, outcome }) => {
                    if let Some(reply) = asked.remove(&id) {
                        let _ = reply.send(outcome);
                    }
                }
                Ok(Heard::Push { .. }) => {}
                Err(_) => return,
            },
        }
    }
}
