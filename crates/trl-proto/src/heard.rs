//! What a client hears: lines of the daemon, in JSON-RPC, and the requests it makes. The other half of [`crate::envelope`].

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorCode};

/// One line of the daemon.
#[derive(Debug)]
pub enum Heard {
    Reply { id: u64, outcome: Result<Box<RawValue>, Error> },
    Push { method: String, params: Box<RawValue> },
}

#[derive(Deserialize)]
struct Incoming {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct WireError {
    message: String,
    #[serde(default)]
    data: serde_json::Map<String, serde_json::Value>,
}

impl WireError {
    fn into_error(mut self) -> Error {
        let code = self.data.remove("code");
        let hint = self.data.remove("hint").and_then(|hint| hint.as_str().map(String::from));
        let known = code.as_ref().and_then(|code| ErrorCode::deserialize(code).ok());
        let mut error = Error::new(known.unwrap_or(ErrorCode::InternalError), self.message);
        error.hint = hint;
        error.details = self.data;
        if let (None, Some(code)) = (known, code) {
            // A code of a newer daemon: keep it where it can be read.
            error.details.insert("code".into(), code);
        }
        error
    }
}

/// None for a line that is neither.
pub fn parse(line: &[u8]) -> Result<Option<Heard>, serde_json::Error> {
    let null = || RawValue::NULL.to_owned();
    Ok(match serde_json::from_slice(line)? {
        Incoming { method: Some(method), params, .. } => {
            Some(Heard::Push { method, params: params.unwrap_or_else(null) })
        }
        Incoming { id: Some(id), error: Some(error), .. } => {
            Some(Heard::Reply { id, outcome: Err(error.into_error()) })
        }
        Incoming { id: Some(id), result, .. } => {
            Some(Heard::Reply { id, outcome: Ok(result.unwrap_or_else(null)) })
        }
        Incoming { .. } => None,
    })
}

#[derive(Serialize)]
struct RequestLine<'a, P: ?Sized> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

/// Adds a request, with its newline.
pub fn ask<P: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    id: u64,
    method: &str,
    params: &P,
) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *out, &RequestLine { jsonrpc: "2.0", id, method, params })?;
    out.push(b'\n');
    Ok(())
}
