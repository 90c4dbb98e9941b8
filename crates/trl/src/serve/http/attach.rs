//! `WS /ws/terminal/{id}`: a client beside a terminal.
//!
//! Nothing is kept for a client but its place on the tape: it is sent bytes from there while it keeps up, and a picture
//! when it does not. Two forms, told apart by the subprotocol:
//!
//! - `trl.term.1`: bytes with their offsets, numbered input, acknowledgements, changes of size in their place, and what
//!   happens beside the bytes as JSON. A client that comes back with its last offset gets exactly what it missed.
//! - none: raw bytes both ways, and `{"type":"resize","cols":..,"rows":..}` as text.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::OnUpgrade;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use trl_core::terminal::handle::{News, Resume, signal_name};
use trl_core::terminal::sizes::Client;
use trl_core::terminal::spec::checked_size;
use trl_core::terminal::tape::{Piece, Place, Tape};
use trl_core::terminal::{Terminal, Viewer};
use trl_screen::Event;
use trl_sys::pty::Size;

use super::ws::{self, REASON_PATIENCE, Socket};

/// What a client asks for to get the rich form.
pub(super) const SUBPROTOCOL: &str = "trl.term.1";

/// Bytes in one message.
const FRAME: usize = 64 * 1024;
/// Who has just been sent this much is not waiting for the echo of a key.
const LOUD: usize = 4096;
/// And what comes within this is sent in one.
const GATHER: Duration = Duration::from_millis(1);
/// Bytes a client may have without having said that it has shown them.
const WINDOW: u64 = 256 * 1024;
/// Messages of our own that wait for a client that sends and does not read.
const MOST_WAITING: usize = 1024;
/// Signs of life that may go unanswered.
const MOST_UNANSWERED: u32 = 2;
/// A window that is being dragged is not followed faster than this.
const RESIZE_PACE: Duration = Duration::from_millis(100);
/// How long a program may take to answer a key before the client hears that the key was taken. Later than the daemon's
/// other timers: one that is due first of all costs a system call for every key.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
/// What one message may bring.
const MOST_INPUT: usize = 1 << 20;

const DATA: u8 = 0x01;
const SNAPSHOT: u8 = 0x02;
const INPUT: u8 = 0x81;

/// Why a connection is closed, as the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    Done,
    Forbidden,
    Unknown,
    ShuttingDown,
    TooLarge,
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
    /// From the query of the address; what it does not understand it ignores, as browsers' addresses are.
    pub(super) fn parse(query: &str, rich: bool) -> Self {
        let mut ask = Self { rich, ..Self::default() };
        let (mut generation, mut since, mut cols, mut rows) = (None, None, None, None);
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "gen" => generation = Some(value.to_string()),
                "since" => since = value.parse().ok(),
                "mode" => ask.view_only = value == "view",
                "client" if !value.is_empty() && value.len() <= 64 => ask.client = Some(value.to_string()),
                "cols" => cols = value.parse().ok(),
                "rows" => rows = value.parse().ok(),
                _ => {}
            }
        }
        ask.since = generation.zip(since);
        ask.window = cols.zip(rows).and_then(|(cols, rows)| checked_size(cols, rows).ok());
        ask
    }
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
    pub(super) keep_alive: Duration,
    pub(super) closing: tokio::sync::watch::Receiver<bool>,
}

impl Attach {
    /// Serves the client until it is gone.
    pub(super) async fn run(mut self) {
        let Ok(upgraded) = self.upgraded.await else { return };
        let (sink, stream) = ws::open(upgraded, MOST_INPUT).await.split();
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
                let desk = Desk::new(&viewer, &self.ask, drives, self.keep_alive);
                let mut place = Tape::origin();
                tokio::select! {
                    close = desk.write(&mut sink, news, &mut place) => close,
                    close = desk.read(stream) => close,
                    _ = async { self.closing.wait_for(|c| *c).await.is_ok() } => Close::ShuttingDown,
                }
            }
        };
        if let Some(frame) = close.frame() {
            let goodbye = async {
                sink.send(Message::Close(Some(frame))).await?;
                sink.flush().await
            };
            let _ = tokio::time::timeout(REASON_PATIENCE, goodbye).await;
        }
    }
}

