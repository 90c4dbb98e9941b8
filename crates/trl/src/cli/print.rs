//! Data on stdout: JSON for programs, aligned words for people.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::table::harmless;

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
pub(super) fn text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

pub(super) fn line(line: &str) -> Result<(), Failure> {
    text(&format!("{line}\n"))
}

/// One JSON document: spread out for a terminal, on one line for a program.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let written = if io::stdout().is_terminal() {
        // Through a value, because raw JSON would keep its own layout.
        serde_json::to_value(value).and_then(|value| serde_json::to_string_pretty(&value))
    } else {
        serde_json::to_string(value)
    };
    line(&written.map_err(io::Error::from)?)
}

/// A reply in the wanted format: its members one below the other for people.
pub(super) fn reply(value: &Value, format: Format) -> Result<(), Failure> {
    match (format, value) {
        (Format::People, Value::Object(members)) => {
            let width = members.keys().map(|name| name.chars().count()).max().unwrap_or(0);
            let lines = members.iter().filter_map(|(name, value)| {
                let shown = words(value)?;
                Some(format!("{name:width$}  {shown}\n"))
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
        Value::String(text) => Some(harmless(text)),
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => Some(items.iter().filter_map(words).collect::<Vec<_>>().join(" ")),
        Value::Object(members) if members.is_empty() => None,
        Value::Object(members) => {
            let pairs = members.iter().filter_map(|(name, value)| Some(format!("{name}={}", words(value)?)));
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
        assert_eq!(words(&json!({"a": 1, "b": null, "c": "x\ny"})).as_deref(), Some("a=1 c=x\\ny"));
        assert_eq!(words(&json!(["a", "b"])).as_deref(), Some("a b"));
        assert_eq!(words(&json!([])), None);
    }
}
