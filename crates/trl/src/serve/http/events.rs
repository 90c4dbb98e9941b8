//! `GET /api/executions/{id}/events`: the output of one execution as Server-Sent Events.
//!
//! Every event's id says where both streams go on: `STDOUT.STDERR`, in bytes. A client that was cut off sends the last
//! one it saw as `Last-Event-ID` and gets exactly the rest. The id of the last event, `exit`, ends in `.exit`: whoever
//! comes back with that one is told that there is nothing more (204), which is how an `EventSource` is told to stop.

use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::channel::{Channel, Sender};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use trl_core::execution::Execution;
use trl_proto::exec::{Outcome, Range, RefusedPush, Stream};
use trl_proto::{Encoding, Error, ErrorCode, ExecutionId, Method, Text};

use super::super::follow::{Form, Next, Output, Piece};
use super::super::outbox::{Outbox, Parting, Sink};
use super::super::principal::Principal;
use super::Door;
use super::answer::{self, Answer, Refusal};
use super::guard::one;

/// Chunks on their way to the connection.
pub(super) const AHEAD: usize = 2;

pub(super) fn stream(
    door: &Arc<Door>,
    principal: Principal,
    id: &str,
    headers: &HeaderMap,
) -> Result<Answer, Refusal> {
    principal.may_call(Method::ExecOutput)?;
    let id = id.parse::<ExecutionId>().map_err(|why| invalid(&why))?;
    let execution = principal.execution(&door.server.manager, &id)?;
    let from = match last_event(headers)? {
        Place::Over => return Ok(answer::empty(StatusCode::NO_CONTENT)),
        Place::At(next) => Next {
            stdout: next.stdout.min(execution.stdout.total()),
            stderr: next.stderr.min(execution.stderr.total()),
        },
    };
    let (chunks, body) = Channel::new(AHEAD);
    let sink = Chunks { chunks, keep_alive: door.keep_alive() };
    tokio::spawn(feed(Arc::clone(door), principal, Output::new(Events, execution, from), sink));
    let mut answer = Response::new(answer::flowing(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(answer)
}

async fn feed(door: Arc<Door>, principal: Principal, output: Output<Events>, sink: Chunks) {
    let outbox = Outbox::new(door.server.wire.client_buffer_bytes);
    let writing = outbox.write_to(sink);
    let reading = async {
        tokio::select! {
            () = output.run(&outbox) => outbox.finish(),
            () = door.server.authority.ended(&principal) => outbox.cut(Parting::TokenEnded),
        }
    };
    tokio::join!(reading, writing);
}

fn invalid(why: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, why)
}

/// Where a client has got to.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    At(Next),
    Over,
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut offset = || parts.next().and_then(|part| part.parse().ok()).ok_or(());
        let next = Next { stdout: offset()?, stderr: offset()? };
        match (parts.next(), parts.next()) {
            (None, _) => Ok(Self::At(next)),
            (Some("exit"), None) => Ok(Self::Over),
            _ => Err(()),
        }
    }
}

fn last_event(headers: &HeaderMap) -> Result<Place, Refusal> {
    match one(headers, &header::HeaderName::from_static("last-event-id"))? {
        None | Some("") => Ok(Place::At(Next::default())),
        Some(text) => text.parse().map_err(|()| invalid("Last-Event-ID is not one of ours: STDOUT.STDERR")),
    }
}

/// Output as events.
struct Events;

#[derive(Serialize)]
struct OutputEvent<'a> {
    execution_id: &'a ExecutionId,
    stream: Stream,
    offset: u64,
    data: &'a str,
    encoding: Encoding,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Range>,
}

impl Form for Events {
    fn output(&self, execution: &Execution, piece: &Piece<'_>, next: Next) -> Vec<u8> {
        let text = Text::exact(piece.bytes);
        let event = OutputEvent {
            execution_id: &execution.id,
            stream: piece.stream,
            offset: piece.offset,
            data: &text.data,
            encoding: text.encoding,
            gap: piece.gap,
        };
        written("output", &format!("{}.{}", next.stdout, next.stderr), &event)
    }

    fn exit(&self, outcome: &Outcome, next: Next) -> Vec<u8> {
        written("exit", &format!("{}.{}.exit", next.stdout, next.stderr), outcome)
    }

    fn refused(&self, execution: &Execution, error: Error) -> Vec<u8> {
        let push = RefusedPush { stream_id: None, execution_id: execution.id.clone(), error: error.into() };
        written("refused", "0.0.exit", &push)
    }
}

/// One event, but for its last newline. JSON has no line breaks of its own.
pub(super) fn written(name: &str, id: &str, data: &impl Serialize) -> Vec<u8> {
    let mut event = format!("id: {id}\nevent: {name}\ndata: ").into_bytes();
    if serde_json::to_writer(&mut event, data).is_err() {
        event.extend_from_slice(b"null");
    }
    event.push(b'\n');
    event
}

/// Events on their way into the answer's body.
pub(super) struct Chunks {
    pub(super) chunks: Sender<Bytes>,
    pub(super) keep_alive: Duration,
}

impl Sink for Chunks {
    async fn write(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.chunks.send_data(line.into()).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// A comment, which every reader of events skips.
    async fn idle(&mut self) -> io::Result<()> {
        tokio::time::sleep(self.keep_alive).await;
        self.write(b":\n\n".to_vec()).await
    }

    async fn close(&mut self, _why: Parting) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_back() {
        assert_eq!("3.4".parse(), Ok(Place::At(Next { stdout: 3, stderr: 4 })));
        assert_eq!("3.4.exit".parse(), Ok(Place::Over));
        for bad in ["", "3", "3.", "3.4.", "3.4.5", "-1.2", "3.4.exit.x", "a.b"] {
            assert_eq!(bad.parse::<Place>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn an_event_is_three_lines() {
        let event = written("exit", "1.2.exit", &"a\nb");
        assert_eq!(String::from_utf8(event).unwrap(), "id: 1.2.exit\nevent: exit\ndata: \"a\\nb\"\n");
    }
}
