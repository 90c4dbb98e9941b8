//! Finding the daemon, saying who asks, and losing it.

use trl_client::proto::system::NoParams;
use trl_client::proto::{ErrorCode, Method};
use trl_client::{Client, ClientError};

use super::{agent, connect, daemon, operator};

#[tokio::test]
async fn without_a_daemon_that_is_said_with_a_hint() {
    let dir = trl_testkit::Scratch::in_memory();
    let error = Client::builder().socket(dir.join("trl.sock")).connect().await.unwrap_err();
    assert!(matches!(error, ClientError::NotRunning { .. }), "{error}");
    assert_eq!(error.hint().as_deref(), Some("start one with `trl serve`"));
}

#[tokio::test]
async fn a_token_says_who_asks() {
    let daemon = daemon();
    let log = |client: Client| async move {
        client.call::<serde_json::Value>(Method::SystemLog, &NoParams {}).await
    };
    assert!(log(operator(&daemon).await).await.is_ok());
    let Err(ClientError::Refused(error)) = log(connect(&daemon).await).await else { panic!("not refused") };
    assert_eq!(error.code, ErrorCode::Forbidden);
    let wrong = agent(&daemon).token("wrong").connect().await;
    assert!(
        matches!(&wrong, Err(ClientError::Refused(error)) if error.code == ErrorCode::AuthFailed),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn any_method_can_be_called_with_json_as_it_is() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let reply = trl.connection().call_raw("exec.run", "{\n\"command\": \"echo hi\"\n}").await.unwrap();
    assert!(reply.contains(r#""stdout":"hi\n""#), "{reply}");
    let bad = trl.connection().call_raw("exec.run", "{").await;
    assert!(matches!(bad, Err(ClientError::BadParams { .. })), "{bad:?}");
}

#[tokio::test]
async fn a_daemon_that_ends_is_lost_and_the_next_one_is_found() {
    let mut daemon = daemon();
    let trl = connect(&daemon).await;
    let session = trl.session(trl_client::NewSession::default()).await.unwrap();
    session.run("true").await.unwrap();
    let mut events = trl.events(Default::default()).await.unwrap();
    daemon.stop();
    let over = loop {
        match events.next().await {
            Ok(_last_words) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(over, ClientError::Lost), "{over}");
    let asked = session.info().await;
    assert!(matches!(asked, Err(ClientError::Lost)), "{asked:?}");
    assert!(!trl.connection().is_open());
    assert!(matches!(trl.run("true").await, Err(ClientError::NotRunning { .. })));
    daemon.relaunch();
    let trl = connect(&daemon).await;
    let session = trl.session_by_id(session.id().clone());
    session.open().await.unwrap();
    assert!(session.run("true").await.unwrap().is_ok());
}
