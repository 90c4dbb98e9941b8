//! The server: from a line of bytes to the engine and back.
//!
//! ```text
//!  unix / stdio ─▶ lines ─▶ connection ─▶ principal (may it?) ─▶ rpc (which handler) ─▶ trl-core
//!  http ─▶ auth ─▶ ws ───────▲                                        │
//!       ▲                                                             │
//!       └──────────── outbox (bounded) ◀── replies, pushes (follow) ──┘
//! ```
//!
//! - [`startup`]: the socket's directory, lock and address. - [`ready`]: the lines printed when ready. - [`supervisor`]: the service manager. - [`auth`]: tokens, tickets, failed attempts.
//! - [`http`]: the door for programs and browsers. - [`lines`], [`outbox`]: bytes in, bytes out, both bounded.
//! - [`agent`]: messages to sessions' agents. - [`connection`]: one client. - [`principal`]: who it is and what it may do; [`refused`]: who is not let in.
//! - [`runtimes`]: where sessions can live. - [`elsewhere`]: files of sessions that live elsewhere. - [`far`]: an engine for a gateway, behind a link. - [`rpc`]: the dispatch table. - [`doctor`]: what could be better. - [`files`]: those of workspaces. - [`follow`]: pushes after a reply.

mod agent;
mod auth;
mod cases;
mod checkpoints;
mod connection;
mod doctor;
mod elsewhere;
pub(crate) mod far;
mod files;
mod follow;
mod gateway;
mod history;
mod hitl;
mod http;
pub(crate) mod lines;
mod outbox;
mod principal;
mod ready;
mod refusals;
mod refused;
mod request_id;
mod rpc;
mod runtimes;
mod snapshots;
mod startup;
mod supervisor;
mod terminals;
mod unified;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncRead;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use trl_client::{Secret, TOKEN_VARIABLE};
use trl_core::env::Inherited;
use trl_core::session::messages::Manner;
use trl_core::{Engine, Manager, Settings};
use trl_proto::system::Stats;
use trl_store::{Store, StoreError};
use trl_sys::places::PathTooLong;
use trl_sys::{handover, harden, limits, sched, zygote};

use self::agent::Agents;
use self::auth::Authority;
use self::connection::{Client, Connected, Hears, Through};
use self::files::FileService;
use self::lines::Lines;
use self::outbox::ByteSink;
use self::principal::Principal;
use self::ready::TokenOrigin;
use self::refusals::Refusals;
use self::startup::{Binder, Claim};
use self::supervisor::Supervisor;
use crate::config::{Config, WireLimits};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("{} already serves {}", holder(*pid), socket.display())]
    AlreadyRunning { socket: PathBuf, pid: Option<u32> },
    #[error(transparent)]
    SocketPath(#[from] PathTooLong),
    #[error("{0}")]
    SocketDir(String),
    #[error("{} is no socket; it stays as it is", .0.display())]
    InTheWay(PathBuf),
    #[error("{0} can be reached from other machines")]
    Remote(String),
    #[error("the data directory {} cannot be used: {cause}", dir.display())]
    DataDir { dir: PathBuf, cause: StoreError },
    #[error("{what}: {cause}")]
    Io { what: String, cause: std::io::Error },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "a daemon".into(), |pid| format!("the daemon with process id {pid}"))
}

impl ServeError {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |cause| Self::Io { what, cause }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::AlreadyRunning { pid, .. } => {
                let kill = pid.map(|pid| format!(" or `kill {pid}`")).unwrap_or_default();
                Some(format!("use it, stop it with `trl stop`{kill}, or choose another --socket"))
            }
            Self::SocketPath(_) => Some("choose another --socket".into()),
            Self::InTheWay(_) => Some("choose another --socket, or move it out of the way".into()),
            Self::SocketDir(_) => Some("the directory must be yours, no link, and have mode 0700".into()),
            Self::Remote(_) => Some(
                "serve a loopback address, or say --http-allow-remote; there is no TLS, so put something that has before it"
                    .into(),
            ),
            Self::DataDir { cause: StoreError::Locked(_), .. } => {
                Some("another daemon keeps its records there: stop it, or choose another --data-dir".into())
            }
            Self::DataDir { cause: StoreError::Newer { .. }, .. } => {
                Some("use that version of trl, or choose another --data-dir".into())
            }
            Self::DataDir { .. } => Some("choose another --data-dir, one that is yours".into()),
            Self::Io { .. } => None,
        }
    }
}