/// Messages gather until they are flushed, so that those that belong together wake the client once.
struct Sink(SplitSink<Socket, Message>);

impl Sink {
    async fn send(&mut self, message: Message) -> Result<(), Close> {
        self.0.feed(message).await.map_err(|_| Close::Silent)
    }

    async fn flush(&mut self) -> Result<(), Close> {
        self.0.flush().await.map_err(|_| Close::Silent)
    }

    async fn say(&mut self, what: &Value) -> Result<(), Close> {
        self.send(Message::text(what.to_string())).await
    }

    async fn bytes(&mut self, kind: u8, offset: u64, bytes: &[u8]) -> Result<(), Close> {
        let mut frame = Vec::with_capacity(9 + bytes.len());
        frame.push(kind);
        frame.extend(offset.to_be_bytes());
        frame.extend(bytes);
        self.send(Message::Binary(frame.into())).await
    }
}

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

/// Input that was taken and not acknowledged yet. The word goes out with the program's answer, which mostly comes at
/// once: by itself it would only wake the client twice.
#[derive(Debug, Default)]
struct Taken(Mutex<Option<(u64, Instant)>>);

impl Taken {
    fn lock(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, number: u64) {
        let mut last = self.lock();
        let due = last.map_or_else(|| Instant::now() + ANSWER_PATIENCE, |(_, due)| due);
        *last = Some((number, due));
    }

    fn take(&self) -> Option<u64> {
        self.lock().take().map(|(number, _)| number)
    }

    /// Resolves when it has waited long enough.
    async fn due(&self) {
        let due = *self.lock();
        match due {
            Some((_, due)) => tokio::time::sleep_until(due.into()).await,
            None => std::future::pending().await,
        }
    }
}

