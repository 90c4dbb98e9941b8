//! Where processes live when it is not here.
//!
//! ```text
//!  session or terminal task ─▶ talk ─▶ strand ─▶ line ═ connection of a transport ═ relay ─▶ engine there
//! ```
//!
//! 1. [`Runtimes`] knows them all, by name. A wish for labels becomes a name by [`choose`] (pure).
//! 2. A [`Runtime`] has [`engines`] while somebody needs them: [`far`] reaches for one through a [`transport`], and keeps the
//!    link. [`arrival`] is what our program does when it was copied to where it is needed.
//! 3. [`line`] is that link with tasks above it and bytes below; [`talk`] speaks the usual protocol on a strand of it.
//! 4. [`session`] is the task of a session whose processes are there. Whoever sends it messages cannot tell.

pub mod arrival;
pub mod choose;
mod engines;
pub mod far;
pub mod line;
pub mod session;
pub mod talk;
pub mod transport;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trl_proto::limits::Limits;
use trl_proto::runtime::{
    EngineInfo, HOST, Health, RuntimeInfo, RuntimeKind, RuntimeSpec, RuntimeState, RuntimeWish,
};
use trl_proto::system::{NoParams, Ping};
use trl_proto::{Error, ErrorCode, Method};

use self::choose::Candidate;
use self::engines::Engines;
pub use self::engines::Place;
use self::far::{Far, Hitch, Patience};
use self::transport::{Orphans, Transport};
use crate::seats::Seats;
use crate::settings::RuntimeSettings;

/// A place where processes can live that is not here.
#[derive(Debug)]
pub struct Runtime {
    pub name: Arc<str>,
    pub spec: RuntimeSpec,
    connect: Duration,
    engines: Engines,
    seats: Seats,
    draining: AtomicBool,
    /// From the settings, not added since.
    configured: bool,
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
            trouble: all.iter().filter(|far| !far.is_up()).find_map(|far| far.trouble()).map(|e| e.message),
            engine: greeting.map(|g| EngineInfo {
                version: g.version,
                os: g.os,
                arch: g.arch,
                host: g.host,
                pid: g.pid,
            }),
            configured: self.configured,
            spec: RuntimeSpec { name: Some(self.name.to_string()), ..self.spec.clone() },
        }
    }

    /// Asks its engine; one that has an engine for each session, who would make them.
    pub async fn health(self: &Arc<Self>) -> Health {
        let outcome = self.ping().await;
        Health {
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
            sessions: self.seats.taken(),
            max_sessions: self.spec.max_sessions,
            weight: self.spec.weight.unwrap_or(1.0),
        }
    }
}

/// All there are.
#[derive(Debug)]
pub struct Runtimes {
    known: Mutex<BTreeMap<String, Arc<Runtime>>>,
    settings: RuntimeSettings,
}

impl Runtimes {
    /// One that makes no sense is left out, and said.
    pub fn new(settings: &RuntimeSettings) -> Self {
        let runtimes = Self { known: Mutex::default(), settings: settings.clone() };
        for (name, spec) in &settings.known {
            if let Err(error) = runtimes.add(name, spec.clone(), true) {
                tracing::error!(runtime = name, %error, "a runtime of the settings cannot be used");
            }
        }
        runtimes
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Runtime>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, name: &str, spec: RuntimeSpec, configured: bool) -> Result<Arc<Runtime>, Error> {
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
            draining: AtomicBool::new(false),
            configured,
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

    /// Where a session is to live: elsewhere, or here (none).
    pub fn place(&self, wish: Option<&RuntimeWish>) -> Result<Option<Arc<Runtime>>, Error> {
        let usual = RuntimeWish::Named(self.settings.usual.clone());
        match wish.unwrap_or(&usual) {
            RuntimeWish::Named(name) if name == HOST => Ok(None),
            RuntimeWish::Named(name) => self.find(name).map(Some),
            RuntimeWish::Any(wanted) => {
                let all = self.known().values().map(|runtime| runtime.candidate()).collect();
                let best = choose::choose(all, &wanted.any).into_iter().next().ok_or_else(|| {
                    Error::new(ErrorCode::RuntimeUnavailable, "no runtime has these labels and a place left")
                        .hint("see runtime.list")
                        .detail("stage", "choose")
                        .detail("began", false)
                })?;
                self.find(&best).map(Some)
            }
        }
    }

    pub fn list(&self) -> Vec<RuntimeInfo> {
        self.known().values().map(|runtime| runtime.info()).collect()
    }

    /// Those that were added while this daemon ran, to be known to the next.
    pub fn added(&self) -> BTreeMap<String, RuntimeSpec> {
        let known = self.known();
        let added = known.iter().filter(|(_, runtime)| !runtime.configured);
        added.map(|(name, runtime)| (name.clone(), runtime.spec.clone())).collect()
    }

    /// It takes no new sessions. When the last has ended it can be removed.
    pub fn drain(&self, name: &str) -> Result<Arc<Runtime>, Error> {
        let runtime = self.find(name)?;
        runtime.draining.store(true, Ordering::Relaxed);
        Ok(runtime)
    }

    /// Whatever it still has is lost with it.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        let runtime = self.find(name)?;
        self.known().remove(name);
        runtime.engines.end().await;
        Ok(())
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
