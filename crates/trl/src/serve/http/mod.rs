//! The door for programs and browsers: HTTP and WebSocket, on TCP or on a Unix socket. Off unless asked for.
//!
//! ```text
//!  accept ─▶ admission ─▶ hyper (headers in time, sizes) ─▶ guard (Host, Origin) ─▶ gate (who?) ─▶ routes
//!                                                                                      ├─ POST /rpc ─▶ rpc
//!                                                                                      ├─ POST /mcp ─▶ crate::mcp ─▶ rpc
//!                                                                                      ├─ WS /ws/rpc ─▶ connection
//!                                                                                      ├─ WS /ws/terminal ─▶ attach
//!                                                                                      ├─ events: output as SSE
//!                                                                                      ├─ recording: asciicast
//!                                                                                      ├─ files: in and out
//!                                                                                      └─ all else ─▶ ui
//! ```
//!
//! - [`listener`]: where it stands, and who comes in. - [`admission`]: which connections have a place. - [`guard`]: requests that a foreign web page could have caused.
//! - [`gate`]: tokens and tickets. - [`routes`]: what there is. - [`ws`], [`attach`], [`events`], [`recording`]: what goes
//!   on after the answer; [`asciicast`]: the form of a recording. - [`files`], [`range`]: files of workspaces. - [`mcp`]: tools for a model. - [`impatient`]: clients that do not take what they asked for. - [`mod@answer`]: replies, refusals and the
//!   headers of both. - [`metrics`]: figures for Prometheus. - [`ui`]: the web UI's files.
//!
//! It decides nothing about methods: that is [`super::principal`], as on every transport. It has no TLS: another machine
//! reaches it through something that has.

mod admission;
mod answer;
mod asciicast;
mod attach;
mod events;
mod files;
mod gate;
mod guard;
mod impatient;
mod listener;
mod mcp;
mod messages;
mod metrics;
mod range;
mod recording;
mod routes;
mod ui;
mod ws;

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use trl_proto::Error;

use self::admission::{Admission, Busy, BusyBody, Expiry, Place};
use self::guard::Guard;
use self::impatient::Impatient;
pub(super) use self::listener::Listener;
use self::listener::{Peer, Stream};
pub(super) use self::ui::is_built as has_ui;
use super::connection::{Connected, Through};
use super::principal::Principal;
use super::refused::turn_away;
use super::{LAST_WORDS, Server};
use crate::config::{HttpAddr, HttpSettings};

/// The request line and all headers together.
const MOST_HEADER_BYTES: usize = 32 * 1024;
/// Less than this and an honest client would be cut off by a busy machine.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);

/// What all connections of this door share.
struct Door {
    server: Arc<Server>,
    settings: HttpSettings,
    guard: Guard,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    requests: AtomicU64,
    /// Answers by the first digit of their status.
    answers: [AtomicU64; 6],
    auth_failures: AtomicU64,
    /// Connections without a token that were closed for new ones.
    strangers_closed: AtomicU64,
    websockets: AtomicU64,
}

impl Door {
    fn request_timeout(&self) -> Duration {
        self.settings.request_timeout.max(SHORTEST_TIMEOUT)
    }

    fn keep_alive(&self) -> Duration {
        self.settings.keep_alive.max(SHORTEST_TIMEOUT)
    }
}

/// One connection, as its requests see it.
struct Visit {
    door: Arc<Door>,
    peer: Peer,
    /// None for a client of the daemon's own socket.
    place: Option<Arc<Place>>,
    /// What the connection becomes after its last answer.
    upgrade: Mutex<Option<Upgrade>>,
}

/// A connection that is no longer HTTP.
struct Upgrade {
    to: UpgradeTo,
    /// It counts as a request in flight to its end.
    _busy: Option<Busy>,
}

enum UpgradeTo {
    Rpc(ws::Upgrade),
    Terminal(Box<attach::Attach>),
}

impl Door {
    fn new(server: &Arc<Server>, settings: HttpSettings, address: &HttpAddr) -> Arc<Self> {
        let guard = Guard::new(&settings, address);
        Arc::new(Self { server: Arc::clone(server), settings, guard, counters: Counters::default() })
    }
}

/// The same behind the daemon's own socket, for clients there that speak HTTP.
#[derive(Clone)]
pub(super) struct Indoors(Arc<Door>);

impl Indoors {
    pub(super) fn new(server: &Arc<Server>, settings: HttpSettings) -> Self {
        let socket = server.socket.clone().unwrap_or_default();
        Self(Door::new(server, settings, &HttpAddr::Unix(socket)))
    }

