//! Lines in, lines out: the two envelopes and how they are told apart.
//!
//! 1. [`parse`] reads one line: a request, a JSON-RPC batch, or something malformed that still deserves an answer.
//! 2. A request with a `jsonrpc` member speaks JSON-RPC 2.0, any other the plain form of the first TRL clients.
//! 3. [`reply`] and [`push`] write the answer in the dialect of the question.
//!
//! It does not look at methods or parameters: params stay raw JSON until their handler parses them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::exec::{OutputPush, Stream};
use crate::nearest::explain_unknown_field;
use crate::text;

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    #[default]
    JsonRpc,
    /// `{id, method, params}` -> `{id, ok, data|error}`.
    Plain,
}

/// One request, its parameters not yet looked at.
#[derive(Debug, Clone)]
pub struct Request {
    pub dialect: Dialect,
    /// The id as it came, to be echoed byte for byte. None for a JSON-RPC notification: it gets no reply.
    pub id: Option<Box<RawValue>>,
    pub method: String,
    pub params: Option<Box<RawValue>>,
}

impl Request {
    /// The parameters as `T`; a missing object is an empty one, and a mistyped field is named with its neighbour.
    pub fn params<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        let text = match self.params.as_deref().map(RawValue::get) {
            None | Some("null") => "{}",
            Some(text) => text,
        };
        serde_json::from_str(text).map_err(|e| {
            let message = e.to_string();
            Error::invalid(explain_unknown_field(&message).unwrap_or_else(|| without_position(&message)))
        })
    }
}

/// Positions count from the start of the params object, which is not what the caller sees: leave them out.
fn without_position(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(head, _)| head).to_string()
}

/// A line that is no request.
#[derive(Debug)]
pub struct Malformed {
    pub dialect: Dialect,
    pub id: Option<Box<RawValue>>,
    pub fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NotJson,
    NotARequest,
    EmptyBatch,
    TooLong { limit: usize },
}

/// What one line turned out to be.
#[derive(Debug)]
pub enum Incoming {
    One(std::result::Result<Request, Malformed>),
    Batch(Vec<std::result::Result<Request, Malformed>>),
}

#[derive(Deserialize)]
struct RawRequest<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

/// Reads one line. `usual` is the dialect this connection spoke last, for lines that do not show theirs.
pub fn parse(line: &str, usual: Dialect) -> Incoming {
    let line = line.trim_ascii();
    if !line.starts_with('[') {
        return Incoming::One(parse_one(line, usual));
    }
    match serde_json::from_str::<Vec<&RawValue>>(line) {
        Err(_) => {
            Incoming::One(Err(Malformed { dialect: Dialect::JsonRpc, id: None, fault: Fault::NotJson }))
        }
        Ok(items) if items.is_empty() => {
            Incoming::One(Err(Malformed { dialect: Dialect::JsonRpc, id: None, fault: Fault::EmptyBatch }))
        }
        Ok(items) => {
            Incoming::Batch(items.iter().map(|item| parse_one(item.get(), Dialect::JsonRpc)).collect())
        }
    }
}

fn parse_one(text: &str, usual: Dialect) -> std::result::Result<Request, Malformed> {
    let raw: RawRequest<'_> = serde_json::from_str(text).map_err(|e| Malformed {
        dialect: usual,
        id: None,
        fault: if e.is_data() { Fault::NotARequest } else { Fault::NotJson },
    })?;
    let dialect = if raw.jsonrpc.is_some() { Dialect::JsonRpc } else { Dialect::Plain };
    let id_ok = raw.id.as_deref().is_none_or(|id| !id.get().starts_with(['{', '[']));
    let version_ok = raw.jsonrpc.as_deref().is_none_or(|v| v == "2.0");
    match raw.method {
        Some(method) if id_ok && version_ok => {
            Ok(Request { dialect, id: raw.id, method: method.into_owned(), params: raw.params })
        }
        _ => Err(Malformed { dialect, id: raw.id.filter(|_| id_ok), fault: Fault::NotARequest }),
    }
}

#[derive(Serialize)]
struct RpcReply<'a, T: Serialize> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError<'a>>,
}

#[derive(Serialize)]
struct RpcError<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<ErrorBody<'a>>,
}

#[derive(Serialize)]
struct PlainReply<'a, T: Serialize> {
    id: Option<&'a RawValue>,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: crate::ErrorCode,
    /// Only in the plain form: JSON-RPC has it one level up.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(flatten)]
    details: &'a serde_json::Map<String, serde_json::Value>,
}

impl<'a> ErrorBody<'a> {
    fn of(error: &'a Error, message: Option<&'a str>) -> Self {
        Self { code: error.code, message, hint: error.hint.as_deref(), details: &error.details }
    }
}

