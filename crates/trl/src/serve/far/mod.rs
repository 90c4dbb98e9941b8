//! The far end of a link: an engine for one gateway, which outlives the connections to it.
//!
//! ```text
//!  gateway ═ ssh, docker, any program ═ stdin and stdout of trl stdio --resume KEY ═▶ line ─▶ connections ─▶ rpc
//! ```
//!
//! 1. [`mod@relay`] is what the gateway starts. It connects to the engine of its key, or starts it first, and hands over its
//!    stdin and stdout.
//! 2. [`engine`] takes such connections, the newest in place of the one before. On them runs one line, and each strand of that
//!    is served as a connection of the gateway's ([`Principal::Gateway`]), by the same code as every other.
//! 3. Without a connection for the grace (`runtimes.grace_s`), or told to by the gateway, it ends everything and itself.
//!
//! It keeps nothing on disk and judges nothing: rules, records and secrets are the gateway's. [`calls`] is what only
//! gateways may ask for, [`showing`] how a terminal is followed for one.

mod calls;
mod relay;
mod showing;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::RecvFlags;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use trl_core::runtime::line::{Cut, Line, Opened, Stand};
use trl_core::session::messages::Manner;
use trl_link::{Identity, Key, Limits, Side};
use trl_proto::PROTOCOL;
use trl_proto::far::Greeting;
use trl_sys::rights::{self, Handed};
use trl_sys::{machine, stream};

use self::relay::Way;
pub(crate) use self::relay::{Starter, relay};
pub(crate) use self::showing::Showing;
use super::connection::{self, Client, Connected, Hears, Through};
use super::outbox::ByteSink;
use super::principal::Principal;
use super::startup::{Binder, Claim};
use super::{Keeps, ServeError, Server, Signals, background, prepare};
use crate::config::Config;

/// A gateway's lines are longer than those of its clients: a client's command stands in them, and the state of a shell.
const MOST_LINE_BYTES: usize = 64 << 20;

/// Where the engine of a link listens: beside the daemon's own socket, in a directory that is the user's alone.
fn socket_of(config: &Config, key: Key) -> PathBuf {
    config.socket.with_file_name(format!("link-{key}.sock"))
}

/// `trl stdio --resume KEY --engine`: what [`mod@relay`] starts.
pub(crate) fn engine(mut config: Config, key: Key) -> Result<(), ServeError> {
    let socket = socket_of(&config, key);
    let mut claim = Claim::take(&socket, Binder::Daemon)?;
    let grace = config.settings().runtimes.grace;
    config.wire.max_line_bytes = config.wire.max_line_bytes.max(MOST_LINE_BYTES);
    config.socket = socket;
    let (server, runtime, _) = prepare(config, Keeps::Nothing)?;
    let outcome = runtime.block_on(async {
        let listener = claim.listen()?;
        tokio::spawn(background(Arc::clone(&server), Signals::listen()?));
        let life = u64::from_le_bytes(trl_proto::random::bytes()) | 1;
        let identity = Identity { side: Side::Far, key, life, greeting: greeting() };
        let (line, opened) = Line::new(identity, Limits::default());
        tokio::spawn(serve_strands(Arc::clone(&server), opened));
        let mut stop = server.stop.subscribe();
        tokio::select! {
            () = take_connections(&server, &listener, &line, grace) => {}
            _ = async { stop.wait_for(Option::is_some).await.is_ok() } => {}
        }
        // One whose gateway is gone has nobody left to be gentle for.
        let manner = (*server.stop.borrow()).unwrap_or(Manner::Forced);
        server.manager.shutdown(manner).await;
        server.closing.send_replace(true);
        Ok(())
    });
    runtime.shutdown_timeout(super::LAST_WORDS);
    outcome
}

