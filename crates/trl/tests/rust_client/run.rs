//! Commands: to their end, as a stream, and given up.

use std::time::Duration;

use trl_client::proto::event::{Happening, Kind, SubscribeParams};
use trl_client::proto::exec::Stream;
use trl_client::{Client, ClientError, Command, Events};

use super::{connect, daemon};

#[tokio::test]
async fn bytes_go_both_ways_as_they_are() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let done = trl.run(Command::new("cat; printf '\\377' >&2").stdin(&bytes)).await.unwrap();
    assert_eq!((done.stdout, done.stderr), (bytes, vec![0xff]));
}

#[tokio::test]
async fn options_reach_the_command_and_a_failure_is_a_result() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let command = Command::new("echo $A in $PWD; exit 9").env("A", "b").working_dir("/usr");
    let done = trl.run(command).await.unwrap();
    assert_eq!((done.text().as_ref(), done.exit_code(), done.is_ok()), ("b in /usr\n", 9, false));
    assert!(matches!(done.check(), Err(ClientError::Failed(_))));
    let slow = trl.run(Command::new("sleep 60").timeout(Duration::from_millis(100))).await.unwrap();
    assert!(slow.outcome.timed_out && !slow.is_ok());
}

#[tokio::test]
async fn many_run_at_once() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let runs: Vec<_> = (0..20)
        .map(|n| {
            let trl = trl.clone();
            tokio::spawn(async move { trl.run(format!("exit {n}")).await })
        })
        .collect();
    for (n, run) in (0..).zip(runs) {
        assert_eq!(run.await.unwrap().unwrap().exit_code(), n);
    }
}

#[tokio::test]
async fn a_stream_has_every_byte_in_order_and_then_the_end() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let mut stream = trl.stream("seq 20000; echo oops >&2; exit 3").await.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while let Some(chunk) = stream.next().await.unwrap() {
        let into = if chunk.stream == Stream::Stderr { &mut err } else { &mut out };
        assert_eq!((chunk.offset, chunk.gap), (into.len() as u64, None));
        into.extend(chunk.data);
    }
    let all: String = (1..=20000).map(|n| format!("{n}\n")).collect();
    assert!(out == all.as_bytes());
    assert_eq!((err, stream.outcome().unwrap().exit_code), (b"oops\n".to_vec(), 3));
    assert_eq!(stream.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_stream_can_be_written_to_and_cancelled() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let mut stream =
        trl.stream(Command::new("read word; echo got $word; sleep 60").open_stdin()).await.unwrap();
    stream.process().write("it\n").await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().text(), "got it\n");
    assert!(stream.process().cancel().await.unwrap());
    assert!(stream.wait().await.unwrap().cancelled);
}

async fn watch(trl: &Client) -> Events {
    let kinds = Some(vec![Kind::ExecStarted, Kind::ExecFinished]);
    trl.events(SubscribeParams { kinds, ..SubscribeParams::default() }).await.unwrap()
}

async fn started(events: &mut Events) {
    while !matches!(events.next().await.unwrap().what, Happening::ExecStarted { .. }) {}
}

/// Whether it was cancelled.
async fn finished(events: &mut Events) -> bool {
    loop {
        if let Happening::ExecFinished { cancelled, .. } = events.next().await.unwrap().what {
            return cancelled;
        }
    }
}

#[tokio::test]
async fn whoever_gives_up_ends_the_command() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let mut events = watch(&trl).await;
    let run = tokio::spawn({
        let trl = trl.clone();
        async move { trl.run("sleep 60").await }
    });
    started(&mut events).await;
    run.abort();
    assert!(finished(&mut events).await);

    let stream = trl.stream("sleep 60").await.unwrap();
    started(&mut events).await;
    drop(stream);
    assert!(finished(&mut events).await);
}

#[tokio::test]
async fn a_detached_command_goes_on_when_it_is_given_up() {
    let daemon = daemon();
    let trl = connect(&daemon).await;
    let gate = daemon.dir().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let mut events = watch(&trl).await;
    let stream = trl.stream(Command::new(format!("cat {}", gate.display())).detached()).await.unwrap();
    started(&mut events).await;
    drop(stream);
    // It ends by itself, once somebody opens the other end.
    tokio::task::spawn_blocking(move || std::fs::write(gate, "")).await.unwrap().unwrap();
    assert!(!finished(&mut events).await);
}