    /// Serves one client, whom the kernel has named.
    pub(super) async fn visit(&self, stream: UnixStream, principal: Principal) {
        let peer = Peer::Known(principal);
        let visit = Visit { door: Arc::clone(&self.0), peer, place: None, upgrade: Mutex::default() };
        let stream = Impatient::new(Stream::Unix(stream), self.0.request_timeout());
        visit_of(Arc::new(visit), stream).await;
    }
}

/// Serves until the daemon ends.
pub(super) async fn serve(server: Arc<Server>, settings: HttpSettings, listener: Listener) {
    let door = Door::new(&server, settings, listener.address());
    // Strangers may knock here, so it never has more than half of the places: the operator can always get in by the socket.
    let admission = Admission::new(server.wire.max_connections / 2, door.request_timeout());
    let mut stop = server.stop.subscribe();
    let mut visits = JoinSet::new();
    loop {
        while visits.try_join_next().is_some() {}
        tokio::select! {
            accepted = next(&admission, &listener) => match accepted {
                Ok(stream) => admit(&door, &admission, stream, &mut visits).await,
                Err(e) => {
                    tracing::debug!(error = %e, "an HTTP connection could not be accepted");
                    server.refusals.note("it could not be accepted: there may be too many open files");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            _ = async { stop.wait_for(Option::is_some).await.is_ok() } => break,
        }
    }
    drop(listener);
    let mut closing = server.closing.subscribe();
    let _ = closing.wait_for(|c| *c).await;
    let _ = tokio::time::timeout(LAST_WORDS, visits.join_all()).await;
}

async fn next(admission: &Admission, listener: &Listener) -> io::Result<Stream> {
    admission.next().await;
    listener.accept().await
}

async fn admit(door: &Arc<Door>, admission: &Arc<Admission>, stream: Stream, visits: &mut JoinSet<()>) {
    let peer = match stream.peer(&door.server) {
        Ok(peer) => peer,
        Err(error) => return refuse(&door.server, stream, error, visits),
    };
    let Some(admitted) = admission.admit(|| Connected::take(&door.server, Through::Client)) else {
        return door
            .server
            .refusals
            .note("the limit of HTTP connections is reached (half of wire.max_connections)");
    };
    let place = Some(Arc::new(admitted.place));
    let visit = Visit { door: Arc::clone(door), peer, place, upgrade: Mutex::default() };
    let stream = Impatient::new(stream, door.request_timeout());
    visits.spawn(visit_of(Arc::new(visit), stream));
    if admitted.crowded {
        door.counters.strangers_closed.fetch_add(1, Ordering::Relaxed);
        // The new one is served before others come: a token that has arrived with it must be read.
        tokio::task::yield_now().await;
    }
}

/// Tells a process of a session, or one that may be, why it is not served.
fn refuse(server: &Arc<Server>, stream: Stream, error: Error, visits: &mut JoinSet<()>) {
    server.refusals.note(&error.message);
    let Stream::Unix(stream) = stream else { return };
    let Some(connected) = Connected::take(server, Through::Client) else { return };
    let server = Arc::clone(server);
    visits.spawn(async move {
        turn_away(server, stream, error).await;
        drop(connected);
    });
}

/// Answers one request. Its connection is busy until the answer was taken.
async fn answer(visit: Arc<Visit>, request: Request<Incoming>) -> Result<Response<BusyBody>, Infallible> {
    let place = visit.place.clone();
    let busy = place.as_ref().map(Place::begin);
    let answer = routes::handle(visit, request).await?;
    if let Some(place) = place {
        place.settle();
    }
    Ok(answer.map(|body| BusyBody { body, _busy: busy }))
}

async fn visit_of(visit: Arc<Visit>, stream: Impatient) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(visit.door.request_timeout())
        .max_header_size(MOST_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service_fn(|request| answer(Arc::clone(&visit), request)))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let mut closing = visit.door.server.closing.subscribe();
    let over = tokio::select! {
        over = connection.as_mut() => over,
        _ = async { closing.wait_for(|c| *c).await.is_ok() } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        expiry = visit.expiry() => match expiry {
            Expiry::Closed => return,
            Expiry::LifeOver => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    over = connection => over,
                    () = visit.end() => return,
                }
            }
        },
    };
    if let Err(error) = over {
        tracing::debug!(%error, "an HTTP connection ended badly");
    }
    let upgrade = visit.upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Upgrade { to, _busy }) = upgrade else { return };
    match to {
        UpgradeTo::Rpc(upgrade) => upgrade.run().await,
        UpgradeTo::Terminal(attach) => attach.run().await,
    }
}

impl Visit {
    async fn expiry(&self) -> Expiry {
        match &self.place {
            Some(place) => place.expiry().await,
            None => std::future::pending().await,
        }
    }

    async fn end(&self) {
        match &self.place {
            Some(place) => place.end().await,
            None => std::future::pending().await,
        }
    }
}
