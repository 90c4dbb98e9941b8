//! A gigabyte of a workspace in and out over HTTP, beside a raw `sendfile` between two sockets.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use rustix::fs::{fsync, sendfile};

use crate::Plan;
use crate::daemon::{Daemon, TOKEN};
use crate::procfs::peak_growth;
use crate::race::Race;
use crate::report::{Bar, Report};

const BUFFER: usize = 256 << 10;

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let bytes = plan.pick(1 << 30, 64 << 20) as u64;
    // In memory: the disk would be measured otherwise, and its noise.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let dir = tempfile::Builder::new().prefix("trl-bench-").tempdir_in(place)?;
    let source = dir.path().join("source");
    fill(&source, bytes)?;
    let daemon = Daemon::start(&plan.trl)?;
    make_workspace(&daemon, dir.path())?;
    let (mut down, mut up) = (0, 0);
    let mut race = Race::default();
    race.add("raw down", || timed(|| raw(&source, bytes, None)));
    race.add("down", || {
        let (seconds, grown) = peak_growth(daemon.pid(), || timed(|| download(daemon.http, bytes)))?;
        down = down.max(grown);
        Ok(seconds)
    });
    race.add("raw up", || timed(|| raw(&source, bytes, Some(&dir.path().join("copy")))));
    race.add("up", || {
        let (seconds, grown) = peak_growth(daemon.pid(), || timed(|| upload(daemon.http, &source, bytes)))?;
        up = up.max(grown);
        Ok(seconds)
    });
    let results = race.run(plan.pick(5, 2))?;
    let rate = |name: &str| results.p50(name).map(|seconds| bytes as f64 / 1e6 / seconds);
    for (way, about) in [("down", "read and dropped"), ("up", "read, written to a file and synced")] {
        let (ours, raw) = (rate(way)?, rate(&format!("raw {way}"))?);
        report.value(
            format!("{} MB {way} over HTTP / raw sendfile, {about}", bytes >> 20),
            format!("{ours:.0} MB/s, raw {raw:.0}"),
            (100.0 * ours / raw, " %"),
            Bar::AtLeast(50.0),
        );
    }
    for (way, grown) in [("down", down), ("up", up)] {
        report.value(
            format!("{} MB {way}: growth of the daemon", bytes >> 20),
            "worst round".into(),
            (grown as f64 / 1024.0, " MiB"),
            Bar::AtMost(8.0),
        );
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Vec<f64>> {
    let start = Instant::now();
    work()?;
    Ok(vec![start.elapsed().as_secs_f64()])
}

fn fill(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create(path)?;
    let piece: Vec<u8> = (0..BUFFER).map(|n| (n * 31 % 251) as u8).collect();
    for _ in 0..bytes / BUFFER as u64 {
        file.write_all(&piece)?;
    }
    Ok(())
}

/// From a file to a socket by the kernel; at the other end read, and kept where somebody says so.
fn raw(source: &Path, bytes: u64, keep: Option<&Path>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || send(source, listener.accept()?.0, bytes));
        let mut stream = TcpStream::connect(address)?;
        let mut file = keep.map(File::create).transpose()?;
        ensure!(drain(&mut stream, file.as_mut())? == bytes, "another number of bytes came");
        if let Some(file) = file {
            fsync(file)?;
        }
        sending.join().map_err(|_| anyhow::anyhow!("the sender died"))?
    })
}

fn send(source: &Path, stream: TcpStream, bytes: u64) -> Result<()> {
    let file = File::open(source)?;
    let mut offset = 0;
    while offset < bytes {
        let left = usize::try_from(bytes - offset)?;
        ensure!(sendfile(&stream, &file, Some(&mut offset), left)? > 0, "the file is too short");
    }
    Ok(())
}

fn drain(from: &mut impl Read, mut to: Option<&mut File>) -> Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut total = 0;
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(total);
        }
        if let Some(to) = &mut to {
            to.write_all(&buffer[..n])?;
        }
        total += n as u64;
    }
}

fn head(verb: &str, path: &str, more: &str) -> String {
    format!(
        "{verb} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n{more}\r\n"
    )
}

fn make_workspace(daemon: &Daemon, dir: &Path) -> Result<()> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"workspace.create","params":{{"workspace_id":"w","dir":"{}"}}}}"#,
        dir.display()
    );
    let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    let mut stream = TcpStream::connect(daemon.http)?;
    stream.write_all((head("POST", "/rpc", &more) + &body).as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    ensure!(reply.contains("\"result\""), "no workspace: {reply}");
    Ok(())
}

fn download(address: SocketAddr, bytes: u64) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(head("GET", "/api/workspaces/w/files/source", "").as_bytes())?;
    let mut first = vec![0; 4096];
    let mut read = 0;
    let body = loop {
        let n = stream.read(&mut first[read..])?;
        ensure!(n > 0, "no answer");
        read += n;
        if let Some(end) = first[..read].windows(4).position(|four| four == b"\r\n\r\n") {
            break read - end - 4;
        }
    };
    ensure!(first.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first[..read]));
    ensure!(drain(&mut stream, None)? + body as u64 == bytes, "another number of bytes came");
    Ok(())
}

fn upload(address: SocketAddr, source: &Path, bytes: u64) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    let more = format!("Content-Length: {bytes}\r\n");
    stream.write_all(head("PUT", "/api/workspaces/w/files/sent", &more).as_bytes())?;
    send(source, stream.try_clone()?, bytes)?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    ensure!(reply.starts_with("HTTP/1.1 20"), "{reply}");
    let kept = fs::metadata(source.with_file_name("sent")).context("what was sent")?;
    ensure!(kept.len() == bytes, "{} bytes were kept", kept.len());
    Ok(())
}
