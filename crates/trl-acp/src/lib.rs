//! The client's side of the Agent Client Protocol, version 1. Pure: no process, no clock, no async.
//!
//! 1. [`lines`] makes lines of what an agent writes; none is longer than it may be.
//! 2. [`dialogue`] knows what was asked and answered: a line in, an [`Heard`] out; what is to be written to the agent comes as
//!    whole lines.
//! 3. [`call`] is what an agent asks of us, and what it is told.
//! 4. [`update`] is what it says it does, in the words of the wire; [`pieces`] joins text that comes in crumbs; [`tools`] knows
//!    what was said of tool calls, for permissions that do not say it again.
//!
//! The types of the protocol are those of its own crate, and stay in here.

pub mod call;
pub mod dialogue;
pub mod lines;
pub mod pieces;
mod rpc;
pub mod tools;
pub mod update;

pub use call::{Call, CallId, Exit, Reply};
pub use dialogue::{Breach, Dialogue, Heard, Opening, Server, Stage};
pub use lines::{Line, Lines};
pub use pieces::Pieces;
