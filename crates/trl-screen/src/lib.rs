//! What a terminal shows: bytes in, state out. No I/O, no clock, no threads.
//!
//! [`Screen`] takes what a program writes to its terminal and knows at any time what a person would see, what was there
//! before (the history), and in which modes keys and mouse must be sent. A [`Snapshot`] of it brings a fresh terminal to
//! the same state, so that a client can come and go at any byte.
//!
//! The flow of a byte:
//! 1. `decode`: bytes to code points, across any cut.
//! 2. `parser`: code points to actions.
//! 3. `terminal` (with `csi`, `sgr`, `osc`): actions change the grid, or become events and answers.
//! 4. `buffer`, `row`, `cell`: the grid. `history`: packed rows above it. `reflow`: another size.
//! 5. `snapshot`, `view`: the state written down, for terminals and for programs.
//!
//! The other way, `keys`: what is sent for a key in the modes that are on.
//!
//! Every table, string and list is bounded, whatever the stream. The model follows xterm.js, which is what people look
//! at; `tests/restore.rs` holds it to that.

// Columns, rows, and positions among them are far below any integer's limits: sizes are capped in `screen`.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "sizes are capped at 1000, parameters checked before"
)]

mod buffer;
mod cell;
mod charset;
mod csi;
mod decode;
mod dump;
mod event;
mod grapheme;
mod history;
mod intern;
mod keys;
mod modes;
mod osc;
mod params;
mod parser;
mod reflow;
mod row;
mod screen;
mod sgr;
mod snapshot;
mod terminal;
mod view;

pub use decode::Decoder;
pub use dump::{Dump, DumpedBuffer, DumpedCell, DumpedLine};
pub use event::{Event, Fed, Happened};
pub use keys::Key;
pub use modes::{Modes, Mouse, MouseEncoding};
pub use osc::{Rgb, Theme};
pub use screen::{Screen, Snapshot};
pub use view::{Color, Cursor, Format, HistoryLine, Span, View};
