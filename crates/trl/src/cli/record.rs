//! `trl term record`: what a terminal showed, as a file for asciinema.
//!
//! The daemon writes the recording and sends it over HTTP on its own socket. A file is there in whole or not at all,
//! unless it follows a live terminal: then it has whole lines at any time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use trl_client::Secret;
use trl_proto::{Error, ErrorCode};

use super::failure::Failure;
use super::term;
use crate::client::{self, ClientError, Connection};
use crate::config::{Config, units};

/// For the long help.
pub(super) const ABOUT: &str = "\
The recording begins with the terminal, or with the oldest picture that its ring (terminals.ring_bytes) still reaches \
back to. It is asciicast v3, as `asciinema play` shows it.";

#[derive(Debug, clap::Args)]
pub(super) struct RecordArgs {
    /// Its id or name
    terminal: String,
    /// Write to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Go on until the terminal ends, or ^C
    #[arg(short, long)]
    follow: bool,
    /// Have a player shorten longer silences to this, such as 2s
    #[arg(long, value_name = "DURATION", value_parser = above_zero)]
    idle_limit: Option<Duration>,
    /// Replace a file that is there
    #[arg(long, requires = "output")]
    force: bool,
}

/// 128 + SIGINT.
const INTERRUPTED: u8 = 130;

fn above_zero(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err("it must be more than 0".into()),
        some => Ok(some),
    }
}

pub(super) async fn record(config: &Config, client: Connection, args: RecordArgs) -> Result<u8, Failure> {
    let id = term::resolve(&client, &args.terminal).await?;
    drop(client);
    let mut path = format!("/api/terminals/{id}/recording?follow={}", u8::from(args.follow));
    if let Some(limit) = args.idle_limit {
        path += &format!("&idle_limit_s={}", limit.as_secs_f64());
    }
    let mut sheet = Sheet::open(&args)?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let copied = tokio::select! {
        copied = copy(config, &path, &mut sheet) => copied,
        _ = interrupted.recv() => Ok(Copied::Stopped),
        _ = terminated.recv() => Ok(Copied::Stopped),
    };
    match copied {
        Ok(Copied::Whole) => sheet.finish().map(|()| 0),
        // That is how following ends.
        Ok(Copied::Stopped) if args.follow => sheet.finish().map(|()| 0),
        Ok(Copied::Stopped) => {
            sheet.discard();
            Ok(INTERRUPTED)
        }
        Err(failure) => {
            sheet.discard();
            Err(failure)
        }
    }
}

enum Copied {
    Whole,
    Stopped,
}

async fn copy(config: &Config, path: &str, sheet: &mut Sheet) -> Result<Copied, Failure> {
    let mut answer = ask(config, path).await?;
    while let Some(frame) = answer.body_mut().frame().await {
        let frame = frame.map_err(|_| ClientError::Lost)?;
        if let Some(bytes) = frame.data_ref() {
            sheet.write(bytes)?;
        }
    }
    Ok(Copied::Whole)
}

/// A token that the daemon does not know is a courtesy that was not needed.
async fn ask(config: &Config, path: &str) -> Result<Response<Incoming>, Failure> {
    let (stream, token) = client::stream(config).await?;
    let mut answer = get(stream, path, token.as_ref()).await?;
    if answer.status() == StatusCode::UNAUTHORIZED && token.is_some() {
        let (stream, _) = client::stream(config).await?;
        answer = get(stream, path, None).await?;
    }
    if answer.status().is_success() {
        return Ok(answer);
    }
    let body = answer.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    Err(ClientError::Refused(refusal(&body)).into())
}

async fn get(stream: UnixStream, path: &str, token: Option<&Secret>) -> Result<Response<Incoming>, Failure> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let mut request = Request::get(path).header("Host", "localhost");
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {}", token.expose()));
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(io::Error::other)?;
    Ok(sender.send_request(request).await.map_err(io::Error::other)?)
}

/// The daemon's own words.
pub(super) fn refusal(body: &[u8]) -> Error {
    let told: Value = serde_json::from_slice(body).unwrap_or_default();
    let told = &told["error"];
    let code = serde_json::from_value(told["code"].clone()).unwrap_or(ErrorCode::InternalError);
    let mut error = Error::new(code, told["message"].as_str().unwrap_or("the daemon refused"));
    error.hint = told["hint"].as_str().map(String::from);
    error
}

