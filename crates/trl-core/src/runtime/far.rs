//! One engine elsewhere, for as long as it lives: its line, and whoever sees to it that the line has a connection.
//!
//! ```text
//!  connecting ── an engine answers ─▶ up ── the connection breaks ─▶ waiting ─▶ up ...
//!      │ the first connection fails                                     │ for longer than the grace, it started anew, or is gone
//!      ▼                                                                ▼
//!    over: the next who needs one tries again                         over: everything it had is lost
//! ```
//!
//! On the way there may be much to do first, such as copying our program or pulling an image. While that goes on, it is
//! said what is being done ([`Hitch::Step`]), and whoever waits goes on waiting.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use trl_link::{Identity, Key, Limits, Side, Urgency};
use trl_proto::far::Greeting;
use trl_proto::{Error, ErrorCode, PROTOCOL, random};
use trl_sys::helper::Known;
use trl_sys::machine;

use super::line::{Cut, Line, Stand};
use super::talk::{Calls, Talk};
use super::transport::{Connection, Failure, Route, Transport};

/// After the first failure; doubled with each, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Between two words about something that goes on.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

/// A link that only stumbled is back within this; what is to end there is not waited for any longer.
const AWAY: Duration = Duration::from_secs(2);

/// What keeps an engine from being up.
#[derive(Debug, Clone, Default)]
pub enum Hitch {
    #[default]
    None,
    /// Something is being done, and goes on. Whoever cannot wait any longer is told this.
    Step(Error),
    /// The last try failed.
    Trouble(Error),
}

/// Where it is said what is being done on the way to an engine.
#[derive(Debug, Clone, Default)]
pub struct Steps(Arc<watch::Sender<Hitch>>);

impl Steps {
    /// This goes on now, or has gone on a bit.
    pub fn now(&self, stage: &str, what: &str) {
        self.0.send_replace(Hitch::Step(unavailable(stage, what)));
    }

    /// This goes on until it is done; how long that may take is its own affair.
    pub async fn during<T>(&self, stage: &str, what: &str, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            self.now(stage, what);
            if let Ok(done) = tokio::time::timeout(SIGN_OF_LIFE, &mut work).await {
                return done;
            }
        }
    }

    fn failed(&self, error: Error) {
        self.0.send_replace(Hitch::Trouble(error));
    }

    fn done(&self) {
        self.0.send_replace(Hitch::None);
    }

    /// Where it has come to a halt.
    fn stalled(&self) -> Error {
        match &*self.0.borrow() {
            Hitch::Step(error) => error.clone(),
            _ => unavailable("connect", "it does not answer"),
        }
    }

    /// Resolves when nothing has gone on for so long.
    async fn stall(&self, within: Duration) {
        let mut hitch = self.0.subscribe();
        let mut until = Instant::now() + within;
        while let Ok(Ok(())) = tokio::time::timeout_at(until, hitch.changed()).await {
            if matches!(*hitch.borrow_and_update(), Hitch::Step(_)) {
                until = Instant::now() + within;
            }
        }
    }
}

/// An engine elsewhere.
#[derive(Debug)]
pub struct Far {
    line: Line,
    /// For what must not wait behind anything else.
    pub calls: Calls,
    stand: watch::Receiver<Stand>,
    steps: Steps,
    /// At its end when nothing is left that was made for this engine.
    left: mpsc::Sender<()>,
}

/// For how long things are waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// While a link is broken.
    pub grace: Duration,
    /// While one is made, and nothing goes on.
    pub connect: Duration,
}

impl Far {
    /// Begins to reach for the engine of `whose` things; [`Far::up`] says when it is there.
    pub fn reach(
        name: &str,
        transport: &Transport,
        whose: &str,
        patience: Patience,
        reconnects: Arc<AtomicU64>,
    ) -> Result<Arc<Self>, Error> {
        let identity = Identity {
            side: Side::Near,
            key: Key(random::bytes()),
            life: u64::from_le_bytes(random::bytes()) | 1,
            greeting: env!("CARGO_PKG_VERSION").into(),
        };
        let key = identity.key;
        let (line, _) = Line::new(identity, Limits::default());
        let urgent = line.open(Urgency::Urgent).map_err(|gone| Error::internal(gone.to_string()))?;
        let (left, until_left) = mpsc::channel(1);
        let far = Self {
            calls: Calls::over(urgent),
            stand: line.stand(),
            steps: Steps::default(),
            line: line.clone(),
            left,
        };
        let (name, route, steps) = (name.into(), transport.route(whose, key), far.steps.clone());
        tokio::spawn(
            Keeping { name, route, line, patience, steps, reconnects, engine: Mutex::default() }
                .run(until_left),
        );
        Ok(Arc::new(far))
    }

