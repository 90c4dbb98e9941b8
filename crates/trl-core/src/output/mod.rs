//! The output log: the one structure that holds bytes a process wrote.
//!
//! One writer, any number of readers, absolute byte offsets. A log keeps the head and the tail of its stream; what
//! falls out between them is counted and, when spilling is on, kept in a file. Readers hold an offset and pull.
//!
//! - [`kept`]: the bytes themselves, pure: what is kept, what was dropped, what a range reads as.
//! - [`log`]: a shared log: appending, waiting for more, following without loss.
//! - [`late`]: what background processes write after their command's end.
//! - [`budget`]: the memory all logs share.
//! - [`spill`]: the unlinked file behind a log.

pub mod budget;
pub mod kept;
pub mod late;
pub mod log;
pub mod spill;

pub use budget::Budget;
pub use kept::{Capacity, Kept, Slice};
pub use log::{Ends, Follower, Log};