/// What every connection of this server shares.
pub(crate) struct Server {
    manager: Arc<Manager>,
    wire: WireLimits,
    agent_max_sessions: usize,
    authority: Authority,
    socket: Option<PathBuf>,
    data_dir: PathBuf,
    files: FileService,
    agents: Agents,
    connections: AtomicUsize,
    /// What the log says of connections that were refused.
    refusals: Refusals,
    /// Set to end the daemon.
    stop: watch::Sender<Option<Manner>>,
    /// Set when every session has ended: what is left to say is said, then connections close.
    closing: watch::Sender<bool>,
}

/// Becomes a zygote if this process was started as one. Called before anything else in `main`.
pub(crate) fn hidden_entry() {
    harden::tame_allocator();
    if std::env::args_os().nth(1).is_some_and(|a| a == zygote::ARGUMENT) {
        zygote::run();
    }
}

/// `trl serve`: listens until it is told to stop.
pub(crate) fn daemon(mut config: Config) -> Result<(), ServeError> {
    let supervisor = Supervisor::take();
    let handed = handed_over(&mut config);
    let binder = if handed.is_some() { Binder::ServiceManager } else { Binder::Daemon };
    let mut claim = Claim::take(&config.socket, binder)?;
    let settings = config.http.clone();
    let token_origin = TokenOrigin::of(&config);
    let (server, runtime, operator) = prepare(config, Keeps::Records)?;
    let outcome = runtime.block_on(async {
        let door = http::Listener::bind(&settings)?;
        let listener = match handed {
            Some(listener) => claim.adopt(listener)?,
            None => claim.listen()?,
        };
        tokio::spawn(background(Arc::clone(&server), Signals::listen()?));
        ready::announce(server.socket.as_deref(), door.as_ref());
        supervisor.ready();
        ready::announce_login(door.as_ref(), &operator, &token_origin);
        drop(operator);
        let indoors = http::Indoors::new(&server, settings.clone());
        let door = door.map(|door| tokio::spawn(http::serve(Arc::clone(&server), settings, door)));
        tokio::select! {
            () = serve(Arc::clone(&server), &indoors, claim, listener) => {}
            () = supervisor.attend(&server) => {}
        }
        if let Some(door) = door {
            let _ = door.await;
        }
        server.authority.tokens.write_uses();
        if let Some(store) = &server.manager.engine.store {
            store.close().await;
        }
        Ok(())
    });
    // A search may still go on in its thread, and nobody waits for what it finds.
    runtime.shutdown_timeout(LAST_WORDS);
    outcome
}

/// The socket a service manager listens on for us; the one in the settings is of no account then.
fn handed_over(config: &mut Config) -> Option<std::os::unix::net::UnixListener> {
    let listener = handover::take_listeners().into_iter().next()?;
    let address = listener.local_addr().ok()?;
    config.socket = address.as_pathname()?.to_path_buf();
    Some(listener)
}

/// `trl stdio`: one client, on stdin and stdout.
pub(crate) fn stdio(mut config: Config) -> Result<(), ServeError> {
    config.socket = PathBuf::new();
    let (server, runtime, _) = prepare(config, Keeps::Nothing)?;
    let outcome = runtime.block_on(async {
        tokio::spawn(background(Arc::clone(&server), Signals::listen()?));
        let _connected = Connected::take(&server, Through::Client);
        let client = Client::stdio(&server);
        let mut stop = server.stop.subscribe();
        tokio::select! {
            () = connection::run(client, server.lines(tokio::io::stdin()), ByteSink(tokio::io::stdout())) => {}
            _ = async { stop.wait_for(Option::is_some).await.is_ok() } => {}
        }
        server.manager.shutdown(Manner::Graceful).await;
        Ok(())
    });
    // A read of stdin may still be blocked in its thread; nothing is left that waits for it.
    runtime.shutdown_background();
    outcome
}

/// What an engine leaves behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// In the data directory.
    Records,
    Nothing,
}

