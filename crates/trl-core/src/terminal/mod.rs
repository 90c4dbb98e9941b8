//! Terminals: a program on a pseudo-terminal that outlives every connection, and any number of clients beside it.
//!
//! 1. [`spec`]: what was asked for, checked. 2. [`task`] owns the processes and the pseudo-terminal: it moves bytes and
//!    nothing else, with its [`pump`]. 3. [`tape`] holds the bytes, with the sizes they were written for; everybody reads there.
//! 4. [`model`] is the reader that knows what the terminal shows, on a thread of its own. 5. [`sizes`] is who is attached
//!    and whose window counts. 6. [`handle`] is a terminal as everyone but its task sees it. 7. [`recording`] is the
//!    reader that plays it again: the tape with its [`times`], from the oldest of the model's [`keyframes`] on.
//! 8. [`open`] makes what a task begins with. 9. [`execution`] is what a program that was started as one tells of itself, [`allowance`] what it may use.

mod allowance;
pub(crate) mod execution;
pub mod handle;
mod keyframes;
pub mod model;
mod open;
mod pump;
pub mod recording;
pub mod sizes;
pub mod spec;
pub mod tape;
pub mod task;
mod times;

use std::sync::Arc;

use crate::engine::Engine;
use crate::runtime;
use crate::seats::Seat;
use crate::session::messages::Reply;

/// Starts the task of a terminal, wherever its program is to live.
pub fn spawn(
    engine: Arc<Engine>,
    terminal: Arc<Terminal>,
    wires: handle::Wires,
    seat: Seat,
    created: Reply<()>,
) {
    match terminal.spec.elsewhere.is_some() {
        false => task::spawn(engine, terminal, wires, seat, created),
        true => runtime::terminal::spawn(engine, terminal, wires, seat, created),
    }
}

pub use handle::{Terminal, Viewer};
pub use pump::Floods;
