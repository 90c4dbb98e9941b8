//! `trl attach`: this terminal beside one of the daemon's.
//!
//! 1. Ours goes raw: every key belongs to the program there, but for the two that detach.
//! 2. A WebSocket on the daemon's own socket carries bytes with their offsets and numbered input, so that a lost
//!    connection is taken up again at the very byte, and nothing is typed twice: `seat`.
//! 3. When it is lost it is tried again, more and more slowly: `backoff`.
//! 4. What our terminal answers to questions in the output is dropped, the daemon has answered them already: `answers`.
//! 5. However it ends, our terminal is put back as it was.
//!
//! Nothing here waits for only one thing: keys and signals are heard during a connect, a pause and a slow terminal.

mod answers;
mod backoff;
mod seat;

use std::io;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::{Request, generate_key};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use trl_client::Secret;
use trl_proto::TerminalId;
use trl_sys::pty::Size;
use trl_sys::tty::Tty;

pub(super) use self::answers::without_answers;
use self::backoff::Backoff;
use self::seat::Seat;
use super::failure::Failure;
use super::term;
use crate::client::{self, Auth, Start};
use crate::config::{Config, units};

/// For the long help.
pub(super) const KEYS: &str = "\
C-\\ d detaches and leaves the terminal running; C-\\ twice types C-\\.

Exits with the code of the terminal's program when that ends, with 0 after a detach, with 128 and the number of a \
signal that ended it, and with 1 when the daemon is gone.";

#[derive(Debug, clap::Args)]
pub(super) struct AttachArgs {
    /// The terminal's id or name
    terminal: String,
    /// Only watch
    #[arg(short, long)]
    read_only: bool,
    /// How long to try again when the connection is lost
    #[arg(long, value_name = "DURATION", value_parser = units::duration, default_value = "1m")]
    retry: Duration,
}

/// A daemon that takes a connection and does not answer is as good as none.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
/// Tries that fail before a person is told: most losses are over before anybody would read it.
const SILENT_TRIES: u32 = 3;
/// What waits for a slow terminal of ours; beyond it the daemon is not read.
const MOST_UNSHOWN: usize = 64 * 1024;
/// How long the last keys and the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The title is put aside.
const ENTER: &[u8] = b"\x1b[22;0t";
/// No half sequence, the normal screen with the cursor where it was (saved first, for where this is the normal screen),
/// the modes off that a program may have left on, the title back.
const LEAVE: &[u8] =
    b"\x18\x1b7\x1b[?1049l\x1b[!p\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1016l\
\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?7h\x1b[20l\x1b[<99u\x1b[>4m\x1b[0 q\x1b[?25h\x1b[0m\x1b[23;0t\r\n";

type Socket = WebSocketStream<UnixStream>;

pub(super) async fn attach(config: &Config, args: AttachArgs) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    let id = term::resolve(&client, &args.terminal).await?;
    drop(client);
    let mut visit = Visit { config, id: &id, desk: Desk::take()?, seat: Seat::new(!args.read_only) };
    let left = visit.stay(args.retry).await;
    let words = match &left {
        Ok(Left::Ended(code)) => format!("{id} has ended with code {code}"),
        Ok(Left::Detached | Left::Signalled(_)) => format!("detached from {id}"),
        Ok(Left::Lost | Left::Closed(_)) | Err(_) => "the connection was lost".into(),
    };
    visit.desk.leave(&words).await;
    match left? {
        Left::Detached => Ok(0),
        Left::Ended(code) => Ok(u8::try_from(code).unwrap_or(1)),
        Left::Signalled(number) => Ok(128 + number),
        Left::Closed(why) => Err(Failure::Usage(format!("{id}: {why}"))),
        Left::Lost => Err(Failure::Usage(format!(
            "the daemon is gone; tried again for {:?}. If it still runs, `trl attach {id}` goes on",
            args.retry
        ))),
    }
}

/// Why we are not beside it any more.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Lost,
    Detached,
    /// This signal ended us.
    Signalled(u8),
    /// Its program has.
    Ended(i64),
    /// The daemon does not want us.
    Closed(String),
}

struct Visit<'a> {
    config: &'a Config,
    id: &'a TerminalId,
    desk: Desk,
    seat: Seat,
}

