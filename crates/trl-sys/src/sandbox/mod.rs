//! A boundary around one program and all it starts, as the daemon asks for it and hears of it.
//!
//! - [`plan`]: what is to be enforced. - [`names`]: what in a workspace stays as it is. - [`op`]: what was refused. - [`patience`]: how much of that is told.
//!
//! How it is enforced is the system's: [`Boundary`] is what the keeper makes of a plan, on a system that has the means.
//! [`missing`] says what cannot be had here, before anybody asks.

mod names;
mod op;
mod patience;
mod plan;

pub use self::names::{OWN_DIR, PROTECTED, is_protected};
pub use self::op::{Matters, Op};
pub(crate) use self::patience::{Patience, Refused};
pub use self::plan::{Effort, Layer, Layers, Net, Plan};
pub(crate) use crate::os::sandbox::{Boundary, Ear, Protected, answer, mounts_of};
pub use crate::os::sandbox::{abi, missing};
