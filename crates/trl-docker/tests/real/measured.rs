//! How long a byte takes there and back, and what passes per second, beside Docker's own client. Not a check:
//! `cargo test -p trl-docker --release --test real -- --ignored --nocapture`.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use trl_docker::{Attached, Docker, Exec};
use trl_testkit::Scratch;

use crate::{World, argv, idler};

const ROUNDS: usize = 5000;
const BYTES: usize = 512 << 20;
/// As many bytes as that.
const FLOOD: [&str; 5] = ["dd", "if=/dev/zero", "bs=1M", "count=512", "status=none"];

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    eprintln!("{what}: p50 {:.0} µs, p90 {:.0} µs, p99 {:.0} µs", at(50), at(90), at(99));
}

async fn echoes(mut cat: Attached) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        cat.write_all(b"x").await.unwrap();
        cat.read_u8().await.unwrap();
        times.push(start.elapsed());
    }
    times
}

fn echoes_of_the_client(world: &World, container: &str) -> Option<Vec<Duration>> {
    let mut client = world.dockerd.client()?;
    client.args(["exec", "-i", container, "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = client.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        input.write_all(b"x").unwrap();
        output.read_exact(&mut [0; 1]).unwrap();
        times.push(start.elapsed());
    }
    drop(input);
    child.wait().unwrap();
    Some(times)
}

async fn flood(mut attached: Attached) -> f64 {
    let (mut seen, mut buf, start) = (0, vec![0; 128 << 10], Instant::now());
    loop {
        match attached.read(&mut buf).await.unwrap() {
            0 => break,
            got => seen += got,
        }
    }
    assert_eq!(seen, BYTES);
    seen as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// A thread that takes the part of a daemon which is as fast as can be: frames as Docker cuts them, of `BYTES` in all.
fn fastest_daemon(dir: &Scratch) -> Docker {
    let socket = dir.join("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let heads = [
            "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK",
            "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{\"Id\":\"x\"}",
            "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
        ];
        for head in heads {
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(head.as_bytes()).unwrap();
        }
        let payload = 32 << 10;
        let mut frame = vec![0; 8 + payload];
        frame[0] = 1;
        frame[4..8].copy_from_slice(&(payload as u32).to_be_bytes());
        (0..BYTES / payload).for_each(|_| stream.write_all(&frame).unwrap());
    });
    Docker::at(socket)
}

#[tokio::test]
#[ignore = "a measurement"]
async fn measured_without_docker() {
    let dir = Scratch::new();
    let attached = fastest_daemon(&dir).exec("any", &Exec::default()).await.unwrap();
    eprintln!("flood of a thread: {:.0} MB/s", flood(attached).await);
}

#[tokio::test]
#[ignore = "a measurement"]
async fn measured() {
    let Some(world) = World::start() else { return };
    let id = world.idle(idler()).await;
    let start = |words: &[&str]| Exec { argv: argv(words), ..Exec::default() };
    for _ in 0..2 {
        let cat = world.docker.exec(&id, &start(&["cat"])).await.unwrap();
        told("echo by this client", echoes(cat).await);
        if let Some(times) = echoes_of_the_client(&world, &id) {
            told("echo by `docker exec -i`", times);
        }
    }
    let mut times = Vec::new();
    for _ in 0..10 {
        let before = Instant::now();
        world.docker.exec(&id, &start(&["cat"])).await.unwrap();
        times.push(before.elapsed());
    }
    told("until an exec is there", times);
    let zeros = world.docker.exec(&id, &start(&FLOOD)).await.unwrap();
    eprintln!("flood by this client: {:.0} MB/s", flood(zeros).await);
    if let Some(mut client) = world.dockerd.client() {
        let before = Instant::now();
        let script = client.args(["exec", &id]).args(FLOOD).stdout(Stdio::piped());
        let mut child = script.spawn().unwrap();
        let seen = std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        child.wait().unwrap();
        eprintln!("flood by `docker exec`: {:.0} MB/s", seen as f64 / before.elapsed().as_secs_f64() / 1e6);
    }
}
