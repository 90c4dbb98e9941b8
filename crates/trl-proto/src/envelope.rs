//! Lines in, lines out: the two envelopes and how they are told apart.
//!
//! 1. [`parse`] reads one line: a request, a JSON-RPC batch, or something malformed that still deserves an answer.
//! 2. A request with a `jsonrpc` member speaks JSON-RPC 2.0, any other the plain form of the first TRL clients.
//! 3. [`reply`] and [`push`] write the answer in the dialect of the question.
//!
//! It does not look at methods or parameters: params stay raw JSON until their handler parses them.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::exec::{OutputPush, Stream};
use crate::explain::{explain, read};
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
    /// The parameters as `T`; a missing object is an empty one, and what is wrong is named by its place.
    pub fn params<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        let text = match self.params.as_deref().map(RawValue::get) {
            None | Some("null") => "{}",
            Some(text) => text,
        };
        // An array would be taken for the fields in their order.
        if !text.starts_with('{') {
            return Err(Error::invalid("`params` must be an object"));
        }
        read(text).map_err(Error::invalid)
    }
}

/// A line that is no request.
#[derive(Debug)]
pub struct Malformed {
    pub dialect: Dialect,
    pub id: Option<Box<RawValue>>,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    NotJson,
    /// JSON, but not an object with the members of a request; says why.
    NotARequest(String),
    EmptyBatch,
    TooLong {
        limit: usize,
    },
}

/// What one line turned out to be.
#[derive(Debug)]
pub enum Incoming {
    One(std::result::Result<Request, Malformed>),
    Batch(Vec<std::result::Result<Request, Malformed>>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequest<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

/// What can be told of an object that is no request, for its answer.
#[derive(Default, Deserialize)]
struct Sender {
    #[serde(default)]
    jsonrpc: Option<IgnoredAny>,
    #[serde(default)]
    id: Option<Box<RawValue>>,
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
    let raw: RawRequest<'_> = match text.starts_with('{') {
        true => serde_json::from_str(text).map_err(|e| not_a_request(&e, text, usual))?,
        false => return Err(Malformed { dialect: usual, id: None, fault: no_object(text) }),
    };
    let dialect = if raw.jsonrpc.is_some() { Dialect::JsonRpc } else { Dialect::Plain };
    let refuse = |id, why: &str| Err(Malformed { dialect, id, fault: Fault::NotARequest(why.into()) });
    if raw.id.as_deref().is_some_and(|id| !is_id(id)) {
        return refuse(None, "`id` must be a string or a number");
    }
    if raw.jsonrpc.as_deref().is_some_and(|version| version != "2.0") {
        return refuse(raw.id, "`jsonrpc` must be \"2.0\"");
    }
    Ok(Request { dialect, id: raw.id, method: raw.method.into_owned(), params: raw.params })
}

fn is_id(id: &RawValue) -> bool {
    id.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

fn no_object(text: &str) -> Fault {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Fault::NotARequest("it must be an object".into()),
        Err(_) => Fault::NotJson,
    }
}

/// Reads it once more, for whom to answer and how.
fn not_a_request(error: &serde_json::Error, text: &str, usual: Dialect) -> Malformed {
    if !error.is_data() {
        return Malformed { dialect: usual, id: None, fault: Fault::NotJson };
    }
    let sender: Sender = serde_json::from_str(text).unwrap_or_default();
    Malformed {
        dialect: if sender.jsonrpc.is_some() { Dialect::JsonRpc } else { Dialect::Plain },
        id: sender.id.filter(|id| is_id(id)),
        fault: Fault::NotARequest(explain(error, text)),
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
    let (number, code, message) = match &bad.fault {
        Fault::NotJson => (-32700, crate::ErrorCode::InvalidParams, "the line is not valid JSON".to_string()),
        Fault::NotARequest(why) => (-32600, crate::ErrorCode::InvalidParams, format!("not a request: {why}")),
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
    let stream = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Tty => "tty",
    };
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
        let why = |text: &str| Fault::NotARequest(text.into());
        for (line, id, fault) in [
            ("nonsense", None, Fault::NotJson),
            ("{\"id\":1", None, Fault::NotJson),
            ("[]", None, Fault::EmptyBatch),
            ("3", None, why("it must be an object")),
            ("{\"id\":1}", Some("1"), why("missing field `method`")),
            (r#"{"id":1,"method":7}"#, Some("1"), why("`method` must be a string, not 7")),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, Some("1"), why("`jsonrpc` must be \"2.0\"")),
            (r#"{"id":{},"method":"x"}"#, None, why("`id` must be a string or a number")),
            (r#"{"id":true,"method":"x"}"#, None, why("`id` must be a string or a number")),
            (r#"{"id":false}"#, None, why("missing field `method`")),
            (r#"{"id":1,"method":"x","method":"y"}"#, Some("1"), why("duplicate field `method`")),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","parms":{}}"#,
                Some("1"),
                why("unknown field `parms`; did you mean `params`?"),
            ),
        ] {
            let bad = one(line).unwrap_err();
            assert_eq!((bad.id.as_deref().map(RawValue::get), &bad.fault), (id, &fault), "{line}");
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
