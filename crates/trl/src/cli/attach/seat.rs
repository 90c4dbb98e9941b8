//! What is carried over from one connection to the next: how far the output was shown, and what was typed and not yet
//! taken. Pure: messages and keys in, bytes to show and messages to send out.

use std::collections::VecDeque;
use tokio::time::Instant;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use trl_sys::pty::Size;

use super::answers::without_answers;

/// C-\
const PREFIX: u8 = 0x1c;
/// Bytes shown before that is told.
const ACK_EVERY: u64 = 16 * 1024;
/// Typed and not taken; beyond it the keyboard is not read.
const MOST_TYPED: usize = 256 * 1024;

/// A terminal that shows something else is made as good as new: no half sequence, the normal screen, every mode off that a
/// soft reset leaves on, nothing shown.
const FRESH: &[u8] = b"\x18\x1b[?1049l\x1b[!p\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1016l\
\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[20l\x1b[<99u\x1b[>4m\x1b[0m\x1b[r\x1b[H\x1b[J";

pub(super) struct Seat {
    types: bool,
    name: String,
    generation: String,
    /// The next byte to show.
    next: u64,
    /// What the daemon was told of that.
    acked: u64,
    /// The size the output is for.
    laid_out: Option<Size>,
    /// Of the last input.
    number: u64,
    /// Typed, numbered, and not yet said to be taken.
    typed: VecDeque<(u64, Vec<u8>)>,
    /// The first of the two keys that detach was pressed.
    prefix: bool,
    /// Both were: it goes when all that was typed before is taken, or then.
    pub(super) leaves_by: Option<Instant>,
    /// Words of ours stand between the output.
    scribbled: bool,
    /// Where the screen is to be shown anew for that: what was missed comes first, as it belongs above.
    repair_at: Option<u64>,
    /// The code of the program, once it has ended.
    exit: Option<i64>,
}

/// What a message leads to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) show: Vec<u8>,
    pub(super) reply: Option<Message>,
    /// The daemon knows us.
    pub(super) greeted: bool,
}

impl Seat {
    /// `types`: it may type and has a say in the size.
    pub(super) fn new(types: bool) -> Self {
        let name: [u8; 8] = trl_proto::random::bytes();
        let name: String = name.iter().map(|b| format!("{b:02x}")).collect();
        Self {
            types,
            leaves_by: None,
            name,
            generation: String::new(),
            next: 0,
            acked: 0,
            laid_out: None,
            number: 0,
            typed: VecDeque::new(),
            prefix: false,
            scribbled: false,
            repair_at: None,
            exit: None,
        }
    }

    /// What a connection asks for: exactly what was not shown.
    pub(super) fn query(&self, window: Option<Size>) -> String {
        let mut query = format!("client=cli-{}&gen={}&since={}", self.name, self.generation, self.next);
        match window {
            _ if !self.types => query.push_str("&mode=view"),
            Some(Size { cols, rows }) => query.push_str(&format!("&cols={cols}&rows={rows}")),
            None => {}
        }
        query
    }

    /// Was there ever a connection that worked?
    pub(super) fn is_known(&self) -> bool {
        !self.generation.is_empty()
    }

    pub(super) fn exit(&self) -> Option<i64> {
        self.exit
    }

    /// Something of ours was written over the picture: it is to be shown anew.
    pub(super) fn scribble(&mut self) {
        self.scribbled = true;
    }

    // ---- what is heard

