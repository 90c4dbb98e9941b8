//! A session: resident, with one shell (or one direct command) and at most one running execution.
//!
//! ```text
//!  create            exec             it ends
//!  ──────▶ CREATING ──▶ READY ──────▶ RUNNING ──────▶ IDLE ──▶ RUNNING ...
//!             │ fail                    │ stop: TERM, grace, KILL
//!             ▼                         ▼
//!        error, nothing left          IDLE (rolled back)
//!  close, idle TTL, daemon exit: CLOSED (may be opened again)      destroy: TERMINATED (info only)
//! ```
//!
//! One task per session ([`task`]) owns its processes and alone changes its state; everyone else holds a
//! [`handle::Session`] and sends [`messages`]. Whether a request is legal is one pure function ([`state`]).
//!
//! - [`spec`]: what a session was asked to be.
//! - [`body`]: its processes: keeper link, FIFOs, shell and clone.
//! - [`phase`]: where the task stands; [`requests`], [`finish`], [`recover`], [`lifetime`]: what it does there.
//! - [`capture`]: its shell's state as text, for checkpoints and for fresh shells.
//! - [`run`]: one execution in flight; [`stop`]: ending one.

pub mod alarm;
mod approval;
pub mod body;
pub mod capture;
pub(crate) mod clearing;
mod finish;
pub(crate) mod front;
pub mod handle;
mod lifetime;
mod limits;
pub mod messages;
mod phase;
mod recover;
mod requests;
pub mod run;
pub mod spec;
pub mod state;
pub mod stop;
pub mod task;

use std::sync::Arc;

use self::handle::Session;
use self::task::Start;
use crate::engine::Engine;
use crate::runtime;
use crate::seats::Seat;

/// Starts the task of a session, wherever its processes are to live.
pub fn spawn(engine: Arc<Engine>, session: Arc<Session>, seat: Seat, start: Start) {
    match session.spec.elsewhere.clone() {
        None => task::spawn(engine, session, seat, start),
        Some(elsewhere) => runtime::session::spawn(engine, session, seat, start, elsewhere.runtime),
    }
}
