//! What TRL keeps on disk: sessions, history, approvals, audit.
//!
//! 1. [`Store::open`] takes a directory; a thread opens the SQLite file in it, repairs what a crash left ([`start`],
//!    [`rescue`]) and from then on is the only one to write ([`writer`]).
//! 2. A write is queued ([`queue`]) and answered when it is committed; many share one wait for the disk.
//! 3. Records: [`session`], [`history`] with [`search`] and [`retention`], [`request`] with [`resolve`], [`run`] and [`grant`],
//!    [`audit`], [`trust`], [`keys`], [`message`].
//!    What runs and is not among them yet is on the [`slate`].
//! 4. No text gets in but through a [`redact::Redactor`].
//! 5. [`failpoint()`] is how crash tests stop the process between any two durable steps.
//!
//! It knows nothing of the wire, of shells, or of what a rule means. Checkpoints are files, and not here.

pub mod audit;
mod error;
mod failpoint;
pub mod grant;
pub mod history;
pub mod keys;
pub mod message;
mod moment;
mod place;
mod queue;
mod reader;
pub mod redact;
pub mod request;
mod rescue;
pub mod resolve;
pub mod retention;
pub mod run;
mod schema;
pub mod search;
pub mod session;
mod shared;
mod slate;
mod start;
mod store;
pub mod trust;
mod word;
mod writer;

pub use error::{Result, StoreError};
pub use failpoint::{failpoint, failpoint_of, places};
pub use moment::Moment;
pub use queue::{Durability, Ticket};
pub use rescue::Rescued;
pub use schema::Migrated;
pub use slate::Mark;
pub use store::{Opened, Options, Store};