    pub(super) fn said(&mut self, text: &str, window: Option<Size>) -> Heard {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        let mut heard = Heard::default();
        match said["type"].as_str() {
            Some("hello") => {
                self.generation = said["gen"].as_str().unwrap_or_default().into();
                heard.greeted = true;
                self.repair_at = said["head"].as_u64().filter(|_| self.scribbled);
            }
            Some("resume" | "resync") => {
                self.next = said["offset"].as_u64().unwrap_or(self.next);
                self.acked = self.next;
                if said["type"] == "resync" || said["kind"] == "snapshot" {
                    self.laid_out = size(&said);
                    (self.scribbled, self.repair_at) = (false, None);
                }
            }
            // A picture for another window than ours is right once it is laid out for ours.
            Some("resize") if self.types && size(&said) == window && self.laid_out != window => {
                self.laid_out = window;
                heard.reply = Some(picture());
            }
            Some("input_ack" | "error") => {
                let done = said["iseq"].as_u64().unwrap_or(0);
                self.typed.retain(|(number, _)| *number > done);
                if said["type"] == "error" && done > 0 {
                    heard.show = b"\x07".to_vec();
                }
            }
            Some("exit") => self.exit = said["code"].as_i64(),
            _ => {}
        }
        heard
    }

    /// What a binary message has to show. Nothing is shown twice.
    pub(super) fn frame(&mut self, frame: &[u8]) -> Vec<u8> {
        let Some((head, bytes)) = frame.split_first_chunk::<9>() else { return Vec::new() };
        let [kind, offset @ ..] = *head;
        match kind {
            1 => {
                let seen = self.next.saturating_sub(u64::from_be_bytes(offset));
                let new = bytes.get(usize::try_from(seen).unwrap_or(usize::MAX)..).unwrap_or_default();
                self.next += new.len() as u64;
                new.to_vec()
            }
            2 => [FRESH, bytes].concat(),
            _ => Vec::new(),
        }
    }

    /// What to say once everything so far is shown; to be asked until there is nothing more.
    pub(super) fn due(&mut self) -> Option<Message> {
        if self.repair_at.take_if(|at| *at <= self.next).is_some() {
            return Some(picture());
        }
        let due = self.next >= self.acked + ACK_EVERY;
        due.then(|| {
            self.acked = self.next;
            Message::text(json!({"type": "ack", "offset": self.next}).to_string())
        })
    }

    // ---- what is typed

    /// May more be typed?
    pub(super) fn has_room(&self) -> bool {
        self.typed.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < MOST_TYPED
    }

    pub(super) fn all_taken(&self) -> bool {
        self.typed.is_empty()
    }

    /// The input to send for these keys, and whether to detach.
    pub(super) fn pressed(&mut self, bytes: &[u8]) -> (Option<Message>, bool) {
        let (keys, detach) = self.keys(bytes);
        if keys.is_empty() || !self.types {
            return (None, detach);
        }
        self.number += 1;
        let message = input(self.number, &keys);
        self.typed.push_back((self.number, keys));
        (Some(message), detach)
    }

    /// What a new connection is told first. What was taken before is known by its number.
    pub(super) fn untaken(&self) -> impl Iterator<Item = Message> + '_ {
        self.typed.iter().map(|(number, keys)| input(*number, keys))
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

    /// The window has another size now.
    pub(super) fn resized(&self, window: Option<Size>) -> Option<Message> {
        let Size { cols, rows } = window.filter(|_| self.types)?;
        Some(Message::text(json!({"type": "resize", "cols": cols, "rows": rows}).to_string()))
    }
}

/// Asks for the screen without what is above it, which was shown already.
pub(super) fn picture() -> Message {
    Message::text(json!({"type": "resync", "history_lines": 0}).to_string())
}

fn input(number: u64, keys: &[u8]) -> Message {
    Message::Binary([&[0x81][..], &number.to_be_bytes(), keys].concat().into())
}

