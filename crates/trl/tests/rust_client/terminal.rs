//! Programs on terminals.

use std::time::Instant;

use trl_client::proto::ErrorCode;
use trl_client::proto::terminal::{ScreenFormat, TerminalState};
use trl_client::{ClientError, NewTerminal, Terminal};

use super::{PATIENCE, connect, daemon};

/// Its text once that has this in it.
async fn shows(terminal: &Terminal, wanted: &str) -> String {
    let begun = Instant::now();
    loop {
        let text = terminal.text().await.unwrap();
        if text.contains(wanted) {
            return text;
        }
        assert!(begun.elapsed() < PATIENCE, "{wanted:?} is never shown: {text:?}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn it_is_typed_at_looked_at_resized_and_destroyed() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let shell = NewTerminal::default().program(["sh"]).env("PS1", "> ").size(40, 5).name("t");
    let terminal = trl.terminal(shell).await.unwrap();
    shows(&terminal, ">").await;
    terminal.input("stty size").await.unwrap();
    terminal.keys(["Enter"]).await.unwrap();
    shows(&terminal, "5 40").await;
    let resized = terminal.resize(60, 7).await.unwrap();
    assert_eq!((resized.cols, resized.rows), (60, 7));
    let screen = trl.terminal_by_id(terminal.id().clone()).screen(ScreenFormat::Json).await.unwrap();
    assert_eq!((screen.cols, screen.rows, screen.lines.is_some()), (60, 7, true));
    assert_eq!(terminal.destroy().await.unwrap().state, TerminalState::Exited);
    let gone = terminal.info().await;
    assert!(
        matches!(&gone, Err(ClientError::Refused(e)) if e.code == ErrorCode::TerminalNotFound),
        "{gone:?}"
    );
}
