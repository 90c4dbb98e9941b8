//! Where processes live when it is not here.
//!
//! ```text
//!  session or terminal task ─▶ talk ─▶ strand ─▶ line ═ connection of a transport ═ relay ─▶ engine there
//! ```
//!
//! 1. [`Runtimes`] knows them all, by name: those of the settings, and those that were added, which are [`kept`]. A wish
//!    for labels becomes names by [`choose`] (pure), of which the first that is reached is taken.
//! 2. A [`Runtime`] has [`engines`] while somebody needs them: [`far`] reaches for one through a [`transport`], and keeps the
//!    link. [`arrival`] is what our program does when it was copied to where it is needed.
//! 3. [`mod@line`] is that link with tasks above it and bytes below; [`talk`] speaks the usual protocol on a strand of it. Both
//!    share one buffer for all they read ([`reading`]).
//! 4. [`session`] is the task of a session whose processes are there, [`terminal`] that of a terminal. Whoever sends it messages cannot tell.

pub mod arrival;
pub mod choose;
mod engines;
pub mod far;
mod kept;
pub mod line;
mod reading;
pub mod session;
pub mod talk;
pub mod terminal;
pub mod transport;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trl_proto::limits::Limits;
use trl_proto::runtime::{
    EngineInfo, HOST, RuntimeHealth, RuntimeInfo, RuntimeKind, RuntimeSpec, RuntimeState, RuntimeWish,
};
use trl_proto::system::{NoParams, Ping};
use trl_proto::{Error, ErrorCode, Method};

use self::choose::Candidate;
use self::engines::Engines;
pub use self::engines::Place;
use self::far::{Far, Hitch, Patience};
use self::kept::Kept;
use self::transport::{Orphans, Transport};
use crate::seats::{Seat, Seats};
use crate::settings::RuntimeSettings;

/// Of those that have the labels, so many are tried: each may take its time to turn out unreachable.
const MOST_TRIED: usize = 3;

/// A place where processes can live that is not here.
#[derive(Debug)]
pub struct Runtime {
    pub name: Arc<str>,
    pub spec: RuntimeSpec,
    connect: Duration,
    engines: Engines,
    seats: Seats,
    /// Sessions that were sent here and have no seat yet.
    coming: Seats,
    draining: AtomicBool,
    source: Source,
}

/// Who said that there is this runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Settings,
    /// Somebody, since the daemon began or before that.
    Added,
}

impl Runtime {
    /// The engine of somebody's session or terminal, reached for if there is none; resolves when it is up.
    pub async fn engine(self: &Arc<Self>, whose: &str) -> Result<Arc<Far>, Error> {
        let far = self.engines.reach(self, whose)?;
        far.up(self.connect).await.map_err(|error| self.named(error))?;
        Ok(far)
    }

    /// With the runtime it is about.
    fn named(&self, error: Error) -> Error {
        error.detail("runtime", &*self.name)
    }

    /// What a session may use there: what was asked for, else what its container has. Processors are shared out by the
    /// container alone.
    pub fn limits(&self, asked: Option<Limits>) -> Option<Limits> {
        let Some(own) = self.spec.limits else { return asked };
        Some(asked.unwrap_or_default().over(&Limits { cpu: None, ..own }))
    }

    /// A place for one more session or terminal.
    pub fn admit(self: &Arc<Self>, whose: &str) -> Result<Place, Error> {
        if self.draining.load(Ordering::Relaxed) {
            return Err(self.named(far::unavailable("admit", "it takes no new sessions")));
        }
        let seat = self.seats.take().ok_or_else(|| {
            let most = self.seats.limit();
            self.named(
                Error::new(
                    ErrorCode::MaxSessionsReached,
                    format!("it has {most} sessions, the most it may have"),
                )
                .hint("end one, or use another runtime"),
            )
        })?;
        Ok(Place::take(self, whose, seat))
    }

    pub fn state(&self) -> RuntimeState {
        if self.draining.load(Ordering::Relaxed) {
            return RuntimeState::Draining;
        }
        let live: Vec<_> = self.engines.all().into_iter().filter(|far| !far.is_over()).collect();
        match live.iter().find(|far| far.is_up()) {
            Some(_) => RuntimeState::Up,
            None if live.is_empty() => RuntimeState::Idle,
            None if live.iter().any(|far| matches!(far.hitch(), Hitch::Trouble(_))) => RuntimeState::Waiting,
            None => RuntimeState::Connecting,
        }
    }

    pub fn info(&self) -> RuntimeInfo {
        let all = self.engines.all();
        let greeting = all.iter().find_map(|far| far.greeting());
        RuntimeInfo {
            state: self.state(),
            sessions: self.seats.taken(),
            reconnects: self.engines.reconnects(),
            trouble: all.iter().filter(|far| !far.is_up()).find_map(|far| far.trouble()).map(|e| e.message),
            engine: greeting.map(|g| EngineInfo {
                version: g.version,
                os: g.os,
                arch: g.arch,
                host: g.host,
                pid: g.pid,
            }),
            configured: self.source == Source::Settings,
            spec: RuntimeSpec { name: Some(self.name.to_string()), ..self.spec.clone() },
        }
    }