/// What a client of the rich form says in text.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    Ack { offset: u64 },
    Resize { cols: u16, rows: u16 },
    Claim,
    Release,
    Resync { history_lines: Option<usize> },
    Signal { signal: String },
    History { before: Option<u64>, lines: Option<u64> },
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

    // ---- to the client

    async fn write(&self, sink: &mut Sink, mut news: Receiver<News>, place: &mut Place) -> Close {
        match self.try_write(sink, &mut news, place).await {
            Ok(close) | Err(close) => close,
        }
    }

    async fn try_write(
        &self,
        sink: &mut Sink,
        news: &mut Receiver<News>,
        place: &mut Place,
    ) -> Result<Close, Close> {
        self.begin(sink, place).await?;
        let mut beats = tokio::time::interval(self.keep_alive);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        beats.tick().await;
        let mut sent = 0;
        loop {
            tokio::task::consume_budget().await;
            while let Some(message) = self.next_waiting() {
                sink.say(&message).await?;
            }
            if let Some(lines) = self.picture_wanted() {
                self.show_picture(sink, place, "asked for", lines).await?;
            }
            let has_room = self.has_room(place);
            if has_room {
                match self.terminal().tape.read(place, FRAME) {
                    Piece::Bytes { offset, bytes } if self.ask.rich => {
                        sent += bytes.len();
                        self.say_taken(sink).await?;
                        sink.bytes(DATA, offset, &bytes).await?;
                        continue;
                    }
                    Piece::Bytes { bytes, .. } => {
                        sent += bytes.len();
                        sink.send(Message::Binary(bytes.into())).await?;
                        continue;
                    }
                    Piece::Resized(mark) => {
                        if self.ask.rich {
                            let Size { cols, rows } = mark.size;
                            sink.say(&json!({"type": "resize", "at": mark.at, "cols": cols, "rows": rows}))
                                .await?;
                        }
                        continue;
                    }
                    Piece::Fell { .. } => {
                        self.show_picture(sink, place, "too far behind", usize::MAX).await?;
                        continue;
                    }
                    Piece::End => {
                        while let (true, Ok(heard)) = (self.ask.rich, news.try_recv()) {
                            self.pass_on(sink, Ok(heard)).await?;
                        }
                        return self.finish(sink, place).await;
                    }
                    Piece::Nothing => {}
                }
            }
            sink.flush().await?;
            let loud = std::mem::take(&mut sent) >= LOUD;
            tokio::select! {
                () = self.wake.notified() => {}
                () = self.taken.due() => self.say_taken(sink).await?,
                heard = news.recv() => if self.ask.rich {
                    self.pass_on(sink, heard).await?;
                },
                () = self.more(place, loud), if has_room => {}
                _ = beats.tick() => self.beat(sink).await?,
            }
        }
    }

    /// Resolves when there is more for it, but after much not at once: a flood comes in thousands of small pieces a
    /// second, and each would wake the client. Cancel-safe.
    async fn more(&self, place: &Place, loud: bool) {
        if loud {
            tokio::time::sleep(GATHER).await;
        }
        self.terminal().tape.wait(place).await;
    }

    /// The greeting, and the first bytes or picture.
    async fn begin(&self, sink: &mut Sink, place: &mut Place) -> Result<(), Close> {
        let terminal = self.terminal();
        if !self.ask.rich {
            let scrollback = terminal.spec.scrollback as u64;
            // Whole, it can be replayed as it was; cut anywhere, only a picture is right.
            if terminal.tape.head() > scrollback || terminal.tape.start() > 0 {
                return self.show_picture(sink, place, "", usize::MAX).await;
            }
            return Ok(());
        }
        sink.say(&self.hello()).await?;
        let since = self.ask.since.as_ref().map(|(generation, offset)| (generation.as_str(), *offset));
        let resume = terminal.resume(since);
        let kind = if resume.snapshot.is_some() { "snapshot" } else { "delta" };
        let Size { cols, rows } = resume.size;
        let offset = resume.place.offset;
        sink.say(&json!({"type": "resume", "kind": kind, "offset": offset, "cols": cols, "rows": rows}))
            .await?;
        self.place_at(&resume, place);
        match resume.snapshot {
            Some(bytes) => self.send_picture(sink, offset, bytes).await,
            None => Ok(()),
        }
    }

    fn hello(&self) -> Value {
        let info = self.terminal().info();
        json!({
            "type": "hello",
            "terminal_id": info.terminal_id,
            "gen": info.generation,
            "head": info.head,
            "ring_start": info.ring_start,
            "cols": info.cols,
            "rows": info.rows,
            "size_policy": info.size_policy,
            "title": info.title,
            "working_dir": info.working_dir,
            "alive": info.ended.is_none(),
            "exit_code": info.exit_code,
            "you": self.viewer.id,
            "drives": self.drives,
            "window": WINDOW,
            "presence": self.presence(),
        })
    }

    fn presence(&self) -> Value {
        let public = self.terminal().public();
        let driver = public.clients.driver();
        let clients = public.clients.all().map(|(id, client)| {
            json!({"id": id, "name": client.name, "drives": client.drives, "driver": driver == Some(id)})
        });
        clients.collect()
    }

    fn place_at(&self, resume: &Resume, place: &mut Place) {
        *place = resume.place;
        self.acked.store(place.offset, Ordering::Release);
    }

    /// The picture as it is now, in place of bytes it will not get.
    async fn show_picture(
        &self,
        sink: &mut Sink,
        place: &mut Place,
        reason: &str,
        history_lines: usize,
    ) -> Result<(), Close> {
        let resume = self.terminal().picture(history_lines);
        self.place_at(&resume, place);
        if self.ask.rich {
            let Size { cols, rows } = resume.size;
            let offset = place.offset;
            let told =
                json!({"type": "resync", "reason": reason, "offset": offset, "cols": cols, "rows": rows});
            sink.say(&told).await?;
        }
        self.send_picture(sink, place.offset, resume.snapshot.unwrap_or_default()).await
    }

    async fn send_picture(&self, sink: &mut Sink, offset: u64, bytes: Vec<u8>) -> Result<(), Close> {
        if self.ask.rich {
            return sink.bytes(SNAPSHOT, offset, &bytes).await;
        }
        // A terminal that was something else before is made a fresh one.
        let fresh = [b"\x1bc", &bytes[..]].concat();
        sink.send(Message::Binary(fresh.into())).await
    }

    /// A client that shows what it is sent, or never says.
    fn has_room(&self, place: &Place) -> bool {
        !self.ask.rich || place.offset.saturating_sub(self.acked.load(Ordering::Acquire)) < WINDOW
    }

    /// The last input that was taken, if that was not said yet.
    async fn say_taken(&self, sink: &mut Sink) -> Result<(), Close> {
        match self.taken.take() {
            Some(number) => sink.say(&json!({"type": "input_ack", "iseq": number})).await,
            None => Ok(()),
        }
    }

    fn picture_wanted(&self) -> Option<usize> {
        self.wants_picture.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn next_waiting(&self) -> Option<Value> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    async fn pass_on(&self, sink: &mut Sink, heard: Result<News, RecvError>) -> Result<(), Close> {
        let state = || {
            let public = self.terminal().public();
            json!({"type": "state", "title": public.title, "working_dir": public.cwd})
        };
        let told = match heard {
            Err(RecvError::Lagged(_)) => {
                sink.say(&state()).await?;
                json!({"type": "presence", "clients": self.presence()})
            }
            Err(RecvError::Closed) => return Ok(()),
            Ok(News::Said { event: Event::Title(_) | Event::Cwd(_), .. }) => state(),
            Ok(News::Said { at, event }) => json!({"type": "event", "at": at, "event": event}),
            Ok(News::Presence) => json!({"type": "presence", "clients": self.presence()}),
            Ok(News::Fate) => {
                json!({"type": "fate", "destroy_in_s": self.terminal().info().destroy_in_s})
            }
        };
        sink.say(&told).await
    }

    async fn beat(&self, sink: &mut Sink) -> Result<(), Close> {
        let silence = self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        if silence > self.keep_alive * MOST_UNANSWERED {
            return Err(Close::Silent);
        }
        sink.send(Message::Ping(Vec::new().into())).await
    }

    async fn finish(&self, sink: &mut Sink, place: &Place) -> Result<Close, Close> {
        if self.ask.rich {
            let exit = self.terminal().public().exit;
            let told = json!({
                "type": "exit",
                "code": exit.map(trl_sys::reap::Exit::shell_code),
                "signal": exit.and_then(signal_name),
                "at": place.offset,
            });
            sink.say(&told).await?;
        }
        Ok(Close::Done)
    }

    // ---- from the client

    async fn read(&self, mut stream: SplitStream<Socket>) -> Close {
        let mut resized = None;
        let mut last_resize = Instant::now().checked_sub(RESIZE_PACE);
        loop {
            let pace = last_resize.map_or(Duration::ZERO, |at| RESIZE_PACE.saturating_sub(at.elapsed()));
            let message = tokio::select! {
                message = stream.next() => message,
                () = tokio::time::sleep(pace), if resized.is_some() => {
                    if let Some(window) = resized.take() {
                        last_resize = Some(Instant::now());
                        // a terminal that has ended has no size to change
                        let _ = self.viewer.show(window).await;
                    }
                    continue;
                }
            };
            let message = match message {
                Some(Ok(message)) => message,
                Some(Err(WsError::Capacity(_))) => return Close::TooLarge,
                Some(Err(_)) | None => return Close::Silent,
            };
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            match message {
                Message::Close(_) => return Close::Silent,
                Message::Binary(bytes) => self.typed(&bytes).await,
                Message::Text(text) => match serde_json::from_str(&text) {
                    Ok(Said::Resize { cols, rows }) => resized = checked_size(cols, rows).ok().or(resized),
                    Ok(said) if self.ask.rich => self.said(said).await,
                    Err(error) if self.ask.rich => {
                        self.tell(json!({"type": "error", "message": error.to_string()}))
                    }
                    // of a plain client, text that says nothing else was typed
                    Ok(_) | Err(_) => self.type_in(None, text.as_bytes().to_vec()).await,
                },
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    async fn typed(&self, bytes: &[u8]) {
        if !self.ask.rich {
            return self.type_in(None, bytes.to_vec()).await;
        }
        let numbered = bytes.strip_prefix(&[INPUT]).and_then(|rest| rest.split_first_chunk::<8>());
        match numbered {
            Some((number, bytes)) => self.type_in(Some(u64::from_be_bytes(*number)), bytes.to_vec()).await,
            None => self.tell(
                json!({"type": "error", "message": "a binary message is input: 0x81, its number, bytes"}),
            ),
        }
    }

    async fn type_in(&self, number: Option<u64>, bytes: Vec<u8>) {
        if !self.drives {
            return self.tell(json!({"type": "error", "message": "this connection only watches"}));
        }
        let client = self.ask.client.as_deref();
        match self.viewer.input(client.zip(number), bytes).await {
            Ok(()) => {
                if let Some(number) = number {
                    self.taken.note(number);
                    self.wake.notify_one();
                }
            }
            Err(error) => self.tell(json!({"type": "error", "message": error.message, "iseq": number})),
        }
    }

    async fn said(&self, said: Said) {
        let done = match said {
            Said::Ack { offset } => {
                self.acked.fetch_max(offset, Ordering::AcqRel);
                self.wake.notify_one();
                Ok(())
            }
            Said::Resync { history_lines } => {
                let lines = history_lines.unwrap_or(usize::MAX);
                *self.wants_picture.lock().unwrap_or_else(PoisonError::into_inner) = Some(lines);
                self.wake.notify_one();
                Ok(())
            }
            Said::Claim if self.drives => self.viewer.claim(true).await,
            Said::Release => self.viewer.claim(false).await,
            Said::Signal { signal } if self.drives => match trl_core::manager::parse_signal(&signal) {
                Ok(signal) => self.terminal().signal(signal).await.map(drop),
                Err(error) => Err(error),
            },
            Said::Claim | Said::Signal { .. } => {
                Err(trl_proto::Error::new(trl_proto::ErrorCode::Forbidden, "this connection only watches"))
            }
            Said::History { before, lines } => {
                self.tell_history(before, lines);
                Ok(())
            }
            Said::Resize { .. } => Ok(()),
        };
        if let Err(error) = done {
            self.tell(json!({"type": "error", "message": error.message}));
        }
    }

    fn tell_history(&self, before: Option<u64>, lines: Option<u64>) {
        const MOST: u64 = 1000;
        let count = usize::try_from(lines.unwrap_or(MOST).min(MOST)).unwrap_or(0);
        let lines = self
            .terminal()
            .model
            .look(|screen| screen.history(before.unwrap_or(u64::MAX), count, trl_screen::Format::Ansi));
        self.tell(json!({"type": "history", "lines": lines}));
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
        let ask = Ask::parse("ticket=x&gen=ab&since=12&mode=view&client=c1&cols=100&rows=30", true);
        assert_eq!(ask.since, Some(("ab".into(), 12)));
        assert!(ask.view_only && ask.rich);
        assert_eq!(ask.client.as_deref(), Some("c1"));
        assert_eq!(ask.window, Some(Size { cols: 100, rows: 30 }));
        assert_eq!(Ask::parse("since=12&cols=0&rows=5", false), Ask::default());
    }
}
