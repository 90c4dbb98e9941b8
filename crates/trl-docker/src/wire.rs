//! One connection: who is there, a request, its answer.
//!
//! 1. [`Docker::connect`] pings, which says whether this is Docker and which version it speaks.
//! 2. [`Wire::send`] asks. An answer that is a refusal becomes [`Error::Api`], with what the daemon said.
//! 3. The answer is taken whole, piece by piece, or as the bare connection, when both sides change to another protocol.
//!
//! A connection of hyper's has to be polled for anything to happen on it: whoever waits for something does that, so no
//! task outlives a call.

use std::fmt::Write as _;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;

use crate::error::told;
use crate::upload::Upload;
use crate::version::{Api, OLDEST};
use crate::{Docker, Error, Result};

/// An answer that is longer is none of those asked for here.
const MOST_ANSWER: usize = 16 << 20;
/// Of what a stranger answers this much is shown.
const SHOWN: usize = 300;

/// A request, before it is known in which version it is made.
pub(crate) struct Ask {
    verb: &'static str,
    /// Without the version, with the query.
    path: String,
    body: Upload,
    kind: Option<&'static str>,
    /// The connection becomes a stream of bytes.
    upgrade: bool,
}

impl Ask {
    fn new(verb: &'static str, path: impl Into<String>) -> Self {
        Self { verb, path: path.into(), body: Upload::default(), kind: None, upgrade: false }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: impl Into<String>) -> Self {
        Self::new("POST", path)
    }

    pub(crate) fn put(path: impl Into<String>) -> Self {
        Self::new("PUT", path)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new("DELETE", path)
    }

    pub(crate) fn query(mut self, key: &str, value: &str) -> Self {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        // Writing to a string cannot fail.
        let _ = write!(self.path, "{mark}{key}={}", escaped(value));
        self
    }

    pub(crate) fn json(self, value: &Value) -> Self {
        Self { body: Upload::of(value.to_string().into()), kind: Some("application/json"), ..self }
    }

    pub(crate) fn tar(self, body: Upload) -> Self {
        Self { body, kind: Some("application/x-tar"), ..self }
    }

    pub(crate) fn upgrade(self) -> Self {
        Self { upgrade: true, ..self }
    }

    /// For people.
    pub(crate) fn what(&self) -> String {
        let path = self.path.split_once('?').map_or(self.path.as_str(), |(path, _)| path);
        format!("{} {path}", self.verb)
    }

    fn request(self, api: Option<Api>) -> Result<Request<Upload>> {
        let what = self.what();
        let prefix = api.map(|api| format!("/v{api}")).unwrap_or_default();
        let mut request =
            Request::builder().method(self.verb).uri(prefix + &self.path).header("Host", "docker");
        if let Some(kind) = self.kind {
            request = request.header("Content-Type", kind);
        }
        if self.upgrade {
            request = request.header("Connection", "Upgrade").header("Upgrade", "tcp");
        }
        request.body(self.body).map_err(|error| Error::Invalid(format!("{what}: {error}")))
    }
}

/// As part of a path or a query. Slashes stand for themselves: names of images have them.
pub(crate) fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

/// A whole answer.
pub(crate) struct Answer {
    what: String,
    bytes: Bytes,
}

impl Answer {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| Error::unexpected(&self.what, error))
    }
}

/// An answer of which only the head has come.
pub(crate) struct Begun {
    pub(crate) what: String,
    response: Response<Incoming>,
}

/// A connection to a Docker daemon.
pub(crate) struct Wire {
    sender: SendRequest<Upload>,
    line: Line,
    /// None before it is known.
    api: Option<Api>,
}

/// What moves the bytes.
struct Line {
    connection: http1::Connection<TokioIo<UnixStream>, Upload>,
    /// It has ended, maybe before its last answer was taken. It must not be polled again.
    over: bool,
}

impl Line {
    /// Waits for `work`, and moves bytes meanwhile.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if !self.over {
            tokio::select! {
                biased;
                done = &mut work => return done,
                // How it ended is what the work is told.
                _ = self.end() => {}
            }
        }
        work.await
    }

    async fn end(&mut self) -> hyper::Result<()> {
        if self.over {
            return Ok(());
        }
        let ended = poll_fn(|cx| self.connection.poll_without_shutdown(cx)).await;
        self.over = true;
        ended
    }
}

impl Wire {
    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(&mut self, ask: Ask) -> Result<Begun> {
        let what = ask.what();
        let request = ask.request(self.api)?;
        let Self { sender, line, .. } = self;
        let asked = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        let response = line.during(asked).await.map_err(|error| Error::lost(&what, error))?;
        let status = response.status();
        let begun = Begun { what, response };
        // What is as it should be already is no failure.
        if status.is_success()
            || [StatusCode::NOT_MODIFIED, StatusCode::SWITCHING_PROTOCOLS].contains(&status)
        {
            return Ok(begun);
        }
        let said = self.whole(begun).await?;
        Err(Error::Api { status: status.as_u16(), message: message(&said.bytes) })
    }

