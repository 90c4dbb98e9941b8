//! The form of a recording: asciicast v3, as <https://docs.asciinema.org/manual/asciicast/v3/> has it. Pure.
//!
//! One line of JSON for the header, one for each event: `[seconds since the last one, code, data]`. Data is text: a
//! character whose bytes come in two pieces stands where its last byte came. Bytes that are no character are left out,
//! since no client of ours shows them, and what is played must look like what was seen.

use serde::Serialize;
use trl_core::terminal::recording::{Event, What};
use trl_screen::Decoder;
use trl_sys::pty::Size;

/// What stands in the first line.
#[derive(Debug, Serialize)]
pub(super) struct Header<'a> {
    pub(super) term: Term<'a>,
    /// When it begins, in seconds since 1970.
    pub(super) timestamp: i64,
    /// A player shortens longer silences to this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) idle_time_limit: Option<f64>,
    /// The program, without its arguments: they may be nobody's business.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Term<'a> {
    pub(super) cols: u16,
    pub(super) rows: u16,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'a str>,
}

/// A line every reader skips.
pub(super) const COMMENT: &str = "#\n";

/// Writes the lines of one recording.
#[derive(Debug)]
pub(super) struct Writer {
    /// When the last event was.
    ms: u64,
    decoder: Decoder,
    /// Lines nobody has taken yet.
    lines: String,
}

impl Writer {
    /// Of a recording whose clock stands at `ms` when it begins.
    pub(super) fn new(header: &Header<'_>, ms: u64) -> Self {
        #[derive(Serialize)]
        struct First<'a> {
            version: u8,
            #[serde(flatten)]
            header: &'a Header<'a>,
        }
        let first = serde_json::to_string(&First { version: 3, header }).unwrap_or_default();
        Self { ms, decoder: Decoder::default(), lines: first + "\n" }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            What::Output(bytes) => {
                let text = self.decoder.decode(bytes);
                if !text.is_empty() {
                    self.line(event.ms, 'o', &text);
                }
            }
            What::Resized(Size { cols, rows }) => self.line(event.ms, 'r', &format!("{cols}x{rows}")),
            What::Missed(bytes) => {
                self.decoder = Decoder::default();
                self.line(event.ms, 'm', &format!("{bytes} bytes are missing here"));
            }
            What::Ended(code) => self.line(event.ms, 'x', &code.to_string()),
        }
    }

    fn line(&mut self, ms: u64, code: char, data: &str) {
        let pause = ms.saturating_sub(self.ms);
        self.ms = self.ms.max(ms);
        self.lines.push_str(&format!("[{}.{:03}, \"{code}\", \"", pause / 1000, pause % 1000));
        escape(data, &mut self.lines);
        self.lines.push_str("\"]\n");
    }

    /// Bytes that wait to be taken.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whole lines.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }
}

/// Inside a JSON string. All control characters are spelt out, so that nothing happens to whoever looks at the file.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn header() -> Header<'static> {
        let term = Term { cols: 80, rows: 24, kind: Some("xterm-256color") };
        Header { term, timestamp: 1_504_467_315, idle_time_limit: None, command: None, title: Some("Demo") }
    }

    fn output(ms: u64, bytes: &[u8]) -> Event {
        Event { ms, what: What::Output(bytes.to_vec()) }
    }

    /// The events as a reader has them.
    fn written(began: u64, events: &[Event]) -> Vec<Value> {
        let mut writer = Writer::new(&header(), began);
        events.iter().for_each(|event| writer.event(event));
        let text = writer.take();
        assert!(text.ends_with('\n'));
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_first_line_says_what_it_is() {
        let line = Writer::new(&header(), 0).take();
        assert_eq!(
            line,
            "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24,\"type\":\"xterm-256color\"},\
             \"timestamp\":1504467315,\"title\":\"Demo\"}\n"
        );
        let more = Header { idle_time_limit: Some(2.5), command: Some("/bin/sh"), title: None, ..header() };
        let line: Value = serde_json::from_str(&Writer::new(&more, 0).take()).unwrap();
        assert_eq!((&line["idle_time_limit"], &line["command"]), (&json!(2.5), &json!("/bin/sh")));
        assert!(line.get("title").is_none());
    }

    #[test]
    fn events_are_three_values_and_the_time_since_the_last_one() {
        let resized = Event { ms: 3050, what: What::Resized(Size { cols: 90, rows: 30 }) };
        let missed = Event { ms: 3060, what: What::Missed(12) };
        let ended = Event { ms: 64_000, what: What::Ended(143) };
        let events = [output(1248, b"\x1b[1mhi\r\n"), resized, missed, ended];
        assert_eq!(
            written(1000, &events),
            [
                json!([0.248, "o", "\x1b[1mhi\r\n"]),
                json!([1.802, "r", "90x30"]),
                json!([0.010, "m", "12 bytes are missing here"]),
                json!([60.940, "x", "143"]),
            ]
        );
        assert_eq!(
            written(50, &[output(20, b"early")]),
            [json!([0.0, "o", "early"])],
            "time never goes back"
        );
    }

    #[test]
    fn a_character_cut_in_two_stands_where_it_was_completed() {
        let events = [
            output(0, b"a\xe2\x82"),
            output(100, b"\xac\xf0"),
            output(250, b"\x9f"),
            output(300, b"\x98\x80b"),
        ];
        assert_eq!(
            written(0, &events),
            [json!([0.0, "o", "a"]), json!([0.1, "o", "\u{20ac}"]), json!([0.2, "o", "\u{1f600}b"])],
            "and the pause is not lost with the piece that completed nothing"
        );
        let missed = Event { ms: 5, what: What::Missed(7) };
        let events = [output(0, b"\xe2\x82"), missed, output(6, b"\xacx")];
        assert_eq!(
            written(0, &events)[1],
            json!([0.001, "o", "x"]),
            "after a gap there is nothing to complete"
        );
    }

    #[test]
    fn no_control_character_stands_in_the_file() {
        let mut writer = Writer::new(&header(), 0);
        writer.event(&output(0, "\u{0}\u{7}\u{1b}\u{7f}\u{9b}\"\\\n".as_bytes()));
        let text = writer.take();
        assert!(text.lines().all(|line| !line.contains(char::is_control)), "{text}");
        assert!(text.contains(r#""\u0000\u0007\u001b\u007f\u009b\"\\\n"]"#), "{text}");
    }

    proptest! {
        /// Whatever is written, in whatever pieces, is read back as the screen would take it.
        #[test]
        fn what_is_read_back_is_what_a_screen_takes(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..20)) {
            let events: Vec<Event> = pieces.iter().map(|piece| output(0, piece)).collect();
            let read: String = written(0, &events).iter().map(|event| event[2].as_str().unwrap()).collect();
            prop_assert_eq!(read, Decoder::default().decode(&pieces.concat()));
        }
    }
}
