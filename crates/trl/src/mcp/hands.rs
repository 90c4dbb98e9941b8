//! Who carries out what a tool asks for.

use std::path::Path;

use serde_json::Value;
use tokio::sync::Mutex;
use trl_proto::hitl::RespondParams;
use trl_proto::{Error, ErrorCode, Method};

use crate::client::{self, Auth, ClientError, Connection, ReachError, Start};
use crate::config::Config;

/// A way to the daemon.
pub(crate) trait Hands: Send + Sync + 'static {
    fn call(&self, method: Method, params: Value) -> impl Future<Output = Result<Value, Error>> + Send;

    /// Whether what a person answers at the client's side may be handed on.
    fn may_respond(&self) -> bool;

    /// Hands on what a person answered, with that person's authority.
    fn respond(&self, answer: RespondParams) -> impl Future<Output = Result<(), Error>> + Send;

    /// Where commands run when nobody says where.
    fn working_dir(&self) -> Option<&Path>;

    /// The shell that models write for, if it is there.
    fn shell(&self) -> Option<&str>;
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
    async fn call(&self, method: Method, params: Value) -> Result<Value, Error> {
        let client = self.over(&self.agent, Auth::IfPerson).await.map_err(told)?;
        client.call(method, &params).await.map_err(ReachError::from).map_err(told)
    }

    /// The operator's token says so, in the end.
    fn may_respond(&self) -> bool {
        true
    }

    async fn respond(&self, answer: RespondParams) -> Result<(), Error> {
        let client = self.over(&self.operator, Auth::Required).await.map_err(told)?;
        let settled = client.call::<Value>(Method::HitlRespond, &answer).await;
        settled.map(drop).map_err(ReachError::from).map_err(told)
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
