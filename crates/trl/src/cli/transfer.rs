//! `trl fs cat|get|put`: whole files of any size, by HTTP on the daemon's own socket.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use http_body_util::channel::Channel;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;

use super::failure::Failure;
use super::fs::{Found, Whose};
use super::print::{self, Format, Output};
use super::record::refusal;
use crate::client::{self, ClientError, Connection};
use crate::config::Config;

/// One read of the file that is sent.
const CHUNK: usize = 256 << 10;

#[derive(Debug, clap::Args)]
pub(super) struct PutArgs {
    #[command(flatten)]
    whose: Whose,
    /// The local file; - is stdin
    file: PathBuf,
    /// Where it goes in the workspace [default: its own name]
    path: Option<OsString>,
    /// Make missing directories on the way
    #[arg(short, long)]
    parents: bool,
    /// Permission bits in octal digits [default: those of the old file]
    #[arg(long)]
    mode: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct GetArgs {
    #[command(flatten)]
    whose: Whose,
    path: OsString,
    /// Where it goes here; - is stdout [default: its own name]
    file: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(short, long)]
    force: bool,
}

type Body = BoxBody<Bytes, io::Error>;

pub(super) async fn cat(config: &Config, whose: &Found, path: &OsStr) -> Result<(), Failure> {
    let answer = fetch(config, whose, path).await?;
    copy(answer, &mut io::stdout().lock()).await
}

pub(super) async fn get(config: &Config, client: &Connection, args: GetArgs) -> Result<(), Failure> {
    let whose = args.whose.find(client).await?;
    let own = || Path::new(&args.path).file_name().map(PathBuf::from);
    let place = args.file.clone().or_else(own);
    let place = place.ok_or_else(|| Failure::Usage("name the file to write".into()))?;
    if place == Path::new("-") {
        return cat(config, &whose, &args.path).await;
    }
    if !args.force && place.symlink_metadata().is_ok() {
        return Err(Failure::Usage(format!("{} is there already; --force replaces it", place.display())));
    }
    let answer = fetch(config, &whose, &args.path).await?;
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let beside = place.with_file_name(format!(".{name}.{}", std::process::id()));
    let copied = async {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        copy(answer, &mut file).await?;
        Ok(std::fs::rename(&beside, &place)?)
    }
    .await;
    if copied.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    copied
}

async fn fetch(config: &Config, whose: &Found, path: &OsStr) -> Result<Response<Incoming>, Failure> {
    let address = address(whose, path, "");
    let answer =
        send(config, "GET", &address, || Ok(Empty::new().map_err(|never| match never {}).boxed())).await?;
    let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    match kind {
        Some("application/octet-stream") => Ok(answer),
        _ => Err(Failure::Usage(format!("{} is a directory", path.to_string_lossy()))),
    }
}

async fn copy(answer: Response<Incoming>, to: &mut impl Write) -> Result<(), Failure> {
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        // Shorter than it said: the connection was lost, or the file was cut.
        let frame = frame.map_err(io::Error::other)?;
        if let Some(bytes) = frame.data_ref() {
            to.write_all(bytes)?;
        }
    }
    Ok(to.flush()?)
}

pub(super) async fn put(config: &Config, client: &Connection, args: PutArgs) -> Result<(), Failure> {
    let whose = args.whose.find_to_write(client).await?;
    let from_stdin = args.file == Path::new("-");
    let own = || args.file.file_name().filter(|_| !from_stdin).map(OsStr::to_os_string);
    let path = args.path.clone().or_else(own);
    let path = path.ok_or_else(|| Failure::Usage("name the place in the workspace".into()))?;
    let mut query = Vec::new();
    query.extend(args.parents.then(|| "create_dirs=1".to_string()));
    query.extend(args.mode.as_ref().map(|mode| format!("mode={mode}")));
    let address = address(&whose, &path, &query.join("&"));
    let body = || -> Result<Body, Failure> {
        let source: Box<dyn Read + Send> = if from_stdin {
            Box::new(io::stdin())
        } else {
            let named = |e: io::Error| Failure::Usage(format!("{}: {e}", args.file.display()));
            Box::new(File::open(&args.file).map_err(named)?)
        };
        Ok(stream(source))
    };
    let answer = send(config, "PUT", &address, body).await?;
    let reply = answer.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let reply: Value = serde_json::from_slice(&reply).map_err(io::Error::from)?;
    match args.output.format() {
        Format::Json => print::json(&reply),
        Format::People => Ok(()),
    }
}

/// What is read goes on its way at once; reading may wait, so a thread does it.
fn stream(mut source: Box<dyn Read + Send>) -> Body {
    let (mut chunks, body) = Channel::<Bytes, io::Error>::new(2);
    tokio::spawn(async move {
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let mut bytes = vec![0; CHUNK];
                let read = source.read(&mut bytes);
                (source, bytes, read)
            });
            let Ok((again, mut bytes, read)) = read.await else { return };
            source = again;
            match read {
                Ok(0) => return,
                Ok(length) => {
                    bytes.truncate(length);
                    if chunks.send_data(bytes.into()).await.is_err() {
                        return;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // Ends the connection in the middle: nothing is written there.
                Err(e) => return chunks.abort(e),
            }
        }
    });
    body.boxed()
}

async fn send(
    config: &Config,
    verb: &str,
    address: &str,
    body: impl FnOnce() -> Result<Body, Failure>,
) -> Result<Response<Incoming>, Failure> {
    let (stream, token) = client::stream(config).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let mut request = Request::builder().method(verb).uri(address).header("Host", "localhost");
    if let Some(token) = &token {
        request = request.header("Authorization", format!("Bearer {}", token.expose()));
    }
    let request = request.body(body()?).map_err(io::Error::other)?;
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    let told = answer.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    Err(ClientError::Refused(refusal(&told)).into())
}

fn address(whose: &Found, path: &OsStr, query: &str) -> String {
    let (kind, id) = match (&whose.session_id, &whose.workspace_id) {
        (Some(id), _) => ("sessions", id.as_str()),
        (None, id) => ("workspaces", id.as_deref().unwrap_or_default()),
    };
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("/api/{kind}/{}/files/{}{query}", encoded(id.as_bytes()), encoded(path.as_bytes()))
}

/// All but what stands for itself in every part of an address.
fn encoded(bytes: &[u8]) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_~/.".contains(&b);
    let one = |b: &u8| if plain(*b) { char::from(*b).to_string() } else { format!("%{b:02X}") };
    bytes.iter().map(one).collect()
}