    /// A conversation of its own.
    pub fn talk(&self) -> Result<Talk, Error> {
        let strand = self.line.open(Urgency::Bulk);
        strand.map(Talk::over).map_err(|gone| unavailable("connect", &gone.to_string()))
    }

    pub fn stand(&self) -> watch::Receiver<Stand> {
        self.stand.clone()
    }

    pub fn is_up(&self) -> bool {
        matches!(*self.stand.borrow(), Stand::Up { .. })
    }

    pub fn is_over(&self) -> bool {
        matches!(*self.stand.borrow(), Stand::Over { .. })
    }

    pub fn hitch(&self) -> Hitch {
        self.steps.0.borrow().clone()
    }

    /// What is in the way, or being done.
    pub fn trouble(&self) -> Option<Error> {
        match self.hitch() {
            Hitch::None => None,
            Hitch::Step(error) | Hitch::Trouble(error) => Some(error),
        }
    }

    /// What it says of itself, while it is there.
    pub fn greeting(&self) -> Option<Greeting> {
        match &*self.stand.borrow() {
            Stand::Up { greeting } => serde_json::from_slice(greeting).ok(),
            _ => None,
        }
    }

    /// Resolves when it is there, with its greeting; or with what is in the way when nothing has gone on for so long.
    pub async fn up(&self, within: Duration) -> Result<Greeting, Error> {
        let mut stand = self.stand.clone();
        let away = || self.trouble().unwrap_or_else(|| unavailable("connect", "it does not answer"));
        let settled = tokio::select! {
            settled = stand.wait_for(|stand| *stand != Stand::Away) => settled.map_err(|_| away())?,
            () = self.steps.stall(within) => return Err(away()),
        };
        match &*settled {
            Stand::Up { greeting } => understood(greeting),
            Stand::Over { why } => Err(self.trouble().unwrap_or_else(|| unavailable("connect", why))),
            Stand::Away => Err(away()),
        }
    }

    /// Resolves when nobody can be asked to end anything: it has been away for a while. What is there ends when its strand
    /// is seen to be gone, or with the engine's grace.
    pub async fn out_of_reach(&self) {
        let mut stand = self.stand.clone();
        while stand.wait_for(|stand| *stand == Stand::Away).await.is_ok() {
            let back = async { stand.wait_for(|stand| *stand != Stand::Away).await.is_ok() };
            if tokio::time::timeout(AWAY, back).await.is_err() {
                return;
            }
        }
        std::future::pending().await
    }

    /// Its engine ends everything, now or when it notices that nobody comes any more. Resolves when nothing is left that was
    /// made for it.
    pub async fn end(&self) {
        if self.is_up() {
            let force = serde_json::json!({"force": true});
            let asked = self.calls.call::<serde_json::Value>("system.shutdown", &force);
            let _ = tokio::time::timeout(Duration::from_secs(1), asked).await;
        }
        self.line.give_up("the runtime is not needed any more");
        self.left.closed().await;
    }
}

fn understood(greeting: &[u8]) -> Result<Greeting, Error> {
    let greeting: Greeting = serde_json::from_slice(greeting)
        .map_err(|e| unavailable("version", &format!("its engine introduced itself in another way: {e}")))?;
    let (ours, theirs) = (env!("CARGO_PKG_VERSION"), &greeting.version);
    if greeting.protocol != PROTOCOL || ours != theirs {
        return Err(unavailable("version", &format!("its engine is trl {theirs}, this is trl {ours}"))
            .hint("install the same version there, or leave out binary = \"installed\""));
    }
    Ok(greeting)
}

/// A runtime cannot be used, and why not.
pub fn unavailable(stage: &str, why: &str) -> Error {
    Error::new(ErrorCode::RuntimeUnavailable, why).detail("stage", stage).detail("began", false)
}

