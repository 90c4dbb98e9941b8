//! `WS /ws/terminal/{id}`: a client beside a terminal.
//!
//! Nothing is kept for a client but its place on the tape: it is sent bytes from there while it keeps up, and a picture
//! when it does not. Two forms, told apart by the subprotocol:
//!
//! - `trl.term.1`: bytes with their offsets, numbered input, acknowledgements, changes of size in their place, and what
//!   happens beside the bytes as JSON. A client that comes back with its last offset gets exactly what it missed.
//! - none: raw bytes both ways, and `{"type":"resize","cols":..,"rows":..}` as text.

mod hear;
mod out;

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hyper::upgrade::OnUpgrade;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use trl_core::terminal::sizes::Client;
use trl_core::terminal::spec::checked_size;
use trl_core::terminal::tape::Tape;
use trl_core::terminal::{Terminal, Viewer};
use trl_sys::pty::Size;

use self::out::{Sink, Taken};
use super::super::principal::Principal;
use super::Door;
use super::ws::{self, REASON_PATIENCE};

/// What a client asks for to get the rich form.
pub(super) const SUBPROTOCOL: &str = "trl.term.1";

/// Bytes a client may have without having said that it has shown them.
const WINDOW: u64 = 256 * 1024;
/// Characters of a client's name.
const MOST_NAME: usize = 64;
/// Messages of our own that wait for a client that sends and does not read.
const MOST_WAITING: usize = 1024;
/// What one message may bring.
const MOST_INPUT: usize = 1 << 20;

/// Why a connection is closed, as the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    Done,
    Forbidden,
    Unknown,
    ShuttingDown,
    TooLarge,
    Protocol,
    NotText,
    TokenEnded,
    /// The other side is gone.
    Silent,
}

impl Close {
    fn frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Done => (1000, "the terminal has ended"),
            Self::Forbidden => (4003, "not yours"),
            Self::Unknown => (4004, "there is no such terminal"),
            Self::ShuttingDown => (4013, "the daemon is ending"),
            Self::TooLarge => (1009, "the message is too large"),
            Self::Protocol => (1002, "that is not WebSocket"),
            Self::NotText => (1007, "that is not UTF-8"),
            Self::TokenEnded => (1008, "the token is not valid any more"),
            Self::Silent => return None,
        };
        Some(CloseFrame { code: code.into(), reason: reason.into() })
    }
}

/// What the client said when it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ask {
    rich: bool,
    since: Option<(String, u64)>,
    view_only: bool,
    client: Option<String>,
    window: Option<Size>,
}

impl Ask {
    /// From the query of the address. What it does not know it ignores, and a window nobody can have.
    pub(super) fn parse(query: &str, rich: bool) -> Result<Self, &'static str> {
        let mut ask = Self { rich, ..Self::default() };
        let (mut generation, mut since, mut cols, mut rows) = (None, None, None, None);
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "gen" => generation = Some(value.to_string()),
                "since" => since = Some(value.parse().map_err(|_| "`since` is not an offset")?),
                "mode" => ask.view_only = is_view(value)?,
                "client" => ask.client = client_name(value)?,
                "cols" => cols = value.parse().ok(),
                "rows" => rows = value.parse().ok(),
                _ => {}
            }
        }
        ask.since = generation.zip(since);
        ask.window = cols.zip(rows).and_then(|(cols, rows)| checked_size(cols, rows).ok());
        Ok(ask)
    }
}

fn is_view(mode: &str) -> Result<bool, &'static str> {
    match mode {
        "view" => Ok(true),
        "drive" | "" => Ok(false),
        _ => Err("`mode` is view or drive"),
    }
}

