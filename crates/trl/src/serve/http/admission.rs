//! Which HTTP connections have a place, and which one goes when a new one needs it.
//!
//! ```text
//!  accept ─▶ Stranger ── a request with a valid token ──▶ Holder
//!               ▲ │ └─── a request from inside a session ─▶ Inside
//!               └─┴───── the next request without ─────────┘
//! ```
//!
//! 1. Every connection begins as a [`Class::Stranger`]. Each request moves it to the class that this request proves.
//! 2. Each class has a share of the places. So neither connections without a token, nor those of processes in sessions, take
//!    a place from a connection with a token.
//! 3. A full share of strangers closes its oldest connection for the newest, but none before [`LEAST_STAY`]: a client always
//!    has the moment it needs to send its token, and a flood of connections waits in the kernel's queue meanwhile. The
//!    other shares close the connection that has been idle for longest; one with a request in flight is
//!    never closed, so the newest request is refused when there is none but those.
//! 4. A stranger has [`STRANGER_LIFE`], however many requests it makes.
//!
//! A peer of a `unix:` address is known to the kernel, so its first request makes it a holder without a token.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use trl_proto::ErrorCode;

use super::super::connection::Connected;
use super::super::principal::Principal;
use super::answer::{self, Refusal};

/// How long a connection lives whose requests bring no token.
const STRANGER_LIFE: Duration = Duration::from_secs(10);
/// How long it is not closed for another one.
const LEAST_STAY: Duration = Duration::from_millis(100);
/// How long its last answer may take after that.
const LAST_ANSWER: Duration = Duration::from_secs(20);

/// What the requests of a connection have proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Nothing. Lives until the given time at most.
    Stranger { until: Instant },
    /// The peer is a process of a session or a terminal, and no token raises it.
    Inside,
    /// A valid token or ticket, or a peer of a `unix:` address that the kernel vouches for.
    Holder,
}

impl Class {
    fn is_same_share(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// How many connections of each class there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shares {
    strangers: usize,
    inside: usize,
    holders: usize,
}

impl Shares {
    /// A quarter for strangers, an eighth for processes of sessions, the rest for holders of tokens.
    fn of(places: usize) -> Self {
        let (strangers, inside) = ((places / 4).max(1), (places / 8).max(1));
        Self { strangers, inside, holders: places.saturating_sub(strangers + inside).max(1) }
    }

    fn of_class(&self, class: Class) -> usize {
        match class {
            Class::Stranger { .. } => self.strangers,
            Class::Inside => self.inside,
            Class::Holder => self.holders,
        }
    }
}

/// All connections of one HTTP server.
pub(super) struct Admission {
    shares: Shares,
    stranger_life: Duration,
    places: Mutex<Places>,
    /// A connection has ended.
    freed: Notify,
}

#[derive(Default)]
struct Places {
    next: u64,
    /// In the order they were accepted.
    taken: BTreeMap<u64, Entry>,
}

struct Entry {
    accepted: Instant,
    class: watch::Sender<Class>,
    /// Requests in flight, WebSockets among them.
    requests: usize,
    /// When the last one ended.
    idle_since: Instant,
    /// The latest request has shown whose it is.
    proven: bool,
    /// Frees the place among all connections of the daemon. Dropping the entry closes the connection.
    _connected: Connected,
}

impl Entry {
    fn is_stranger(&self) -> bool {
        matches!(*self.class.borrow(), Class::Stranger { .. })
    }
}

impl Places {
    fn count(&self, class: Class) -> usize {
        self.taken.values().filter(|entry| entry.class.borrow().is_same_share(class)).count()
    }

