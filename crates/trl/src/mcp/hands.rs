//! Who carries out what a tool asks for.

use std::path::Path;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Mutex;
use trl_proto::hitl::RespondParams;
use trl_proto::{Error, ErrorCode, Method};

use crate::client::{self, Auth, ClientError, Connection, ReachError, Start};
use crate::config::Config;

pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A way to the daemon.
pub(crate) trait Hands: Send + Sync {
    /// JSON out, JSON in.
    fn call(&self, method: Method, params: Box<RawValue>) -> Later<'_, Box<RawValue>>;

    /// Whether what a person answers at the client's side may be handed on.
    fn may_respond(&self) -> bool;

    /// Hands on what a person answered, with that person's authority.
    fn respond(&self, answer: RespondParams) -> Later<'_, ()>;

    /// Where commands run when nobody says where.
    fn working_dir(&self) -> Option<&Path>;

    /// The shell that models write for, if it is there.
    fn shell(&self) -> Option<&str>;
}

impl dyn Hands + '_ {
    pub(super) async fn ask<R: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<R, Error> {
        let params = to_raw_value(params).map_err(|e| not_understood(&e))?;
        let reply = self.call(method, params).await?;
        serde_json::from_str(reply.get()).map_err(|e| not_understood(&e))
    }
}

/// A reply of the daemon that is not what its version should say.
fn not_understood(error: &serde_json::Error) -> Error {
    Error::new(ErrorCode::InternalError, format!("the daemon's answer is not understood: {error}"))
}

/// A daemon at its socket, found or started when it is first needed, and found again when it was lost.
pub(crate) struct Socket {
    config: Config,
    agent: Mutex<Option<Connection>>,
    /// For answers of people: the operator's, whose token only the user can read.
    operator: Mutex<Option<Connection>>,
    working_dir: Option<std::path::PathBuf>,
    shell: Option<String>,
}

impl Socket {
    pub(crate) fn new(config: Config) -> Self {
        let working_dir = std::env::current_dir().ok();
        Self { config, agent: Mutex::default(), operator: Mutex::default(), working_dir, shell: find_shell() }
    }

    async fn over(&self, kept: &Mutex<Option<Connection>>, auth: Auth) -> Result<Connection, ReachError> {
        let mut kept = kept.lock().await;
        if let Some(client) = kept.as_ref().filter(|client| client.is_open()) {
            return Ok(client.clone());
        }
        let (client, _pushes) = client::connect(&self.config, Start::IfNeeded, auth).await?;
        Ok(kept.insert(client).clone())
    }
}

impl Hands for Socket {
    fn call(&self, method: Method, params: Box<RawValue>) -> Later<'_, Box<RawValue>> {
        Box::pin(async move {
            let client = self.over(&self.agent, Auth::IfPerson).await.map_err(told)?;
            client.call(method, &params).await.map_err(ReachError::from).map_err(told)
        })
    }

    /// The operator's token says so, in the end.
    fn may_respond(&self) -> bool {
        true
    }

    fn respond(&self, answer: RespondParams) -> Later<'_, ()> {
        Box::pin(async move {
            let client = self.over(&self.operator, Auth::Required).await.map_err(told)?;
            let settled = client.call::<Box<RawValue>>(Method::HitlRespond, &answer).await;
            settled.map(drop).map_err(ReachError::from).map_err(told)
        })
    }

    fn working_dir(&self) -> Option<&Path> {
        self.working_dir.as_deref()
    }

    fn shell(&self) -> Option<&str> {
        self.shell.as_deref()
    }
}

pub(crate) fn find_shell() -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|dir| dir.join("bash")).find(|file| file.is_file())?;
    found.into_os_string().into_string().ok()
}

/// The daemon's own words, or ours about why there are none.
fn told(error: ReachError) -> Error {
    let hint = match &error {
        ReachError::Client(ClientError::Lost) => {
            Some("what was asked may have been done; `list` shows what runs".into())
        }
        other => other.hint(),
    };
    match error {
        ReachError::Client(ClientError::Refused(error)) => error,
        other => {
            let mut error = Error::new(ErrorCode::InternalError, other.to_string());
            error.hint = hint;
            error
        }
    }
}