    /// Asks its engine; one that has an engine for each session, who would make them.
    pub async fn health(self: &Arc<Self>) -> RuntimeHealth {
        let outcome = self.ping().await;
        RuntimeHealth {
            name: self.name.to_string(),
            healthy: outcome.is_ok(),
            round_trip_us: outcome.as_ref().ok().and_then(|took| u64::try_from(took.as_micros()).ok()),
            trouble: outcome.err().map(|error| error.message),
        }
    }

    async fn ping(self: &Arc<Self>) -> Result<Duration, Error> {
        let late = || far::unavailable("ping", "it does not answer");
        let far = match self.engines.are_shared() {
            true => Some(self.engine("").await?),
            false => None,
        };
        let began = Instant::now();
        let asked = async {
            match far {
                None => self.engines.transport.check().await,
                Some(far) => far.calls.call::<Ping>(Method::SystemPing.name(), &NoParams {}).await.map(drop),
            }
        };
        tokio::time::timeout(self.connect, asked).await.unwrap_or_else(|_| Err(late()))?;
        Ok(began.elapsed())
    }

    fn candidate(&self) -> Candidate {
        Candidate {
            name: self.name.to_string(),
            labels: transport::labels(&self.spec),
            state: self.state(),
            sessions: self.seats.taken() + self.coming.taken(),
            max_sessions: self.spec.max_sessions,
            weight: self.spec.weight.unwrap_or(1.0),
        }
    }

    /// Resolves when it has no sessions and terminals.
    pub async fn deserted(&self) {
        self.seats.all_free().await;
    }
}

/// A place that is there.
#[derive(Debug)]
pub struct Reached {
    pub runtime: Arc<Runtime>,
    pub far: Arc<Far>,
    /// Until whoever is on the way has a seat, those who choose know of it by this.
    _coming: Option<Seat>,
}

/// All there are.
#[derive(Debug)]
pub struct Runtimes {
    known: Mutex<BTreeMap<String, Arc<Runtime>>>,
    settings: RuntimeSettings,
    kept: Kept,
}

impl Runtimes {
    /// Those of the settings, and those that were added and are kept in `data_dir`. One that makes no sense, or has the
    /// name of one of the settings, is left out, and said.
    pub fn new(settings: &RuntimeSettings, data_dir: Option<&Path>) -> Self {
        let kept = Kept::in_dir(data_dir);
        let runtimes = Self { known: Mutex::default(), settings: settings.clone(), kept };
        for (name, spec) in &settings.known {
            if let Err(error) = runtimes.know(name, spec.clone(), Source::Settings) {
                tracing::error!(runtime = name, %error, "a runtime of the settings cannot be used");
            }
        }
        for (name, spec) in runtimes.kept.all() {
            if settings.known.contains_key(&name) {
                tracing::warn!(
                    runtime = name,
                    "a runtime that was added gives way to the one of the settings"
                );
            } else if let Err(error) = runtimes.know(&name, spec, Source::Added) {
                tracing::error!(runtime = name, %error, "a runtime that was added cannot be used");
            }
        }
        runtimes
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Runtime>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, also for the next daemon.
    pub fn add(&self, name: &str, spec: RuntimeSpec) -> Result<Arc<Runtime>, Error> {
        let runtime = self.know(name, spec.clone(), Source::Added)?;
        if let Err(error) = self.kept.add(name, spec) {
            self.known().remove(name);
            return Err(error);
        }
        Ok(runtime)
    }

    fn know(&self, name: &str, spec: RuntimeSpec, source: Source) -> Result<Arc<Runtime>, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name == HOST {
            return Err(Error::invalid(format!("{name:?} cannot be the name of a runtime"))
                .hint("letters, digits, `-`, `_` and `.`, at most 64; `host` is taken"));
        }
        if spec.weight.is_some_and(|weight| !weight.is_finite() || weight <= 0.0) {
            return Err(Error::invalid("`weight` must be a number above 0"));
        }
        let transport = Transport::of(&spec, &self.settings.gateway)?
            .ok_or_else(|| Error::invalid("the machine itself is the runtime `host`, and there is one"))?;
        let patience = Patience { grace: self.settings.grace, connect: self.settings.connect };
        let runtime = Arc::new(Runtime {
            name: name.into(),
            seats: Seats::new(spec.max_sessions.unwrap_or(usize::MAX)),
            engines: Engines::new(transport, patience),
            spec,
            connect: self.settings.connect,
            coming: Seats::new(usize::MAX),
            draining: AtomicBool::new(false),
            source,
        });
        let mut known = self.known();
        if known.contains_key(name) {
            return Err(Error::invalid(format!("there is a runtime {name}")).hint("remove it first"));
        }
        known.insert(name.into(), Arc::clone(&runtime));
        Ok(runtime)
    }

