//! How the daemon shares the processor with what it runs: as the kernel sees fit.

/// The length of a turn is not for a process to say.
pub fn take_short_turns() {}
