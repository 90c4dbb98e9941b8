//! What is wrong with parameters, in words of the wire: the field by its path, and JSON's names for types.
//!
//! serde's message is the only place that names a mistyped field together with its siblings, and its position the
//! only trace of where a value stands. Both are read here, and only once a request is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde_json::value::RawValue;

use crate::nearest::nearest;
use crate::untrusted::one_line;

/// Reads a JSON text, or says what is wrong with it: the field by its path, and types by their names in JSON.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| explain(&error, text))
}

/// Why `text` is not what it should be.
pub(crate) fn explain(error: &serde_json::Error, text: &str) -> String {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head);
    let place = path_at(text, 0, error.column()).map(|path| format!("`{path}`"));
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown("field", rest);
    }
    if message.starts_with("missing field ") || message.starts_with("duplicate field ") {
        return message.to_string();
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return format!("{}: {}", place.as_deref().unwrap_or("a value"), unknown("value", rest));
    }
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    match (wrong.and_then(|wrong| wrong.rsplit_once(", expected ")), place) {
        (Some((got, wanted)), place) => {
            let place = place.as_deref().unwrap_or("a value");
            format!("{place} must be {}, not {}", type_name(wanted), found(got))
        }
        // How an enum that got a number says so.
        (None, Some(place)) if message == "expected value" => format!("{place} must be a string"),
        (None, Some(place)) => format!("{place}: {message}"),
        (None, None) => message.to_string(),
    }
}

/// A value by its name on the wire, for whoever gets it from elsewhere.
pub fn by_name<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    T::deserialize(IntoDeserializer::<value::Error>::into_deserializer(name)).map_err(|error| {
        let message = error.to_string();
        message.strip_prefix("unknown variant ").map(|rest| unknown("value", rest)).unwrap_or(message)
    })
}

/// Completes `` `comand`, expected one of `command`, `env` ``.
fn unknown(what: &str, rest: &str) -> String {
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let Some((name, known)) = names.split_first() else { return format!("unknown {what} {rest}") };
    unknown_name(what, name, known)
}

/// "unknown field `comand`; did you mean `command`?"
pub fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let shown = one_line(name);
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{shown}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown {what} `{shown}`; no {what}s are expected here"),
        None => format!("unknown {what} `{shown}`; known {what}s: {}", known.join(", ")),
    }
}

fn type_name(serde: &str) -> &str {
    match serde {
        "f64" => "a number",
        "u64" => "a whole number, 0 or more",
        "a map" => "an object",
        "a sequence" => "an array",
        "string or map" | "variant identifier" => "a string",
        name if name.starts_with("struct ") => "an object",
        name => name,
    }
}

/// Numbers as they are; text may be long or secret.
fn found(serde: &str) -> &str {
    match serde.split_once(' ') {
        Some(("string", _)) => "a string",
        Some(("integer" | "boolean", value)) => value.trim_matches('`'),
        Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`'),
        _ if serde == "map" => "an object",
        _ if serde == "sequence" => "an array",
        _ => serde,
    }
}

/// Which member of `text`, which begins at `start`, the reader was at, or had just read, at `column`.
fn path_at(text: &str, start: usize, column: usize) -> Option<String> {
    let covers = |at: usize, value: &RawValue| (at..=at + value.get().len()).contains(&column);
    let at = |value: &RawValue| start + (value.get().as_ptr().addr() - text.as_ptr().addr());
    let below = |value: &RawValue| path_at(value.get(), at(value), column);
    if let Ok(members) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(text) {
        let (name, value) = members.into_iter().find(|(_, value)| covers(at(value), value))?;
        return Some(below(value).map_or_else(|| name.to_string(), |rest| format!("{name}.{rest}")));
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let (n, value) = items.into_iter().enumerate().find(|(_, value)| covers(at(value), value))?;
    Some(below(value).map_or_else(|| n.to_string(), |rest| format!("{n}.{rest}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SubscribeParams;
    use crate::exec::{ExecutionParams, RunParams};
    use crate::session::{CreateParams, ListParams};

    fn why<T: serde::de::DeserializeOwned>(text: &str) -> String {
        let error = serde_json::from_str::<T>(text).err().unwrap_or_else(|| panic!("{text} is fine"));
        explain(&error, text)
    }

    #[test]
    fn the_field_and_the_type_are_named() {
        for (text, expected) in [
            (r#"{"command": 3}"#, "`command` must be a string, not 3"),
            (r#"{"command":"x","timeout_s":"soon" }"#, "`timeout_s` must be a number, not a string"),
            (r#"{"env":{"A":"1","B":[2]},"command":"x"}"#, "`env.B` must be a string, not an array"),
            (r#"{"command":"x","env":7}"#, "`env` must be an object, not 7"),
            (
                r#"{"command":"x","max_output_bytes":-1}"#,
                "`max_output_bytes` must be a whole number, 0 or more, not -1",
            ),
            (r#"{"queue":"yes","command":"x"}"#, "`queue` must be a boolean, not a string"),
            (r#"{"command":null}"#, "`command` must be a string, not null"),
            (r#"{"command":{}}"#, "`command` must be a string, not an object"),
            (r#"{"queue":true}"#, "missing field `command`"),
            (r#"{"command":"a","command":"b"}"#, "duplicate field `command`"),
            (r#"{"comand":"a"}"#, "unknown field `comand`; did you mean `command`?"),
            (
                r#"{"command":"x","on_disconnect":"cancle"}"#,
                "`on_disconnect`: unknown value `cancle`; did you mean `cancel`?",
            ),
            (r#"{"command":"x","on_disconnect":1}"#, "`on_disconnect` must be a string"),
            (
                r#"{"command":"x","session_id":"work"}"#,
                "`session_id`: \"work\" is not an id of the form s-...",
            ),
        ] {
            assert_eq!(why::<RunParams>(text), expected);
        }
    }

    #[test]
    fn names_are_read_outside_of_json_too() {
        assert_eq!(by_name("stderr"), Ok(crate::exec::Stream::Stderr));
        assert_eq!(
            by_name::<crate::exec::Stream>("stdrr"),
            Err("unknown value `stdrr`; did you mean `stderr`?".into())
        );
    }

    #[test]
    fn places_are_found_in_any_kind_of_value() {
        assert_eq!(why::<CreateParams>(r#"{"argv":["a",2]}"#), "`argv.1` must be a string, not 2");
        assert_eq!(
            why::<SubscribeParams>(r#"{"kinds":["exec.finished","exec.finish"]}"#),
            "`kinds.1`: unknown value `exec.finish`; did you mean `exec.finished`?"
        );
        assert_eq!(
            why::<ListParams>(r#"{"state":"zzzzzzzz"}"#),
            "`state`: unknown value `zzzzzzzz`; \
             known values: uninitialized, creating, ready, running, waiting_hitl, idle, closed, terminated"
        );
        assert_eq!(
            why::<ExecutionParams>(r#"{"execution_id":"é"}"#),
            "`execution_id`: \"é\" is not an id of the form e-..."
        );
        assert_eq!(
            why::<crate::system::NoParams>(r#"{"a":1}"#),
            "unknown field `a`; no fields are expected here"
        );
        assert_eq!(why::<CreateParams>(r#"{"env":{"A":"1","A":"2"}}"#), "`env`: the name `A` is there twice");
    }
}
