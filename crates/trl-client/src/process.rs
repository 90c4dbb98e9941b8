//! A process, or any command, by its id: asked about, written to, ended.

use std::time::Duration;

use trl_proto::exec::{
    CancelParams, Cancelled, InputParams, InputTaken, Outcome, OutputParams, OutputSlice, SignalParams,
    Signalled, Stream,
};
use trl_proto::start::{self, Reason, ResizeParams, Resized, Until, WaitParams};
use trl_proto::{ExecutionId, Method, Text};

use crate::connection::Connection;
use crate::error::ClientError;
use crate::values::{Progress, Slice, Waited};

/// The longest the daemon waits in one call.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// A process that may outlive the call that started it; any client can go on with it by its id.
#[derive(Debug, Clone)]
pub struct Process {
    connection: Connection,
    id: ExecutionId,
    started: Option<Box<Progress>>,
}

impl Process {
    /// One that was started before, by anybody.
    pub fn new(connection: Connection, id: ExecutionId) -> Self {
        Self { connection, id, started: None }
    }

    pub(crate) fn begun(connection: Connection, progress: start::Progress) -> Result<Self, ClientError> {
        let id = match &progress.end {
            start::ProgressEnd::Done(outcome) => outcome.execution_id.clone(),
            start::ProgressEnd::NotYet { execution_id, .. } => execution_id.clone(),
        };
        Ok(Self { connection, id, started: Some(Box::new(progress.try_into()?)) })
    }

    pub fn id(&self) -> &ExecutionId {
        &self.id
    }

    /// How far it had come when `start` came back, with its first output. What [`Self::wait`] tells goes on after that.
    pub fn started(&self) -> Option<&Progress> {
        self.started.as_deref()
    }

    /// Writes all of this to its stdin, which must be open, as it takes it.
    pub async fn write(&self, bytes: impl AsRef<[u8]>) -> Result<(), ClientError> {
        let mut left = bytes.as_ref();
        while !left.is_empty() {
            let text = Text::exact(left);
            let params = InputParams {
                data: Some(text.data.into_owned()),
                encoding: Some(text.encoding),
                ..InputParams::to(self.id.clone())
            };
            let taken: InputTaken = self.connection.call(Method::ExecInput, &params).await?;
            match usize::try_from(taken.written_bytes).ok().and_then(|count| left.get(count..)) {
                Some(rest) if rest.len() < left.len() => left = rest,
                // Nobody reads any more.
                _ => return Err(ClientError::Lost),
            }
        }
        Ok(())
    }

    /// Its input ends here.
    pub async fn close_stdin(&self) -> Result<(), ClientError> {
        let params = InputParams { close: Some(true), ..InputParams::to(self.id.clone()) };
        self.connection.call::<InputTaken>(Method::ExecInput, &params).await.map(drop)
    }

    /// Waits until its output matches a regular expression, from its beginning on, or until it has ended.
    pub async fn wait_for(&self, pattern: &str, within: Duration) -> Result<Waited, ClientError> {
        self.wait(Until { pattern: Some(pattern.into()), ..Until::default() }, within).await
    }

    /// Waits until one of these holds, for its end in any case, and no longer than that. Waiting ends nothing.
    pub async fn wait(&self, until: Until, within: Duration) -> Result<Waited, ClientError> {
        let mut left = within;
        let mut waited = self.wait_once(&until, left.min(LONGEST_WAIT)).await?;
        while waited.reason == Reason::Timeout && left > LONGEST_WAIT {
            left -= LONGEST_WAIT;
            let next = self.wait_once(&until, left.min(LONGEST_WAIT)).await?;
            waited = Waited { progress: next.progress.after(waited.progress), ..next };
        }
        Ok(waited)
    }

    async fn wait_once(&self, until: &Until, within: Duration) -> Result<Waited, ClientError> {
        let params = WaitParams {
            execution_id: self.id.clone(),
            until: (*until != Until::default()).then(|| until.clone()),
            timeout_s: Some(within.as_secs_f64()),
            max_output_bytes: None,
        };
        self.connection.call::<start::Waited>(Method::ExecWait, &params).await?.try_into()
    }

    /// Waits for its end, however long that takes.
    pub async fn outcome(&self) -> Result<Outcome, ClientError> {
        loop {
            let waited = self.wait_once(&Until::default(), LONGEST_WAIT).await?;
            if let Some(outcome) = waited.progress.outcome() {
                return Ok(outcome.clone());
            }
        }
    }

    /// Reads its output from this byte on, as much as comes at once, and moves nothing.
    pub async fn output(&self, stream: Stream, since: u64) -> Result<Slice, ClientError> {
        let params = OutputParams {
            execution_id: self.id.clone(),
            stream: Some(stream),
            since: Some(since),
            limit: None,
        };
        self.connection.call::<OutputSlice>(Method::ExecOutput, &params).await?.try_into()
    }

    /// To everything it started: `INT`, `SIGINT` or `2`. Says how many processes got it.
    pub async fn signal(&self, name: &str) -> Result<u64, ClientError> {
        let params = SignalParams { execution_id: self.id.clone(), signal: name.into() };
        let told: Signalled = self.connection.call(Method::ExecSignal, &params).await?;
        Ok(told.processes)
    }

    /// Gives its terminal another size.
    pub async fn resize(&self, cols: u16, rows: u16) -> Result<(), ClientError> {
        let params = ResizeParams { execution_id: self.id.clone(), cols, rows };
        self.connection.call::<Resized>(Method::ExecResize, &params).await.map(drop)
    }

    /// Ends it (TERM, a grace, KILL), and comes back once it is over. False: it had ended by itself.
    pub async fn cancel(&self) -> Result<bool, ClientError> {
        self.cancel_as(CancelParams::default()).await
    }

    /// The same, beginning with this signal.
    pub async fn cancel_with(&self, signal: &str) -> Result<bool, ClientError> {
        self.cancel_as(CancelParams { signal: Some(signal.into()), ..CancelParams::default() }).await
    }

    async fn cancel_as(&self, params: CancelParams) -> Result<bool, ClientError> {
        let params = CancelParams { execution_id: Some(self.id.clone()), ..params };
        let told: Cancelled = self.connection.call(Method::ExecCancel, &params).await?;
        Ok(told.cancelled)
    }
}
