//! A blocking client of the socket, in both envelopes, with the raw bytes in reach.
//!
//! 1. [`Client::call`] sends a request and waits for its reply; whatever else arrives meanwhile is kept for later.
//! 2. [`Client::send`] and [`Client::reply`] are its halves, for requests that overlap.
//! 3. [`Client::push`] is the next push of a name; [`Client::recv`] the next message of any kind.
//!
//! Every wait ends after [`PATIENCE`] with a panic, so a lost reply is a failure and not a hang.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};
use trl_proto::text::{self, Encoding};

use crate::PATIENCE;

/// A refusal, whichever envelope it came in.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// The stable name, such as `SESSION_BUSY`.
    pub code: String,
    pub message: String,
    pub hint: Option<String>,
    /// The whole error member.
    pub json: Value,
}

impl RpcError {
    pub(crate) fn of(error: &Value) -> Self {
        // JSON-RPC has a number in `code` and the rest in `data`; the plain form is flat.
        let body = error.get("data").unwrap_or(error);
        let text = |v: &Value| v.as_str().map(str::to_string);
        Self {
            code: text(&body["code"]).unwrap_or_else(|| error["code"].to_string()),
            message: text(&error["message"]).unwrap_or_default(),
            hint: text(&body["hint"]),
            json: error.clone(),
        }
    }

    /// A further fact of the error.
    pub fn detail(&self, key: &str) -> &Value {
        &self.json.get("data").unwrap_or(&self.json)[key]
    }
}

#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    /// Bytes read and not yet taken as lines; the first `scanned` hold no newline.
    pending: Vec<u8>,
    scanned: usize,
    next_id: u64,
    /// Messages that arrived while something else was waited for.
    aside: VecDeque<Value>,
}

impl Client {
    pub fn connect(socket: &Path) -> Self {
        Self::try_connect(socket).unwrap_or_else(|e| panic!("connect {}: {e}", socket.display()))
    }

    pub fn try_connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, pending: Vec::new(), scanned: 0, next_id: 1, aside: VecDeque::new() })
    }

    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the daemon reads");
    }

    pub fn write_line(&mut self, text: &str) {
        self.write_raw(format!("{text}\n").as_bytes());
    }

    /// The next line without its newline; None when the daemon closed the connection.
    pub fn read_line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.pending[self.scanned..].iter().position(|b| *b == b'\n') {
                let mut line: Vec<u8> = self.pending.drain(..=self.scanned + end).collect();
                line.pop();
                self.scanned = 0;
                return Some(line);
            }
            self.scanned = self.pending.len();
            let mut chunk = [0; 1 << 16];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(n) => self.pending.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("no message from the daemon: {e}"),
            }
        }
    }

    fn read_message(&mut self) -> Value {
        let line = self.read_line().expect("the daemon closed the connection");
        serde_json::from_slice(&line)
            .unwrap_or_else(|e| panic!("not JSON ({e}): {:.300}", String::from_utf8_lossy(&line)))
    }

    /// The next message: a reply or a push, in the order they came.
    pub fn recv(&mut self) -> Value {
        self.aside.pop_front().unwrap_or_else(|| self.read_message())
    }

    /// The next message that `wanted` accepts; the others stay.
    pub fn recv_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&wanted) {
            return self.aside.remove(at).expect("just found");
        }
        loop {
            let message = self.read_message();
            if wanted(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// Sends a JSON-RPC request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.fresh_id();
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        self.write_line(&line);
        id
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The reply to the request of this id.
    pub fn reply(&mut self, id: u64) -> Result<Value, RpcError> {
        let mut message = self.recv_where(|m| m["id"] == id);
        match message.get("error") {
            Some(error) => Err(RpcError::of(error)),
            None => Ok(message["result"].take()),
        }
    }

    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.send(method, params);
        self.reply(id)
    }

    /// The next message that `wanted` accepts; None when the daemon is gone before it came.
    pub fn recv_or_gone(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.aside.iter().position(&wanted) {
            return self.aside.remove(at);
        }
        loop {
            let line = self.read_line()?;
            let message: Value = serde_json::from_slice(&line).ok()?;
            if wanted(&message) {
                return Some(message);
            }
            self.aside.push_back(message);
        }
    }

    /// As [`Client::send`], to a daemon that may be gone.
    pub fn send_or_gone(&mut self, method: &str, params: Value) -> Option<u64> {
        let id = self.fresh_id();
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        self.stream.write_all(format!("{line}\n").as_bytes()).ok().map(|()| id)
    }

    /// As [`Client::reply`], from a daemon that may be gone.
    pub fn reply_or_gone(&mut self, id: u64) -> Option<Result<Value, RpcError>> {
        let mut message = self.recv_or_gone(|m| m["id"] == id)?;
        Some(match message.get("error") {
            Some(error) => Err(RpcError::of(error)),
            None => Ok(message["result"].take()),
        })
    }

    /// A call that must succeed.
    pub fn ok(&mut self, method: &str, params: Value) -> Value {
        let told = format!("{params:.200}");
        self.call(method, params).unwrap_or_else(|e| panic!("{method} {told} refused: {}", e.json))
    }

    /// A call that must be refused with this code.
    pub fn refused(&mut self, code: &str, method: &str, params: Value) -> RpcError {
        let told = format!("{params:.200}");
        match self.call(method, params) {
            Ok(result) => panic!("{method} {told} should be {code} but gave {result:.300}"),
            Err(e) if e.code == code => e,
            Err(e) => panic!("{method} {told} should be {code} but is {}", e.json),
        }
    }

    /// A call in the plain envelope.
    pub fn plain_call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = format!("p{}", self.fresh_id());
        self.write_line(&json!({"id": id, "method": method, "params": params}).to_string());
        let mut message = self.recv_where(|m| m["id"] == *id);
        assert!(message.get("jsonrpc").is_none(), "a plain question got a JSON-RPC answer: {message}");
        if message["ok"] == true { Ok(message["data"].take()) } else { Err(RpcError::of(&message["error"])) }
    }

    /// The parameters of the next push of this name.
    pub fn push(&mut self, name: &str) -> Value {
        self.recv_where(|m| m["method"] == name)["params"].take()
    }

    /// The next event (of `events.subscribe`) of this kind.
    pub fn event(&mut self, kind: &str) -> Value {
        self.recv_where(|m| m["method"] == "event" && m["params"]["kind"] == kind)["params"].take()
    }

    /// Becomes an operator. Must be the first request of the connection.
    pub fn authenticate(&mut self, token: &str) {
        let role = self.ok("system.auth", json!({"token": token}))["role"].take();
        assert_eq!(role, "operator");
    }
}

/// The bytes that the text member `key` of a result stands for, by the encoding beside it.
pub fn bytes_of(value: &Value, key: &str) -> Vec<u8> {
    let data = value[key].as_str().unwrap_or_else(|| panic!("no text {key:?} in {value:.300}"));
    let named = value.get(format!("{key}_encoding")).or_else(|| value.get("encoding"));
    let encoding = match named.and_then(Value::as_str) {
        Some("base64") => Encoding::Base64,
        Some("utf-8" | "utf-8-lossy") => Encoding::Utf8,
        other => panic!("no known encoding beside {key:?}: {other:?}"),
    };
    text::decode(data.to_string(), encoding).expect("the daemon sends valid base64")
}
