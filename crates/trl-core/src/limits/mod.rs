//! Holding programs to their limits, and saying what they used.
//!
//! 1. [`asked::resolve`] makes one set of limits from a request and the settings, or says who may not ask for that.
//! 2. [`caging`] is what all sessions share: the daemon's place among the control groups, and one group with a keeper in
//!    it that stands ready, as entering a group is what costs.
//! 3. [`cage`] is one session's, terminal's or direct execution's: its group if there is one, what is counted, and what
//!    the daemon has to look after itself because no kernel does.
//!
//! A session without limits has none of this.

pub mod asked;
pub mod cage;
pub mod caging;

pub use cage::{Cage, Verdict};
pub use caging::Caging;