/// Where the lines go.
struct Sheet {
    to: To,
    /// The beginning of a line whose end has not come.
    rest: Vec<u8>,
}

enum To {
    Stdout,
    /// Written in its place.
    Live(File),
    /// Written beside its place, and put there when it is whole.
    Whole {
        file: File,
        beside: PathBuf,
        place: PathBuf,
    },
}

impl Sheet {
    fn open(args: &RecordArgs) -> Result<Self, Failure> {
        let to = match &args.output {
            None => To::Stdout,
            Some(place) => Self::open_file(place, args).map_err(|e| about(place, &e))?,
        };
        Ok(Self { to, rest: Vec::new() })
    }

    fn open_file(place: &Path, args: &RecordArgs) -> io::Result<To> {
        let mut new = OpenOptions::new();
        // What a terminal showed is for whoever may see the terminal.
        new.write(true).create_new(true).mode(0o600);
        if args.follow {
            let mut any = OpenOptions::new();
            any.write(true).create(true).truncate(true).mode(0o600);
            let opened = if args.force { any.open(place) } else { new.open(place) };
            return opened.map(To::Live);
        }
        if !args.force && place.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let name = place.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
        let beside = place.with_file_name(format!(".{name}.{}", std::process::id()));
        Ok(To::Whole { file: new.open(&beside)?, beside, place: place.into() })
    }

    /// Whole lines only, and no signs of life.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|b| *b == b'\n') else { return Ok(()) };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let events: Vec<u8> = lines
            .split_inclusive(|b| *b == b'\n')
            .filter(|line| line[0] != b'#')
            .flatten()
            .copied()
            .collect();
        match &mut self.to {
            To::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(&events)?;
                out.flush()
            }
            To::Live(file) | To::Whole { file, .. } => file.write_all(&events),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self.to {
            To::Whole { beside, place, .. } => fs::rename(&beside, &place).map_err(|e| {
                let _ = fs::remove_file(&beside);
                about(&place, &e)
            }),
            To::Stdout | To::Live(_) => Ok(()),
        }
    }

    /// Nothing is left of what is not whole.
    fn discard(self) {
        if let To::Whole { beside, .. } = self.to {
            let _ = fs::remove_file(beside);
        }
    }
}

fn about(place: &Path, error: &io::Error) -> Failure {
    let place = place.display();
    Failure::Usage(match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{place} is there already; --force replaces it"),
        _ => format!("cannot write {place}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(output: &Path, follow: bool, force: bool) -> RecordArgs {
        RecordArgs { terminal: "t".into(), output: Some(output.into()), follow, idle_limit: None, force }
    }

    #[test]
    fn a_file_is_there_in_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a.cast");
        let count = || fs::read_dir(dir.path()).unwrap().count();
        let mut sheet = Sheet::open(&args(&place, false, false)).unwrap();
        sheet.write(b"one\n#\ntw").unwrap();
        assert!(!place.exists());
        sheet.discard();
        assert_eq!(count(), 0);
        let mut sheet = Sheet::open(&args(&place, false, false)).unwrap();
        sheet.write(b"one\n#\ntw").unwrap();
        sheet.write(b"o\n").unwrap();
        sheet.finish().unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"one\ntwo\n");
        assert!(Sheet::open(&args(&place, false, false)).is_err());
        assert!(Sheet::open(&args(&place, true, false)).is_err());
        let mut sheet = Sheet::open(&args(&place, false, true)).unwrap();
        sheet.write(b"three\n").unwrap();
        sheet.finish().unwrap();
        assert_eq!((fs::read(&place).unwrap(), count()), (b"three\n".to_vec(), 1));
    }

    #[test]
    fn a_followed_terminal_has_whole_lines_at_any_time() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a.cast");
        let mut sheet = Sheet::open(&args(&place, true, false)).unwrap();
        sheet.write(b"one\ntw").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"one\n");
        sheet.write(b"o\n").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"one\ntwo\n");
    }
}