/// A name that is another one after it was cut would let two clients' inputs pass for each other's.
fn client_name(value: &str) -> Result<Option<String>, &'static str> {
    let name = percent_decode(value).ok_or("`client` is not percent-encoded UTF-8")?;
    match name.chars().count() {
        0 => Ok(None),
        1..=MOST_NAME if !name.chars().any(char::is_control) => Ok(Some(name)),
        _ => Err("`client` has more than 64 characters, or one that nobody can read"),
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// What a visit may see of the terminal it named.
pub(super) enum Found {
    Terminal { terminal: Arc<Terminal>, may_type: bool },
    Nothing,
    NotYours,
}

pub(super) struct Attach {
    pub(super) upgraded: OnUpgrade,
    pub(super) found: Found,
    pub(super) ask: Ask,
    pub(super) principal: Principal,
    pub(super) door: Arc<Door>,
}

impl Attach {
    /// Serves the client until it is gone.
    pub(super) async fn run(self) {
        let server = &self.door.server;
        let mut closing = server.closing.subscribe();
        let Ok(upgraded) = self.upgraded.await else { return };
        let (sink, mut stream) = ws::open(upgraded, MOST_INPUT).await.split();
        let mut sink = Sink(sink);
        let close = match self.found {
            Found::Nothing => Close::Unknown,
            Found::NotYours => Close::Forbidden,
            Found::Terminal { terminal, may_type } => {
                let drives = may_type && !self.ask.view_only;
                let name = self.ask.client.clone().unwrap_or_else(|| "anonymous".into());
                let (viewer, news) = terminal.attach(Client { name, drives, window: None, focused: false });
                if let Some(window) = self.ask.window {
                    let _ = viewer.show(window).await;
                }
                let desk = Desk::new(&viewer, &self.ask, drives, self.door.keep_alive());
                let mut place = Tape::origin();
                tokio::select! {
                    close = desk.write(&mut sink, news, &mut place) => close,
                    close = desk.read(&mut stream) => close,
                    () = server.authority.ended(&self.principal) => Close::TokenEnded,
                    _ = async { closing.wait_for(|c| *c).await.is_ok() } => Close::ShuttingDown,
                }
            }
        };
        // Terminals that end when the daemon has begun to end, end for that.
        let ends_with_us = close == Close::Done && server.stop.borrow().is_some();
        let close = if ends_with_us { Close::ShuttingDown } else { close };
        if let Some(frame) = close.frame() {
            let goodbye = async {
                sink.send(Message::Close(Some(frame))).await?;
                sink.flush().await?;
                // To a socket that is closed with something unread in it the kernel sends a reset, and that takes back what
                // the client has not read yet.
                let closed = async { while stream.next().await.is_some_and(|message| message.is_ok()) {} };
                let _ = tokio::time::timeout(CLOSES_WITHIN, closed).await;
                Ok::<_, Close>(())
            };
            let _ = tokio::time::timeout(REASON_PATIENCE, goodbye).await;
        }
    }
}

/// How long a client that was told to close is read from.
const CLOSES_WITHIN: Duration = Duration::from_secs(1);

/// Where one client is served: what its reading and its writing half share.
struct Desk<'a> {
    viewer: &'a Viewer,
    ask: &'a Ask,
    drives: bool,
    keep_alive: Duration,
    /// Bytes it says it has shown.
    acked: AtomicU64,
    /// With at most so many lines above the screen.
    wants_picture: Mutex<Option<usize>>,
    taken: Taken,
    waiting: Mutex<VecDeque<Value>>,
    heard: Mutex<Instant>,
    wake: Notify,
}

impl<'a> Desk<'a> {
    fn new(viewer: &'a Viewer, ask: &'a Ask, drives: bool, keep_alive: Duration) -> Self {
        Self {
            viewer,
            ask,
            drives,
            keep_alive,
            acked: AtomicU64::new(0),
            wants_picture: Mutex::default(),
            taken: Taken::default(),
            waiting: Mutex::default(),
            heard: Mutex::new(Instant::now()),
            wake: Notify::new(),
        }
    }

    fn terminal(&self) -> &'a Arc<Terminal> {
        &self.viewer.terminal
    }

    /// Says what was wrong, to a client that has words for it.
    fn complain(&self, message: &str, input: Option<u64>) {
        if self.ask.rich {
            self.tell(json!({"type": "error", "message": message, "iseq": input}));
        }
    }

    /// Has something sent beside the bytes. A client that asks and does not read loses the oldest answers.
    fn tell(&self, what: Value) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == MOST_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(what);
        drop(waiting);
        self.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_where_to_go_on() {
        let ask = |query: &str| Ask::parse(query, true).unwrap();
        for bad in ["since=x", "since=-1", "mode=veiw", "client=%zz", "client=%ff", "client=a%0ab"] {
            assert!(Ask::parse(bad, true).is_err(), "{bad}");
        }
        assert!(Ask::parse(&format!("client={}", "a".repeat(65)), true).is_err());
        let name = "%C3%A9".repeat(64);
        assert_eq!(ask(&format!("client={name}")).client, Some("é".repeat(64)));
        assert_eq!(ask("client=a%20b+c").client.as_deref(), Some("a b c"));
        let ask = ask("ticket=x&gen=ab&since=12&mode=view&client=c1&cols=100&rows=30");
        assert_eq!(ask.since, Some(("ab".into(), 12)));
        assert!(ask.view_only && ask.rich);
        assert_eq!(ask.client.as_deref(), Some("c1"));
        assert_eq!(ask.window, Some(Size { cols: 100, rows: 30 }));
        assert_eq!(Ask::parse("since=12&cols=0&rows=5", false), Ok(Ask::default()));
    }
}