fn prepare(
    mut config: Config,
    keeps: Keeps,
) -> Result<(Arc<Server>, tokio::runtime::Runtime, Secret), ServeError> {
    let operator = match keeps {
        Keeps::Records => auth::operator::load(&mut config)?,
        Keeps::Nothing => auth::operator::passing(&mut config)
            .ok_or_else(|| ServeError::SocketDir("no token could be made".into()))?,
    };
    harden::wipe_env(TOKEN_VARIABLE);
    harden::spare_the_owner();
    harden::outlive_full_files();
    harden::make_undumpable().map_err(ServeError::io("hiding the daemon's memory"))?;
    harden::adopt_orphans().map_err(ServeError::io("adopting orphans"))?;
    sched::take_short_turns();
    let open_files = limits::raise_open_files();
    let mut settings = Settings { own_dirs: config.own_dirs(), cases: config.cases(), ..config.settings() };
    let store = (keeps == Keeps::Records).then(|| open_store(&config.data_dir)).transpose()?;
    settings.runtimes.gateway = match keeps {
        Keeps::Records => gateway::name(&config.data_dir).map_err(ServeError::io("naming the gateway"))?,
        Keeps::Nothing => gateway::passing(),
    };
    let engine = Engine::start(settings, store, Inherited::from_process(), open_files)
        .map_err(ServeError::io("starting the engine"))?;
    if let Err(error) = engine.cases.default_case() {
        tracing::warn!(%error, "whatever names no case will be refused");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServeError::io("starting the runtime"))?;
    config.wire.max_connections = config.wire.max_connections.min(engine.shares.connections);
    let authority = Authority::new(&operator, &config.data_dir, &config.http);
    let parent = |path: &PathBuf| path.parent().unwrap_or(path).to_path_buf();
    let own = [parent(&config.operator_token_file), parent(&config.socket), engine.place.dir().to_path_buf()];
    let own: Vec<&Path> = own.iter().map(PathBuf::as_path).filter(|path| path.is_absolute()).collect();
    let files =
        FileService::new(&config.data_dir, &own, &engine.settings.sandbox_protect, config.files.max_bytes);
    let server = Server {
        manager: Manager::new(engine),
        wire: config.wire,
        agent_max_sessions: config.agent_max_sessions,
        authority,
        socket: (!config.socket.as_os_str().is_empty()).then_some(config.socket),
        data_dir: config.data_dir,
        files,
        agents: Agents::new(config.agents),
        connections: AtomicUsize::new(0),
        refusals: Refusals::default(),
        stop: watch::Sender::new(None),
        closing: watch::Sender::new(false),
    };
    Ok((Arc::new(server), runtime, operator))
}

/// The file itself is opened by the store's own thread, in its own time.
fn open_store(dir: &Path) -> Result<Store, ServeError> {
    Store::open(dir, trl_store::Options::default())
        .map_err(|cause| ServeError::DataDir { dir: dir.into(), cause })
}

/// What runs beside the clients.
async fn background(server: Arc<Server>, mut signals: Signals) {
    tokio::spawn(Arc::clone(&server.manager).recall());
    tokio::spawn(Arc::clone(&server.manager).housekeep());
    let manager = Arc::clone(&server.manager);
    tokio::spawn(async move { manager.engine.runtimes.sweep().await });
    loop {
        tokio::select! {
            _ = signals.child.recv() => Manager::reap(),
            _ = signals.terminate.recv() => server.stop(Manner::Graceful),
            _ = signals.interrupt.recv() => server.stop(Manner::Graceful),
            _ = signals.hangup.recv() => {}
        }
    }
}

/// The signals the daemon acts on, from the moment this exists.
struct Signals {
    child: Signal,
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> Result<Self, ServeError> {
        let on = |kind| signal(kind).map_err(ServeError::io("receiving signals"));
        Ok(Self {
            child: on(SignalKind::child())?,
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hangup: on(SignalKind::hangup())?,
        })
    }
}

