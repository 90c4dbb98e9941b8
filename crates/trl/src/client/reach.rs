//! From settings to a connection that is ready for requests.

use std::io::{self, Write};

use tokio::net::UnixStream;
use trl_client::{ClientError, Connection, Pushes, Secret};

use super::error::ReachError;
use super::{autostart, inside, token};
use crate::config::Config;

/// What to do when no daemon answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Never,
    IfNeeded,
}

/// When to present the operator's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Auth {
    /// When a person is at a terminal or a token was given on purpose; going on as an agent is fine too.
    IfPerson,
    /// The request is for operators only, so a missing token is the error to report.
    Required,
}

/// Connects to the daemon of `config`, authenticated and of a matching version.
pub(crate) async fn connect(
    config: &Config,
    start: Start,
    auth: Auth,
) -> Result<(Connection, Pushes), ReachError> {
    let stream = or_start(find(config).await, config, start).await?;
    let (connection, pushes) = Connection::over(stream);
    authenticate(&connection, config, auth).await?;
    connection.check_version().await?;
    Ok((connection, pushes))
}

/// Connects as whoever a token in the environment says, an agent otherwise, and says nothing more first: what is asked next
/// shows whether both sides speak the same protocol.
pub(crate) async fn connect_at_once(
    config: &Config,
    start: Start,
) -> Result<(Connection, Pushes), ReachError> {
    let found = trl_client::open(&config.socket).await.map_err(ReachError::from);
    let (connection, pushes) = Connection::over(or_start(found, config, start).await?);
    if let Some(token) = &config.operator_token {
        connection.authenticate(token).await?;
    }
    Ok((connection, pushes))
}

/// Connects to a running daemon of any version, for requests that every version understands.
pub(crate) async fn connect_any_version(
    config: &Config,
    auth: Auth,
) -> Result<(Connection, Pushes), ReachError> {
    let (connection, pushes) = Connection::over(find(config).await?);
    authenticate(&connection, config, auth).await?;
    Ok((connection, pushes))
}

/// A connection of its own kind, and the token to present there, if somebody has one.
pub(crate) async fn stream(config: &Config) -> Result<(UnixStream, Option<Secret>), ReachError> {
    let stream = find(config).await?;
    let courtesy = config.operator_token.is_some() || token::person_present();
    // as with lines: where it is a courtesy, a token that cannot be read is no reason to fail
    let token = if courtesy { token::find(config).unwrap_or_default() } else { None };
    Ok((stream, token))
}

async fn or_start(
    found: Result<UnixStream, ReachError>,
    config: &Config,
    start: Start,
) -> Result<UnixStream, ReachError> {
    match (found, start) {
        (Err(ReachError::Client(ClientError::NotRunning { .. })), Start::IfNeeded) => {
            autostart::start(config).await
        }
        (other, _) => other,
    }
}

/// Connects to the daemon of `config`. Inside a session, whose environment is not the user's, finding none says little.
async fn find(config: &Config) -> Result<UnixStream, ReachError> {
    match trl_client::open(&config.socket).await {
        Err(ClientError::NotRunning { socket }) if inside::in_session() => {
            Err(ReachError::InsideSession { socket })
        }
        other => Ok(other?),
    }
}

/// Presents the token. Where it is a courtesy, a failure is a warning: the command may well work without.
async fn authenticate(connection: &Connection, config: &Config, auth: Auth) -> Result<(), ClientError> {
    let courtesy = config.operator_token.is_some() || token::person_present();
    match (auth, courtesy) {
        (Auth::IfPerson, false) => Ok(()),
        (Auth::IfPerson, true) => match present_token(connection, config).await {
            Ok(_) => Ok(()),
            Err(e @ (ClientError::Refused(_) | ClientError::Token(_))) => {
                let _unseen = writeln!(io::stderr(), "trl: going on without the operator token: {e}");
                Ok(())
            }
            Err(e) => Err(e),
        },
        (Auth::Required, _) => match present_token(connection, config).await? {
            Presented::Token => Ok(()),
            Presented::Nothing => {
                let file = config.operator_token_file.display();
                Err(ClientError::Token(format!("there is none in {file}")))
            }
        },
    }
}

/// What `present_token` found to present.
enum Presented {
    Token,
    Nothing,
}

async fn present_token(connection: &Connection, config: &Config) -> Result<Presented, ClientError> {
    let Some(secret) = token::find(config)? else { return Ok(Presented::Nothing) };
    connection.authenticate(&secret).await?;
    Ok(Presented::Token)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::UnixListener;
    use trl_proto::PROTOCOL;

    use super::*;

    /// Settings whose socket is in a fresh private directory.
    fn world() -> (tempfile::TempDir, Config) {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
        let mut config = Config::for_documents();
        config.socket = dir.path().join("trl.sock");
        config.operator_token_file = dir.path().join("operator.token");
        (dir, config)
    }

    /// A daemon of that protocol that knows ping, accepts the token `good`, and reports what it was asked.
    fn daemon(config: &Config, protocol: u32) -> tokio::task::JoinHandle<Vec<String>> {
        let listener = UnixListener::bind(&config.socket).unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (read, mut write) = stream.into_split();
            let mut lines = BufReader::new(read).lines();
            let mut asked = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                let request: serde_json::Value = serde_json::from_str(&line).unwrap();
                let outcome = match (request["method"].as_str().unwrap(), request["params"]["token"].as_str())
                {
                    ("system.auth", Some("good")) => serde_json::json!({"result": {"role": "operator"}}),
                    ("system.auth", _) => serde_json::json!({"error": {"code": 1, "message": "wrong token"}}),
                    _ => {
                        serde_json::json!({"result": {"uptime_s": 1, "version": "7.0", "protocol": protocol}})
                    }
                };
                asked.push(request["method"].as_str().unwrap().to_string());
                let mut reply = outcome;
                reply["id"] = request["id"].clone();
                write.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
            }
            asked
        })
    }

    #[tokio::test]
    async fn the_token_is_the_first_thing_said() {
        let (_dir, mut config) = world();
        config.operator_token = Secret::new("good".into());
        let daemon = daemon(&config, PROTOCOL);
        drop(connect(&config, Start::Never, Auth::Required).await.unwrap());
        assert_eq!(daemon.await.unwrap(), ["system.auth", "system.ping"]);
    }

    #[tokio::test]
    async fn a_refused_token_matters_only_where_one_is_needed() {
        for (auth, works) in [(Auth::IfPerson, true), (Auth::Required, false)] {
            let (_dir, mut config) = world();
            config.operator_token = Secret::new("bad".into());
            let _daemon = daemon(&config, PROTOCOL);
            assert_eq!(connect(&config, Start::Never, auth).await.is_ok(), works, "{auth:?}");
        }
    }

    #[tokio::test]
    async fn another_protocol_is_refused_but_can_still_be_stopped() {
        let (_dir, mut config) = world();
        config.operator_token = Secret::new("good".into());
        let first = daemon(&config, PROTOCOL + 1);
        let error = connect(&config, Start::Never, Auth::IfPerson).await.err().unwrap();
        assert!(
            matches!(&error, ReachError::Client(ClientError::Skew { theirs, .. }) if theirs == "7.0"),
            "{error}"
        );
        first.await.unwrap();
        fs::remove_file(&config.socket).unwrap();
        let _second = daemon(&config, PROTOCOL + 1);
        assert!(connect_any_version(&config, Auth::Required).await.is_ok());
    }
}
