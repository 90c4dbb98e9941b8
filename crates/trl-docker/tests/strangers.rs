//! What listens on the socket is not Docker, or not as it should be: what callers are told. No Docker is needed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use trl_docker::{Docker, Error, Exec};
use trl_testkit::{PATIENCE, Scratch};

const PONG: &str = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK";

/// Listens in a directory of its own, and gives one answer per request, then closes.
struct Stranger {
    dir: Scratch,
}

impl Stranger {
    fn answering(answers: &[&'static str]) -> Self {
        let answers = answers.to_vec();
        let dir = Scratch::new();
        let listener = UnixListener::bind(dir.join("sock")).unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                for answer in &answers {
                    heard(&mut stream);
                    let _ = stream.write_all(answer.as_bytes());
                }
                if answers.is_empty() {
                    heard(&mut stream);
                    std::thread::sleep(PATIENCE);
                }
            }
        });
        Self { dir }
    }

    fn docker(&self) -> Docker {
        Docker::at(self.dir.join("sock"))
    }
}

/// One request with all of its body.
fn heard(stream: &mut UnixStream) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
        request.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&request).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let _ = stream.read_exact(&mut vec![0; length.unwrap_or(0)]);
}

#[tokio::test]
async fn nobody_is_there() {
    let dir = Scratch::new();
    let nowhere = Docker::at(dir.join("none")).ping().await;
    assert!(matches!(&nowhere, Err(Error::Absent { socket }) if *socket == dir.join("none")), "{nowhere:?}");
    drop(UnixListener::bind(dir.join("left")).unwrap());
    let left = Docker::at(dir.join("left")).ping().await;
    assert!(matches!(left, Err(Error::Deserted { .. })), "{left:?}");
    let file = Docker::at(dir.file("file", "")).ping().await;
    assert!(matches!(file, Err(Error::Deserted { .. })), "{file:?}");
}

#[tokio::test]
async fn one_who_may_not_is_told_so() {
    let stranger = Stranger::answering(&[PONG]);
    let nobody = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(stranger.dir.join("sock"), nobody).unwrap();
    match stranger.docker().ping().await {
        Err(Error::Forbidden { .. }) => {}
        // Nothing is forbidden to root.
        Ok(()) if std::fs::File::open("/etc/shadow").is_ok() => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn strangers_are_not_taken_for_docker() {
    let answers: [&[&'static str]; 4] = [
        &["SSH-2.0-OpenSSH_9.2\r\n"],
        &["HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found"],
        &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"],
        &["HTTP/1.1 200 OK\r\nApi-Version: new\r\nContent-Length: 2\r\n\r\nOK"],
    ];
    for answer in answers {
        let told = Stranger::answering(answer).docker().version().await;
        assert!(matches!(told, Err(Error::NotDocker { .. })), "{answer:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_docker_that_cannot_is_not_a_stranger() {
    let old = ["HTTP/1.1 200 OK\r\nApi-Version: 1.24\r\nContent-Length: 2\r\n\r\nOK"];
    let told = Stranger::answering(&old).docker().ping().await;
    assert!(matches!(&told, Err(Error::TooOld { theirs, .. }) if theirs == "1.24"), "{told:?}");
    let ending = ["HTTP/1.1 503 No\r\nContent-Length: 23\r\n\r\n{\"message\":\"I am going\"}"];
    let told = Stranger::answering(&ending).docker().ping().await;
    assert!(
        matches!(&told, Err(Error::Api { status: 503, message }) if message.contains("going")),
        "{told:?}"
    );
    let told = Stranger::answering(&[""]).docker().ping().await;
    assert!(matches!(told, Err(Error::Lost { .. })), "{told:?}");
}

#[tokio::test]
async fn silence_has_an_end() {
    let patience = Duration::from_millis(50);
    let told = Stranger::answering(&[]).docker().within(patience).ping().await;
    assert!(matches!(told, Err(Error::TimedOut { after, .. }) if after == patience), "{told:?}");
    // Also in the middle of a pull.
    let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"status\":\"go\"}\n\r\n";
    let answers = [PONG, begun, "never asked for"];
    let mut seen = Vec::new();
    let stranger = Stranger::answering(&answers);
    let told = stranger.docker().within(patience).pull("x", |progress| seen.push(progress.status)).await;
    assert!(matches!(told, Err(Error::TimedOut { .. })), "{told:?}");
    assert_eq!(seen, ["go"]);
}

#[tokio::test]
async fn a_pull_that_is_cut_is_not_done() {
    let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"status\":\"go\"}\n\r\n";
    let told = Stranger::answering(&[PONG, begun]).docker().pull("x", drop).await;
    assert!(matches!(told, Err(Error::Lost { .. })), "{told:?}");
    let failed = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                  22\r\n{\"errorDetail\":{\"message\":\"gone\"}}\r\n0\r\n\r\n";
    let told = Stranger::answering(&[PONG, failed]).docker().pull("x", drop).await;
    assert!(matches!(&told, Err(Error::Pull { message, .. }) if message == "gone"), "{told:?}");
}

#[tokio::test]
async fn a_connection_that_is_not_handed_over_is_no_stream() {
    let described = "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{\"Id\":\"x\"}";
    let kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    let told = Stranger::answering(&[PONG, described, kept]).docker().exec("c", &Exec::default()).await;
    assert!(matches!(told, Err(Error::Unexpected { .. })), "{told:?}");
}