/// Until the gateway has been away for too long, or the link is over.
async fn take_connections(server: &Arc<Server>, listener: &UnixListener, line: &Line, grace: Duration) {
    let mut stand = line.stand();
    let mut carrying: Option<JoinHandle<()>> = None;
    let mut away_until = Instant::now() + grace;
    loop {
        let up = matches!(*stand.borrow_and_update(), Stand::Up { .. });
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                if let Err(why) = comes_from_outside(server, &stream) {
                    tracing::warn!(why, "a connection to a link was refused");
                    continue;
                }
                // The one before is dead, or its gateway would not have made another.
                if let Some(before) = carrying.take() {
                    before.abort();
                    let _ = before.await;
                }
                carrying = Some(tokio::spawn(carry(line.clone(), stream)));
            }
            changed = stand.changed() => {
                if changed.is_err() || matches!(*stand.borrow(), Stand::Over { .. }) {
                    return;
                }
                away_until = Instant::now() + grace;
            }
            () = tokio::time::sleep_until(away_until), if !up => {
                tracing::info!("the gateway has been away for too long");
                return;
            }
        }
    }
}

/// One connection, to its end.
async fn carry(line: Line, relay: UnixStream) {
    let cut = async {
        let (way, fds) = opening(&relay).await?;
        let (mut gone, there) = stream::split(relay)?;
        Ok::<_, io::Error>(match (way, <[OwnedFd; 2]>::try_from(fds)) {
            (Way::Relayed, _) => line.carry(gone, there).await,
            (Way::Handed, Ok([input, output])) => {
                let (reader, writer) = (stream::Reader::of(input)?, stream::Writer::of(output)?);
                let mut nothing = [0];
                tokio::select! {
                    // What the gateway said before its relay went is heard first: it may be that this is not the one it means.
                    biased;
                    cut = line.carry(reader, writer) => cut,
                    // Whoever started the relay goes by its life.
                    _ = gone.read(&mut nothing) => Cut::Closed(None),
                }
            }
            (Way::Handed, Err(_)) => return Err(io::ErrorKind::InvalidData.into()),
        })
    };
    match cut.await {
        Ok(cut) => tracing::info!(%cut, "the connection of a link ended"),
        Err(error) => tracing::warn!(%error, "a connection of a link did not come about"),
    }
}

/// The first that a relay says: how its bytes come.
async fn opening(relay: &UnixStream) -> io::Result<(Way, Vec<OwnedFd>)> {
    let receive = || Ok(rights::receive(relay, RecvFlags::empty())?);
    let Handed { byte, fds } = loop {
        relay.readable().await?;
        match relay.try_io(Interest::READABLE, receive) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other?,
        }
    };
    let way = byte.and_then(Way::of_byte).ok_or(io::ErrorKind::InvalidData)?;
    Ok((way, fds))
}

/// Nothing that runs in a session here may pass itself off as the gateway.
fn comes_from_outside(server: &Server, stream: &UnixStream) -> Result<(), String> {
    match Principal::of_peer(server, stream).map_err(|error| error.message)?.pinned_to() {
        Some(place) => Err(format!("the process runs in {place}")),
        None => Ok(()),
    }
}

/// Each strand is a connection of the gateway's.
async fn serve_strands(server: Arc<Server>, mut opened: Opened) {
    while let Some((strand, _)) = opened.recv().await {
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let _connected = Connected::take(&server, Through::Link);
            let client = Client::new(&server, Principal::Gateway, Hears::Pushes, None);
            let (reader, writer) = tokio::io::split(strand);
            connection::run(client, server.lines(reader), ByteSink(writer)).await;
        });
    }
}

fn greeting() -> Vec<u8> {
    let greeting = Greeting {
        version: env!("CARGO_PKG_VERSION").into(),
        protocol: PROTOCOL,
        os: std::env::consts::OS.into(),
        arch: std::env::consts::ARCH.into(),
        host: machine::host_name(),
        uid: trl_sys::places::user_id(),
        boot_id: machine::boot_id(),
        pid_ns: machine::process_namespace(),
        pid: std::process::id(),
    };
    serde_json::to_vec(&greeting).unwrap_or_default()
}
