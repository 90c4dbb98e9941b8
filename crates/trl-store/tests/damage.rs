//! Files that are damaged, and disks that are full.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::process::Command;

use support::*;
use trl_proto::id::SessionId;
use trl_store::audit::AuditQuery;
use trl_store::request::Mode;
use trl_store::search::HistoryQuery;
use trl_store::session::SessionQuery;
use trl_store::{Durability, Options, Store, StoreError};

/// A store with some sessions and one pending request, not closed in order.
fn used(dir: &Path, sessions: usize) -> trl_store::request::NewRequest {
    run(async {
        let store = open(dir);
        let new = request(&SessionId::random(), Mode::Return);
        store.put_request(clean(new.clone())).await.unwrap();
        for _ in 0..sessions {
            store.put_session(clean(session(&SessionId::random()))).await.unwrap();
        }
        store.close().await;
        let conn = rusqlite::Connection::open(store.path()).unwrap();
        conn.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", []).unwrap();
        new
    })
}

fn files(dir: &Path, like: &str) -> Vec<String> {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(like)).collect()
}

#[test]
fn a_file_that_is_no_database_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    used(dir.path(), 1);
    std::fs::write(dir.path().join("store.db"), vec![7; 40_000]).unwrap();
    run(async {
        let store = open(dir.path());
        let rescued = store.ready().await.unwrap().rescued.clone().unwrap();
        assert_eq!(std::fs::read(&rescued.aside).unwrap(), vec![7; 40_000]);
        store.put_session(clean(session(&SessionId::random()))).await.unwrap();
        let log = store.audit_log(AuditQuery::default()).await.unwrap();
        assert_eq!(log[0].entry.what, "store.rescued");
        store.close().await;
        let store = open(dir.path());
        assert!(!store.ready().await.unwrap().unclean);
        store.close().await;
    });
}

/// Overwrites one page after another: each is either harmless or found, and what is whole elsewhere is carried over.
#[test]
fn a_damaged_page_costs_what_was_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let new = used(dir.path(), 200);
    let file = dir.path().join("store.db");
    let whole = std::fs::read(&file).unwrap();
    let (mut found, mut kept, mut sessions) = (0_usize, 0_usize, 0);
    let pages = whole.len() / 4096;
    for page in 1..pages {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(&file, &damaged).unwrap();
        run(async {
            let store = open(dir.path());
            let opened = store.ready().await.unwrap();
            if let Some(rescued) = &opened.rescued {
                found += 1;
                sessions += rescued.sessions;
                let pending = store.pending_requests().await.unwrap();
                kept += usize::from(pending.iter().any(|r| r.request.request_id == new.request.request_id));
            }
            store.put_session(clean(session(&SessionId::random()))).await.unwrap();
            assert!(!store.sessions(SessionQuery::default()).await.unwrap().is_empty());
            store.close().await;
        });
    }
    println!(
        "{found} of {} damaged pages found, request kept {kept} times, {} sessions each",
        pages - 1,
        sessions / found as u64
    );
    assert!(found * 10 >= (pages - 1) * 5, "{found} of {pages}");
    assert!(kept * 10 >= found * 8, "{kept} of {found}");
    assert_eq!(
        files(dir.path(), ".corrupt-")
            .iter()
            .filter(|name| name.ends_with(|c: char| c.is_ascii_digit() || c == 'Z'))
            .count(),
        found
    );
}

#[test]
fn a_file_that_may_not_grow_is_full_and_still_read() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let options = Options { max_bytes: 400 << 10, ..Options::default() };
        let store = Store::open(dir.path(), options).unwrap();
        let id = SessionId::random();
        let first = execution(&id, "the first");
        store.begin_execution(clean(first), Durability::Soon).await.unwrap();
        let big = "word ".repeat(2000);
        let mut error = None;
        for _ in 0..200 {
            if let Err(full) = store.begin_execution(clean(execution(&id, &big)), Durability::Durable).await {
                error = Some(full);
                break;
            }
        }
        assert_eq!(error, Some(StoreError::Full));
        let query = HistoryQuery { text: Some("first".into()), ..HistoryQuery::default() };
        assert_eq!(store.history(query).await.unwrap().len(), 1);
        // A small one among large ones gets through, in whatever room is left.
        let large: Vec<_> =
            (0..4).map(|_| store.begin_execution(clean(execution(&id, &big)), Durability::Soon)).collect();
        let small = store.take_grant(&id, "x", NOW);
        assert_eq!(small.await, Ok(None));
        for large in large {
            assert_eq!(large.await, Err(StoreError::Full));
        }
        store.close().await;
    });
}