    pub fn find(&self, name: &str) -> Result<Arc<Runtime>, Error> {
        self.known().get(name).cloned().ok_or_else(|| {
            Error::new(ErrorCode::RuntimeNotFound, format!("no runtime {name}")).hint("see runtime.list")
        })
    }

    /// Where a session or terminal is to live: here (none), or in the first place that turns out to be there. Nothing has
    /// begun in one that does not.
    pub async fn place(&self, wish: Option<&RuntimeWish>, whose: &str) -> Result<Option<Reached>, Error> {
        let mut missed = None;
        for runtime in self.places(wish)? {
            let coming = runtime.coming.take();
            match runtime.engine(whose).await {
                Ok(far) => return Ok(Some(Reached { runtime, far, _coming: coming })),
                Err(error) if error.code == ErrorCode::RuntimeUnavailable => {
                    tracing::warn!(runtime = &*runtime.name, %error, "a runtime that was chosen is not there");
                    missed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        missed.map_or(Ok(None), Err)
    }

    /// Where it may live, best first; none is here.
    fn places(&self, wish: Option<&RuntimeWish>) -> Result<Vec<Arc<Runtime>>, Error> {
        let usual = RuntimeWish::Named(self.settings.usual.clone());
        match wish.unwrap_or(&usual) {
            RuntimeWish::Named(name) if name == HOST && self.settings.host => Ok(Vec::new()),
            RuntimeWish::Named(name) if name == HOST => {
                Err(far::unavailable("admit", "this machine takes no sessions, only runtimes elsewhere do")
                    .hint("name one of runtime.list; without a name it is sessions.runtime")
                    .detail("runtime", HOST))
            }
            RuntimeWish::Named(name) => Ok(vec![self.find(name)?]),
            RuntimeWish::Any(wanted) => {
                let known = self.known();
                let all = known.values().map(|runtime| runtime.candidate()).collect();
                let best = choose::choose(all, &wanted.any).into_iter().take(MOST_TRIED);
                let found: Vec<_> = best.filter_map(|name| known.get(&name).cloned()).collect();
                if found.is_empty() {
                    return Err(far::unavailable("choose", "no runtime has these labels and a place left")
                        .hint("see runtime.list"));
                }
                Ok(found)
            }
        }
    }

    pub fn list(&self) -> Vec<RuntimeInfo> {
        self.known().values().map(|runtime| runtime.info()).collect()
    }

    /// It takes no new sessions, and the next daemon does not know it if it was added. Whether it does so only from now on.
    pub fn drain(&self, runtime: &Runtime) -> Result<bool, Error> {
        if runtime.source == Source::Added {
            self.kept.remove(&runtime.name)?;
        }
        Ok(!runtime.draining.swap(true, Ordering::Relaxed))
    }

    /// Whatever it still has is lost with it.
    pub async fn remove(&self, runtime: &Arc<Runtime>) {
        // Meanwhile there may be another one of its name.
        self.known().retain(|_, known| !Arc::ptr_eq(known, runtime));
        runtime.engines.end().await;
    }

    /// The daemon ends.
    pub async fn end(&self) {
        let mut ends = tokio::task::JoinSet::new();
        for runtime in self.all() {
            ends.spawn(async move { runtime.engines.end().await });
        }
        ends.join_all().await;
    }

    fn all(&self) -> Vec<Arc<Runtime>> {
        self.known().values().cloned().collect()
    }

    /// Removes what an earlier daemon of the same data directory left elsewhere when it was killed.
    pub async fn sweep(&self) {
        let mut places: Vec<Orphans> = Vec::new();
        for orphans in self.all().iter().filter_map(|runtime| runtime.engines.transport.orphans()) {
            if !places.iter().any(|place| place.is_like(&orphans)) {
                places.push(orphans);
            }
        }
        for place in places {
            place.remove(|whose| self.all().iter().any(|runtime| runtime.engines.knows(whose))).await;
        }
    }
}

/// The machine itself, as one of the list.
pub fn host(sessions: usize) -> RuntimeInfo {
    RuntimeInfo {
        state: RuntimeState::Up,
        sessions,
        reconnects: 0,
        trouble: None,
        engine: Some(EngineInfo {
            version: env!("CARGO_PKG_VERSION").into(),
            os: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
            host: trl_sys::machine::host_name(),
            pid: std::process::id(),
        }),
        configured: true,
        spec: RuntimeSpec { name: Some(HOST.into()), ..RuntimeSpec::new(RuntimeKind::Host) },
    }
}
