//! What this program prints: data on stdout, as JSON for programs or aligned words for people, and words about it on stderr.
//!
//! What others wrote (agents, programs, files) does nothing to a terminal and hides nothing on it:
//! 1. [`line()`], [`text`], [`reply`] and [`note`] print everything as [`Untrusted`] text.
//! 2. [`value`], [`passage`] and [`json`] do so at a terminal; a program that reads them gets them exactly.
//! 3. [`to_terminal`] prints as [`line()`] does, and nowhere but on the terminal.
//! 4. [`exact`] is for documents of our own, and for text that was made fit before.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::Value;
use trl_proto::untrusted::{self, Untrusted, is_invisible};

use super::failure::Failure;

/// How a command prints its data.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Output {
    /// Print JSON instead of words
    #[arg(long)]
    json: bool,
}

/// For whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    People,
    Json,
}

impl Output {
    pub(super) fn format(self) -> Format {
        if self.json { Format::Json } else { Format::People }
    }
}

/// Writes `text` as it is. `println!` would panic when the reader is gone.
pub(super) fn exact(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Lines of which each ends with a line break. A line break within a part of them must be escaped before.
pub(super) fn text(text: &str) -> Result<(), Failure> {
    exact(&lines(text))
}

pub(super) fn line(line: &str) -> Result<(), Failure> {
    exact(&format!("{}\n", Untrusted::new(line)))
}

/// A line that scripts take as a value, such as a path.
pub(super) fn value(value: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { line(value) } else { exact(&format!("{value}\n")) }
}

/// Text of many lines that is read, not acted on: an agent's answer, a terminal's screen.
pub(super) fn passage(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { exact(&untrusted::passage(text)) } else { exact(text) }
}

/// A line on stderr. `eprintln!` would panic when that is closed.
pub(super) fn note(line: &str) {
    warn(&format!("{}\n", Untrusted::new(line)));
}

/// Lines on stderr, as [`text`].
pub(super) fn notes(text: &str) {
    warn(&lines(text));
}

/// Lines on the terminal itself, wherever stdout and stderr go: what an approver answers has to be on the screen.
pub(super) fn to_terminal(lines: &[impl AsRef<str>]) -> Result<(), Failure> {
    let text: String = lines.iter().map(|line| format!("{}\n", Untrusted::new(line.as_ref()))).collect();
    draw(&text)
}

/// The beginning of a line that is typed at the terminal.
pub(super) fn prompt(words: &str) -> Result<(), Failure> {
    draw(words)
}

fn draw(text: &str) -> Result<(), Failure> {
    let mut terminal = std::fs::OpenOptions::new().write(true).open("/dev/tty")?;
    Ok(terminal.write_all(text.as_bytes())?)
}

/// One write, so that lines of several processes do not mix.
fn warn(text: &str) {
    let _unseen = io::stderr().write_all(text.as_bytes());
}

fn lines(text: &str) -> String {
    let lines: Vec<String> = Untrusted::new(text).lines().map(|line| line.to_string()).collect();
    lines.join("\n")
}

/// One JSON document: spread out for a terminal, on one line for a program.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let written = if io::stdout().is_terminal() {
        // Through a value, because raw JSON would keep its own layout.
        serde_json::to_value(value).and_then(|value| serde_json::to_string_pretty(&value))
    } else {
        serde_json::to_string(value)
    };
    json_text(&written.map_err(io::Error::from)?)
}

/// A JSON document that is written down already.
pub(super) fn json_text(json: &str) -> Result<(), Failure> {
    let shown = if io::stdout().is_terminal() { seen(json) } else { json.into() };
    exact(&format!("{shown}\n"))
}

/// The same JSON, with the characters that are not seen as JSON's own escapes. Outside of strings there is none but line breaks.
fn seen(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) && c != '\n' {
            let mut units = [0; 2];
            shown.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A reply in the wanted format: its members one below the other for people.
pub(super) fn reply(value: &Value, format: Format) -> Result<(), Failure> {
    match (format, value) {
        (Format::People, Value::Object(members)) => {
            let width = members.keys().map(|name| name.chars().count()).max().unwrap_or(0);
            let lines = members.iter().filter_map(|(name, value)| {
                let shown = words(value)?;
                let pad = width - name.chars().count();
                Some(format!("{}{:pad$}  {shown}\n", Untrusted::new(name), ""))
            });
            text(&lines.collect::<String>())
        }
        _ => json(value),
    }
}

/// A value in words; None when there is nothing to say.
pub(super) fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Untrusted::new(text).to_string()),
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => Some(items.iter().filter_map(words).collect::<Vec<_>>().join(" ")),
        Value::Object(members) if members.is_empty() => None,
        Value::Object(members) => {
            let pairs = members
                .iter()
                .filter_map(|(name, value)| Some(format!("{}={}", Untrusted::new(name), words(value)?)));
            Some(pairs.collect::<Vec<_>>().join(" "))
        }
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_words_and_empty_ones_none() {
        assert_eq!(words(&json!({"a": 1, "b": null, "c": "x\ny"})).as_deref(), Some("a=1 c=x⟨U+000A⟩y"));
        assert_eq!(words(&json!({"\x1b[2J": "\u{202e}"})).as_deref(), Some("⟨U+001B⟩[2J=⟨U+202E⟩"));
        assert_eq!(words(&json!(["a", "b"])).as_deref(), Some("a b"));
        assert_eq!(words(&json!([])), None);
    }

    #[test]
    fn json_at_a_terminal_is_the_same_json() {
        let value = json!({"a\u{202e}": ["\u{9b}2J", "\u{e0041}", "ok\n"]});
        let shown = seen(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.lines().flat_map(str::chars).all(|c| !is_invisible(c)), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }

    #[test]
    fn lines_stay_lines_and_nothing_else_gets_through() {
        assert_eq!(lines("a\x1b[1m\nb\r\n"), "a⟨U+001B⟩[1m\nb⟨U+000D⟩\n");
    }
}