/// Sees to it that a line has a connection.
struct Keeping {
    name: String,
    route: Route,
    line: Line,
    patience: Patience,
    steps: Steps,
    /// Connections that were made after the first.
    reconnects: Arc<AtomicU64>,
    /// The engine, where it could be taken for an orphan of ours: it outlives whoever started it.
    engine: Mutex<Option<Known>>,
}

impl Keeping {
    /// `left` is dropped at the very end.
    async fn run(self, left: mpsc::Receiver<()>) {
        let mut end = self.line.stand();
        tokio::select! {
            why = self.keep() => self.line.give_up(&why),
            _ = async { end.wait_for(|stand| matches!(stand, Stand::Over { .. })).await.is_ok() } => {}
        }
        self.route.leave().await;
        drop(left);
    }

    /// Until there is no more hope; why not.
    async fn keep(&self) -> String {
        let (mut met, mut pause) = (false, FIRST_PAUSE);
        let mut away_until = Instant::now();
        loop {
            let carried = tokio::select! {
                carried = self.carry(met) => carried,
                () = self.silence(met) => Err(Failure::Passing(self.steps.stalled())),
            };
            let outcome = match carried {
                Ok(()) => {
                    (met, pause, away_until) = (true, FIRST_PAUSE, Instant::now() + self.patience.grace);
                    None
                }
                Err(Failure::Passing(error)) => {
                    let hopeless = !met || Instant::now() + pause >= away_until;
                    Some((error, hopeless))
                }
                Err(Failure::Final(error)) => Some((error, true)),
            };
            if let Some((error, hopeless)) = outcome {
                tracing::warn!(runtime = %self.name, %error, "a runtime is not reached");
                let why = error.message.clone();
                self.steps.failed(error);
                if hopeless {
                    return why;
                }
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A first connection on which nobody says a word, and nothing goes on, is not waited for.
    async fn silence(&self, met: bool) {
        let mut stand = self.line.stand();
        tokio::select! {
            _ = async { stand.wait_for(|stand| *stand != Stand::Away).await.is_ok() }, if !met => {}
            () = self.steps.stall(self.patience.connect), if !met => return,
            else => {}
        }
        std::future::pending().await
    }

    /// One connection, to its end. An error when no engine was met on it; it counts as another if one was `met` before.
    async fn carry(&self, met_before: bool) -> Result<(), Failure> {
        let Connection { mut reader, mut writer } = self.route.connect(&self.steps).await?;
        let mut stand = self.line.stand();
        stand.mark_unchanged();
        let cut = tokio::select! {
            cut = self.line.carry(&mut reader, &mut writer) => cut,
            cut = self.note_up(met_before) => match cut {},
        };
        let met = stand.has_changed().unwrap_or(false);
        let said = reader.last_words().await;
        if met && !matches!(cut, Cut::Breach(_)) {
            tracing::info!(runtime = %self.name, %cut, %said, "the connection to a runtime broke");
            return Ok(());
        }
        let why = if said.is_empty() { cut.to_string() } else { said };
        Err(Failure::Passing(unavailable("connect", &why)))
    }

    /// From then on nothing is in the way.
    async fn note_up(&self, met_before: bool) -> std::convert::Infallible {
        let mut stand = self.line.stand();
        if let Ok(up) = stand.wait_for(|stand| matches!(stand, Stand::Up { .. })).await
            && let Stand::Up { greeting } = &*up
            && let Ok(greeting) = serde_json::from_slice::<Greeting>(greeting)
            && shares_processes(&greeting)
        {
            let known = i32::try_from(greeting.pid).ok().map(Known::process);
            *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = known;
        }
        self.steps.done();
        if met_before {
            self.reconnects.fetch_add(1, Ordering::Relaxed);
        }
        std::future::pending().await
    }
}

/// Whether its processes are among those of this machine.
pub fn shares_processes(greeting: &Greeting) -> bool {
    let (boot_id, namespace) = (machine::boot_id(), machine::process_namespace());
    greeting.boot_id == boot_id && greeting.pid_ns == namespace
}

/// So that many that were cut off at once do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let [byte]: [u8; 1] = random::bytes();
    pause.mul_f64(0.75 + f64::from(byte) / 512.0)
}