fn size(said: &Value) -> Option<Size> {
    let number = |name: &str| said[name].as_u64().and_then(|n| u16::try_from(n).ok());
    Some(Size { cols: number("cols")?, rows: number("rows")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Option<Size> = Some(Size { cols: 90, rows: 30 });

    fn data(offset: u64, bytes: &[u8]) -> Vec<u8> {
        [&[1][..], &offset.to_be_bytes(), bytes].concat()
    }

    #[test]
    fn two_keys_detach_and_the_first_can_still_be_typed() {
        let mut seat = Seat::new(true);
        assert_eq!(seat.keys(b"ab\x1c"), (b"ab".to_vec(), false));
        assert_eq!(seat.keys(b"d"), (vec![], true));
        assert_eq!(seat.keys(b"\x1c\x1cx\x1cy"), (b"\x1cx\x1cy".to_vec(), false));
        let mut watcher = Seat::new(false);
        assert_eq!(watcher.pressed(b"ab\x1cd"), (None, true));
    }

    #[test]
    fn what_was_typed_is_sent_again_until_it_is_taken() {
        let mut seat = Seat::new(true);
        let first = seat.pressed(b"a").0.unwrap();
        let second = seat.pressed(b"b").0.unwrap();
        assert_eq!(seat.untaken().collect::<Vec<_>>(), [first, second.clone()]);
        seat.said(r#"{"type":"input_ack","iseq":1}"#, WINDOW);
        assert_eq!(seat.untaken().collect::<Vec<_>>(), [second]);
        let refused = seat.said(r#"{"type":"error","iseq":2,"message":"full"}"#, WINDOW);
        assert_eq!(refused.show, b"\x07", "what the program did not get is heard");
        assert!(seat.all_taken());
        assert!(seat.has_room());
        seat.pressed(&vec![b'x'; MOST_TYPED]);
        assert!(!seat.has_room());
    }

    #[test]
    fn a_connection_begins_where_the_last_one_stopped_and_shows_nothing_twice() {
        let mut seat = Seat::new(true);
        assert!(!seat.is_known());
        assert!(seat.said(r#"{"type":"hello","gen":"g1"}"#, WINDOW).greeted);
        seat.said(r#"{"type":"resume","kind":"delta","offset":0}"#, WINDOW);
        assert_eq!(seat.frame(&data(0, b"abc")), b"abc");
        assert!(seat.query(WINDOW).ends_with("&gen=g1&since=3&cols=90&rows=30"), "{}", seat.query(WINDOW));
        assert_eq!(seat.frame(&data(1, b"bcd")), b"d");
        assert_eq!(seat.frame(&data(0, b"ab")), b"");
        assert!(Seat::new(false).query(WINDOW).ends_with("&mode=view"));
    }

    #[test]
    fn a_picture_is_asked_for_where_the_screen_is_not_right() {
        let mut seat = Seat::new(true);
        let hello = r#"{"type":"hello","gen":"g1","head":2}"#;
        seat.said(hello, WINDOW);
        assert_eq!(seat.due(), None);
        seat.scribble();
        seat.said(hello, WINDOW);
        assert_eq!(seat.due(), None, "what was missed comes first");
        seat.frame(&data(0, b"ab"));
        assert_eq!((seat.due(), seat.due()), (Some(picture()), None));
        seat.said(r#"{"type":"resync","offset":2,"cols":90,"rows":30}"#, WINDOW);
        seat.said(hello, WINDOW);
        assert_eq!(seat.due(), None, "it is right again");
        seat.said(r#"{"type":"resume","kind":"snapshot","offset":5,"cols":80,"rows":24}"#, WINDOW);
        let other = r#"{"type":"resize","at":5,"cols":70,"rows":20}"#;
        assert_eq!(seat.said(other, WINDOW).reply, None);
        let ours = r#"{"type":"resize","at":5,"cols":90,"rows":30}"#;
        assert_eq!(seat.said(ours, WINDOW).reply, Some(picture()));
        assert_eq!(seat.said(ours, WINDOW).reply, None);
    }

    #[test]
    fn what_was_shown_is_told_now_and_then() {
        let mut seat = Seat::new(true);
        assert_eq!(seat.due(), None);
        seat.frame(&data(0, &vec![b'x'; 20_000]));
        assert_eq!(seat.due(), Some(Message::text(r#"{"type":"ack","offset":20000}"#)));
        assert_eq!(seat.due(), None);
    }
}
