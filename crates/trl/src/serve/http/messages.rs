//! `GET /api/sessions/{session}/messages/{message}/events`: what comes of a message to an agent, as Server-Sent Events.
//!
//! An event's id is the number of its update. A client that was cut off sends the last one it saw as `Last-Event-ID` and gets
//! exactly the rest. The id of the last event, `done`, ends in `.done`: whoever comes back with that one is told that there is
//! nothing more (204).

use std::sync::Arc;

use http_body_util::channel::Channel;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use trl_proto::agent::{DonePush, UpdatePush};
use trl_proto::{ErrorCode, MessageId, Method, SessionId};

use super::super::agent::calls::find;
use super::super::agent::push::{Form, Updates};
use super::super::outbox::{Outbox, Parting};
use super::super::principal::Principal;
use super::Door;
use super::answer::{self, Answer, Refusal};
use super::events::{AHEAD, Chunks, written};
use super::guard::one;

pub(super) async fn stream(
    door: &Arc<Door>,
    principal: Principal,
    (session, message): (&str, &str),
    headers: &HeaderMap,
) -> Result<Answer, Refusal> {
    principal.may_call(Method::AgentFollow)?;
    let session = session.parse::<SessionId>().map_err(|why| invalid(&why))?;
    let message = message.parse::<MessageId>().map_err(|why| invalid(&why))?;
    door.server.manager.recalled().await;
    door.server.manager.remember(&session).await;
    principal.check(&door.server.manager, &session)?;
    let Some(since) = last_event(headers)? else { return Ok(answer::empty(StatusCode::NO_CONTENT)) };
    let source = find(&door.server, &session, Some(&message)).await?;
    let (chunks, body) = Channel::new(AHEAD);
    let sink = Chunks { chunks, keep_alive: door.keep_alive() };
    tokio::spawn(feed(Arc::clone(door), principal, Updates { form: Events, source, since }, sink));
    let mut answer = Response::new(answer::flowing(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(answer)
}

async fn feed(door: Arc<Door>, principal: Principal, updates: Updates<Events>, sink: Chunks) {
    let outbox = Outbox::new(door.server.wire.client_buffer_bytes);
    let writing = outbox.write_to(sink);
    let reading = async {
        tokio::select! {
            () = updates.run(&outbox) => outbox.finish(),
            () = door.server.authority.ended(&principal) => outbox.cut(Parting::TokenEnded),
        }
    };
    tokio::join!(reading, writing);
}

fn invalid(why: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, why)
}

/// The last update that was seen; None when it was the end.
fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    match one(headers, &header::HeaderName::from_static("last-event-id"))? {
        None | Some("") => Ok(Some(0)),
        Some(text) if text.strip_suffix(".done").is_some_and(|seq| seq.parse::<u64>().is_ok()) => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| invalid("Last-Event-ID is not one of ours: SEQ")),
    }
}

struct Events;

impl Form for Events {
    fn update(&self, push: UpdatePush) -> Vec<u8> {
        written("update", &push.numbered.seq.to_string(), &push)
    }

    fn done(&self, push: DonePush) -> Vec<u8> {
        written("done", &format!("{}.done", push.seq), &push)
    }
}