/// One reply, without the final newline.
pub fn reply<T: Serialize>(dialect: Dialect, id: Option<&RawValue>, outcome: Result<&T, &Error>) -> Vec<u8> {
    match dialect {
        Dialect::JsonRpc => {
            let error = outcome.err().map(|e| RpcError {
                code: e.code.json_rpc(),
                message: &e.message,
                data: Some(ErrorBody::of(e, None)),
            });
            to_bytes(&RpcReply { jsonrpc: "2.0", id, result: outcome.ok(), error })
        }
        Dialect::Plain => {
            let error = outcome.err().map(|e| ErrorBody::of(e, Some(&e.message)));
            to_bytes(&PlainReply { id, ok: outcome.is_ok(), data: outcome.ok(), error })
        }
    }
}

/// The answer to a line that is no request.
pub fn reply_malformed(bad: &Malformed) -> Vec<u8> {
    let (number, code, message) = match bad.fault {
        Fault::NotJson => (-32700, crate::ErrorCode::InvalidParams, "the line is not valid JSON".to_string()),
        Fault::NotARequest => (
            -32600,
            crate::ErrorCode::InvalidParams,
            "not a request: an object with a string `method`".to_string(),
        ),
        Fault::EmptyBatch => {
            (-32600, crate::ErrorCode::InvalidParams, "an empty batch asks for nothing".to_string())
        }
        Fault::TooLong { limit } => {
            (-32000, crate::ErrorCode::PayloadTooLarge, format!("the line is longer than {limit} bytes"))
        }
    };
    let error = Error::new(code, message);
    let id = bad.id.as_deref();
    match bad.dialect {
        Dialect::Plain => reply::<()>(Dialect::Plain, id, Err(&error)),
        Dialect::JsonRpc => to_bytes(&RpcReply::<()> {
            jsonrpc: "2.0",
            id,
            result: None,
            error: Some(RpcError {
                code: number,
                message: &error.message,
                data: Some(ErrorBody::of(&error, None)),
            }),
        }),
    }
}

/// One server push, without the final newline. `params` must serialize to an object.
pub fn push<T: Serialize>(dialect: Dialect, name: &str, params: &T) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, T> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a T,
    }
    #[derive(Serialize)]
    struct Event<'a, T> {
        event: &'a str,
        #[serde(flatten)]
        params: &'a T,
    }
    match dialect {
        Dialect::JsonRpc => to_bytes(&Notification { jsonrpc: "2.0", method: name, params }),
        Dialect::Plain => to_bytes(&Event { event: name, params }),
    }
}

