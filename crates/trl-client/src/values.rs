//! What calls come back with: bytes as they were written, where the wire has strings with their encoding.

use std::borrow::Cow;
use std::io;

use trl_proto::exec::{
    ExecutionStatus, Omitted, Outcome, OutputPushed, OutputSlice, Range, RunResult, Stream,
};
use trl_proto::start::{self, Matched, Next, ProgressEnd, Reason};
use trl_proto::{Encoding, RequestId, TerminalId, text};

use crate::error::ClientError;

fn bytes(method: &str, data: String, encoding: Encoding) -> Result<Vec<u8>, ClientError> {
    text::decode(data, encoding)
        .map_err(|e| ClientError::BadReply { method: method.into(), source: io::Error::other(e) })
}

/// How a command ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub outcome: Outcome,
}

impl Finished {
    /// stdout for people: what is no UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// stderr for people.
    pub fn error_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// 128+n when signal n ended it.
    pub fn exit_code(&self) -> i32 {
        self.outcome.exit_code
    }

    /// It ended by itself, with 0.
    pub fn is_ok(&self) -> bool {
        self.outcome.exit_code == 0 && !self.outcome.timed_out && !self.outcome.cancelled
    }

    /// One that is not ok becomes an error.
    pub fn check(self) -> Result<Self, ClientError> {
        if self.is_ok() { Ok(self) } else { Err(ClientError::Failed(Box::new(self))) }
    }

    /// One line for people.
    pub(crate) fn summary(&self) -> String {
        let what = match &self.outcome {
            outcome if outcome.timed_out => "the command timed out".into(),
            outcome if outcome.cancelled => "the command was cancelled".into(),
            outcome => format!("the command ended with {}", outcome.exit_code),
        };
        match self.error_text().trim_end().lines().next_back() {
            Some(last) => format!("{what}: {last}"),
            None => what,
        }
    }
}

impl TryFrom<RunResult> for Finished {
    type Error = ClientError;

    fn try_from(result: RunResult) -> Result<Self, ClientError> {
        Ok(Self {
            stdout: bytes("exec.run", result.stdout, result.stdout_encoding)?,
            stderr: bytes("exec.run", result.stderr, result.stderr_encoding)?,
            outcome: result.outcome,
        })
    }
}

/// Some output, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub stream: Stream,
    /// Where `data` begins in the stream.
    pub offset: u64,
    pub data: Vec<u8>,
    /// The range this reader was too slow for, just before `data`.
    pub gap: Option<Range>,
}

impl Chunk {
    /// For people: what is no UTF-8 is replaced. No chunk ends inside a character.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.data)
    }
}

impl TryFrom<OutputPushed> for Chunk {
    type Error = ClientError;

    fn try_from(push: OutputPushed) -> Result<Self, ClientError> {
        let data = bytes("exec.output", push.data, push.encoding)?;
        Ok(Self { stream: push.stream, offset: push.offset, data, gap: push.gap })
    }
}

/// A range of the output that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    pub data: Vec<u8>,
    /// Where `data` begins.
    pub offset: u64,
    /// Ask for this next.
    pub next: u64,
    /// Was asked for and is gone.
    pub gap: Option<Range>,
    /// No more will come.
    pub done: bool,
}

impl TryFrom<OutputSlice> for Slice {
    type Error = ClientError;

    fn try_from(slice: OutputSlice) -> Result<Self, ClientError> {
        let data = bytes("exec.output", slice.data, slice.encoding)?;
        Ok(Self { data, offset: slice.offset, next: slice.next, gap: slice.gap, done: slice.done })
    }
}

/// How far a process has come: what it wrote since the last call that was told, and its end, once it has ended.
#[derive(Debug, Clone)]
pub struct Progress {
    pub status: ExecutionStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Ranges that should be here and are not.
    pub gap: Option<Omitted>,
    /// Where the next call goes on.
    pub next: Next,
    /// While a person has to be asked before it begins.
    pub request_id: Option<RequestId>,
    /// Where it runs, on a terminal; everything it writes is `stdout` then.
    pub terminal_id: Option<TerminalId>,
    pub end: ProgressEnd,
}

impl Progress {
    /// stdout for people: what is no UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.end {
            ProgressEnd::Done(outcome) => Some(outcome),
            ProgressEnd::NotYet { .. } => None,
        }
    }

    /// This after `earlier`, which was told before.
    pub(crate) fn after(mut self, mut earlier: Self) -> Self {
        earlier.stdout.append(&mut self.stdout);
        earlier.stderr.append(&mut self.stderr);
        Self { stdout: earlier.stdout, stderr: earlier.stderr, gap: earlier.gap.or(self.gap), ..self }
    }
}

impl TryFrom<start::Progress> for Progress {
    type Error = ClientError;

    fn try_from(told: start::Progress) -> Result<Self, ClientError> {
        Ok(Self {
            status: told.status,
            stdout: bytes("exec.start", told.stdout, told.stdout_encoding)?,
            stderr: bytes("exec.start", told.stderr, told.stderr_encoding)?,
            gap: told.gap,
            next: told.next,
            request_id: told.request_id,
            terminal_id: told.terminal_id,
            end: told.end,
        })
    }
}

/// Why a wait ended, and how far the process had come by then.
#[derive(Debug, Clone)]
pub struct Waited {
    pub reason: Reason,
    /// Where the output matched.
    pub matched: Option<Matched>,
    pub progress: Progress,
}

impl TryFrom<start::Waited> for Waited {
    type Error = ClientError;

    fn try_from(told: start::Waited) -> Result<Self, ClientError> {
        Ok(Self { reason: told.reason, matched: told.matched, progress: told.progress.try_into()? })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finished(exit_code: i32, timed_out: bool) -> Finished {
        let result: RunResult = serde_json::from_value(json!({
            "stdout": "AP8=", "stdout_encoding": "base64", "stderr": "oops\nno such file\n", "stderr_encoding": "utf-8",
            "execution_id": "e-a", "exit_code": exit_code, "duration_ms": 1, "waited_ms": 0, "timed_out": timed_out,
            "cancelled": false, "stdout_bytes": 2, "stderr_bytes": 18, "shell_state": "kept", "working_dir": "/",
        }))
        .unwrap();
        result.try_into().unwrap()
    }

    #[test]
    fn a_result_has_its_bytes_and_becomes_an_error_if_asked_to() {
        let done = finished(0, false);
        assert_eq!((&done.stdout[..], done.error_text().as_ref()), (&[0, 0xff][..], "oops\nno such file\n"));
        assert_eq!(done.clone().check().unwrap(), done);
        let error = finished(7, false).check().unwrap_err();
        assert_eq!(error.to_string(), "the command ended with 7: no such file");
        assert!(finished(0, true).check().unwrap_err().to_string().starts_with("the command timed out"));
    }

    #[test]
    fn bytes_that_are_none_are_a_reply_that_is_not_understood() {
        let pushed: OutputPushed = serde_json::from_value(json!({
            "stream_id": "st-a", "execution_id": "e-a", "stream": "stdout", "offset": 0, "data": "?", "encoding": "base64",
        }))
        .unwrap();
        assert!(matches!(Chunk::try_from(pushed), Err(ClientError::BadReply { .. })));
    }
}