    /// Closes one connection of this class. False if none of them may be closed for another.
    fn close_one(&mut self, class: Class) -> bool {
        let of_class = self.taken.iter().filter(|(_, entry)| entry.class.borrow().is_same_share(class));
        let victim = match class {
            Class::Stranger { .. } => of_class.map(|(id, _)| *id).next(),
            Class::Inside | Class::Holder => of_class
                .filter(|(_, entry)| entry.requests == 0)
                .map(|(id, entry)| (entry.idle_since, *id))
                .min()
                .map(|(_, id)| id),
        };
        victim.is_some_and(|id| self.taken.remove(&id).is_some())
    }
}

/// What was done for a new connection.
pub(super) struct Admitted {
    pub(super) place: Place,
    /// Another connection was closed for this one.
    pub(super) crowded: bool,
}

impl Admission {
    /// Of `places` connections. Strangers live for `request_timeout` if that is shorter than the usual time.
    pub(super) fn new(places: usize, request_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            shares: Shares::of(places),
            stranger_life: STRANGER_LIFE.min(request_timeout),
            places: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Waits until the next connection may be accepted: until there is a place for a stranger, or one that may be freed.
    pub(super) async fn next(&self) {
        while let Some(until) = self.crowded_until() {
            tokio::select! {
                () = sleep_until(until) => return,
                () = self.freed.notified() => {}
            }
        }
    }

    /// Until when no stranger may be closed for another one. None if there is a place.
    fn crowded_until(&self) -> Option<Instant> {
        let places = self.lock();
        let mut strangers = places.taken.values().filter(|entry| entry.is_stranger());
        let oldest = strangers.next()?.accepted;
        (1 + strangers.count() >= self.shares.strangers).then_some(oldest + LEAST_STAY)
    }

    /// Gives a new connection a place among the strangers. None if `connect` has none for it either, even after one of
    /// the strangers was closed.
    pub(super) fn admit(self: &Arc<Self>, connect: impl Fn() -> Option<Connected>) -> Option<Admitted> {
        let accepted = Instant::now();
        let class = Class::Stranger { until: accepted + self.stranger_life };
        let mut places = self.lock();
        let full = places.count(class) >= self.shares.strangers;
        let mut crowded = full && places.close_one(class);
        let connected = connect().or_else(|| {
            crowded |= places.close_one(class);
            connect()
        })?;
        let id = places.next;
        places.next += 1;
        let (sender, class) = watch::channel(class);
        let entry = Entry {
            accepted,
            class: sender,
            requests: 0,
            idle_since: accepted,
            proven: false,
            _connected: connected,
        };
        places.taken.insert(id, entry);
        drop(places);
        Some(Admitted { place: Place { admission: Arc::clone(self), id, class }, crowded })
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a connection to a class, if that has room or makes some.
    fn reclass(&self, id: u64, class: Class) -> bool {
        let mut places = self.lock();
        let Some(now) = places.taken.get(&id).map(|entry| *entry.class.borrow()) else { return false };
        if now.is_same_share(class) {
            return true;
        }
        let has_room = places.count(class) < self.shares.of_class(class) || places.close_one(class);
        if has_room && let Some(entry) = places.taken.get(&id) {
            entry.class.send_replace(class);
        }
        has_room
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().taken.get_mut(&id) {
            change(entry);
        }
    }
}

/// The place of one connection. Freed when dropped.
pub(super) struct Place {
    admission: Arc<Admission>,
    id: u64,
    class: watch::Receiver<Class>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.admission.lock().taken.remove(&self.id);
        self.admission.freed.notify_one();
    }
}

/// Why a connection has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// Its life as a stranger is over.
    LifeOver,
    /// Another connection has its place.
    Closed,
}

impl Place {
    /// Begins a request: the connection is not idle until the returned value is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.admission.change(self.id, |entry| {
            entry.requests += 1;
            entry.proven = false;
        });
        Busy(Arc::clone(self))
    }

    /// Counts what the connection becomes as a request in flight.
    pub(super) fn begin_upgrade(self: &Arc<Self>) -> Busy {
        self.admission.change(self.id, |entry| entry.requests += 1);
        Busy(Arc::clone(self))
    }

    /// Takes the place that a request of this principal is entitled to.
    ///
    /// # Errors
    /// Every place of that class is taken by a connection with a request in flight.
    pub(super) fn prove(&self, principal: &Principal) -> Result<(), Refusal> {
        let class = if principal.pinned_to().is_some() { Class::Inside } else { Class::Holder };
        if self.admission.reclass(self.id, class) {
            self.admission.change(self.id, |entry| entry.proven = true);
            return Ok(());
        }
        let message = match class {
            Class::Inside => "all HTTP connections for processes of sessions are busy",
            _ => "all HTTP connections for holders of a token are busy",
        };
        Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ResourcePressure, message)
            .hint("close WebSockets and event streams that nobody needs, or raise wire.max_connections"))
    }

    /// Makes the connection a stranger again if its latest request has proven nothing.
    pub(super) fn settle(&self) {
        let proven = self.admission.lock().taken.get(&self.id).is_none_or(|entry| entry.proven);
        if !proven {
            let until = Instant::now() + self.admission.stranger_life;
            self.admission.reclass(self.id, Class::Stranger { until });
        }
    }

    /// Waits until the connection has to be closed: at once when its place is gone, or `grace` after the life of a stranger.
    async fn expiry_after(&self, grace: Duration) -> Expiry {
        let mut class = self.class.clone();
        loop {
            let now = *class.borrow_and_update();
            let changed = match now {
                Class::Stranger { until } => tokio::select! {
                    changed = class.changed() => changed,
                    () = sleep_until(until + grace) => return Expiry::LifeOver,
                },
                Class::Inside | Class::Holder => class.changed().await,
            };
            if changed.is_err() {
                return Expiry::Closed;
            }
        }
    }

    /// Waits until the connection may take no more requests.
    pub(super) async fn expiry(&self) -> Expiry {
        self.expiry_after(Duration::ZERO).await
    }

    /// Waits until the connection may not even finish its answer.
    pub(super) async fn end(&self) {
        self.expiry_after(LAST_ANSWER).await;
    }
}

/// A request in flight.
pub(super) struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.admission.change(self.0.id, |entry| {
            entry.requests -= 1;
            entry.idle_since = Instant::now();
        });
    }
}

/// The body of an answer, whose request is in flight until all of it was taken.
pub(super) struct BusyBody {
    pub(super) body: answer::Body,
    pub(super) _busy: Option<Busy>,
}

impl Body for BusyBody {
    type Data = Bytes;
    type Error = <answer::Body as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