/// The push `exec.output`, written by hand: bytes go into the line in one step, without a string in between.
pub fn push_output(dialect: Dialect, push: &OutputPush<'_>) -> Vec<u8> {
    let mut line = Vec::with_capacity(push.bytes.len() * 3 / 2 + 320);
    let open: &[u8] = match dialect {
        Dialect::JsonRpc => br#"{"jsonrpc":"2.0","method":"exec.output","params":{"#,
        Dialect::Plain => br#"{"event":"exec.output","#,
    };
    line.extend_from_slice(open);
    let OutputPush { stream_id, execution_id, stream, offset, .. } = push;
    let stream = if *stream == Stream::Stdout { "stdout" } else { "stderr" };
    // ids and the stream's name need no escaping
    let head = format!(
        r#""stream_id":"{stream_id}","execution_id":"{execution_id}","stream":"{stream}","offset":{offset},"data":"#
    );
    line.extend_from_slice(head.as_bytes());
    let encoding = put_text(&mut line, push.bytes, dialect);
    line.extend_from_slice(format!(r#","encoding":"{encoding}""#).as_bytes());
    if let Some(gap) = push.gap {
        line.extend_from_slice(format!(r#","gap":{{"from":{},"to":{}}}"#, gap.from, gap.to).as_bytes());
    }
    line.extend_from_slice(if dialect == Dialect::JsonRpc { b"}}" } else { b"}" });
    line
}

/// Appends bytes as a JSON string; says how.
fn put_text(line: &mut Vec<u8>, bytes: &[u8], dialect: Dialect) -> &'static str {
    match (dialect, text::as_cheap_utf8(bytes)) {
        (Dialect::Plain, _) => {
            line.extend_from_slice(&to_bytes(&String::from_utf8_lossy(bytes)));
            "utf-8-lossy"
        }
        (Dialect::JsonRpc, Some(text)) => {
            line.extend_from_slice(&to_bytes(&text));
            "utf-8"
        }
        (Dialect::JsonRpc, None) => {
            line.push(b'"');
            text::append_base64(line, bytes);
            line.push(b'"');
            "base64"
        }
    }
}

fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    #[allow(clippy::expect_used)] // our own reply types have string keys and no failing serializer
    serde_json::to_vec(value).expect("wire types always serialize")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorCode;

    fn one(line: &str) -> std::result::Result<Request, Malformed> {
        match parse(line, Dialect::JsonRpc) {
            Incoming::One(r) => r,
            Incoming::Batch(_) => panic!("a batch"),
        }
    }

    #[test]
    fn the_dialects_are_told_apart_by_the_version_member() {
        let rpc = one(r#"{"jsonrpc":"2.0","id":1,"method":"system.ping"}"#).unwrap();
        assert_eq!((rpc.dialect, rpc.id.unwrap().get()), (Dialect::JsonRpc, "1"));
        let plain = one(r#"{"id":"a","method":"system.ping","params":{}}"#).unwrap();
        assert_eq!((plain.dialect, plain.id.unwrap().get()), (Dialect::Plain, "\"a\""));
    }

    #[test]
    fn malformed_lines_are_classified_and_answered() {
        for (line, fault) in [
            ("nonsense", Fault::NotJson),
            ("{\"id\":1", Fault::NotJson),
            ("[]", Fault::EmptyBatch),
            ("3", Fault::NotARequest),
            ("{\"id\":1}", Fault::NotARequest),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, Fault::NotARequest),
            (r#"{"id":{},"method":"x"}"#, Fault::NotARequest),
        ] {
            let bad = one(line).unwrap_err();
            assert_eq!(bad.fault, fault, "{line}");
            assert!(serde_json::from_slice::<serde_json::Value>(&reply_malformed(&bad)).is_ok());
        }
    }

    #[test]
    fn errors_have_the_shape_of_their_dialect() {
        let e = Error::new(ErrorCode::SessionBusy, "busy").hint("wait");
        let rpc = String::from_utf8(reply::<()>(Dialect::JsonRpc, None, Err(&e))).unwrap();
        assert_eq!(
            rpc,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"busy","data":{"code":"SESSION_BUSY","hint":"wait"}}}"#
        );
        let plain = String::from_utf8(reply::<()>(Dialect::Plain, None, Err(&e))).unwrap();
        assert_eq!(
            plain,
            r#"{"id":null,"ok":false,"error":{"code":"SESSION_BUSY","message":"busy","hint":"wait"}}"#
        );
    }

    #[test]
    fn a_push_is_a_notification_or_a_flat_event() {
        let body = serde_json::json!({"n": 1});
        assert_eq!(push(Dialect::Plain, "x", &body), br#"{"event":"x","n":1}"#);
        assert_eq!(push(Dialect::JsonRpc, "x", &body), br#"{"jsonrpc":"2.0","method":"x","params":{"n":1}}"#);
    }

    #[test]
    fn output_pushes_read_back_in_both_dialects() {
        for bytes in [&b"plain \"text\"\n"[..], &[0; 100], b"\xff\xfe", b""] {
            let push = OutputPush {
                stream_id: crate::StreamId::random(),
                execution_id: crate::ExecutionId::random(),
                stream: Stream::Stderr,
                offset: 7,
                bytes,
                gap: Some(crate::exec::Range { from: 3, to: 7 }),
            };
            let rpc: serde_json::Value =
                serde_json::from_slice(&push_output(Dialect::JsonRpc, &push)).unwrap();
            let params: crate::exec::OutputPushed = serde_json::from_value(rpc["params"].clone()).unwrap();
            assert_eq!((params.offset, params.stream, params.gap), (7, Stream::Stderr, push.gap));
            assert_eq!(text::decode(params.data, params.encoding).unwrap(), bytes);
            let plain: serde_json::Value =
                serde_json::from_slice(&push_output(Dialect::Plain, &push)).unwrap();
            assert_eq!(plain["event"], "exec.output");
            assert_eq!(plain["data"], String::from_utf8_lossy(bytes).as_ref());
        }
    }

    proptest! {
        #[test]
        fn no_line_panics_the_parser(line in "\\PC*") {
            let _ = parse(&line, Dialect::Plain);
        }

        #[test]
        fn ids_and_params_come_back_as_they_went_in(id: i64, text in "\\PC*") {
            let line = serde_json::json!({"jsonrpc":"2.0","id":id,"method":"m","params":{"t":text}}).to_string();
            let request = one(&line).unwrap();
            let back: serde_json::Value = request.params().unwrap();
            prop_assert_eq!(back, serde_json::json!({"t": text}));
            let id = id.to_string();
            prop_assert_eq!(request.id.as_deref().map(RawValue::get), Some(id.as_str()));
        }
    }
}
