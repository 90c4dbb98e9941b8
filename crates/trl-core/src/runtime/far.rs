//! One engine elsewhere, for as long as it lives: its line, and whoever sees to it that the line has a connection.
//!
//! ```text
//!  connecting ── an engine answers ─▶ up ── the connection breaks ─▶ waiting ─▶ up ...
//!      │ not in time                                                    │ for longer than the grace, or it started anew
//!      ▼                                                                ▼
//!    over                                                             over: everything it had is lost
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trl_link::{Identity, Key, Limits, Side, Urgency};
use trl_proto::far::Greeting;
use trl_proto::{Error, ErrorCode, PROTOCOL, random};

use super::line::{Cut, Line, Stand};
use super::talk::{Calls, Talk};
use super::transport::{Connection, Transport};

/// After the first failure; doubled with each, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// An engine elsewhere.
#[derive(Debug)]
pub struct Far {
    line: Line,
    /// For what must not wait behind anything else.
    pub calls: Calls,
    stand: watch::Receiver<Stand>,
    trouble: Arc<Mutex<Option<Error>>>,
}

impl Far {
    /// Begins to reach for it; [`Far::up`] says when it is there.
    pub fn reach(
        name: &str,
        transport: Transport,
        (grace, connect): (Duration, Duration),
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
        let far = Self {
            calls: Calls::over(urgent),
            stand: line.stand(),
            trouble: Arc::default(),
            line: line.clone(),
        };
        let keeping = Keeping {
            name: name.into(),
            key,
            transport,
            line,
            grace,
            connect,
            trouble: Arc::clone(&far.trouble),
            reconnects,
        };
        tokio::spawn(keeping.run());
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

    pub fn trouble(&self) -> Option<Error> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it says of itself, while it is there.
    pub fn greeting(&self) -> Option<Greeting> {
        match &*self.stand.borrow() {
            Stand::Up { greeting } => serde_json::from_slice(greeting).ok(),
            _ => None,
        }
    }

    /// Resolves when it is there, with its greeting; or with what is in the way when the time is up.
    pub async fn up(&self, within: Duration) -> Result<Greeting, Error> {
        let mut stand = self.stand.clone();
        let settled = stand.wait_for(|stand| *stand != Stand::Away);
        let found = tokio::time::timeout(within, settled).await;
        let away = || self.trouble().unwrap_or_else(|| unavailable("connect", "it does not answer"));
        match found {
            Err(_) | Ok(Err(_)) => Err(away()),
            Ok(Ok(stand)) => match &*stand {
                Stand::Up { greeting } => understood(greeting),
                Stand::Over { why } => Err(self.trouble().unwrap_or_else(|| unavailable("connect", why))),
                Stand::Away => Err(away()),
            },
        }
    }

    /// Its engine ends everything, now or when it notices that nobody comes any more.
    pub async fn end(&self) {
        if self.is_up() {
            let force = serde_json::json!({"force": true});
            let asked = self.calls.call::<serde_json::Value>("system.shutdown", &force);
            let _ = tokio::time::timeout(Duration::from_secs(1), asked).await;
        }
        self.line.give_up("the runtime is not needed any more");
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
    key: Key,
    transport: Transport,
    line: Line,
    grace: Duration,
    connect: Duration,
    trouble: Arc<Mutex<Option<Error>>>,
    reconnects: Arc<AtomicU64>,
}

impl Keeping {
    async fn run(self) {
        let mut pause = FIRST_PAUSE;
        let (mut end, mut first) = (self.line.stand(), self.line.stand());
        let mut met = false;
        let mut away_until = Instant::now() + self.connect;
        while !matches!(*end.borrow_and_update(), Stand::Over { .. }) {
            let carried = tokio::select! {
                carried = self.carry(met) => carried,
                () = over(&mut end) => return,
                () = until_met(&mut first, met, away_until) => Err(unavailable("connect", "it does not answer")),
            };
            if let Ok(up) = &carried
                && *up
            {
                (met, pause, away_until) = (true, FIRST_PAUSE, Instant::now() + self.grace);
            }
            if let Err(error) = carried {
                tracing::warn!(runtime = %self.name, %error, "a runtime is not reached");
                *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            if Instant::now() + pause >= away_until {
                return self.line.give_up("its engine was away for too long");
            }
            tokio::select! {
                () = tokio::time::sleep(jittered(pause)) => {}
                () = over(&mut end) => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One connection, to its end. Whether an engine was met on it; it counts as another if one was `met` before.
    async fn carry(&self, met_before: bool) -> Result<bool, Error> {
        let Connection { reader, writer, mut guard } = self.transport.connect(self.key).await?;
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut stand = self.line.stand();
        stand.mark_unchanged();
        let mut carrying = std::pin::pin!(self.line.carry(reader, writer));
        let mut again = self.line.stand();
        let cut = tokio::select! {
            cut = &mut carrying => cut,
            () = up(&mut again), if met_before => {
                self.reconnects.fetch_add(1, Ordering::Relaxed);
                carrying.await
            }
        };
        let met = stand.has_changed().unwrap_or(false);
        let said = guard.last_words().await;
        if met && !matches!(cut, Cut::Breach(_)) {
            tracing::info!(runtime = %self.name, %cut, %said, "the connection to a runtime broke");
            return Ok(true);
        }
        let why = if said.is_empty() { cut.to_string() } else { said };
        Err(unavailable(guard.stage(), &why))
    }
}

async fn up(stand: &mut watch::Receiver<Stand>) {
    let _ = stand.wait_for(|stand| matches!(stand, Stand::Up { .. })).await;
}

async fn over(stand: &mut watch::Receiver<Stand>) {
    let _ = stand.wait_for(|stand| matches!(stand, Stand::Over { .. })).await;
}

/// A first connection on which nobody says a word is not waited for.
async fn until_met(stand: &mut watch::Receiver<Stand>, met: bool, until: Instant) {
    if met {
        return std::future::pending().await;
    }
    let _ = tokio::time::timeout_at(until, stand.wait_for(|stand| *stand != Stand::Away)).await;
    if matches!(*stand.borrow(), Stand::Up { .. }) {
        std::future::pending::<()>().await;
    }
}

/// So that many that were cut off at once do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let [byte]: [u8; 1] = random::bytes();
    pause.mul_f64(0.75 + f64::from(byte) / 512.0)
}
