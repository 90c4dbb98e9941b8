//! `trl attach`: this terminal beside one of the daemon's.
//!
//! 1. Ours goes raw: every key belongs to the program there, but for the two that detach.
//! 2. A WebSocket on the daemon's own socket carries bytes with their offsets, so that a lost connection is taken up
//!    again at the very byte.
//! 3. What our terminal answers to questions in the output is dropped: the daemon has answered them already.

use std::io::{self, Write};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::{Request, generate_key};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use trl_sys::tty::Tty;

use super::failure::Failure;
use super::term;
use crate::client::{self, Auth, Start};
use crate::config::{Config, Secret};

/// For the long help.
pub(super) const KEYS: &str = "\
C-\\ d detaches and leaves the terminal running; C-\\ twice types C-\\.

Exits with the code of the terminal's program when that ends, with 0 after a detach.";

#[derive(Debug, clap::Args)]
pub(super) struct AttachArgs {
    /// The terminal's id or name
    terminal: String,
    /// Only watch
    #[arg(short, long)]
    read_only: bool,
}

/// C-\
const PREFIX: u8 = 0x1c;
/// Tries after a connection was lost, and the first pause between them; each next one is twice as long.
const MOST_TRIES: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// Bytes shown before that is told.
const ACK_EVERY: u64 = 16 * 1024;

type Socket = WebSocketStream<UnixStream>;

pub(super) async fn attach(config: &Config, args: AttachArgs) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::IfPerson).await?;
    let id = term::resolve(&client, &args.terminal).await?;
    drop(client);
    let tty = open_tty()?;
    let name: [u8; 8] = trl_proto::random::bytes();
    let name: String = name.iter().map(|b| format!("{b:02x}")).collect();
    let mut seat = Seat { generation: String::new(), next: 0, acked: 0, number: 0, prefix: false };
    let mut tries = 0;
    loop {
        let query = format!(
            "client=cli-{name}&gen={}&since={}{}",
            seat.generation,
            seat.next,
            if args.read_only { "&mode=view" } else { "" }
        );
        let path = format!("/ws/terminal/{id}?{query}");
        let left = match connect(config, &path).await {
            Ok(socket) => {
                tries = 0;
                seat.sit(socket, &tty, !args.read_only).await?
            }
            Err(failure) if seat.generation.is_empty() => return Err(failure),
            Err(_) => Left::Lost,
        };
        match left {
            Left::Lost if tries < MOST_TRIES => {
                say("the connection was lost; trying again")?;
                let pause = FIRST_PAUSE.saturating_mul(1 << tries.min(8)).min(LONGEST_PAUSE);
                tries += 1;
                tokio::time::sleep(pause).await;
            }
            Left::Lost => {
                leave(tty, "the connection was lost")?;
                return Err(Failure::Usage("the daemon does not come back".into()));
            }
            Left::Detached => {
                leave(tty, &format!("detached from {id}"))?;
                return Ok(0);
            }
            Left::Ended(code) => {
                leave(tty, &format!("{id} has ended with code {code}"))?;
                return Ok(u8::try_from(code).unwrap_or(1));
            }
            Left::Closed(why) => {
                leave(tty, "closed")?;
                return Err(Failure::Usage(format!("{id}: {why}")));
            }
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

/// Why we are not beside it any more.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Lost,
    Detached,
    /// Its program has.
    Ended(i64),
    /// The daemon does not want us.
    Closed(String),
}

/// What is carried over from one connection to the next.
struct Seat {
    generation: String,
    /// The next byte to show.
    next: u64,
    acked: u64,
    /// Of the last input.
    number: u64,
    /// The first of the two keys that detach was pressed.
    prefix: bool,
}

impl Seat {
    async fn sit(&mut self, socket: Socket, tty: &Tty, types: bool) -> Result<Left, Failure> {
        let (mut sink, mut stream) = socket.split();
        let mut windows = signal(SignalKind::window_change())?;
        let mut ends = signal(SignalKind::terminate())?;
        let mut code = None;
        if types {
            let _ = sink.send(window(tty)).await;
        }
        loop {
            let sent = tokio::select! {
                message = stream.next() => match message {
                    Some(Ok(Message::Binary(frame))) => {
                        self.show(&frame)?;
                        if self.next < self.acked + ACK_EVERY {
                            continue;
                        }
                        self.acked = self.next;
                        sink.send(Message::text(json!({"type": "ack", "offset": self.next}).to_string())).await
                    }
                    Some(Ok(Message::Text(text))) => {
                        let said: Value = serde_json::from_str(&text).unwrap_or_default();
                        match said["type"].as_str() {
                            Some("hello") => self.generation = said["gen"].as_str().unwrap_or_default().into(),
                            Some("resume" | "resync") => {
                                self.next = said["offset"].as_u64().unwrap_or(self.next);
                                self.acked = self.next;
                            }
                            Some("exit") => code = said["code"].as_i64(),
                            _ => {}
                        }
                        Ok(())
                    }
                    Some(Ok(Message::Close(Some(frame)))) => return Ok(match (u16::from(frame.code), code) {
                        (_, Some(code)) => Left::Ended(code),
                        (4003 | 4004, None) => Left::Closed(frame.reason.to_string()),
                        _ => Left::Lost,
                    }),
                    Some(Ok(_)) => Ok(()),
                    Some(Err(_)) | None => return Ok(code.map_or(Left::Lost, Left::Ended)),
                },
                keys = tty.read() => {
                    let (keys, detach) = self.keys(&keys?);
                    let typed = if types && !keys.is_empty() {
                        self.number += 1;
                        let frame = [&[0x81][..], &self.number.to_be_bytes(), &keys].concat();
                        sink.send(Message::Binary(frame.into())).await
                    } else {
                        Ok(())
                    };
                    if detach {
                        return Ok(Left::Detached);
                    }
                    typed
                }
                _ = windows.recv(), if types => sink.send(window(tty)).await,
                _ = ends.recv() => return Ok(Left::Detached),
            };
            if sent.is_err() {
                return Ok(Left::Lost);
            }
        }
    }

    fn show(&mut self, frame: &[u8]) -> io::Result<()> {
        let Some((head, bytes)) = frame.split_at_checked(9) else { return Ok(()) };
        let mut out = io::stdout().lock();
        match head[0] {
            // overlap cannot be: every connection begins where the last one stopped
            1 => {
                out.write_all(bytes)?;
                self.next += bytes.len() as u64;
            }
            2 => {
                out.write_all(CLEAR)?;
                out.write_all(bytes)?;
            }
            _ => {}
        }
        out.flush()
    }

    /// What is to be typed, and whether to detach.
    fn keys(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut keys = Vec::with_capacity(bytes.len());
        for byte in without_answers(bytes) {
            match (std::mem::take(&mut self.prefix), byte) {
                (true, b'd') => return (keys, true),
                (true, PREFIX) => keys.push(PREFIX),
                (true, other) => keys.extend([PREFIX, other]),
                (false, PREFIX) => self.prefix = true,
                (false, other) => keys.push(other),
            }
        }
        (keys, false)
    }
}

/// A terminal that shows something else is made as good as new.
const CLEAR: &[u8] = b"\x1b[!p\x1b[?1049l\x1b[0m\x1b[H\x1b[2J";
/// Modes a program may have left on.
const CALM: &[u8] = b"\x1b[!p\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m\x1b]0;\x07\r\n";

/// Our own terminal.
fn open_tty() -> Result<Tty, Failure> {
    Tty::take()
        .map_err(|_| Failure::Usage("there is no terminal here to attach; see `trl term screen`".into()))
}

/// Its window, as the daemon is told.
fn window(tty: &Tty) -> Message {
    let (cols, rows) = tty.size().map_or((80, 24), |size| (size.cols.max(2), size.rows.max(1)));
    Message::text(json!({"type": "resize", "cols": cols, "rows": rows}).to_string())
}

/// Words of ours on a line of their own.
fn say(what: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "\r\n[{what}]\r\n")?;
    out.flush()
}

