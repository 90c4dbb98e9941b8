//! One shell whose state stays from command to command.

use trl_proto::session::{DestroyParams, Destroyed, GetParams, SessionInfo, SessionParams};
use trl_proto::{Method, SessionId};

use crate::client::Client;
use crate::error::ClientError;
use crate::options::{Command, Program};
use crate::process::Process;
use crate::stream::OutputStream;
use crate::values::Finished;

/// A session by its id. Dropping this ends nothing; [`Session::destroy`] does.
#[derive(Debug, Clone)]
pub struct Session {
    client: Client,
    id: SessionId,
}

impl Session {
    pub(crate) fn new(client: Client, id: SessionId) -> Self {
        Self { client, id }
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// As [`Client::run`], in this session's shell.
    pub async fn run(&self, command: impl Into<Command>) -> Result<Finished, ClientError> {
        self.client.run_as(command.into().into_params(Some(&self.id))).await
    }

    /// As [`Client::stream`], in this session's shell.
    pub async fn stream(&self, command: impl Into<Command>) -> Result<OutputStream, ClientError> {
        self.client.stream_as(command.into().into_params(Some(&self.id))).await
    }

    /// As [`Client::start`], in this session's shell.
    pub async fn start(&self, program: impl Into<Program>) -> Result<Process, ClientError> {
        self.client.start_as(program.into().into_params(Some(&self.id))).await
    }

    pub async fn info(&self) -> Result<SessionInfo, ClientError> {
        self.about(Method::SessionInfo).await
    }

    /// Ends its processes and keeps its record, so that it can be opened again.
    pub async fn close(&self) -> Result<SessionInfo, ClientError> {
        self.about(Method::SessionClose).await
    }

    /// Opens it again, with a fresh shell where the last one was.
    pub async fn open(&self) -> Result<SessionInfo, ClientError> {
        let params = GetParams { session_id: self.id.clone(), secret_env: None };
        self.client.call(Method::SessionGet, &params).await
    }

    /// Gives it a fresh shell.
    pub async fn reset(&self) -> Result<SessionInfo, ClientError> {
        self.about(Method::SessionReset).await
    }

    /// Ends it for good; its history is kept.
    pub async fn destroy(&self) -> Result<(), ClientError> {
        let params = DestroyParams { session_id: self.id.clone(), force: None };
        self.client.call::<Destroyed>(Method::SessionDestroy, &params).await.map(drop)
    }

    async fn about(&self, method: Method) -> Result<SessionInfo, ClientError> {
        self.client.call(method, &SessionParams { session_id: self.id.clone() }).await
    }
}
