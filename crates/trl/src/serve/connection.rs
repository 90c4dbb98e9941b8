//! One client of any duplex transport: its requests are read in order, served concurrently, answered as they finish.
//!
//! 1. A line is parsed; a malformed one is answered and forgotten.
//! 2. `system.auth` is handled at once, so that every later request sees the new role.
//! 3. Every other request becomes a task; a batch becomes one task that answers with one array.
//! 4. A client whose token ends is cut off.
//! 5. At the end of input, what is in flight is still answered (the client may have closed only its writing side).

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use trl_proto::envelope::{self, Fault, Incoming, Malformed, Request};
use trl_proto::system::{AuthParams, Authenticated};
use trl_proto::{Dialect, Error, ErrorCode, Method, Role};

use super::auth::Failed;
use super::follow::Follow;
use super::lines::{Line, Source};
use super::outbox::{Outbox, Parting, Sink};
use super::principal::Principal;
use super::{Server, rpc};

/// Requests of one connection that may be in flight; past this it is not read any further.
const MOST_IN_FLIGHT: usize = 1024;
/// Wrong tokens before the connection is cut off.
const MOST_AUTH_FAILURES: u32 = 5;

/// One connection, as its requests see it.
pub(crate) struct Client {
    pub(crate) server: Arc<Server>,
    pub(crate) outbox: Arc<Outbox>,
    principal: Mutex<Principal>,
    pub(crate) hears: Hears,
    /// Where it comes from, when that is all that is known of it.
    address: Option<IpAddr>,
    /// True once the client has closed its side.
    pub(crate) gone: watch::Sender<bool>,
}

/// What can be said to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hears {
    /// Replies, and pushes after them.
    Pushes,
    /// One reply to one request.
    Replies,
}

/// A place among the connections there may be; given back when dropped.
pub(crate) struct Connected {
    server: Arc<Server>,
}

/// How a connection came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// A connection of its own. One by HTTP has a place there, too ([`super::http`]).
    Client,
    /// A strand of a link, of which there are only so many.
    Link,
}

impl Connected {
    pub(crate) fn take(server: &Arc<Server>, through: Through) -> Option<Self> {
        let (all, most) = (server.connections.load(Ordering::Relaxed), server.wire.max_connections);
        if all >= most && through != Through::Link {
            return None;
        }
        server.connections.fetch_add(1, Ordering::Relaxed);
        Some(Self { server: Arc::clone(server) })
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.server.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Client {
    pub(crate) fn new(
        server: &Arc<Server>,
        principal: Principal,
        hears: Hears,
        address: Option<IpAddr>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(server),
            outbox: Outbox::new(server.wire.client_buffer_bytes),
            principal: Mutex::new(principal),
            hears,
            address,
            gone: watch::Sender::new(false),
        })
    }

    pub(crate) fn stdio(server: &Arc<Server>) -> Arc<Self> {
        Self::new(server, Principal::Role(Role::Agent), Hears::Pushes, None)
    }

    pub(crate) fn principal(&self) -> Principal {
        self.principal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn token_ended(&self) {
        self.server.authority.ended(&self.principal()).await;
    }
}

/// Serves one client until it is gone.
pub(crate) async fn run(client: Arc<Client>, source: impl Source, sink: impl Sink) {
    let outbox = Arc::clone(&client.outbox);
    let reading = async {
        read(&client, source).await;
        client.outbox.finish();
    };
    tokio::join!(reading, outbox.write_to(sink));
}

async fn read(client: &Arc<Client>, mut lines: impl Source) {
    let mut state = Reading { usual: Dialect::default(), first: true, auth_failures: 0 };
    let in_flight = Arc::new(Semaphore::new(MOST_IN_FLIGHT));
    let mut tasks = JoinSet::new();
    let mut closing = client.server.closing.subscribe();
    loop {
        while tasks.try_join_next().is_some() {}
        let line = tokio::select! {
            line = lines.next() => line,
            _ = async { closing.wait_for(|c| *c).await.is_ok() } => break,
            // The writer found the client gone, or it was cut off.
            () = client.outbox.closed() => break,
            () = client.token_ended() => {
                client.outbox.cut(Parting::TokenEnded);
                break;
            }
        };
        let incoming = match line {
            Err(_) | Ok(Line::End) => break,
            Ok(Line::Text(text)) => envelope::parse(&text, state.usual),
            Ok(Line::TooLong(id)) => {
                state.fault(id, Fault::TooLong { limit: client.server.wire.max_line_bytes })
            }
            Ok(Line::Garbage) => state.fault(None, Fault::NotJson),
        };
        let Ok(permit) = Arc::clone(&in_flight).acquire_owned().await else { break };
        match incoming {
            Incoming::One(Err(bad)) => client.outbox.send(envelope::reply_malformed(&bad)),
            Incoming::One(Ok(request)) => {
                state.usual = request.dialect;
                if state.is_auth(&request) {
                    let answer = state.authenticate(client, &request);
                    client.outbox.send(answer);
                    if state.auth_failures >= MOST_AUTH_FAILURES {
                        break;
                    }
                } else {
                    tasks.spawn(answer_one(Arc::clone(client), request, permit));
                }
            }
            Incoming::Batch(items) => {
                tasks.spawn(answer_batch(Arc::clone(client), items, permit));
            }
        }
        state.first = false;
    }
    client.gone.send_replace(true);
    while tasks.join_next().await.is_some() {}
}

struct Reading {
    usual: Dialect,
    /// No request has been seen yet.
    first: bool,
    auth_failures: u32,
}

impl Reading {
    fn fault(&self, id: Option<Box<RawValue>>, fault: Fault) -> Incoming {
        Incoming::One(Err(Malformed { dialect: self.usual, id, fault }))
    }

