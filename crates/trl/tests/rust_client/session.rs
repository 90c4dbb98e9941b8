//! Sessions: one shell, whose state stays.

use std::time::Duration;

use trl_client::proto::session::{ListParams, SessionState};
use trl_client::proto::{ErrorCode, exec::ShellState};
use trl_client::{ClientError, Command, NewSession, Program};

use super::{connect, daemon};

#[tokio::test]
async fn the_state_stays_whatever_runs_in_it() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let session =
        trl.session(NewSession::default().name("work").env("A", "b").working_dir("/usr")).await.unwrap();
    assert_eq!(session.run("echo $A in $PWD").await.unwrap().text(), "b in /usr\n");
    session.run("cd /; A=c").await.unwrap().check().unwrap();
    let ended = session.run("A=d; exit 3").await.unwrap();
    assert_eq!(ended.outcome.shell_state, ShellState::RolledBack);
    let mut stream = session.stream("echo $A in $PWD").await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().text(), "c in /\n");
    stream.wait().await.unwrap();
    let process = session.start(Program::shell("echo $A")).await.unwrap();
    assert_eq!(process.started().unwrap().text(), "c\n");
    let named =
        trl.sessions(ListParams { name: Some("work".into()), ..ListParams::default() }).await.unwrap();
    assert_eq!(named.iter().map(|info| &info.session_id).collect::<Vec<_>>(), [session.id()]);
}

#[tokio::test]
async fn a_busy_one_refuses_or_queues() {
    let daemon = daemon();
    let session = connect(&daemon).await.session(NewSession::default()).await.unwrap();
    let running = session.stream(Command::new("read word; exit 0").open_stdin()).await.unwrap();
    let busy = session.run("true").await;
    assert!(
        matches!(&busy, Err(ClientError::Refused(error)) if error.code == ErrorCode::SessionBusy),
        "{busy:?}"
    );
    let queued = Command::new("echo next").queue().timeout(Duration::from_secs(30));
    let queued = tokio::spawn({
        let session = session.clone();
        async move { session.run(queued).await }
    });
    running.process().write("go\n").await.unwrap();
    running.wait().await.unwrap();
    assert_eq!(queued.await.unwrap().unwrap().text(), "next\n");
}

#[tokio::test]
async fn it_is_closed_opened_reset_and_destroyed() {
    let daemon = daemon();
    let session = connect(&daemon).await.session(NewSession::default()).await.unwrap();
    session.run("A=b").await.unwrap();
    assert_eq!(session.close().await.unwrap().state, SessionState::Closed);
    assert_eq!(session.open().await.unwrap().state, SessionState::Ready);
    session.run("A=b").await.unwrap();
    session.reset().await.unwrap();
    assert_eq!(session.run("echo [$A]").await.unwrap().text(), "[]\n");
    session.destroy().await.unwrap();
    assert_eq!(session.info().await.unwrap().state, SessionState::Terminated);
}
