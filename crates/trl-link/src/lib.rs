//! Many streams over one byte stream that may break and be mended: how a daemon speaks to an engine elsewhere.
//!
//! Pure: no I/O, no clock, no random numbers. Whoever drives a [`Link`] moves bytes and says when time has passed.
//!
//! ```text
//!  send, end, reset ─▶ streams ─▶ turns (urgent first, each in its turn) ─▶ retained ─▶ transmit ─▶ bytes out
//!  events ◀─────────── streams ◀───────────────── counted ◀───────────────── decoder ◀─ receive ◀── bytes in
//! ```
//!
//! 1. [`Link::connected`]: a byte stream is there. Both sides say [hello]: versions, who they are, which link this
//!    is, how many frames of it they have.
//! 2. The near side [opens](Link::open) streams; both send on them, as much as the other side gave [credit](Limits::credit)
//!    for. Each frame is kept until it is acknowledged, [so many bytes](Limits::window) at most: then nothing more is taken.
//! 3. [`Link::disconnected`]: what is not acknowledged stays. At the next hello the other side says what it has, and
//!    gets the rest: nothing is lost and nothing comes twice.
//! 4. [`Link::tick`]: some time has passed. A side that has heard nothing asks; one that hears nothing for long gives the
//!    connection up, not the link.
//!
//! A flood never keeps a small thing waiting: frames are short, streams take turns, urgent ones come first, and part of
//! what may be unacknowledged is theirs alone. What is already with the operating system cannot be overtaken, so a driver
//! asks for [little at a time](Link::transmit), and for more when that is written.
//!
//! - [`frame`]: bytes to frames. - [`hello`]: the first words. - [`stream`]: one stream. - [`retained`]: what is sent and
//!   not acknowledged. - [`link`]: all of it together. - [`breach`]: what a peer can do wrong.

pub mod breach;
pub mod frame;
pub mod hello;
mod inbound;
pub mod link;
mod retained;
mod stream;

pub use breach::{Breach, Gone};
pub use hello::Key;
pub use link::{Event, Identity, Limits, Link, Side};
pub use stream::{StreamId, Urgency};