    fn is_auth(&self, request: &Request) -> bool {
        request.method == Method::SystemAuth.name()
    }

    fn authenticate(&mut self, client: &Client, request: &Request) -> Vec<u8> {
        let outcome = self.try_authenticate(client, request);
        if outcome.is_err() {
            self.auth_failures += 1;
        }
        envelope::reply(request.dialect, request.id.as_deref(), outcome.as_ref())
    }

    fn try_authenticate(&self, client: &Client, request: &Request) -> Result<Authenticated, Error> {
        let params: AuthParams = request.params()?;
        if client.principal().pinned_to().is_some() {
            return Err(Error::new(ErrorCode::Forbidden, "no token raises a process inside a session"));
        }
        if !self.first && self.auth_failures == 0 {
            return Err(Error::new(
                ErrorCode::AuthFailed,
                "system.auth must be the first request of a connection",
            ));
        }
        let found = client.server.authority.identify(&params.token, client.address);
        let principal = found.map_err(|failed| {
            Error::new(
                ErrorCode::AuthFailed,
                match failed {
                    Failed::Wrong => "the token is not valid",
                    Failed::Wait(_) => "too many wrong tokens came from this address",
                },
            )
        })?;
        let role = principal.role();
        *client.principal.lock().unwrap_or_else(PoisonError::into_inner) = principal;
        Ok(Authenticated { role })
    }
}

async fn answer_one(client: Arc<Client>, request: Request, _permit: OwnedSemaphorePermit) {
    let answer = rpc::dispatch(&client, &request).await;
    if request.id.is_some() || request.dialect == Dialect::Plain {
        client.outbox.send(answer.line);
    }
    follow(&client, answer.follow).await;
}

async fn answer_batch(client: Arc<Client>, items: Vec<Item>, _permit: OwnedSemaphorePermit) {
    let (answer, follows) = batch(&client, items).await;
    if let Some(answer) = answer {
        client.outbox.send(answer);
    }
    for one in follows {
        follow(&client, Some(one)).await;
    }
}

/// One request of a batch.
type Item = Result<Request, Malformed>;

/// One array of all replies, in the order asked; None when nobody wants any.
pub(crate) async fn batch(client: &Arc<Client>, items: Vec<Item>) -> (Option<Vec<u8>>, Vec<Follow>) {
    let mut answers = Vec::new();
    let mut follows = Vec::new();
    let mut tasks = JoinSet::new();
    for (at, item) in items.into_iter().enumerate() {
        match item {
            Err(bad) => answers.push((at, envelope::reply_malformed(&bad))),
            Ok(request) => {
                let client = Arc::clone(client);
                tasks
                    .spawn(async move { (at, request.id.is_some(), rpc::dispatch(&client, &request).await) });
            }
        }
    }
    while let Some(done) = tasks.join_next().await {
        let Ok((at, wants_reply, answer)) = done else { continue };
        if wants_reply {
            answers.push((at, answer.line));
        }
        follows.extend(answer.follow);
    }
    answers.sort_by_key(|(at, _)| *at);
    let lines = answers.into_iter().map(|(_, line)| line);
    ((lines.len() > 0).then(|| array(lines)), follows)
}

fn array(lines: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = vec![b'['];
    for (i, line) in lines.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend(line);
    }
    out.push(b']');
    out
}

/// Pushes come after the reply they belong to.
async fn follow(client: &Arc<Client>, follow: Option<Follow>) {
    match follow {
        None => {}
        // A subscription has no end of its own, so the end of input does not wait for it.
        Some(Follow::Events(events)) => {
            let client = Arc::clone(client);
            tokio::spawn(async move { events.run(&client).await });
        }
        Some(Follow::Changes(changes)) => {
            let client = Arc::clone(client);
            tokio::spawn(async move { changes.run(&client).await });
        }
        Some(Follow::ChangesThere(changes)) => {
            let client = Arc::clone(client);
            tokio::spawn(async move { changes.run(&client).await });
        }
        Some(Follow::Output(output)) => output.run(&client.outbox).await,
        Some(Follow::Tape(showing)) => showing.run(&client.outbox).await,
        Some(Follow::Message(updates)) => updates.run(&client.outbox).await,
    }
}
