//! One session for all commands that name it (`TRL_SH_SESSION`): found by that name, opened again, or made.

use std::fs::File;
use std::time::Duration;

use rustix::fs::FlockOperation;
use trl_proto::Method;
use trl_proto::runtime::{HOST, RuntimeWish};
use trl_proto::session::{CreateParams, GetParams, ListParams, SessionInfo, SessionList, SessionState};

use super::Caller;
use crate::client::{ClientError, Connection};
use crate::config::Config;

/// Names it.
pub(super) const VARIABLE: &str = "TRL_SH_SESSION";
/// Making a session takes milliseconds; longer than this, and somebody is asked.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// The session called `key`. Whoever makes one keeps the others waiting meanwhile, so that there is one.
pub(super) async fn find(
    client: &Connection,
    config: &Config,
    key: &str,
    caller: &Caller,
) -> Result<SessionInfo, ClientError> {
    if let Some(session) = named(client, key, caller).await? {
        return Ok(session);
    }
    let _alone = alone(config).await;
    if let Some(session) = named(client, key, caller).await? {
        return Ok(session);
    }
    match create(client, key, caller).await {
        // Somebody without the lock was faster.
        Err(ClientError::Refused(error)) if error.details.contains_key("named_session_id") => {
            named(client, key, caller).await?.ok_or(ClientError::Refused(error))
        }
        created => created,
    }
}

/// Held until it is dropped.
async fn alone(config: &Config) -> Option<File> {
    let file = File::create(config.socket.with_file_name("sh.lock")).ok()?;
    let locked = tokio::task::spawn_blocking(move || {
        rustix::fs::flock(&file, FlockOperation::LockExclusive).ok().map(|()| file)
    });
    locked.await.ok()?
}

async fn named(client: &Connection, key: &str, caller: &Caller) -> Result<Option<SessionInfo>, ClientError> {
    let params = ListParams { name: Some(key.into()), ..ListParams::default() };
    let mut list: SessionList = client.call(Method::SessionList, &params).await?;
    list.sessions.retain(|session| session.state != SessionState::Terminated);
    let is_closed = |s: &SessionInfo| matches!(s.state, SessionState::Closed | SessionState::Uninitialized);
    list.sessions.sort_by_key(|session| (is_closed(session), session.created_at.clone()));
    match list.sessions.into_iter().next() {
        Some(session) if is_closed(&session) => {
            let secret_env = Some(caller.variables.secret.clone());
            let params = GetParams { session_id: session.session_id, secret_env };
            client.call(Method::SessionGet, &params).await.map(Some)
        }
        found => Ok(found),
    }
}

async fn create(client: &Connection, key: &str, caller: &Caller) -> Result<SessionInfo, ClientError> {
    let params = CreateParams {
        name: Some(key.into()),
        shell: Some(caller.shell.path.display().to_string()),
        env: Some(caller.variables.open.clone()),
        secret_env: Some(caller.variables.secret.clone()),
        working_dir: Some(caller.working_dir.clone()),
        sandbox: caller.sandbox.clone(),
        case_id: caller.case.clone(),
        runtime: Some(RuntimeWish::Named(HOST.into())),
        ..CreateParams::default()
    };
    let creating = client.call(Method::SessionCreate, &params);
    let mut creating = std::pin::pin!(creating);
    tokio::select! {
        created = &mut creating => return created,
        () = tokio::time::sleep(SILENT_FOR) => {
            super::say(&format!("the session {key} is not there yet; it may wait for approval: trl approve"));
        }
    }
    creating.await
}
