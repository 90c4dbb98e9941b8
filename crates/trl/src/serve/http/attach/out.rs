//! To the client: bytes from its place on the tape, or a picture, and what happens beside them.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use serde_json::{Value, json};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_tungstenite::tungstenite::Message;
use trl_core::terminal::handle::{News, Resume, signal_name};
use trl_core::terminal::tape::{Piece, Place};
use trl_screen::Event;
use trl_sys::pty::Size;

use super::super::ws::Socket;
use super::{Close, Desk, WINDOW};

/// Bytes in one message.
const FRAME: usize = 64 * 1024;
/// Who has just been sent this much is not waiting for the echo of a key.
const LOUD: usize = 4096;
/// And what comes within this is sent in one.
const GATHER: Duration = Duration::from_millis(1);
/// Signs of life that may go unanswered.
const MOST_UNANSWERED: u32 = 2;
/// How long a program may take to answer a key before the client hears that the key was taken. Later than the daemon's
/// other timers: one that is due first of all costs a system call for every key.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

const DATA: u8 = 0x01;
const SNAPSHOT: u8 = 0x02;

/// Messages gather until they are flushed, so that those that belong together wake the client once.
pub(super) struct Sink(pub(super) SplitSink<Socket, Message>);

impl Sink {
    pub(super) async fn send(&mut self, message: Message) -> Result<(), Close> {
        self.0.feed(message).await.map_err(|_| Close::Silent)
    }

    pub(super) async fn flush(&mut self) -> Result<(), Close> {
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

/// Input that was taken and not acknowledged yet. The word goes out with the program's answer, which mostly comes at
/// once: by itself it would only wake the client twice.
#[derive(Debug, Default)]
pub(super) struct Taken(Mutex<Option<(u64, Instant)>>);

impl Taken {
    fn lock(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, number: u64) {
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

impl Desk<'_> {
    pub(super) async fn write(&self, sink: &mut Sink, mut news: Receiver<News>, place: &mut Place) -> Close {
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
}
