//! A peer that is not let in hears why, in the language it speaks, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use trl_proto::envelope::{self, Incoming};
use trl_proto::{Dialect, Error};

use super::lines::{Line, Lines, Source};
use super::{Server, first_byte};

/// How long such a peer has to ask and to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Lines answered, none longer than [`LONGEST_LINE`]: a client may ask for a role first, and then for what it wants.
const MOST_LINES: usize = 4;
const LONGEST_LINE: usize = 64 * 1024;

/// Answers what the peer asks first with `error`.
pub(super) async fn turn_away(server: Arc<Server>, stream: UnixStream, error: Error) {
    let answer = async {
        match first_byte(&server, &stream).await {
            // A request line begins with the name of a method, and JSON with anything else.
            Some(b'A'..=b'Z') => refuse_http(stream, &error).await,
            Some(_) => refuse_lines(stream, &error).await,
            None => {}
        }
    };
    let _ = tokio::time::timeout(PATIENCE, answer).await;
}

/// Answers one HTTP request, of which no byte is looked at.
async fn refuse_http(mut stream: UnixStream, error: &Error) {
    let mut body = serde_json::json!({"error": {"code": error.code, "message": error.message}});
    if let Some(hint) = &error.hint {
        body["error"]["hint"] = hint.as_str().into();
    }
    let body = body.to_string();
    let head = "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncache-control: no-store\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn refuse_lines(stream: UnixStream, error: &Error) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader, LONGEST_LINE);
    for _ in 0..MOST_LINES {
        let Ok(Line::Text(line)) = lines.next().await else { return };
        let mut answer = match envelope::parse(&line, Dialect::default()) {
            Incoming::One(Ok(request)) => {
                envelope::reply::<()>(request.dialect, request.id.as_deref(), Err(error))
            }
            Incoming::One(Err(_)) | Incoming::Batch(_) => {
                envelope::reply::<()>(Dialect::default(), None, Err(error))
            }
        };
        answer.extend(b"\n");
        if writer.write_all(&answer).await.is_err() {
            return;
        }
    }
}
