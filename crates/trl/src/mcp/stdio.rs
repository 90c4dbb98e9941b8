//! The MCP client on stdin and stdout: each line is one message.
//!
//! 1. A line that is a message goes to the server.
//! 2. A line that is too long, or JSON but no message, is answered with an error. The error has the id of the request, so
//!    that the client does not wait for a reply.
//! 3. A line that is not JSON is ignored: nobody knows what it was meant to be, and an answer to it could itself be such a
//!    line for the client.

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::RequestId;
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use trl_proto::ErrorCode;

use crate::serve::lines::{Line, Lines, Source};

type Incoming = RxJsonRpcMessage<RoleServer>;
type Outgoing = TxJsonRpcMessage<RoleServer>;

/// Stdin and stdout of this process.
pub(super) struct Stdio {
    lines: Lines<StdioReader>,
    longest_line: usize,
    writer: Writer,
    /// Answers of [`Stdio`] itself that are not written yet. `receive` can be cancelled, and half an answer would break the
    /// stream.
    answers: JoinSet<io::Result<()>>,
}

/// Stdout; None once it is closed.
#[derive(Clone)]
struct Writer(Arc<Mutex<Option<StdioWriter>>>);

impl Writer {
    async fn write(self, message: Outgoing) -> io::Result<()> {
        let mut line = serde_json::to_vec(&message)?;
        line.push(b'\n');
        match self.0.lock().await.as_mut() {
            None => Err(io::ErrorKind::NotConnected.into()),
            Some(stdout) => {
                stdout.write_all(&line).await?;
                stdout.flush().await
            }
        }
    }
}

impl Stdio {
    pub(super) fn new(longest_line: usize) -> Self {
        let (read, write) = stdio_pipes();
        let lines = Lines::new(read, longest_line);
        Self {
            lines,
            longest_line,
            writer: Writer(Arc::new(Mutex::new(Some(write)))),
            answers: JoinSet::new(),
        }
    }

    fn refuse(&mut self, Refused { id, error }: Refused) {
        while self.answers.try_join_next().is_some() {}
        self.answers.spawn(self.writer.clone().write(Outgoing::error(error, id)));
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.writer.clone().write(message)
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            match self.lines.next().await {
                Err(_) | Ok(Line::End) => return None,
                Ok(Line::Garbage) => {}
                Ok(Line::TooLong(id)) => {
                    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
                    self.refuse(Refused { id, error: too_long(self.longest_line) });
                }
                Ok(Line::Text(text)) => match parse(&text) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(refused) => self.refuse(refused),
                },
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        while self.answers.join_next().await.is_some() {}
        drop(self.writer.0.lock().await.take());
        Ok(())
    }
}

/// A line that is answered here.
#[derive(Debug)]
struct Refused {
    id: Option<RequestId>,
    error: ErrorData,
}

fn too_long(limit: usize) -> ErrorData {
    let data = json!({"code": ErrorCode::PayloadTooLarge, "limit": limit});
    ErrorData::invalid_request(format!("the request is longer than {limit} bytes"), Some(data))
}

/// Reads one line. None for a line that gets no answer: no JSON, or a notification that nobody knows.
fn parse(line: &str) -> Result<Option<Incoming>, Refused> {
    // RFC 8259 lets a parser ignore a byte order mark.
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    if let Ok(message) = serde_json::from_str(line) {
        return Ok(Some(message));
    }
    let Ok(value) = serde_json::from_str::<Value>(line) else { return Ok(None) };
    // Without a method it is a reply, whose id is one of ours.
    let id = value.get("method").and_then(|_| value.get("id"));
    if value.get("method").is_some() && id.is_none() {
        return Ok(None);
    }
    let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
    Err(Refused { id, error: ErrorData::invalid_request("the line is not a message of JSON-RPC 2.0", None) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_message_is_refused_under_its_id() {
        for (line, id) in [
            (r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#, Some(RequestId::Number(4))),
            (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, Some(RequestId::String("a".into()))),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None),
            (r#"[{"jsonrpc":"2.0","id":4,"method":"ping"}]"#, None),
            (r#"{"jsonrpc":"2.0","id":4}"#, None),
            ("7", None),
        ] {
            let refused = parse(line).unwrap_err();
            assert_eq!((refused.id, refused.error.code.0), (id, -32600), "{line}");
        }
        for line in ["no JSON", r#"{"jsonrpc":"1.0","method":"ping"}"#] {
            assert!(matches!(parse(line), Ok(None)), "{line}");
        }
        assert!(matches!(parse("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}"), Ok(Some(_))));
    }
}