/// The claim is held to the end: another daemon may only come when all of this one is gone.
async fn serve(server: Arc<Server>, indoors: &http::Indoors, mut claim: Claim, mut listener: UnixListener) {
    let mut stop = server.stop.subscribe();
    let mut clients = JoinSet::new();
    let mut looks = tokio::time::interval(LOOK_AFTER_SOCKET);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        while clients.try_join_next().is_some() {}
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => accept(&server, indoors, stream, &mut clients),
                Err(e) => {
                    // Out of descriptors, most likely: the client waits in the backlog meanwhile.
                    tracing::debug!(error = %e, "a connection could not be accepted");
                    server.refusals.note("it could not be accepted: there may be too many open files");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
            _ = looks.tick() => if let Some(again) = claim.keep() {
                listener = again;
            },
            _ = async { stop.wait_for(Option::is_some).await.is_ok() } => break,
        }
    }
    drop(listener);
    let manner = (*server.stop.borrow()).unwrap_or(Manner::Graceful);
    tracing::info!(?manner, "ending");
    tokio::select! {
        () = server.manager.shutdown(manner) => {}
        // A second, forced wish does not wait for the first.
        _ = async { stop.wait_for(|m| *m == Some(Manner::Forced) && manner != Manner::Forced).await.is_ok() } => {
            server.manager.shutdown(Manner::Forced).await;
        }
    }
    let _ = tokio::time::timeout(LAST_WORDS, server.agents.all_over()).await;
    server.closing.send_replace(true);
    let _ = tokio::time::timeout(LAST_WORDS, clients.join_all()).await;
}

/// Nobody can reach a daemon whose socket was removed, so that is not left for long.
const LOOK_AFTER_SOCKET: std::time::Duration = std::time::Duration::from_secs(1);

/// How long clients have to take the last replies.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(500);

fn accept(server: &Arc<Server>, indoors: &http::Indoors, stream: UnixStream, clients: &mut JoinSet<()>) {
    let Some(connected) = Connected::take(server, Through::Client) else {
        return server.refusals.note("the limit of connections is reached (wire.max_connections)");
    };
    match Principal::of_peer(server, &stream) {
        Err(error) => {
            server.refusals.note(&error.message);
            let server = Arc::clone(server);
            clients.spawn(async move {
                refused::turn_away(server, stream, error).await;
                drop(connected);
            });
        }
        Ok(principal) => {
            let (server, indoors) = (Arc::clone(server), indoors.clone());
            clients.spawn(async move {
                match first_byte(&server, &stream).await {
                    // A request line begins with the name of a method, and JSON with anything else.
                    Some(b'A'..=b'Z') => indoors.visit(stream, principal).await,
                    Some(_) => converse(&server, stream, principal).await,
                    None => {}
                }
                drop(connected);
            });
        }
    }
}

async fn converse(server: &Arc<Server>, stream: UnixStream, principal: Principal) {
    match trl_sys::stream::split(stream) {
        Ok((reader, writer)) => {
            let client = Client::new(server, principal, Hears::Pushes, None);
            connection::run(client, server.lines(reader), ByteSink(writer)).await;
        }
        Err(e) => tracing::warn!(error = %e, "a connection was refused"),
    }
}

/// What a client begins with, left to be read. None when it says nothing before its end or ours.
async fn first_byte(server: &Server, stream: &UnixStream) -> Option<u8> {
    let mut closing = server.closing.subscribe();
    let mut first = [0];
    loop {
        tokio::select! {
            ready = stream.readable() => ready.ok()?,
            _ = async { closing.wait_for(|c| *c).await.is_ok() } => return None,
        }
        let peeked = stream.try_io(tokio::io::Interest::READABLE, || {
            Ok(rustix::net::recv(stream, &mut first, rustix::net::RecvFlags::PEEK)?)
        });
        match peeked {
            Ok((0, _)) => return None,
            Ok(_) => return Some(first[0]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

impl Server {
    /// Without the names of runtimes that are not for whoever asks.
    fn stats(&self, principal: &Principal) -> Stats {
        let connections = self.connections.load(Ordering::Relaxed) as u64;
        let mut stats = Stats { connections, ..self.manager.stats() };
        stats.runtime_sessions.retain(|name, _| principal.sees_runtime(name));
        stats
    }

    fn lines<R: AsyncRead + Unpin + Send>(&self, reader: R) -> Lines<R> {
        Lines::new(reader, self.wire.max_line_bytes)
    }

    /// Ends the daemon; a second, forced wish wins over a first, graceful one.
    fn stop(&self, manner: Manner) {
        self.stop.send_replace(Some(manner));
    }
}