impl Visit<'_> {
    /// Until there is a reason to go that another connection would not help against.
    async fn stay(&mut self, retry: Duration) -> Result<Left, Failure> {
        let mut backoff = Backoff::new(retry);
        loop {
            let path = format!("/ws/terminal/{}?{}", self.id, self.seat.query(self.desk.window()));
            let connecting = timeout(CONNECTS_WITHIN, connect(self.config, &path));
            let left = match self.desk.unless_left(&mut self.seat, connecting).await {
                Err(left) => left,
                Ok(Ok(Ok(socket))) => self.sit(socket, &mut backoff).await,
                Ok(Ok(Err(failure))) if !self.seat.is_known() => return Err(failure),
                Ok(Ok(Err(_)) | Err(_)) => Left::Lost,
            };
            if left != Left::Lost {
                return Ok(left);
            }
            let Some(pause) = backoff.pause() else { return Ok(Left::Lost) };
            if backoff.tries() == SILENT_TRIES + 1 {
                self.desk.show(b"\x18\r\n[the connection was lost; trying again, C-\\ d leaves]\r\n");
                self.seat.scribble();
            }
            if let Err(left) = self.desk.unless_left(&mut self.seat, sleep(pause)).await {
                return Ok(left);
            }
        }
    }

    /// One connection, from its first word to its last.
    async fn sit(&mut self, socket: Socket, backoff: &mut Backoff) -> Left {
        let (sink, mut stream) = socket.split();
        let (outgoing, messages) = mpsc::unbounded_channel();
        let mut writer = tokio::spawn(write(sink, messages));
        for message in self.seat.untaken() {
            let _ = outgoing.send(message);
        }
        let left = self.converse(&mut stream, &outgoing, backoff).await;
        drop(outgoing);
        // What was typed last is on its way, or the connection is gone.
        if timeout(LAST_WORDS, &mut writer).await.is_err() {
            writer.abort();
        }
        left
    }

    async fn converse(
        &mut self,
        stream: &mut SplitStream<Socket>,
        outgoing: &mpsc::UnboundedSender<Message>,
        backoff: &mut Backoff,
    ) -> Left {
        // a connection that is gone shows where it is read
        let send = |message: Option<Message>| {
            if let Some(message) = message {
                let _ = outgoing.send(message);
            }
        };
        loop {
            let leaving = self.seat.leaves_by;
            if leaving.is_some() && self.seat.all_taken() {
                return Left::Detached;
            }
            let message = tokio::select! {
                done = self.desk.turn(self.seat.has_room() && leaving.is_none()) => {
                    match done {
                        Done::Signalled(number) => return Left::Signalled(number),
                        Done::Shown => while let Some(message) = self.seat.due() {
                            send(Some(message));
                        },
                        Done::Resized => send(self.seat.resized(self.desk.window())),
                        Done::Continued => send(Some(seat::picture())),
                        Done::Keys(keys) => {
                            let (input, detach) = self.seat.pressed(&keys);
                            send(input);
                            self.seat.leaves_by = detach.then(|| Instant::now() + LAST_WORDS);
                        }
                    }
                    continue;
                }
                () = sleep_until(leaving.unwrap_or_else(Instant::now)), if leaving.is_some() => {
                    return Left::Detached;
                }
                message = stream.next(), if self.desk.has_room() => message,
            };
            match message {
                Some(Ok(Message::Binary(frame))) => {
                    let bytes = self.seat.frame(&frame);
                    self.desk.show(&bytes);
                }
                Some(Ok(Message::Text(text))) => {
                    let heard = self.seat.said(&text, self.desk.window());
                    if heard.greeted {
                        backoff.reset();
                    }
                    self.desk.show(&heard.show);
                    send(heard.reply);
                    while let (true, Some(message)) = (self.desk.is_idle(), self.seat.due()) {
                        send(Some(message));
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) =
                        frame.map_or((0, String::new()), |f| (f.code.into(), f.reason.to_string()));
                    return match (code, self.seat.exit()) {
                        (_, Some(code)) => self.ended(code).await,
                        (4000.., None) => Left::Closed(reason),
                        _ => Left::Lost,
                    };
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => match self.seat.exit() {
                    Some(code) => return self.ended(code).await,
                    None => return Left::Lost,
                },
            }
        }
    }

    /// What the program said last is shown first.
    async fn ended(&mut self, code: i64) -> Left {
        while !self.desk.is_idle() {
            if let Done::Signalled(number) = self.desk.turn(false).await {
                return Left::Signalled(number);
            }
        }
        Left::Ended(code)
    }
}