    /// The whole of an answer.
    pub(crate) async fn whole(&mut self, begun: Begun) -> Result<Answer> {
        let Begun { what, response } = begun;
        let all = Limited::new(response.into_body(), MOST_ANSWER).collect();
        match self.line.during(all).await {
            Ok(all) => Ok(Answer { what, bytes: all.to_bytes() }),
            Err(error) => Err(Error::Lost { cause: io::Error::other(told(error.as_ref())), what }),
        }
    }

    /// The next piece of an answer; None at its end.
    pub(crate) async fn piece(&mut self, begun: &mut Begun) -> Result<Option<Bytes>> {
        let Some(frame) = self.line.during(begun.response.body_mut().frame()).await else { return Ok(None) };
        let frame = frame.map_err(|error| Error::lost(&begun.what, error))?;
        // Trailers are no data, and say nothing here.
        Ok(Some(frame.into_data().unwrap_or_default()))
    }

    /// The bare connection, after both sides agreed to go on without HTTP, and what came on it already.
    pub(crate) async fn taken_over(mut self, begun: Begun) -> Result<(UnixStream, Bytes)> {
        let Begun { what, response } = begun;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::unexpected(&what, "it does not hand over the connection"));
        }
        self.line.end().await.map_err(|error| Error::lost(&what, error))?;
        let parts = self.line.connection.into_parts();
        Ok((parts.io.into_inner(), parts.read_buf))
    }
}

/// What a refusal says.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    match serde_json::from_slice(body) {
        Ok(Refusal { message }) => message,
        Err(_) => String::from_utf8_lossy(body).trim().chars().take(SHOWN).collect(),
    }
}

impl Docker {
    /// A connection to what listens there, if that is Docker.
    pub(crate) async fn connect(&self) -> Result<Wire> {
        let stream = UnixStream::connect(&self.socket).await;
        let stream = stream.map_err(|cause| Error::connecting(&self.socket, cause))?;
        let stranger = |why: String| Error::NotDocker { socket: self.socket.clone(), why };
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| stranger(told(&error)))?;
        let mut wire = Wire { sender, line: Line { connection, over: false }, api: None };
        let ping = match wire.send(Ask::get("/_ping")).await {
            // A daemon that starts or ends says 500 or 503, in words that are worth reading.
            Err(Error::Api { status: status @ ..500, .. }) => {
                return Err(stranger(format!("it answers a ping with HTTP {status}")));
            }
            Err(Error::Lost { cause, .. }) if cause.kind() == io::ErrorKind::InvalidData => {
                return Err(stranger(cause.to_string()));
            }
            answer => answer?,
        };
        let theirs = ping.response.headers().get("Api-Version").and_then(|version| version.to_str().ok());
        let theirs: Api = theirs
            .and_then(|version| version.parse().ok())
            .ok_or_else(|| stranger("it answers, but not with the version of an API".into()))?;
        let spoken = theirs
            .spoken()
            .ok_or_else(|| Error::TooOld { theirs: theirs.to_string(), needed: OLDEST.to_string() })?;
        wire.whole(ping).await?;
        wire.api = Some(spoken);
        Ok(wire)
    }

    /// One request, and the whole of its answer.
    pub(crate) async fn ask(&self, ask: Ask) -> Result<Answer> {
        let what = ask.what();
        let asked = async {
            let mut wire = self.connect().await?;
            let begun = wire.send(ask).await?;
            wire.whole(begun).await
        };
        self.timed(&what, asked).await
    }

    /// `work`, if it is done in time.
    pub(crate) async fn timed<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let late = |_| Error::TimedOut { what: what.into(), after: self.patience };
        tokio::time::timeout(self.patience, work).await.map_err(late)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_can_hold_any_text() {
        let ask = Ask::get("/containers/json").query("all", "1").query("filters", r#"{"label":["a=ü &"]}"#);
        assert_eq!(
            ask.path,
            "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22a%3D%C3%BC%20%26%22%5D%7D"
        );
        assert_eq!(ask.what(), "GET /containers/json");
        let request = ask.request(Some(OLDEST)).unwrap();
        assert_eq!(request.uri().path(), "/v1.41/containers/json");
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_whoever_refused() {
        assert_eq!(message(br#"{"message":"No such container: x"}"#), "No such container: x");
        assert_eq!(message(b"404 page not found\n"), "404 page not found");
        assert_eq!(message(&[b'x'; 5000]).len(), SHOWN);
    }
}
