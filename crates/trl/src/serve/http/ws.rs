//! `WS /ws/rpc`: the socket's conversation in WebSocket messages, one request, reply or push in each.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use trl_proto::ErrorCode;

use super::super::connection::{self, Client};
use super::super::lines::{Line, Source};
use super::super::outbox::{Outbox, Parting, Sink};
use super::answer::{Answer, Refusal};
use super::guard::one;

/// How long a client has to take the reason it is cut off for.
pub(super) const REASON_PATIENCE: Duration = Duration::from_secs(10);
/// How long what a client still sends is read after we have ended: closing on it would destroy our last words.
const LINGER: Duration = Duration::from_secs(2);
/// Signs of life that may go unanswered.
const MOST_UNANSWERED: u32 = 3;
/// Per connection; the default of the library is made for few and busy ones.
const BUFFER: usize = 16 * 1024;
/// What is fed and not flushed gathers up to this.
const GATHERED: usize = 4 * 1024;

pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What a connection becomes after its answer.
pub(super) struct Upgrade {
    pub(super) upgraded: OnUpgrade,
    pub(super) client: Arc<Client>,
    pub(super) keep_alive: Duration,
}

/// The answer that makes a connection a WebSocket.
pub(super) fn accept(headers: &HeaderMap) -> Result<Answer, Refusal> {
    let key = handshake_key(headers)?;
    let mut answer = Response::new(Either::Left(Full::default()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept.map_err(|_| not_a_handshake())?);
    Ok(answer)
}

fn handshake_key(headers: &HeaderMap) -> Result<&str, Refusal> {
    let has = |name, wanted: &str| -> Result<bool, Refusal> {
        let words = one(headers, &name)?.unwrap_or_default().split(',').map(str::trim);
        Ok(words.into_iter().any(|word| word.eq_ignore_ascii_case(wanted)))
    };
    let key = one(headers, &header::SEC_WEBSOCKET_KEY)?.filter(|key| key.len() == 24);
    let asked = has(header::CONNECTION, "upgrade")?
        && has(header::UPGRADE, "websocket")?
        && has(header::SEC_WEBSOCKET_VERSION, "13")?;
    key.filter(|_| asked).ok_or_else(not_a_handshake)
}

fn not_a_handshake() -> Refusal {
    let message = "this is for WebSockets, version 13";
    Refusal::new(StatusCode::UPGRADE_REQUIRED, ErrorCode::InvalidParams, message)
        .header(header::UPGRADE, HeaderValue::from_static("websocket"))
}

impl Upgrade {
    pub(super) fn of(request: &mut Request<Incoming>, client: Arc<Client>, keep_alive: Duration) -> Self {
        Self { upgraded: hyper::upgrade::on(request), client, keep_alive }
    }

    /// Serves the client until it is gone.
    pub(super) async fn run(self) {
        let Ok(upgraded) = self.upgraded.await else { return };
        let (sink, stream) = open(upgraded, self.client.server.wire.max_line_bytes).await.split();
        let heard = Arc::new(Mutex::new(Instant::now()));
        let outbox = Arc::clone(&self.client.outbox);
        let mut source = MessageSource { stream, outbox, heard: Arc::clone(&heard) };
        let mut sink = MessageSink { sink, keep_alive: self.keep_alive, heard };
        connection::run(self.client, &mut source, &mut sink).await;
        if let Ok(socket) = source.stream.reunite(sink.sink) {
            let _ = tokio::time::timeout(LINGER, drain(socket)).await;
        }
    }
}

/// The connection as a WebSocket that takes messages of at most so many bytes.
pub(super) async fn open(upgraded: Upgraded, most: usize) -> Socket {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(GATHERED)
        .max_message_size(Some(most))
        .max_frame_size(Some(most));
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await
}

async fn drain(socket: Socket) {
    let mut io = socket.into_inner();
    let mut chunk = [0; 4096];
    while io.read(&mut chunk).await.is_ok_and(|n| n > 0) {}
}

/// Requests, one in each message.
struct MessageSource {
    stream: SplitStream<Socket>,
    outbox: Arc<Outbox>,
    heard: Arc<Mutex<Instant>>,
}

impl Source for MessageSource {
    async fn next(&mut self) -> io::Result<Line> {
        loop {
            let message = match self.stream.next().await {
                None => return Ok(Line::End),
                Some(Ok(message)) => message,
                Some(Err(error)) => return Ok(self.failed(&error)),
            };
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            let line = match &message {
                Message::Text(text) => Some(text.as_str()),
                Message::Binary(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => Some(text),
                    Err(_) => return Ok(Line::Garbage),
                },
                Message::Close(_) => return Ok(Line::End),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => None,
            };
            if let Some(line) = line.map(str::trim_ascii).filter(|line| !line.is_empty()) {
                return Ok(Line::Text(line.to_string()));
            }
        }
    }
}

impl MessageSource {
    /// Such a connection cannot be read any further, unlike one of lines.
    fn failed(&self, error: &Error) -> Line {
        match error {
            Error::Capacity(_) => self.outbox.cut(Parting::TooLarge),
            Error::Protocol(_) | Error::Utf8(_) => self.outbox.cut(Parting::Protocol),
            _ => {}
        }
        Line::End
    }
}

/// Replies and pushes, one in each message.
struct MessageSink {
    sink: SplitSink<Socket, Message>,
    keep_alive: Duration,
    heard: Arc<Mutex<Instant>>,
}

impl MessageSink {
    async fn send(&mut self, message: Message) -> io::Result<()> {
        self.sink.send(message).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn silence(&self) -> Duration {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Sink for MessageSink {
    async fn write(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.truncate(line.trim_ascii_end().len());
        let text = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
        self.send(Message::text(text)).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// A ping, which every client answers by itself.
    async fn idle(&mut self) -> io::Result<()> {
        tokio::time::sleep(self.keep_alive).await;
        if self.silence() > self.keep_alive * MOST_UNANSWERED {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.send(Message::Ping(Vec::new().into())).await
    }

    async fn close(&mut self, why: Parting) {
        let (code, reason) = match why {
            Parting::Done => (CloseCode::Away, ""),
            Parting::TooSlow => (CloseCode::Policy, "you do not read what you are sent"),
            Parting::TooLarge => (CloseCode::Size, "the message is too large"),
            Parting::Protocol => (CloseCode::Protocol, "that is not WebSocket"),
            Parting::TokenEnded => (CloseCode::Policy, "the token is not valid any more"),
            Parting::Gone => return,
        };
        let frame = CloseFrame { code, reason: reason.into() };
        let _ = tokio::time::timeout(REASON_PATIENCE, self.send(Message::Close(Some(frame)))).await;
    }
}