async fn write(mut sink: SplitSink<Socket, Message>, mut messages: mpsc::UnboundedReceiver<Message>) {
    while let Some(message) = messages.recv().await {
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// A token that the daemon does not know is a courtesy that was not needed.
async fn connect(config: &Config, path: &str) -> Result<Socket, Failure> {
    let (stream, token) = client::stream(config).await?;
    match (open(stream, path, token.as_ref()).await, token) {
        (Err(WsError::Http(refusal)), Some(_)) if refusal.status().as_u16() == 401 => {
            let (stream, _) = client::stream(config).await?;
            Ok(open(stream, path, None).await.map_err(io::Error::other)?)
        }
        (opened, _) => Ok(opened.map_err(io::Error::other)?),
    }
}

async fn open(stream: UnixStream, path: &str, token: Option<&Secret>) -> Result<Socket, WsError> {
    let mut request = Request::builder()
        .uri(format!("ws://localhost{path}"))
        .header("Host", "localhost")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", generate_key())
        .header("Sec-WebSocket-Protocol", "trl.term.1");
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {}", token.expose()));
    }
    let (socket, _) = tokio_tungstenite::client_async(request.body(())?, stream).await?;
    Ok(socket)
}

/// Our own terminal, and the signals that concern it.
struct Desk {
    tty: Tty,
    /// Output it has not taken yet.
    unshown: Vec<u8>,
    ends: Vec<(u8, Signal)>,
    windows: Signal,
    continues: Signal,
}

/// What happened at the desk.
enum Done {
    /// Everything is shown.
    Shown,
    Keys(Vec<u8>),
    Resized,
    /// We were stopped, and somebody else had the terminal.
    Continued,
    Signalled(u8),
}

impl Desk {
    fn take() -> Result<Self, Failure> {
        let mut ends = Vec::new();
        for (number, kind) in [
            (1, SignalKind::hangup()),
            (2, SignalKind::interrupt()),
            (3, SignalKind::quit()),
            (15, SignalKind::terminate()),
        ] {
            ends.push((number, signal(kind)?));
        }
        let windows = signal(SignalKind::window_change())?;
        let continues = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
        let tty = Tty::take().map_err(|_| {
            Failure::Usage("there is no terminal here to attach; see `trl term screen`".into())
        })?;
        Ok(Self { tty, unshown: ENTER.to_vec(), ends, windows, continues })
    }

    /// A window too small for any terminal is being built or torn down.
    fn window(&self) -> Option<Size> {
        self.tty.size().filter(|size| size.cols >= 2 && size.rows >= 1)
    }

    fn show(&mut self, bytes: &[u8]) {
        self.unshown.extend_from_slice(bytes);
    }

    fn is_idle(&self) -> bool {
        self.unshown.is_empty()
    }

    fn has_room(&self) -> bool {
        self.unshown.len() < MOST_UNSHOWN
    }

    /// Shows what waits, and waits for what happens next. Cancel-safe. A terminal that is gone is a hangup.
    async fn turn(&mut self, types: bool) -> Done {
        loop {
            tokio::select! {
                biased;
                number = any(&mut self.ends) => return Done::Signalled(number),
                keys = self.tty.read(), if types => return keys.map_or(Done::Signalled(1), Done::Keys),
                _ = self.windows.recv() => return Done::Resized,
                _ = self.continues.recv() => return match self.tty.retake() {
                    Ok(()) => Done::Continued,
                    Err(_) => Done::Signalled(1),
                },
                written = self.tty.write(&self.unshown), if !self.unshown.is_empty() => match written {
                    Ok(n) => drop(self.unshown.drain(..n)),
                    Err(_) => return Done::Signalled(1),
                },
            }
            if self.unshown.is_empty() {
                return Done::Shown;
            }
        }
    }

    /// Waits for something else, unless the person or a signal ends it. What is typed meanwhile is kept.
    async fn unless_left<T>(&mut self, seat: &mut Seat, wanted: impl Future<Output = T>) -> Result<T, Left> {
        let mut wanted = std::pin::pin!(wanted);
        loop {
            let leaving = seat.leaves_by;
            let done = tokio::select! {
                outcome = &mut wanted => return Ok(outcome),
                () = sleep_until(leaving.unwrap_or_else(Instant::now)), if leaving.is_some() => {
                    return Err(Left::Detached);
                }
                done = self.turn(seat.has_room() && leaving.is_none()) => done,
            };
            match done {
                Done::Signalled(number) => return Err(Left::Signalled(number)),
                Done::Keys(keys) if seat.pressed(&keys).1 => match seat.all_taken() {
                    true => return Err(Left::Detached),
                    // What was typed before that may still get there.
                    false => seat.leaves_by = Some(Instant::now() + LAST_WORDS),
                },
                Done::Continued => seat.scribble(),
                Done::Keys(_) | Done::Shown | Done::Resized => {}
            }
        }
    }

    /// The last words, to a terminal that is as it was. One that does not take them is not waited for.
    async fn leave(mut self, words: &str) {
        self.unshown = LEAVE.to_vec();
        self.show(format!("[{words}]\r\n").as_bytes());
        let shown = async {
            while !self.unshown.is_empty() {
                match self.tty.write(&self.unshown).await {
                    Ok(n) => drop(self.unshown.drain(..n)),
                    Err(_) => return,
                }
            }
        };
        let _ = timeout(LAST_WORDS, shown).await;
    }
}

/// The number of the first of these signals that comes.
async fn any(signals: &mut [(u8, Signal)]) -> u8 {
    std::future::poll_fn(|cx| {
        for (number, signal) in signals.iter_mut() {
            if signal.poll_recv(cx).is_ready() {
                return std::task::Poll::Ready(*number);
            }
        }
        std::task::Poll::Pending
    })
    .await
}