/// On a file system of one megabyte, in a mount namespace of its own.
#[test]
fn a_full_disk_is_said_and_got_over() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=1m none \"$TRL_STORE_SMALL\" && exec \"$0\" --exact on_a_small_disk --nocapture";
    let out = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("TRL_STORE_SMALL", dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if text.contains("not permitted") || text.contains("permission denied") {
        eprintln!("skipped: no mount namespace here");
        return;
    }
    assert!(out.status.success() && text.contains("got over it"), "{text}");
}

/// Not a test of its own.
#[test]
fn on_a_small_disk() {
    let Some(dir) = std::env::var_os("TRL_STORE_SMALL") else { return };
    let dir = Path::new(&dir);
    let filler = dir.join("filler");
    run(async {
        let store = open(&dir.join("store"));
        let kept = request(&SessionId::random(), Mode::Return);
        store.put_request(clean(kept.clone())).await.unwrap();
        // Whatever room there is.
        let mut file = std::fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 1024]).is_ok() {}
        let mut refused = 0;
        let mut accepted = vec![kept.request.request_id.clone()];
        for _ in 0..300 {
            let new = request(&SessionId::random(), Mode::Return);
            match store.put_request(clean(new.clone())).await {
                Ok(()) => accepted.push(new.request.request_id),
                Err(StoreError::Full | StoreError::Io(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            assert_eq!(store.pending_requests().await.unwrap().len(), accepted.len());
        }
        assert!(refused > 0);
        drop(file);
        std::fs::remove_file(&filler).unwrap();
        let new = request(&SessionId::random(), Mode::Return);
        store.put_request(clean(new.clone())).await.unwrap();
        accepted.push(new.request.request_id);
        store.close().await;
        let store = open(&dir.join("store"));
        let opened = store.ready().await.unwrap();
        assert!(!opened.unclean && opened.rescued.is_none());
        let there: Vec<_> = store.pending_requests().await.unwrap();
        assert_eq!(there.len(), accepted.len());
        println!("{} accepted, {refused} refused, got over it", accepted.len());
        store.close().await;

        // Opened on a full disk, it comes up when there is room.
        let mut file = std::fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 1024]).is_ok() {}
        let store = open(&dir.join("store"));
        let new = request(&SessionId::random(), Mode::Return);
        assert!(store.put_request(clean(new.clone())).await.is_err());
        drop(file);
        std::fs::remove_file(&filler).unwrap();
        store.put_request(clean(new)).await.unwrap();
        assert_eq!(store.pending_requests().await.unwrap().len(), accepted.len() + 1);
        store.close().await;
    });
}

/// A limit on the size of files, which is another error to SQLite.
#[test]
fn a_file_size_limit_is_an_error_and_not_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -S -f 300; exec \"$0\" --exact below_a_file_size_limit --nocapture";
    let out = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("TRL_STORE_LIMITED", dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.contains("got over it"), "{text}");
}

/// Not a test of its own.
#[test]
fn below_a_file_size_limit() {
    let Some(dir) = std::env::var_os("TRL_STORE_LIMITED") else { return };
    run(async {
        let store = open(Path::new(&dir));
        let id = SessionId::random();
        let big = "word ".repeat(1000);
        let mut error = None;
        for _ in 0..500 {
            if let Err(refused) =
                store.begin_execution(clean(execution(&id, &big)), Durability::Durable).await
            {
                error = Some(refused);
                break;
            }
        }
        assert!(error.as_ref().is_some_and(StoreError::is_storage), "{error:?}");
        let before = store.history(HistoryQuery::default()).await.unwrap().len();
        let no_limit = rustix::process::Rlimit { current: None, maximum: None };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, no_limit).unwrap();
        store.begin_execution(clean(execution(&id, &big)), Durability::Durable).await.unwrap();
        assert_eq!(store.history(HistoryQuery::default()).await.unwrap().len(), (before + 1).min(50));
        store.close().await;
        println!("got over it");
    });
}
