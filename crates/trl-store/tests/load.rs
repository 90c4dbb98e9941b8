//! Much of everything: a long history, a full queue, the time things take.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use support::*;
use trl_proto::id::SessionId;
use trl_store::request::Mode;
use trl_store::search::HistoryQuery;
use trl_store::{Durability, Options, Store};
use trl_testkit::Rounds;

/// Commands of the history in the short tier.
const ROWS: usize = 10_000;

/// A queue that is full makes callers wait, and holds no more than it may.
#[test]
fn a_full_queue_makes_callers_wait() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        // Nothing is committed before the queue is full: the batch is far off.
        let options =
            Options { queue_bytes: 64 << 10, batch: Duration::from_secs(3600), ..Options::default() };
        let store = Store::open(dir.path(), options).unwrap();
        store.ready().await.unwrap();
        let id = SessionId::random();
        let text = "x ".repeat(5000);
        let mut tickets = Vec::new();
        for _ in 0..20 {
            tickets.push(store.begin_execution(clean(execution(&id, &text)), Durability::Soon));
        }
        let waiting = tickets.iter().filter(|ticket| ticket.is_waiting()).count();
        let (queued, most) = store.queued();
        assert!(queued <= most && most == 64 << 10);
        assert_eq!(waiting, 14, "six of ten kilobytes fit");
        // Dropped while it waits: its write goes with it.
        drop(tickets.pop());
        // One that is too large for the whole queue gets through as well, alone.
        let huge = "y ".repeat(60 << 10);
        tickets.push(store.begin_execution(clean(execution(&id, &huge)), Durability::Durable));
        let flush = store.flush();
        assert!(flush.is_waiting() || queued < most);
        let all = tickets.into_iter().map(|ticket| async { ticket.await.unwrap() });
        let done = async {
            for one in all {
                one.await;
            }
        };
        // Whoever waits for room only gets it when somebody flushes: nothing here is urgent but the last.
        tokio::select! {
            () = done => {}
            () = flush_forever(&store) => {}
        }
        let query = HistoryQuery { limit: Some(100), ..HistoryQuery::default() };
        assert_eq!(store.history(query).await.unwrap().len(), 20);
        store.close().await;
    });
}

async fn flush_forever(store: &Store) {
    loop {
        store.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
}

mod soak {
    use super::*;

    /// `TRL_TEST_SECONDS=60 cargo test --release -p trl-store --test load soak -- --nocapture` prints the figures of a
    /// longer one.
    #[test]
    fn long_history_is_searched() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let store = open(dir.path());
            let sessions: Vec<SessionId> = (0..50).map(|_| SessionId::random()).collect();
            let begun = Instant::now();
            let mut rows = 0;
            for n in Rounds::new(ROWS) {
                rows = n + 1;
                let session = &sessions[n % sessions.len()];
                let command = format!(
                    "cargo test --package crate{} -- name{n} && git push origin branch{}",
                    n % 97,
                    n % 13
                );
                let new = execution(session, &command);
                let output = format!(
                    "running {} tests\nfile src/part{}.rs compiled in {n} ms\nok value{}\n",
                    n % 50,
                    n % 31,
                    n / 7
                );
                let end = ended(&new.id, &output.repeat(4));
                let begin = store.begin_execution(clean(new), Durability::Soon);
                let finish = store.finish_execution(clean(end), Durability::Soon);
                // Nobody waits for either unless the queue is full.
                if begin.is_waiting() || finish.is_waiting() {
                    // One after the other: tickets that wait are queued in the order they are polled.
                    begin.await.unwrap();
                    assert!(finish.await.unwrap(), "the end came before the beginning");
                }
            }
            store.flush().await.unwrap();
            println!("{rows} rows written in {:?}", begun.elapsed());
            let text = |text: &str| Some(text.to_string());
            let timed = async |name: &str, query: HistoryQuery| {
                let begun = Instant::now();
                let found = store.history(query).await.unwrap().len();
                println!("{name}: {found} in {:?}", begun.elapsed());
                found
            };
            let all = HistoryQuery::default();
            let of_one = HistoryQuery { session_id: Some(sessions[3].clone()), ..HistoryQuery::default() };
            assert_eq!(timed("first read", all.clone()).await, 50);
            assert_eq!(timed("newest page", all.clone()).await, 50);
            assert_eq!(timed("newest page of a session", of_one.clone()).await, 50);
            assert_eq!(timed("a word in all", HistoryQuery { text: text("cargo"), ..all.clone() }).await, 50);
            assert_eq!(
                timed(
                    "a rare word",
                    HistoryQuery { text: text(&format!("name{}", rows / 2)), ..all.clone() }
                )
                .await,
                1
            );
            assert_eq!(timed("a short prefix", HistoryQuery { text: text("na"), ..all.clone() }).await, 50);
            assert_eq!(
                timed("three words", HistoryQuery { text: text("push branch5 part3"), ..all.clone() }).await,
                50
            );
            assert_eq!(
                timed("a word in a session", HistoryQuery { text: text("cargo"), ..of_one.clone() }).await,
                50
            );
            assert_eq!(timed("no match", HistoryQuery { text: text("zebra"), ..all }).await, 0);
            let begun = Instant::now();
            let id = SessionId::random();
            let mut slowest = Duration::ZERO;
            for _ in 0..200 {
                let begun = Instant::now();
                store.put_request(clean(request(&id, Mode::Return))).await.unwrap();
                slowest = slowest.max(begun.elapsed());
            }
            println!("a durable request: {:?} each, {slowest:?} at most", begun.elapsed() / 200);
            println!("history_bytes {}", store.history_bytes().await.unwrap());
            store.close().await;
            println!("file {} bytes", std::fs::metadata(store.path()).unwrap().len());
            let begun = Instant::now();
            let store = open(dir.path());
            let opened = begun.elapsed();
            store.ready().await.unwrap();
            println!("opened in {opened:?}, ready after {:?}", begun.elapsed());
            store.close().await;
            let conn = rusqlite::Connection::open(store.path()).unwrap();
            conn.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", []).unwrap();
            drop(conn);
            let begun = Instant::now();
            let store = open(dir.path());
            let opened = begun.elapsed();
            assert_eq!(store.history(HistoryQuery::default()).await.unwrap().len(), 50);
            let read = begun.elapsed();
            store.ready().await.unwrap();
            println!(
                "after a crash: opened in {opened:?}, first page after {read:?}, checked after {:?}",
                begun.elapsed()
            );
            store.close().await;
        });
    }
}
