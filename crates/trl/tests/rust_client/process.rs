//! Processes that outlive the call which started them.

use std::time::Duration;

use trl_client::Program;
use trl_client::proto::exec::Stream;
use trl_client::proto::start::{Reason, Until};

use super::{PATIENCE, connect, daemon};

const SOON: Duration = Duration::from_millis(250);

#[tokio::test]
async fn one_that_ends_soon_has_ended_when_start_comes_back() {
    let daemon = daemon();
    let process = connect(&daemon).await.start("echo hi; exit 5").await.unwrap();
    let started = process.started().unwrap();
    assert_eq!((started.text().as_ref(), started.outcome().unwrap().exit_code), ("hi\n", 5));
    assert_eq!(process.outcome().await.unwrap().exit_code, 5);
    let output = process.output(Stream::Stdout, 1).await.unwrap();
    assert_eq!((&output.data[..], output.next, output.done), (&b"i\n"[..], 3, true));
}

#[tokio::test]
async fn it_is_waited_for_written_to_and_found_again_by_its_id() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let process = trl.start(Program::new(["cat"]).yield_after(SOON)).await.unwrap();
    assert!(process.started().unwrap().outcome().is_none());
    process.write("one\n").await.unwrap();
    let waited = process.wait_for("one", PATIENCE).await.unwrap();
    assert_eq!((waited.reason, waited.progress.text().as_ref()), (Reason::Pattern, "one\n"));

    let again = connect(&daemon).await.process(process.id().clone());
    let idle = Until { idle_ms: Some(1), ..Until::default() };
    assert_eq!(again.wait(idle, PATIENCE).await.unwrap().reason, Reason::Idle);
    let timeout = again.wait(Until::default(), Duration::from_millis(1)).await.unwrap();
    assert_eq!(timeout.reason, Reason::Timeout);
    again.close_stdin().await.unwrap();
    assert_eq!(process.outcome().await.unwrap().exit_code, 0);
    assert!(!process.cancel().await.unwrap());
}

#[tokio::test]
async fn it_is_signalled_and_ended() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let trap = Program::shell("trap 'echo caught; exit 6' USR1; echo ready; while :; do sleep 0.01; done");
    let process = trl.start(trap.yield_after(SOON)).await.unwrap();
    process.wait_for("ready", PATIENCE).await.unwrap();
    assert!(process.signal("USR1").await.unwrap() >= 1);
    assert_eq!(process.outcome().await.unwrap().exit_code, 6);

    let process = trl.start(Program::shell("sleep 60").yield_after(SOON)).await.unwrap();
    assert!(process.cancel_with("KILL").await.unwrap());
    assert!(process.outcome().await.unwrap().cancelled);
}