/// The last words, to a terminal that is as it was.
fn leave(tty: Tty, what: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(CALM)?;
    out.flush()?;
    drop(tty);
    writeln!(out, "[{what}]")
}

/// What was typed, without what our terminal itself answered to questions it saw.
fn without_answers(bytes: &[u8]) -> Vec<u8> {
    let mut typed = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        match answer(rest) {
            Some(len) => rest = &rest[len..],
            None => {
                typed.push(*first);
                rest = &rest[1..];
            }
        }
    }
    typed
}

/// How long the answer is that stands at the beginning.
fn answer(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x1b, b'[', sequence @ ..] => {
            let end = sequence.iter().position(|b| (0x40..=0x7e).contains(b))?;
            let (params, last) = (&sequence[..end], sequence[end]);
            let marked = matches!(params.first(), Some(b'?' | b'>' | b'='));
            let is_answer = match last {
                b'c' | b'u' | b'y' => marked,
                b'n' | b't' => !params.is_empty(),
                // F3 with Shift, Ctrl or Alt looks like a cursor in the first row
                b'R' => params.contains(&b';') && !params.starts_with(b"1;"),
                _ => false,
            };
            is_answer.then_some(2 + end + 1)
        }
        // of colours, the clipboard, the version: up to BEL or ST
        [0x1b, b']' | b'P', text @ ..] => {
            let bell = text.iter().position(|b| *b == 0x07).map(|at| at + 1);
            let st = text.windows(2).position(|w| w == b"\x1b\\").map(|at| at + 2);
            Some(2 + [bell, st].into_iter().flatten().min()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat() -> Seat {
        Seat { generation: String::new(), next: 0, acked: 0, number: 0, prefix: false }
    }

    #[test]
    fn two_keys_detach_and_the_first_can_still_be_typed() {
        let mut seat = seat();
        assert_eq!(seat.keys(b"ab\x1c"), (b"ab".to_vec(), false));
        assert_eq!(seat.keys(b"d"), (vec![], true));
        assert_eq!(seat.keys(b"\x1c\x1cx\x1cy"), (b"\x1cx\x1cy".to_vec(), false));
    }

    #[test]
    fn answers_of_our_own_terminal_are_not_typed() {
        let typed = b"a\x1b[A\x1b[1;5R\x1bOP\x1b[200~paste\x1b[201~";
        assert_eq!(without_answers(typed), typed);
        for answer in [
            &b"\x1b[?62;22c"[..],
            b"\x1b[>0;276;0c",
            b"\x1b[24;80R",
            b"\x1b[?2026;2$y",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1bP>|term 1\x1b\\",
            b"\x1b[?0u",
        ] {
            let around = [b"x", answer, b"y"].concat();
            assert_eq!(without_answers(&around), b"xy", "{answer:?}");
        }
    }
}
