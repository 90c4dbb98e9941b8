//! A blocking HTTP client that sends exactly what it is told, right or wrong.
//!
//! 1. [`Http`] is a door; [`Http::get`], [`Http::rpc`] and [`Http::ask`] are whole requests on connections of their own.
//! 2. [`Http::send`] leaves the answer to be read piece by piece: a [`Reply`] and, for event streams, [`SseEvent`]s.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::PATIENCE;

/// Where a daemon serves HTTP, and the token to go there with.
#[derive(Debug, Clone)]
pub struct Http {
    /// `http://ADDRESS` or `unix:PATH`.
    place: String,
    token: Option<String>,
}

/// Both kinds of socket.
pub trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

impl Http {
    pub(crate) fn at(place: &str) -> Self {
        Self { place: place.into(), token: None }
    }

    /// Another way to a door, such as one with a trap in it.
    pub fn to(place: &str) -> Self {
        Self::at(place)
    }

    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    /// As `Host` has it.
    pub fn authority(&self) -> &str {
        self.place.strip_prefix("http://").unwrap_or("localhost")
    }

    pub fn connect(&self) -> Box<dyn Wire> {
        match self.place.strip_prefix("unix:") {
            None => Box::new(self.tcp()),
            Some(path) => {
                let stream = UnixStream::connect(path).unwrap_or_else(|e| panic!("connect {path}: {e}"));
                stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
                Box::new(stream)
            }
        }
    }

    pub fn tcp(&self) -> TcpStream {
        let address = self.authority();
        let stream = TcpStream::connect(address).unwrap_or_else(|e| panic!("connect {address}: {e}"));
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        stream
    }

    /// The head of a request: our `Host` and token unless `headers` has others; an empty value leaves a header out.
    pub fn head(&self, verb: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let given = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut head = format!("{verb} {path} HTTP/1.1\r\n");
        if !given("host") {
            head += &format!("Host: {}\r\n", self.authority());
        }
        if let Some(token) = self.token.as_ref().filter(|_| !given("authorization")) {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    /// Sends a request; the answer's head has been read when this returns.
    pub fn send(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let length = body.len().to_string();
        let mut headers = headers.to_vec();
        if !body.is_empty() {
            headers.push(("Content-Length", &length));
        }
        let mut wire = self.connect();
        wire.write_all(self.head(verb, path, &headers).as_bytes()).expect("the daemon reads");
        // A daemon that has refused the head need not read the body.
        let _ = wire.write_all(body);
        Reply::read(wire)
    }

    pub fn ask(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut reply = self.send(verb, path, headers, body);
        reply.read_body();
        reply
    }

    pub fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// The reply of `POST /rpc`, error or not.
    pub fn rpc(&self, method: &str, params: Value) -> Value {
        let reply =
            self.post("/rpc", &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        assert_eq!(reply.status, 200, "{method}: {}", reply.text());
        reply.json()
    }

    pub fn ok(&self, method: &str, params: Value) -> Value {
        let mut reply = self.rpc(method, params);
        assert!(reply.get("error").is_none(), "{method} refused: {reply}");
        reply["result"].take()
    }

    /// The stable code of a refusal.
    pub fn refused(&self, method: &str, params: Value) -> String {
        let reply = self.rpc(method, params);
        let code = reply["error"]["data"]["code"].as_str();
        code.unwrap_or_else(|| panic!("{method} was not refused: {reply}")).to_string()
    }
}

/// An answer, read as far as it was asked for.
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    reader: BufReader<Box<dyn Wire>>,
    events: VecDeque<SseEvent>,
    text: Vec<u8>,
}

impl Reply {
    pub fn read(wire: Box<dyn Wire>) -> Self {
        Self::try_read(wire).expect("the daemon answers")
    }

    /// None when the daemon closed without an answer.
    pub fn try_read(wire: Box<dyn Wire>) -> Option<Self> {
        let mut reader = BufReader::new(wire);
        let first = line(&mut reader)?;
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not an answer: {first}"));
        let mut headers = Vec::new();
        loop {
            let text = line(&mut reader)?;
            match text.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_string())),
                None => break,
            }
        }
        Some(Self { status, headers, body: Vec::new(), reader, events: VecDeque::new(), text: Vec::new() })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", self.text()))
    }

    /// The stable code in the body of a refusal.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_string()
    }

    fn read_body(&mut self) {
        if let Some(length) = self.header("content-length").and_then(|n| n.parse().ok()) {
            self.body = vec![0; length];
            self.reader.read_exact(&mut self.body).expect("the whole body");
            return;
        }
        while let Some(chunk) = self.chunk() {
            self.body.extend(chunk);
        }
    }

    /// The next chunk of a body sent in chunks; None at its end, clean or not.
    fn chunk(&mut self) -> Option<Vec<u8>> {
        if self.header("transfer-encoding") != Some("chunked") {
            return None;
        }
        let size = line(&mut self.reader)?;
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("not a size: {size:?}"));
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// The next line of a body sent in chunks, without its end; None after the last.
    pub fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let chunk = self.chunk()?;
            self.text.extend(chunk);
        }
    }

    /// The next event or comment of an event stream; None at its end.
    pub fn event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let chunk = self.chunk()?;
            self.text.extend(chunk);
            while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                self.events.push_back(SseEvent::parse(&String::from_utf8(block).expect("UTF-8")));
            }
        }
    }
}

/// One block of an event stream.
#[derive(Debug, Clone, Default)]
pub struct SseEvent {
    pub id: String,
    pub name: String,
    pub data: Value,
    /// It was only a sign of life.
    pub is_comment: bool,
}

impl SseEvent {
    fn parse(block: &str) -> Self {
        let mut event = Self { is_comment: block.starts_with(':'), ..Self::default() };
        for line in block.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = id.into(),
                Some(("event", name)) => event.name = name.into(),
                Some(("data", data)) => event.data = serde_json::from_str(data).expect("JSON"),
                _ => {}
            }
        }
        event
    }
}

/// A line without its end; None when there is none any more.
fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    match reader.read_line(&mut text) {
        Ok(0) => None,
        Ok(_) => Some(text.trim_end().to_string()),
        Err(e) if is_cut(&e) => None,
        Err(e) => panic!("no answer from the daemon: {e}"),
    }
}

fn is_cut(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
}
