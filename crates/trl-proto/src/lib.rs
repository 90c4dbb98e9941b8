//! The wire of TRL: what clients send and what the daemon answers.
//!
//! Owns names and shapes, nothing else: no I/O, no clock, no async runtime. A change here is a change
//! of the protocol.
//!
//! 1. [`envelope`] turns one line into requests and replies into lines, in both dialects; [`heard`] is that from a client's side.
//! 2. [`method`] is the one table of methods: name, who may call it.
//! 3. [`session`], [`agent`], [`exec`], [`start`], [`checkpoint`], [`terminal`], [`system`], [`doctor`], [`limits`], [`sandbox`], [`case`], [`token`], [`runtime`], [`workspace`], [`fs`] and [`event`] hold the
//!    parameters and results of each family; [`hitl`] those of a family that is agreed and not there yet, [`approval`] the rules people write for it.
//! 4. [`explain`] says what is wrong with parameters, [`unique`] refuses a name given twice, [`untrusted`] prints what others
//!    wrote.
//! 5. [`far`] is what gateways and their engines say to each other, and nobody else.
//! 6. `openapi` (feature `schema`, for a test) describes the HTTP door. [`text`] carries bytes inside JSON strings; [`error`] is every way a request can be refused.

pub mod agent;
pub mod approval;
pub mod case;
pub mod checkpoint;
pub mod doctor;
pub mod envelope;
pub mod error;
pub mod event;
pub mod exec;
mod explain;
pub mod far;
pub mod fs;
pub mod heard;
pub mod history;
pub mod hitl;
pub mod id;
pub mod limits;
pub mod method;
pub mod nearest;
#[cfg(feature = "schema")]
pub mod openapi;
pub mod random;
pub mod runtime;
pub mod sandbox;
pub mod session;
pub mod start;
pub mod system;
pub mod terminal;
pub mod text;
pub mod token;
mod unique;
pub mod untrusted;
pub mod workspace;

pub use envelope::Dialect;
pub use error::{Error, ErrorCode, Result};
pub use explain::{by_name, read, unknown_name};
pub use id::{CheckpointId, ExecutionId, MessageId, RequestId, SessionId, StreamId, TerminalId, TokenId};
pub use method::{Method, Role};
pub use text::{Encoding, Text};
pub use untrusted::{Untrusted, one_line};

/// The longest timeout or grace a request may ask for: 366 days.
pub const LONGEST: std::time::Duration = std::time::Duration::from_secs(366 * 24 * 3600);

/// Version of the protocol, reported by `system.ping`; raised when a shape changes incompatibly.
pub const PROTOCOL: u32 = 1;
