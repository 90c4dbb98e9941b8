//! Answers: their bodies, their headers, and refusals with the right status.

use std::convert::Infallible;

use http_body_util::channel::Channel;
use http_body_util::combinators::BoxBody;
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde_json::{Map, Value, json};
use trl_proto::{Error, ErrorCode};

pub(super) type Body = Either<Full<Bytes>, Either<Channel<Bytes>, BoxBody<Bytes, Infallible>>>;
pub(super) type Answer = Response<Body>;

/// On every answer that does not say otherwise: nothing is stored, guessed at, shown in a frame, or told to the next page.
const ALWAYS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
];

pub(super) fn add_security(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// A body that comes piece by piece.
pub(super) fn flowing(body: Channel<Bytes>) -> Body {
    Either::Right(Either::Left(body))
}

pub(super) fn of(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(body.into())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    of(status, "application/json", body)
}

pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Left(Full::default()));
    *answer.status_mut() = status;
    answer
}

/// Why a request got no further. Boxed: it is rare, and every function has room for it.
#[derive(Debug)]
pub(super) struct Refusal(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    error: Error,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Parts { status, error: Error::new(code, message), header: None }))
    }

    pub(super) fn hint(mut self, hint: &str) -> Self {
        self.0.error.hint = Some(hint.into());
        self
    }

    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    pub(super) fn answer(self) -> Answer {
        let Parts { status, error, header } = *self.0;
        let mut body = Map::new();
        body.insert("code".into(), json!(error.code));
        body.insert("message".into(), json!(error.message));
        body.extend(error.hint.map(|hint| ("hint".to_string(), json!(hint))));
        body.extend(error.details);
        let text = Value::from(Map::from_iter([("error".to_string(), Value::from(body))])).to_string();
        let mut answer = json(status, text);
        if let Some((name, value)) = header {
            answer.headers_mut().insert(name, value);
        }
        answer
    }
}

impl Refusal {
    /// The error of a JSON-RPC reply.
    pub(super) fn of_reply(error: &Value) -> Self {
        let text = |name: &str| error["data"][name].as_str().map(String::from);
        let code = serde_json::from_value(error["data"]["code"].clone()).unwrap_or(ErrorCode::InternalError);
        let message = error["message"].as_str().unwrap_or("the request failed");
        let mut told = Error::new(code, message);
        told.hint = text("hint");
        if let Some(data) = error["data"].as_object() {
            let known = ["code", "hint"];
            let rest = data.iter().filter(|(name, _)| !known.contains(&name.as_str()));
            told.details.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
        }
        told.into()
    }
}

/// An error of the wire, where an answer of its own stands for it.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error.code {
            ErrorCode::AuthFailed => StatusCode::UNAUTHORIZED,
            ErrorCode::Forbidden
            | ErrorCode::FileOutsideWorkspace
            | ErrorCode::SandboxDenied
            | ErrorCode::ApprovalDenied
            | ErrorCode::ApprovalExpired => StatusCode::FORBIDDEN,
            ErrorCode::ApprovalRequired | ErrorCode::AlreadyResolved | ErrorCode::SessionBusy => {
                StatusCode::CONFLICT
            }
            ErrorCode::SessionNotFound
            | ErrorCode::ExecutionNotFound
            | ErrorCode::TerminalNotFound
            | ErrorCode::CheckpointNotFound
            | ErrorCode::RequestNotFound
            | ErrorCode::MessageNotFound
            | ErrorCode::CaseNotFound
            | ErrorCode::RuntimeNotFound
            | ErrorCode::FileNotFound => StatusCode::NOT_FOUND,
            ErrorCode::InvalidParams
            | ErrorCode::ShellNotFound
            | ErrorCode::WorkingDirInvalid
            | ErrorCode::CaseInvalid
            | ErrorCode::SecretsRequired => StatusCode::BAD_REQUEST,
            ErrorCode::SessionTerminated | ErrorCode::SessionClosed => StatusCode::GONE,
            ErrorCode::MaxSessionsReached
            | ErrorCode::SessionLimitExceeded
            | ErrorCode::ResourcePressure
            | ErrorCode::LimitExceeded => StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            ErrorCode::ShuttingDown
            | ErrorCode::RuntimeUnavailable
            | ErrorCode::AgentUnavailable
            | ErrorCode::SandboxUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(Box::new(Parts { status, error, header: None }))
    }
}
