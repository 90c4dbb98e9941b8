//! Control groups, by direct reads and writes of their files.
//!
//! - [`layout`]: which hierarchies there are, where this process stands in them, what may be made below.

//! - [`base`]: a daemon's own place among them. - [`group`]: one group, its limits and what it has used.

pub mod base;
pub mod group;
pub mod layout;

pub use base::Base;
pub use group::{Group, Reading};
pub use layout::{Hierarchy, Layout, Standing, Version};
