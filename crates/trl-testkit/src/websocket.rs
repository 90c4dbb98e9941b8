//! A blocking WebSocket client: the conversation of [`crate::Client`], in messages.

use std::collections::VecDeque;
use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::handshake::client::generate_key;
use tungstenite::http::Request;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{HandshakeError, Message};

use crate::{Http, RpcError};

pub struct WebSocket {
    inner: tungstenite::WebSocket<TcpStream>,
    next_id: u64,
    aside: VecDeque<Value>,
}

/// One message of the daemon's.
#[derive(Debug)]
pub enum Arrived {
    Text(Value),
    Binary(Vec<u8>),
    Closed(u16, String),
}

impl WebSocket {
    /// Opens one with these headers on top of the usual ones; the status of a refusal is the error.
    pub fn open(http: &Http, path: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        Self::handshake(http, path, headers).map_err(|refused| refused.expect("a handshake"))
    }

    /// None when the connection ends in the handshake, which must not be refused.
    pub fn try_open(http: &Http, path: &str, headers: &[(&str, &str)]) -> Option<Self> {
        match Self::handshake(http, path, headers) {
            Ok(open) => Some(open),
            Err(None) => None,
            Err(Some(status)) => panic!("refused with {status}"),
        }
    }

    /// The error is the status of a refusal, or none when there was no answer.
    fn handshake(http: &Http, path: &str, headers: &[(&str, &str)]) -> Result<Self, Option<u16>> {
        let mut request = Request::builder()
            .uri(format!("ws://{}{path}", http.authority()))
            .header("Host", http.authority())
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", generate_key());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        match tungstenite::client(request, http.tcp()) {
            Ok((inner, _)) => Ok(Self { inner, next_id: 0, aside: VecDeque::new() }),
            Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(Some(answer.status().as_u16()))
            }
            Err(_) => Err(None),
        }
    }

    /// With a token, as programs do.
    pub fn with_token(http: &Http, token: &str) -> Result<Self, u16> {
        Self::open(http, "/ws/rpc", &[("Authorization", &format!("Bearer {token}"))])
    }

    pub fn stream(&self) -> &TcpStream {
        self.inner.get_ref()
    }

    /// Sends text as it is.
    pub fn write(&mut self, text: &str) -> Result<(), tungstenite::Error> {
        self.inner.send(Message::text(text))
    }

    /// The next message; the code and reason when the daemon closes instead.
    pub fn read(&mut self) -> Result<Value, (u16, String)> {
        loop {
            match self.inner.read() {
                Ok(Message::Text(text)) => {
                    return Ok(serde_json::from_str(&text).expect("JSON"));
                }
                Ok(Message::Close(Some(frame))) => return Err((frame.code.into(), frame.reason.to_string())),
                Ok(Message::Close(None)) => return Err((CloseCode::Status.into(), String::new())),
                Ok(_) => {}
                Err(e) => return Err((0, e.to_string())),
            }
        }
    }

    pub fn write_binary(&mut self, bytes: Vec<u8>) -> Result<(), tungstenite::Error> {
        self.inner.send(Message::Binary(bytes.into()))
    }

    /// Whatever comes next.
    pub fn arrive(&mut self) -> Arrived {
        loop {
            match self.inner.read() {
                Ok(Message::Text(text)) => {
                    return Arrived::Text(serde_json::from_str(&text).expect("JSON"));
                }
                Ok(Message::Binary(bytes)) => return Arrived::Binary(bytes.to_vec()),
                Ok(Message::Close(Some(frame))) => {
                    return Arrived::Closed(frame.code.into(), frame.reason.to_string());
                }
                Ok(Message::Close(None)) => return Arrived::Closed(CloseCode::Status.into(), String::new()),
                Ok(_) => {}
                Err(e) => return Arrived::Closed(0, e.to_string()),
            }
        }
    }

    fn read_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&wanted) {
            return self.aside.remove(at).expect("just found");
        }
        loop {
            let message = self.read().unwrap_or_else(|why| panic!("closed: {why:?}"));
            if wanted(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.write(&request.to_string()).expect("the daemon reads");
        self.next_id
    }

    pub fn reply(&mut self, id: u64) -> Result<Value, RpcError> {
        let mut message = self.read_where(|m| m["id"] == id);
        match message.get("error") {
            Some(error) => Err(RpcError::of(error)),
            None => Ok(message["result"].take()),
        }
    }

    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.send(method, params);
        self.reply(id)
    }

    pub fn ok(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params).unwrap_or_else(|e| panic!("{method} refused: {}", e.json))
    }

    /// The parameters of the next push of this name.
    pub fn push(&mut self, name: &str) -> Value {
        self.read_where(|m| m["method"] == name)["params"].take()
    }
}
