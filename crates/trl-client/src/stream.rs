//! The output of one command as it comes.

use trl_proto::exec::{ExitPush, Outcome, OutputPushed, RefusedPush, StreamStarted};
use trl_proto::{ExecutionId, RequestId};

use crate::connection::{Connection, Push, Pushes};
use crate::error::ClientError;
use crate::process::Process;
use crate::values::Chunk;

/// What a command writes, chunk by chunk, and then how it ended.
///
/// One that [`Client::stream`](crate::Client::stream) began has a connection of its own: whoever reads slowly slows the command
/// down and nobody else, and dropping it ends the command, unless that is [`detached`](crate::Command::detached).
#[derive(Debug)]
pub struct OutputStream {
    pushes: Pushes,
    started: StreamStarted,
    process: Process,
    outcome: Option<Outcome>,
}

impl OutputStream {
    /// Reads what `pushes` has of a stream that was begun; what is asked about its command goes over `connection`.
    ///
    /// That may be the connection of the pushes only if they are read all the time: pushes that wait hold replies up.
    pub fn new(pushes: Pushes, started: StreamStarted, connection: Connection) -> Self {
        let process = Process::new(connection, started.execution_id.clone());
        Self { pushes, started, process, outcome: None }
    }

    pub fn execution_id(&self) -> &ExecutionId {
        &self.started.execution_id
    }

    /// When a person is asked before it begins.
    pub fn request_id(&self) -> Option<&RequestId> {
        self.started.request_id.as_ref()
    }

    /// The command, to write to, signal or cancel.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The next chunk; None after the last.
    pub async fn next(&mut self) -> Result<Option<Chunk>, ClientError> {
        while self.outcome.is_none() {
            let push = self.pushes.next().await.ok_or(ClientError::Lost)?;
            if let Some(chunk) = self.take(&push)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    fn take(&mut self, push: &Push) -> Result<Option<Chunk>, ClientError> {
        let mine = &self.started.stream_id;
        match push.method.as_str() {
            "exec.output" => {
                let output: OutputPushed = push.parse()?;
                return (output.stream_id == *mine).then(|| output.try_into()).transpose();
            }
            "exec.exit" => {
                let exit: ExitPush = push.parse()?;
                if exit.stream_id == *mine {
                    self.outcome = Some(exit.outcome);
                }
            }
            "exec.refused" => {
                let refused: RefusedPush = push.parse()?;
                if refused.stream_id.as_ref() == Some(mine) {
                    return Err(ClientError::Refused(refused.error.into()));
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// How it ended, after the last chunk.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Reads on to the end, and says how it ended.
    pub async fn wait(mut self) -> Result<Outcome, ClientError> {
        while self.next().await?.is_some() {}
        self.outcome.ok_or(ClientError::Lost)
    }
}
