//! `GET /api/terminals/{id}/recording`: a terminal from the oldest byte there is, as asciicast v3.
//!
//! Nothing is gathered: what has been sent is as far as the tape has been read, and a client that does not read holds up
//! only itself. With `follow=1` it goes on until the terminal ends; a comment is a sign of life in between.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::channel::{Channel, SendError, Sender};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use trl_core::terminal::Terminal;
use trl_core::terminal::recording::{Extent, Next, Recording};
use trl_proto::{ErrorCode, Method, TerminalId};

use super::super::principal::Principal;
use super::Door;
use super::answer::{self, Answer, Refusal};
use super::asciicast::{COMMENT, Header, Term, Writer};

/// Chunks on their way to the connection.
const AHEAD: usize = 2;
/// Lines are gathered to chunks of about this size.
const CHUNK: usize = 32 * 1024;

/// What the query asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ask {
    extent: Extent,
    idle_limit: Option<f64>,
}

impl Ask {
    fn parse(query: &str) -> Result<Self, Refusal> {
        let mut ask = Self { extent: Extent::SoFar, idle_limit: None };
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match (key, value) {
                ("follow", "1" | "true") => ask.extent = Extent::ToItsEnd,
                ("follow", "0" | "false") => ask.extent = Extent::SoFar,
                ("follow", _) => return Err(invalid("`follow` is 0 or 1")),
                ("idle_limit_s", seconds) => {
                    let seconds = seconds.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
                    let refused = || invalid("`idle_limit_s` is not a number of seconds above 0");
                    ask.idle_limit = Some(seconds.ok_or_else(refused)?);
                }
                _ => {}
            }
        }
        Ok(ask)
    }
}

fn invalid(why: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, why)
}

/// For whoever may see what the terminal shows.
pub(super) fn stream(
    door: &Arc<Door>,
    principal: Principal,
    id: &str,
    query: &str,
) -> Result<Answer, Refusal> {
    principal.may_call(Method::TerminalSnapshot)?;
    let id = id.parse::<TerminalId>().map_err(|why| invalid(&why))?;
    let terminal = principal.terminal(&door.server.manager, &id)?;
    let ask = Ask::parse(query)?;
    let recording = Recording::new(Arc::clone(&terminal), ask.extent);
    let writer = begin(&terminal, &recording, ask.idle_limit);
    let (chunks, body) = Channel::new(AHEAD);
    let door = Arc::clone(door);
    tokio::spawn(async move {
        let mut closing = door.server.closing.subscribe();
        tokio::select! {
            // a client that is gone needs no more
            _ = feed(recording, writer, chunks, door.keep_alive()) => {}
            () = door.server.authority.ended(&principal) => {}
            _ = async { closing.wait_for(|c| *c).await.is_ok() } => {}
        }
    });
    let mut answer = Response::new(answer::flowing(body));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-asciicast"));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"{id}.cast\"")) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(answer)
}

fn begin(terminal: &Terminal, recording: &Recording, idle_time_limit: Option<f64>) -> Writer {
    let began = recording.began();
    let title = terminal.spec.name.clone().unwrap_or_else(|| terminal.public().title.clone());
    let seconds = i64::try_from(began.ms / 1000).unwrap_or(i64::MAX);
    let header = Header {
        term: Term {
            cols: began.size.cols,
            rows: began.size.rows,
            kind: terminal.spec.env.get("TERM").map(String::as_str),
        },
        timestamp: terminal.created.unix_seconds().saturating_add(seconds),
        idle_time_limit,
        command: terminal.spec.argv.first().map(String::as_str),
        title: (!title.is_empty()).then_some(title.as_str()),
    };
    Writer::new(&header, began.ms)
}

async fn feed(
    mut recording: Recording,
    mut writer: Writer,
    mut chunks: Sender<Bytes>,
    keep_alive: Duration,
) -> Result<(), SendError> {
    loop {
        tokio::task::consume_budget().await;
        let next = recording.play();
        match &next {
            Next::Event(event) => {
                writer.event(event);
                if writer.len() < CHUNK {
                    continue;
                }
            }
            Next::Nothing if writer.len() == 0 => {
                tokio::select! {
                    () = recording.wait() => {}
                    () = tokio::time::sleep(keep_alive) => chunks.send_data(COMMENT.into()).await?,
                }
                continue;
            }
            Next::Nothing | Next::Over => {}
        }
        if writer.len() > 0 {
            chunks.send_data(writer.take().into()).await?;
        }
        if next == Next::Over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_how_far_and_how_fast() {
        let ask = |query: &str| Ask::parse(query).ok();
        let to_its_end = Ask { extent: Extent::ToItsEnd, idle_limit: None };
        assert_eq!(ask(""), Some(Ask { extent: Extent::SoFar, ..to_its_end }));
        assert_eq!(ask("follow=1"), Some(to_its_end));
        assert_eq!(
            ask("x=y&follow=true&idle_limit_s=2.5"),
            Some(Ask { idle_limit: Some(2.5), ..to_its_end })
        );
        for bad in ["follow=maybe", "idle_limit_s=0", "idle_limit_s=-1", "idle_limit_s=inf", "idle_limit_s="]
        {
            assert_eq!(ask(bad), None, "{bad}");
        }
    }
}
